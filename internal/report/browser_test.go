//go:build e2e

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

// browser is the path of a Chromium. Without one nothing can be said about the
// page, so its absence is a failure.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no chromium is in PATH: apt-get install chromium")
	return ""
}

// tab opens a browser that talks to nobody, and collects what it complains of.
func tab(t *testing.T) (ctx context.Context, complaints func() []string) {
	t.Helper()
	// Its data go into a new folder that the library removes.
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(browser(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	var mu sync.Mutex
	var said []string
	err := chromedp.Listen(ctx, func(ev any) {
		var line string
		switch ev := ev.(type) {
		case *runtime.EventConsoleAPICalled:
			line = fmt.Sprintf("console.%s %v", ev.Type, ev.Args)
		case *runtime.EventExceptionThrown:
			line = fmt.Sprintf("exception: %s at %d:%d", ev.ExceptionDetails.Text, ev.ExceptionDetails.LineNumber, ev.ExceptionDetails.ColumnNumber)
			if e := ev.ExceptionDetails.Exception; e != nil {
				line += " " + e.Description
			}
		case *log.EventEntryAdded:
			line = "log: " + ev.Entry.Text
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(ev.Request.URL, "file://") && !strings.HasPrefix(ev.Request.URL, "data:") {
				line = "request: " + ev.Request.URL
			}
		}
		if line != "" {
			mu.Lock()
			said = append(said, line)
			mu.Unlock()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, err2 := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return ctx, func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := said
		said = nil
		return all
	}
}

// page writes a report's page and returns its address.
func page(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + name
}

// open opens a page at a width, light or dark.
func open(t *testing.T, ctx context.Context, url string, width int64, scheme string) {
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url), settled())
	}
	if err != nil {
		t.Fatal(err)
	}
	// A picture for whoever wants to look: STONEMASON_SHOTS names a folder.
	if dir := os.Getenv("STONEMASON_SHOTS"); dir != "" {
		png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s-%d-%s.png", strings.ReplaceAll(t.Name(), "/", "_"), width, scheme)
		if err := os.WriteFile(filepath.Join(dir, name), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// settled waits until what was asked to be drawn is drawn.
func settled() chromedp.Action[chromedp.Void] {
	const frames = `new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))`
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[int](frames, chromedp.EvalAwaitPromise))
		return err
	})
}

// ask evaluates an expression in the page.
func ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// contrasts lists texts whose contrast with what is behind them is below 4.5
// (WCAG 2.2, 1.4.3), and the pairs of colours that the time line writes with.
const contrasts = `(() => {
  const probe = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (c) => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = c; probe.fillRect(0, 0, 1, 1); const d = probe.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => { const l = c.slice(0, 3).map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  const ratio = (a, b) => { const x = light(a), y = light(b); return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
  const behind = (e) => { const stack = []; for (; e; e = e.parentElement) stack.push(rgba(getComputedStyle(e).backgroundColor)); return stack.reverse().reduce((b, c) => over(c, b), [255, 255, 255, 1]); };
  const bad = []; let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest("script, style, title, noscript, .away, .jump") || !e.getClientRects().length) continue;
    const svg = e.closest("svg"), style = getComputedStyle(e);
    const ground = svg ? rgba(getComputedStyle(svg.querySelector(".box")).fill) : behind(e);
    const r = ratio(over(rgba(svg ? style.fill : style.color), ground), ground);
    seen++;
    if (r < 4.5) bad.push(r.toFixed(2) + " " + e.tagName + "." + e.className + " " + n.textContent.trim().slice(0, 40));
  }
  const root = getComputedStyle(document.documentElement), v = (n) => rgba(root.getPropertyValue("--" + n).trim());
  const paper = v("paper"), ink = v("ink");
  for (const o of ["built", "restored", "adopted", "failed", "unfinished"]) {
    const c = v(o), half = over([c[0], c[1], c[2], .5], paper);
    for (const [what, r] of [["on full ", ratio(paper, c)], ["on half ", ratio(ink, half)]]) { seen++; if (r < 4.5) bad.push(r.toFixed(2) + " " + what + o); }
  }
  for (const c of ["ink", "soft"]) { seen++; if (ratio(v(c), paper) < 4.5) bad.push(c); }
  return {bad, seen};
})()`

// A page must be readable at the width of a phone and of a desk, light and
// dark, and must be what the log says.
func TestPageInBrowser(t *testing.T) {
	r := eventful(t, 400)
	url := page(t, r)
	ctx, complaints := tab(t)
	for _, width := range []int64{400, 1400} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d %s", width, scheme), func(t *testing.T) {
				open(t, ctx, url, width, scheme)
				if said := complaints(); len(said) > 0 {
					t.Errorf("the browser complains:\n%s", strings.Join(said, "\n"))
				}
				if w := ask[[]int](t, ctx, `[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]`); w[0] > w[2] || w[1] > w[2] || w[2] != int(width) {
					t.Errorf("widths of document, body and window: %v", w)
				}
				got := ask[struct {
					Bad  []string
					Seen int
				}](t, ctx, contrasts)
				if len(got.Bad) > 0 || got.Seen < 100 {
					t.Errorf("%d texts seen, too faint:\n%s", got.Seen, strings.Join(got.Bad, "\n"))
				}
				ground := ask[string](t, ctx, `getComputedStyle(document.body).backgroundColor`)
				if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}[scheme]; ground != want {
					t.Errorf("the ground is %s, want %s", ground, want)
				}
				for _, css := range []string{"#canvas", ".graph svg", ".graph svg a", ".failure", ".path .on", "#memory .on", "#rows tr", "#components tbody tr", "#detail", ".legend"} {
					box := ask[[]float64](t, ctx, `(() => { const b = document.querySelector(`+quote(css)+`).getBoundingClientRect(); return [b.width, b.height]; })()`)
					if box[0] <= 0 || box[1] <= 0 {
						t.Errorf("%s measures %v", css, box)
					}
				}
				// Something of every tone is drawn in the time line.
				if n := ask[int](t, ctx, `(() => { const c = document.getElementById("canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return s.size; })()`); n < 8 {
					t.Errorf("the time line has %d colours", n)
				}
				// Boxes of the graph do not lie on each other.
				if n := ask[int](t, ctx, `(() => { const b = [...document.querySelectorAll(".graph rect.box")].map(e => e.getBoundingClientRect()); return b.filter((p, i) => b.some((q, j) => i < j && p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom)).length; })()`); n != 0 {
					t.Errorf("%d boxes of the graph overlap", n)
				}
			})
		}
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestNumbersOnThePage(t *testing.T) {
	r := eventful(t, 400)
	ctx, _ := tab(t)
	open(t, ctx, page(t, r), 1400, "light")
	text := func(css string) string {
		return ask[string](t, ctx, `document.querySelector(`+quote(css)+`).innerText.replace(/\s+/g, " ").trim()`)
	}
	for css, want := range map[string]string{
		"#result":      "Build failed in 22s",
		"#wall":        "22s",
		"#cpu":         "51s",
		"#use":         "58 % of 4",
		"#hits":        "1 of 7 components",
		"#edges":       "400 of ninja’s",
		"#memory-peak": "700 MiB",
		"#counts":      "1 failed 2 built 1 adopted 1 restored 2 unfinished 1 skipped",
	} {
		if got := text(css); got != want {
			t.Errorf("%s says %q, want %q", css, got, want)
		}
	}
	for css, want := range map[string]int{
		"#components > .scroll > table > tbody > tr": 7, "#rows tr": 30, ".graph a": 7, ".path li": len(r.Path), ".failure": 1, ".changes li": 3, "img": 0, ".warnings li": 1,
	} {
		if got := ask[int](t, ctx, `document.querySelectorAll(`+quote(css)+`).length`); got != want {
			t.Errorf("%d of %s, want %d", got, css, want)
		}
	}
	// No text of the log became anything but text.
	if got := ask[string](t, ctx, `document.title`); got != "Build failed · 22s · Stonemason" {
		t.Errorf("the title is %q", got)
	}
	for _, css := range []string{".failure pre", ".failure p", ".about code", ".warnings li", ".changes ins", "#path"} {
		if got := text(css); !strings.Contains(got, hostile) && css != "#path" {
			t.Errorf("%s says %q", css, got)
		}
	}
	// What the script draws from is what the log says, to the name.
	type edge struct {
		Name       string
		Start, End float64
	}
	got := ask[[]edge](t, ctx, `(() => { const out = []; for (const n of JSON.parse(document.getElementById("data").textContent).nodes) for (const s of n.steps) { let b = ""; for (const [at, took, , k, rest] of s.edges || []) { b = b.slice(0, k) + rest; out.push({name: b, start: at, end: at + took}); } } return out; })()`)
	var want []edge
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			for _, e := range s.Edges {
				want = append(want, edge{e.Output, ms(e.Start), ms(e.Start) + ms(e.End-e.Start)})
			}
		}
	}
	if !slices.Equal(got, want) || len(want) != 400 {
		t.Errorf("%d edges on the page, %d in the log, or others", len(got), len(want))
	}
}

