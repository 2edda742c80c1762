package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/report"
	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// ReportOptions are the options of report.
type ReportOptions struct {
	// Format is html, markdown or json. html writes files, the others go to
	// standard output.
	Format string
	// Run is a run's name, or a number that counts back: 1 or "" is the newest.
	Run string
	// Out is the page's file; "" is .stonemason/report.html. The trace lies
	// beside it, named trace.json.
	Out string
}

// Report tells the story of a build from the event log.
func (a *App) Report(ctx context.Context, o ReportOptions) error {
	formats := []string{"html", "markdown", "json"}
	if o.Format == "" {
		o.Format = "html"
	}
	if err := oneOf("-format", "format", o.Format, formats); err != nil {
		return exit.With(exit.Usage, err)
	}
	p, err := a.project(Wishes{})
	if err != nil {
		return err
	}
	state := stateDir(p)
	run, err := findRun(filepath.Join(state, "events.jsonl"), o.Run)
	if err != nil {
		return err
	}
	r, err := report.Read(run, filepath.Join(state, "logs"))
	if err != nil {
		return exit.With(exit.Failure, err)
	}
	switch o.Format {
	case "markdown":
		return r.Markdown(a.Out)
	case "json":
		enc := json.NewEncoder(a.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	page := o.Out
	if page == "" {
		page = filepath.Join(state, "report.html")
	} else if !filepath.IsAbs(page) {
		page = filepath.Join(a.Dir, page)
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{page, r.HTML}, {filepath.Join(filepath.Dir(page), "trace.json"), r.Trace}} {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return err
		}
		err := os.MkdirAll(filepath.Dir(f.name), 0o755)
		if err == nil {
			err = renameio.WriteFile(f.name, b.Bytes(), 0o644)
		}
		if err != nil {
			return exit.With(exit.Failure, fmt.Errorf("report: %w", err))
		}
		fmt.Fprintf(a.Out, "wrote %s, %s\n", relative(p.Root, f.name), ui.Bytes(int64(b.Len())))
	}
	return a.summarize(r)
}

// summarize appends the Markdown summary to the page of a GitHub Actions job.
func (a *App) summarize(r *report.Report) error {
	name := a.getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return exit.With(exit.Failure, fmt.Errorf("report: %w", err))
	}
	if err := errors.Join(r.Markdown(f), f.Close()); err != nil {
		return exit.With(exit.Failure, fmt.Errorf("report: %w", err))
	}
	fmt.Fprintln(a.Out, "appended to the job's summary")
	return nil
}

// findRun finds a run by its name, or counting back from the newest.
func findRun(log, wish string) (trace.Run, error) {
	runs, err := trace.Runs(log)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(runs) == 0 {
		return trace.Run{}, exit.Hint(exit.Withf(exit.Usage, "report: nothing was built in this checkout yet"), "go tool mage build")
	}
	if err != nil {
		return trace.Run{}, exit.With(exit.Failure, err)
	}
	if wish == "" {
		wish = "1"
	}
	if n, err := strconv.Atoi(wish); err == nil && n >= 1 && n <= len(runs) {
		return runs[len(runs)-n], nil
	}
	for _, r := range runs {
		if r.ID == wish {
			return r, nil
		}
	}
	var newest []string
	for i := len(runs) - 1; i >= 0 && len(newest) < 5; i-- {
		newest = append(newest, runs[i].ID)
	}
	return trace.Run{}, exit.Withf(exit.Usage, "-run: there is no run %q: the log has %d, the newest are %s", wish, len(runs), strings.Join(newest, ", "))
}
