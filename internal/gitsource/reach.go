package gitsource

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// Memory remembers for a while whether repositories answer.
type Memory struct {
	Cache *statcache.Cache // nil asks each time
	Life  time.Duration
}

// Silent asks the addresses, one after the other, until one answers: then the
// result is empty, and else it is all of them. remembered is when an earlier
// process asked them, and zero when this one did. An answer holds for the
// memory's life, as long as the machine stays in the same network with the same
// settings: whoever plugs a cable in is not told what was true without it.
func (m Memory) Silent(ctx context.Context, addresses []string) (silent []string, remembered time.Time) {
	question, asked := "git repositories answer: "+circumstances(addresses), time.Now()
	var reached bool
	if at, ok := m.Cache.Recall(question, &reached); ok {
		if reached {
			return nil, at
		}
		return slices.Clone(addresses), at
	}
	for _, address := range addresses {
		if reached = Reachable(ctx, address) == nil; reached {
			break
		}
	}
	if !reached && ctx.Err() == context.Canceled {
		return slices.Clone(addresses), time.Time{} // Ctrl-C says nothing of them
	}
	watch := &statcache.Watch{}
	watch.AddLinked("/etc/resolv.conf", "/etc/hosts")
	for _, address := range addresses {
		if path, ok := strings.CutPrefix(address, "file://"); ok {
			watch.Add(path)
		}
	}
	// A truth value can be remembered always.
	_ = m.Cache.Remember(question, reached, asked, m.Life, watch)
	if reached {
		return nil, time.Time{}
	}
	return slices.Clone(addresses), time.Time{}
}

// circumstances names the addresses and what decides, beside them, whether
// they answer: the machine's own addresses and the proxies. Addresses may hold
// passwords, so all is hashed.
func circumstances(addresses []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", addresses)
	for _, name := range proxies() {
		fmt.Fprintf(h, "%s=%q\n", name, os.Getenv(name))
	}
	if own, err := net.InterfaceAddrs(); err == nil {
		var list []string
		for _, a := range own {
			list = append(list, a.String())
		}
		slices.Sort(list)
		fmt.Fprintf(h, "%q\n", list)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}
