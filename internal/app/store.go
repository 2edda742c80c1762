package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/ui"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// StoreOptions are the options of the store's verbs.
type StoreOptions struct {
	// Format is text or json.
	Format string
	// Max is the size that store:gc brings the store down to, such as 20GB;
	// cache.max_size when empty.
	Max string
	// DryRun only says what store:gc would remove.
	DryRun bool
}

// opened reads the options that the store's verbs share and opens the store.
func (a *App) opened(o StoreOptions) (s *store.Store, max int64, err error) {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return nil, 0, err
	}
	p, err := a.project(Wishes{})
	if err != nil {
		return nil, 0, err
	}
	max = -1
	if cap := int64(p.Config.Cache.MaxSize); cap > 0 {
		max = cap
	}
	if o.Max != "" {
		size, err := yamlx.ParseSize(o.Max)
		if err != nil {
			return nil, 0, exit.With(exit.Usage, fmt.Errorf("-max: %w", err))
		}
		max = int64(size)
	}
	s, err = a.store(p)
	return s, max, err
}

// StoreLs lists what the store holds, how large it is, when it was used last
// and by whom it is used now.
func (a *App) StoreLs(ctx context.Context, o StoreOptions) error {
	s, max, err := a.opened(o)
	if err != nil {
		return err
	}
	inv, err := s.Inventory(ctx)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		out := struct {
			Root string `json:"root"`
			*store.Inventory
			Cap int64 `json:"cap,omitempty"`
		}{s.Root(), inv, max}
		if max < 0 {
			out.Cap = 0
		}
		if out.Items == nil {
			out.Items = []store.Item{}
		}
		return a.json(out)
	}
	var rows [][]string
	var others []store.Item
	now := time.Now()
	for _, it := range inv.Items {
		if it.Kind != store.Artifact {
			others = append(others, it)
			continue
		}
		name := it.Component
		if name == "" {
			name = "(no record)"
		}
		rows = append(rows, []string{name, it.Host, it.Content.Short(), ui.Bytes(it.Bytes), ago(now, it.Used), strings.Join(it.By, ", ")})
	}
	if len(rows) > 0 {
		err = ui.Table(a.Out, a.look(), []string{"component", "host", "content", "size", "last used", "in use by"}, rows,
			ui.TableOptions{Align: []ui.Align{ui.Left, ui.Left, ui.Left, ui.Right, ui.Left, ui.Left}, Flex: 6})
		if err != nil {
			return err
		}
	}
	if len(others) > 0 {
		var bytes int64
		for _, it := range others {
			bytes += it.Bytes
		}
		fmt.Fprintf(a.Out, "and %s, %s\n", things(others), ui.Bytes(bytes))
	}
	bound := "no cap"
	if max >= 0 {
		bound = "cap " + ui.Bytes(max)
	}
	_, err = fmt.Fprintf(a.Out, "total %s, %s, in %s\n", ui.Bytes(inv.Total), bound, s.Root())
	return err
}

// StoreGC removes leftovers and stale work folders, and what was not used for
// the longest time until the store is within its cap. What is in use stays.
func (a *App) StoreGC(ctx context.Context, o StoreOptions) error {
	s, max, err := a.opened(o)
	if err != nil {
		return err
	}
	t, err := s.Trim(ctx, store.TrimOptions{Max: max, Stale: true, DryRun: o.DryRun})
	if err != nil && len(t.Removed) == 0 {
		return err
	}
	if o.Format == "json" {
		if t.Removed == nil {
			t.Removed = []store.Item{}
		}
		if t.Kept == nil {
			t.Kept = []store.Item{}
		}
		if jsonErr := a.json(t); jsonErr != nil {
			return jsonErr
		}
		return err
	}
	verb := "removed"
	if o.DryRun {
		verb = "would remove"
	}
	for _, it := range t.Removed {
		fmt.Fprintf(a.Out, "%s %s, %s\n", verb, title(it), ui.Bytes(it.Bytes))
	}
	for _, it := range t.Kept {
		fmt.Fprintf(a.Out, "kept %s, %s: in use by %s\n", title(it), ui.Bytes(it.Bytes), strings.Join(it.By, ", "))
	}
	if len(t.Removed) == 0 {
		fmt.Fprintf(a.Out, "nothing to remove: the store holds %s\n", ui.Bytes(t.Total))
	} else {
		fmt.Fprintf(a.Out, "%s %s, %s: the store holds %s\n", verb, things(t.Removed), ui.Bytes(t.Bytes), ui.Bytes(t.Total))
	}
	if max >= 0 && t.Total > max {
		a.note("the store stays above %s: the rest is in use", ui.Bytes(max))
	}
	return err
}