// Everything the time line does with a pointer it does from the keyboard too.
func TestUsingThePage(t *testing.T) {
	ctx, complaints := tab(t)
	open(t, ctx, page(t, eventful(t, 400)), 1400, "light")
	do := func(a ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, append(a, settled())...); err != nil {
			t.Fatal(err)
		}
	}
	text := func(id string) string { return ask[string](t, ctx, `document.getElementById("`+id+`").textContent`) }
	key := func(keys string) { t.Helper(); do(chromedp.KeyEvent(keys)) }
	says := func(id, want string) {
		t.Helper()
		if got := text(id); !strings.Contains(got, want) {
			t.Errorf("%s says %q, want %q in it", id, got, want)
		}
	}
	says("range", "0:00 – 0:22")
	do(chromedp.Focus(chromedp.CSS("#canvas")))
	key(kb.ArrowRight)
	says("detail", "headers@linux-amd64 — restored · 7ms, from 0:00.0 to 0:00.0")
	key(kb.ArrowRight)
	says("detail", "llvm@linux-amd64 — adopted · 1.0s")
	key(kb.ArrowDown)
	says("detail", "llvm@linux-amd64 · adopt — built · 980ms")
	key(kb.ArrowUp)
	key(kb.ArrowRight)
	key(kb.ArrowDown)
	key(kb.ArrowDown)
	says("detail", "CMakeFiles/lib.dir/src/file00000.cpp.o — lib@linux-amd64 · build · ")
	key(kb.Enter)
	says("range", "of 0:22")
	key("0")
	says("range", "0:00 – 0:22")
	key("+")
	zoomed := text("range")
	if !strings.Contains(zoomed, "of 0:22") {
		t.Errorf("not zoomed: %s", zoomed)
	}
	do(chromedp.Click(chromedp.CSS(`[data-do="right"]`)))
	if text("range") == zoomed {
		t.Error("the button does not move the range")
	}
	do(chromedp.Click(chromedp.CSS(`[data-do="all"]`)))
	says("range", "0:00 – 0:22")

	// Dragging over the right half shows the right half.
	box := ask[[]float64](t, ctx, `(() => { const c = document.getElementById("canvas"); c.scrollIntoView({block: "center", behavior: "instant"}); const b = c.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	middle, edge := box[0]+box[2]*.6, box[0]+box[2]-1
	do(chromedp.MouseEvent("mousePressed", middle, box[1]+40, chromedp.ButtonLeft), chromedp.MouseEvent("mouseMoved", edge-50, box[1]+40, chromedp.ButtonLeft), chromedp.MouseEvent("mouseMoved", edge, box[1]+40, chromedp.ButtonLeft), chromedp.MouseEvent("mouseReleased", edge, box[1]+40, chromedp.ButtonLeft))
	if got := text("range"); !strings.Contains(got, "of 0:22") || strings.HasPrefix(got, "0:00") {
		t.Errorf("after dragging the range is %q", got)
	}
	key(kb.Escape)
	do(chromedp.Click(chromedp.CSS(`[data-do="all"]`)))
	// A click on the row of lib tells of its step.
	do(chromedp.MouseClickXY(box[0]+box[2]*.6, box[1]+rowOf(t, ctx, "lib@linux-amd64")))
	says("detail", "lib@linux-amd64 · build")

	do(chromedp.SendKeys(chromedp.CSS("#filter"), "file00007 LIB"))
	says("shown", "1 of 1 that match")
	if got := text("rows"); !strings.Contains(got, "file00007.cpp.o") {
		t.Errorf("the filter shows %q", got)
	}
	if said := complaints(); len(said) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(said, "\n"))
	}
}

// rowOf is the middle of a component's row in the time line, from its top. The
// rows are the lowest part, one every 24 pixels.
func rowOf(t *testing.T, ctx context.Context, id string) float64 {
	t.Helper()
	return ask[float64](t, ctx, `(() => { const d = JSON.parse(document.getElementById("data").textContent), i = d.nodes.findIndex(n => n.id === `+quote(id)+`); return document.getElementById("canvas").clientHeight - 4 - 24 * (d.nodes.length - i) + 11; })()`)
}

// Pages of builds that are very small, very large, or did nothing.
func TestExtremePages(t *testing.T) {
	ctx, complaints := tab(t)
	nothing := newStory(t)
	nothing.at(0, trace.Event{Kind: trace.BuildStart, Msg: "therock build"})
	many := newStory(t)
	for i := range 3000 { // taller than any browser's canvas, were it not for our bound
		many.at(i, trace.Event{Kind: trace.NodeStart, Node: fmt.Sprint("n", i)})
		many.at(i+50, trace.Event{Kind: trace.NodeEnd, Node: fmt.Sprint("n", i), Outcome: trace.Built})
	}
	for name, r := range map[string]*Report{"nothing": nothing.read(), "3000 components": many.read(), "no edges": eventful(t, 2), "4000 edges": eventful(t, 4000)} {
		t.Run(name, func(t *testing.T) {
			open(t, ctx, page(t, r), 400, "light")
			if said := complaints(); len(said) > 0 {
				t.Errorf("the browser complains:\n%s", strings.Join(said, "\n"))
			}
			if w := ask[[]int](t, ctx, `[document.documentElement.scrollWidth, innerWidth]`); w[0] > w[1] {
				t.Errorf("the page is %d wide in a window of %d", w[0], w[1])
			}
			if !ask[bool](t, ctx, `canvas.getContext("2d").getImageData(0, 0, canvas.width, 9).data.some((v) => v > 0)`) {
				t.Error("the time line is blank")
			}
		})
	}
}
