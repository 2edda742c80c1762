package emubench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Peer is the functional emulator of MGPUSim (github.com/sarchlab/mgpusim).
type Peer struct {
	program string
	dir     string // where it may write
	// Version is that of its module.
	Version string
}

// peerModule is a module of its own, so that ours does not know its dependencies.
const peerModule = "github.com/sarchlab/mgpusim/v4"

// BuildPeer builds it in a folder from bench/mgpusim of the project at root, which
// needs the module proxy, or the modules in Go's cache.
func BuildPeer(ctx context.Context, root, dir string) (*Peer, error) {
	from := filepath.Join(root, "bench", "mgpusim")
	p := &Peer{program: filepath.Join(dir, "mgpusim"), dir: dir}
	for _, argv := range [][]string{{"build", "-o", p.program, "."}, {"list", "-m", "-f", "{{.Version}}", peerModule}} {
		cmd := exec.CommandContext(ctx, "go", argv...)
		cmd.Dir = from
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("MGPUSim cannot be built in %s: %w: %.500s", from, err, strings.TrimSpace(said.String()))
		}
		p.Version = strings.TrimSpace(out.String())
	}
	return p, nil
}

// Run does the job there.
func (p *Peer) Run(ctx context.Context, j Job) (r Report, err error) {
	in, err := json.Marshal(j)
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, p.program)
	cmd.Dir, cmd.Stdin = p.dir, bytes.NewReader(in)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		first, _, _ := strings.Cut(said.String(), "\n")
		return r, fmt.Errorf("MGPUSim, kernel %s: %w: %.300s", j.Kernel, err, first)
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("MGPUSim, kernel %s: %w", j.Kernel, err)
	}
	if len(r.Seconds) != j.Runs || r.Seconds[0] <= 0 {
		return r, fmt.Errorf("MGPUSim, kernel %s: %d times of %d runs", j.Kernel, len(r.Seconds), j.Runs)
	}
	return r, nil
}