// StoreVerify reads everything in the store and moves what is damaged to
// quarantine.
func (a *App) StoreVerify(ctx context.Context, o StoreOptions) error {
	s, _, err := a.opened(o)
	if err != nil {
		return err
	}
	begun := time.Now()
	v, err := s.Verify(ctx)
	if err != nil && (v == nil || len(v.Findings) == 0) {
		return err
	}
	if o.Format == "json" {
		if v.Findings == nil {
			v.Findings = []store.Finding{}
		}
		if jsonErr := a.json(v); jsonErr != nil {
			return jsonErr
		}
	} else {
		for _, f := range v.Findings {
			fmt.Fprintf(a.Out, "%s is damaged:\n", title(store.Item{Kind: f.Kind, Name: f.Name, Component: f.Component, Host: f.Host, Content: f.Content}))
			for _, p := range f.Problems {
				fmt.Fprintf(a.Out, "  %s\n", p)
			}
			fmt.Fprintf(a.Out, "  moved to %s\n", f.Quarantine)
		}
		fmt.Fprintf(a.Out, "%s and %s read, %s in %s: %d damaged\n", plural(v.Artifacts, "artifact", "artifacts"),
			plural(v.Downloads, "download", "downloads"), ui.Bytes(v.Bytes), ui.Duration(time.Since(begun)), len(v.Findings))
	}
	if err != nil { // it ended early, and what it moved until then is told
		return err
	}
	if len(v.Findings) > 0 {
		return exit.Hint(exit.Withf(exit.Verify, "%s: %d damaged, moved to %s: the next build makes it again", s.Root(), len(v.Findings), filepath.Join(s.Root(), "quarantine")), "go tool mage build")
	}
	return nil
}

// title names a thing of the store for people.
func title(it store.Item) string {
	name := it.Name
	switch it.Kind {
	case store.Artifact:
		name = strings.TrimSpace(it.Component + " " + it.Host + " " + it.Content.Short())
	case store.Download, store.Checkout:
		name = name[:min(12, len(name))]
	}
	return string(it.Kind) + " " + name
}

// things counts items by kind: 2 artifacts, 1 download.
func things(items []store.Item) string {
	var words []string
	for _, k := range []struct {
		kind      store.Kind
		one, many string
	}{
		{store.Artifact, "artifact", "artifacts"}, {store.Download, "download", "downloads"},
		{store.Checkout, "git checkout", "git checkouts"}, {store.Index, "package index", "package indexes"},
		{store.Work, "work folder", "work folders"}, {store.Quarantine, "thing in quarantine", "things in quarantine"},
		{store.Leftover, "leftover", "leftovers"},
	} {
		n := 0
		for _, it := range items {
			if it.Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			words = append(words, plural(n, k.one, k.many))
		}
	}
	return strings.Join(words, ", ")
}

// ago says how long ago something was, roughly.
func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return plural(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 24*time.Hour:
		return plural(int(d/time.Hour), "hour", "hours") + " ago"
	default:
		return plural(int(d/(24*time.Hour)), "day", "days") + " ago"
	}
}

// emptyStore empties the store in a folder, and lists the folders in which there
// was something. It is refused for a folder that is no store, and while another
// process uses it.
func (a *App) emptyStore(ctx context.Context, dir string, open func() (*store.Store, error)) ([]string, error) {
	// To open a store would make one of any folder: look first.
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "version")); err != nil {
			return nil, exit.Withf(exit.Config, "clean: %s is no store: it has no file named version", dir)
		}
	}
	s, err := open() // refuses a store of another layout
	if err != nil {
		return nil, err
	}
	emptied, err := s.Empty(ctx)
	if err != nil {
		return emptied, fmt.Errorf("clean: %w", err)
	}
	return emptied, s.Close() // its own session
}
