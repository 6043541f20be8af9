package browser

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/ascii85"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What all tests share: the program, what it exported, and a browser.
var (
	simulate, folder, oneFile, site string
	allocator                       context.Context
	document                        struct {
		Lessons []struct {
			Name, Aha string
			Guess     []struct{ Key, Kind string }
			Live      *struct {
				Do, Recipe string
				Set        []string
			}
			Controls []struct{ Key, Value string }
		}
	}
)

func TestMain(m *testing.M) {
	status := 1
	defer func() { os.Exit(status) }()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		fmt.Println("no Chromium on this machine: the lab is not driven in a browser")
		status = 0
		return
	}
	dir, err := os.MkdirTemp("", "lab-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	simulate, folder, oneFile, site = filepath.Join(dir, "simulate"), filepath.Join(dir, "lab"), filepath.Join(dir, "lab.html"), filepath.Join(dir, "site")
	root := filepath.Join("..", "..")
	for _, args := range [][]string{{"go", "build", "-C", root, "-o", simulate, "./cmd/simulate"}, {simulate, "lab", "--export", folder}, {simulate, "lab", "--export", oneFile}, {simulate, "site", "--out", site}} {
		command := exec.Command(args[0], args[1:]...)
		if args[0] == simulate {
			command.Dir = root
		}
		if out, err := command.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %v\n%s", args, err, out))
		}
	}
	packed, err := os.Open(filepath.Join(root, "results", "lab", "lab.json.gz"))
	if err != nil {
		panic(err)
	}
	text, err := gzip.NewReader(packed)
	if err == nil {
		err = json.NewDecoder(text).Decode(&document)
	}
	if err != nil {
		panic(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	var cancel context.CancelFunc
	allocator, cancel = chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	status = m.Run()
}

// tab is one open page, with all that it complained of and asked for.
type tab struct {
	testing.TB
	ctx      context.Context
	mu       sync.Mutex // of what the browser's events fill
	faults   []string
	requests []string
}

// open opens an address in a window of its own.
func open(t testing.TB, url string, width int, scheme string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	p := &tab{TB: t, ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			p.faults = append(p.faults, fmt.Sprintf("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description))
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" {
				p.faults = append(p.faults, fmt.Sprintf("console: %s", e.Args[0].Value))
			}
		case *network.EventRequestWillBeSent:
			p.requests = append(p.requests, e.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	actions := append([]chromedp.Action[chromedp.Void]{call(network.Enable, network.EnableParams{}), chromedp.EmulateViewport(int64(width), 900),
		prefers(scheme),
		first(`window.refused = []; addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI));`)}, before...)
	p.do(append(actions, chromedp.Navigate(url))...)
	return p
}

// prefers makes the system ask for light or dark pages.
func prefers(scheme string) chromedp.Action[chromedp.Void] {
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// call is a command of the browser's protocol as an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// offline cuts the page's network. Every version of Chromium has this command; the fields of its
// successor, emulateNetworkConditionsByRule, change from version to version.
var offline = cdp.Command[network.OverrideNetworkStateParams, cdp.Empty]{Method: "Network.emulateNetworkConditions"}

// first runs a script before those of the page.
func first(script string) chromedp.Action[chromedp.Void] {
	return call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// eval evaluates an expression in the page.
func eval[T any](p *tab, expression string) (out T) {
	p.Helper()
	out, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%.200s: %v", expression, err)
	}
	return out
}

// until waits for an expression to be true.
func (p *tab) until(expression string) {
	p.Helper()
	deadline := time.Now().Add(4 * time.Minute)
	for !eval[bool](p, "!!("+expression+")") {
		if time.Now().After(deadline) {
			p.Fatalf("never true: %s\npage: %.600s", expression, eval[string](p, "document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// judge fails for a page that is wider than its window, or that violates a rule of accessibility.
func (p *tab) judge(where string, width int) {
	p.Helper()
	if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > width {
		p.Errorf("%s is %d px wide", where, wide)
	}
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
	if err != nil {
		p.Fatal(err)
	}
	if !eval[bool](p, "!!window.axe") {
		p.do(chromedp.Evaluate[chromedp.Void](string(axe)))
	}
	for _, v := range eval[[]string](p, `axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join("; ") + " " + (v.nodes[0].any[0] || v.nodes[0].all[0] || {}).message))`) {
		p.Errorf("%s: %s", where, v)
	}
}

// clean fails for whatever the page complained of.
func (p *tab) clean() {
	p.Helper()
	refused := eval[[]string](p, "window.refused")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range append(p.faults, refused...) {
		p.Error(f)
	}
}

// goTo opens another lesson in the page as it is.
func (p *tab) goTo(lesson string) {
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = 'lesson=%s'", lesson)))
	p.until(fmt.Sprintf("document.querySelector('#lessons a[aria-current]')?.dataset.name === '%s' && location.hash.includes('%s')", lesson, lesson))
}

// skip shows the recording.
func (p *tab) skip() {
	p.until("document.querySelector('.aha, .live')")
	p.do(chromedp.Evaluate[chromedp.Void](`{ const b = [...document.querySelectorAll(".guess button")].find((b) => b.textContent.startsWith("Skip")); if (b) b.click(); }`))
	p.until("!document.querySelector('.aha') || !document.querySelector('.aha').hidden")
}

// local is the address of a file.
func local(path string) string { return "file://" + filepath.ToSlash(path) }

// serve starts `simulate lab` and returns its address.
func serve(t testing.TB) string {
	t.Helper()
	command := exec.Command(simulate, "lab", "-q")
	command.Dir = filepath.Join("..", "..")
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Signal(os.Interrupt)
		if err := command.Wait(); err != nil {
			t.Errorf("simulate lab ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("%v: %q", err, line)
	}
	return address
}

// TestLook: every lesson at three widths on both papers: no fault, no sideways scroll, no
// violation of the accessibility rules before and after the guess, and the sentence on
// the page is the sentence of lab.json, whose figures a test of results/lab holds against what is
// published.
func TestLook(t *testing.T) {
	for _, width := range []int{390, 768, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, " ", scheme), func(t *testing.T) {
				p := open(t, local(filepath.Join(folder, "index.html")), width, scheme)
				judge := func(where string) {
					t.Helper()
					p.judge(where, width)
				}
				for _, l := range document.Lessons {
					p.goTo(l.Name)
					judge(l.Name + " before the guess")
					p.skip()
					if got := eval[string](p, "document.querySelector('.aha-text').textContent"); got != l.Aha {
						t.Errorf("%s says %q, lab.json %q", l.Name, got, l.Aha)
					}
					if eval[int](p, "document.querySelectorAll('.stage figure').length") == 0 {
						t.Errorf("%s shows no picture", l.Name)
					}
					p.do(chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('main details').forEach((d) => { d.open = true; })"))
					p.until("[...document.querySelectorAll('.stage figure > details')].every((d) => d.children.length > 1)")
					judge(l.Name)
				}
				p.goTo("free")
				judge("free")
				p.clean()
			})
		}
	}
}

// TestKeyboard: a lesson from the first key to the last, without a pointer.
func TestKeyboard(t *testing.T) {
	p := open(t, local(oneFile), 1280, "light")
	for i, l := range document.Lessons {
		p.do(chromedp.KeyEvent(fmt.Sprint(i + 1)))
		p.until(fmt.Sprintf("document.querySelector('#lessons a[aria-current]')?.dataset.name === '%s'", l.Name))
		p.do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
		reached := map[string]bool{}
		for range 60 { // Tab through the form to the button
			p.do(chromedp.KeyEvent(kb.Tab))
			at := eval[string](p, "document.activeElement.type || document.activeElement.tagName")
			reached[at] = true
			switch {
			case at == "number":
				p.do(chromedp.KeyEvent("5"))
			case at == "select-one", at == "radio", at == "range":
				p.do(chromedp.KeyEvent(kb.ArrowDown))
			case at == "button" && eval[bool](p, "document.activeElement.closest('.ranks') !== null"):
				p.do(chromedp.KeyEvent(kb.Enter))
			}
			if at == "submit" {
				break
			}
		}
		if !reached["submit"] {
			t.Errorf("%s: Tab does not reach the guess: %v", l.Name, reached)
			continue
		}
		if eval[string](p, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
			t.Errorf("%s: the focus cannot be seen", l.Name)
		}
		p.do(chromedp.KeyEvent(kb.Enter))
		p.until("!document.querySelector('.aha').hidden")
		if n := eval[int](p, "document.querySelectorAll('.answer .yours').length"); n == 0 {
			t.Errorf("%s: the guess is not beside the answer", l.Name)
		}
	}
	// Another page of the visit still has the guess, another visit has not.
	p.do(chromedp.KeyEvent("1"))
	p.until("document.querySelector('.answer .yours')")
	p.clean()
}

// computed runs a lesson or the free tab and returns the command, the digest and the table.
func (p *tab) compute() (command, digest string) {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.run').click()"))
	p.until("document.querySelector('.outcome .command, .outcome .fault')")
	if fault := eval[string](p, "(document.querySelector('.outcome .fault') || {}).textContent || ''"); fault != "" {
		p.Fatal(fault)
	}
	return eval[string](p, "document.querySelector('.outcome .command').textContent"), eval[string](p, "(document.querySelector('.digest code') || {}).textContent || ''")
}

// inShell runs a command that the page printed.
func inShell(t *testing.T, program, command string, more ...string) []byte {
	t.Helper()
	words := strings.Replace(command, "simulate", program, 1) + " " + strings.Join(more, " ")
	c := exec.Command("sh", "-c", words)
	c.Dir = t.TempDir()
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", words, err, complaints.String())
	}
	return out
}

// TestSameDigest: what the page computes has the digest of the command that it prints: on
// one core and on two, with assembly and in plain Go. LAB_WHOLE=1 makes the lessons' runs
// to their end, not to their third step.
func TestSameDigest(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "simulate")
	if out, err := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-tags", "purego", "-o", plain, "./cmd/simulate").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := open(t, serve(t), 1280, "light")
	type run struct{ name, recipe, set string }
	runs := []run{{"fp8 rollouts", "headline", "rollout.numerics=fp8-w8a8\nlearner.numerics=bf16\nrollout.prompts=2\nrollout.group=4\ncorrection.weights=token_tis\nsteps=3"}}
	for _, l := range document.Lessons {
		if l.Live == nil || l.Live.Do != "train" {
			continue
		}
		set := strings.Join(l.Live.Set, "\n")
		if os.Getenv("LAB_WHOLE") == "" {
			set += "\nsteps=3"
		}
		for _, c := range l.Controls {
			set = strings.ReplaceAll(set, "{"+c.Key+"}", c.Value)
		}
		runs = append(runs, run{l.Name, l.Live.Recipe, set})
	}
	for _, l := range runs {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = new URLSearchParams({lesson: 'free', recipe: %q, do: 'train', set: %q})", l.recipe, l.set)))
		p.until("document.querySelector('textarea') && document.querySelector('textarea').value === " + fmt.Sprintf("%q", l.set))
		begun := time.Now()
		command, digest := p.compute()
		t.Logf("%s: computed in %.1f s", l.name, time.Since(begun).Seconds())
		for _, n := range []struct{ program, cores string }{{simulate, "1"}, {simulate, "2"}, {plain, "2"}} {
			var native struct{ Digest string }
			if err := json.Unmarshal(inShell(t, n.program, command, "--workers", n.cores, "--json", "-q", "--out", "run"), &native); err != nil || digest == "" || digest != native.Digest {
				t.Errorf("%s: %q in the page, %q of %s with %s cores, %v", l.name, digest, native.Digest, n.program, n.cores, err)
			}
		}
		p.goTo(document.Lessons[0].Name)
	}
	p.clean()
}

// TestDrag: the band of the lesson about length is set by dragging it in the plot, and
// the plot stays the same one meanwhile.
func TestDrag(t *testing.T) {
	p := open(t, local(oneFile), 1280, "light")
	p.goTo("length")
	p.skip()
	p.until("document.querySelector('.kind-dots .u-over')")
	const value = "[...document.querySelectorAll('.control.range select')].map((s) => s.value).join()"
	before := eval[string](p, value)
	at := eval[[]float64](p, `{ const plot = document.querySelector(".kind-dots .u-over"); plot.first = true; plot.scrollIntoView({ block: "center" }); const b = plot.getBoundingClientRect(); [b.left + b.width / 2, b.top + b.height / 2, b.top + 2] }`)
	mouse := func(kind input.DispatchMouseEventType, y float64, held int64) chromedp.Action[chromedp.Void] {
		return call(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: y, Button: "left", Buttons: held, ClickCount: 1})
	}
	p.do(mouse("mousePressed", at[1], 1), mouse("mouseMoved", (at[1]+at[2])/2, 1), mouse("mouseMoved", at[2], 1), mouse("mouseReleased", at[2], 0))
	after := eval[string](p, value)
	if after != "6" || before == after {
		t.Errorf("the band was option %s and is %s", before, after)
	}
	for _, sign := range []string{
		"document.querySelector('.kind-dots .u-over').first",
		"location.hash.includes('cap=6')",
		"[...document.querySelectorAll('.kind-lines .keys')].some((k) => k.textContent.includes('[1/10, 10]'))",
	} {
		if !eval[bool](p, "!!("+sign+")") {
			t.Errorf("not so: %s", sign)
		}
	}
	p.clean()
}

// drawn waits until the page is drawn: for one frame the stage keeps the height of what it
// showed before, and the end of the page is further down.
func (p *tab) drawn() {
	eval[bool](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
}

// press presses and releases the mouse at one place, as a person does: what moves away in
// between is not clicked.
func (p *tab) press(x, y float64) {
	for _, kind := range []input.DispatchMouseEventType{"mousePressed", "mouseReleased"} {
		p.do(call(input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: "left", Buttons: 1, ClickCount: 1}))
		time.Sleep(50 * time.Millisecond)
	}
}

// window opens the page at a lesson in a window of that size.
func window(t testing.TB, lesson string, width, height int64) *tab {
	t.Helper()
	p := open(t, local(oneFile)+"#lesson="+lesson, int(width), "light", chromedp.EmulateViewport(width, height))
	p.do(chromedp.EmulateViewport(width, height))
	p.until("document.querySelector('.guess form')")
	return p
}

// TestFirstClick: the first click on either button of the guess counts, with the page
// scrolled to its end too, where a line that goes away moves the button; with the teacher's
// switch, whose line counts seconds, as without.
func TestFirstClick(t *testing.T) {
	const fill = `for (const i of document.querySelectorAll(".guess input[type=number]")) { i.value = 5; i.dispatchEvent(new Event("input")); }
		for (const s of document.querySelectorAll(".guess select")) s.selectedIndex = 1;
		for (const f of document.querySelectorAll(".guess fieldset")) { const r = f.querySelector("input[type=radio]"); if (r) r.checked = true; }`
	for _, size := range [][2]int64{{1366, 768}, {1280, 900}, {390, 844}} {
		p := window(t, document.Lessons[0].Name, size[0], size[1])
		for _, l := range document.Lessons {
			for _, button := range []string{"submit", "button"} {
				for _, teacher := range []bool{false, true} {
					p.goTo(l.Name)
					p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".again")?.click(); document.activeElement.blur()`))
					p.until("document.querySelector('.guess form')")
					p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const s = document.getElementById("by-itself"); if (s.checked) s.click(); if (%v) s.click(); s.blur(); %s }`, teacher, fill)))
					p.drawn()
					at := eval[[]float64](p, fmt.Sprintf(`(() => { const b = document.querySelector(".guess form > .row > button[type=%s]"); scrollTo(0, 1e6);
						if (b.getBoundingClientRect().top < 60) b.scrollIntoView({ block: "center" });
						const r = b.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height * 0.3, r.bottom, r.height]; })()`, button))
					if at[2] > float64(size[1]) || at[3] < 44 {
						t.Errorf("%s, %v: the button ends at %g and is %g high", l.Name, size, at[2], at[3])
					}
					p.press(at[0], at[1])
					if eval[bool](p, "document.querySelector('.aha').hidden") {
						t.Errorf("%s, %v, teacher's switch %v: the first click on %s is lost", l.Name, size, teacher, button)
					}
				}
			}
		}
		p.clean()
	}
}

// TestByItself: the answer appears by itself for a teacher who asks for that, and never else.
func TestByItself(t *testing.T) {
	p := open(t, local(oneFile), 1280, "light", first("window.patient = setTimeout; window.setTimeout = (f, ms, ...more) => patient(f, ms / 50, ...more)"))
	p.until("document.querySelector('.guess form')")
	p.do(chromedp.Sleep(time.Second)) // fifty of the page's
	if !eval[bool](p, "document.querySelector('.aha').hidden") {
		t.Error("the answer appeared without being asked for")
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('by-itself').click()"))
	p.until("!document.querySelector('.aha').hidden")
	p.clean()
}

// TestTouch: on a phone what is touched is 44 pixels high, and the button that computes can be
// reached: nothing covers it when it is scrolled into view.
func TestTouch(t *testing.T) {
	p := window(t, document.Lessons[0].Name, 390, 844)
	for _, l := range document.Lessons {
		p.goTo(l.Name)
		p.skip()
		for _, small := range eval[[]string](p, `[...document.querySelectorAll("button, select, summary, input:not([type=checkbox]):not([type=radio]), footer label, footer p > a, .lessons a")]
			.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 44).map((e) => e.tagName + " " + e.textContent.slice(0, 40) + " " + e.getBoundingClientRect().height)`) {
			t.Errorf("%s: %s", l.Name, small)
		}
		if l.Live == nil {
			continue
		}
		for _, unfolded := range []bool{false, true} {
			if !eval[bool](p, fmt.Sprintf(`(() => { document.querySelector(".knobs").open = %v; const b = document.querySelector(".run"); b.scrollIntoView({ block: "center" });
				const r = b.getBoundingClientRect(); return b.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)); })()`, unfolded)) {
				t.Errorf("%s, controls unfolded %v: something covers the button", l.Name, unfolded)
			}
		}
	}
	p.clean()
}

// TestPrint: on paper there is nothing to press, the pictures are as wide as the paper, and a
// dark page prints on white.
func TestPrint(t *testing.T) {
	p := open(t, local(oneFile), 1366, "dark")
	media := func(name string) chromedp.Action[chromedp.Void] {
		return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: name, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	}
	for _, l := range document.Lessons {
		p.goTo(l.Name)
		for _, answered := range []bool{false, true} {
			p.do(media("screen"))
			if answered {
				p.skip()
			}
			p.do(media("print"), chromedp.EmulateViewport(718, 1000), chromedp.Evaluate[chromedp.Void]("dispatchEvent(new Event('beforeprint'))"))
			if theme := eval[string](p, "document.documentElement.dataset.theme"); theme != "light" {
				t.Errorf("%s prints %s", l.Name, theme)
			}
			for _, control := range eval[[]string](p, `[...document.querySelectorAll("button, input, select, textarea, summary, nav, footer, .engine, .veil")].filter((e) => e.checkVisibility()).map((e) => e.tagName + " " + e.textContent.slice(0, 40))`) {
				t.Errorf("%s, answered %v: prints %s", l.Name, answered, control)
			}
			if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > 718 {
				t.Errorf("%s, answered %v: %d px on paper of 718", l.Name, answered, wide)
			}
			if !eval[bool](p, "document.querySelector('h1').checkVisibility() && document.querySelector('.question').checkVisibility()") {
				t.Errorf("%s: the question is not printed", l.Name)
			}
			if figures := eval[int](p, "[...document.querySelectorAll('.stage figure')].filter((e) => e.checkVisibility()).length"); answered && figures == 0 {
				t.Errorf("%s: no picture is printed", l.Name)
			}
			p.do(chromedp.Evaluate[chromedp.Void]("dispatchEvent(new Event('afterprint'))"), chromedp.EmulateViewport(1366, 768))
			if theme := eval[string](p, "document.documentElement.dataset.theme"); theme != "dark" {
				t.Errorf("%s: after printing the page is %s", l.Name, theme)
			}
		}
	}
	p.do(media("screen"))
	p.clean()
}

// TestAddressKept: a lesson that is painted again does not write its address over that of a link
// just followed.
func TestAddressKept(t *testing.T) {
	p := open(t, local(oneFile), 1366, "light")
	p.goTo("gap")
	p.skip()
	p.do(chromedp.Evaluate[chromedp.Void](`window.painted = 0; new MutationObserver(() => painted++).observe(document.querySelector(".stage"), { childList: true, subtree: true });
		history.replaceState(null, "", "#lesson=routing"); document.querySelector(".theme").click(); document.querySelector(".theme").click();`))
	p.until("painted > 0")
	if hash := eval[string](p, "location.hash"); hash != "#lesson=routing" {
		t.Errorf("painting writes the address %s", hash)
	}
	p.clean()
}

// slow writes 20 Mbit a second.
type slow struct{ http.ResponseWriter }

func (s slow) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(len(b)) * 8 * time.Second / 20e6)
	return s.ResponseWriter.Write(b)
}

// TestSlowLine: how long the page takes over a line of 20 Mbit/s is printed.
func TestSlowLine(t *testing.T) {
	to, err := url.Parse(serve(t))
	if err != nil {
		t.Fatal(err)
	}
	line := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { line.ServeHTTP(slow{w}, r) }))
	defer server.Close()
	begun := time.Now()
	p := open(t, server.URL, 1280, "light")
	p.until("document.querySelector('.guess button')")
	page := time.Since(begun)
	p.until("document.querySelector('#engine').dataset.state === 'ready'")
	t.Logf("20 Mbit/s: the first question after %.1f s, the engine ready after %.1f s", page.Seconds(), time.Since(begun).Seconds())
	p.clean()
}

// TestLive: what a lesson computes without training appears beside its recording.
func TestLive(t *testing.T) {
	p := open(t, local(oneFile), 1280, "light")
	for _, l := range document.Lessons {
		if l.Live == nil || l.Live.Do == "train" {
			continue
		}
		p.goTo(l.Name)
		p.skip()
		begun := time.Now()
		command, _ := p.compute()
		t.Logf("%s: %s in %.1f s", l.Name, l.Live.Do, time.Since(begun).Seconds())
		if strings.ContainsAny(command, "{}") {
			t.Errorf("%s: an unfilled place in %q", l.Name, command)
		}
		p.until("document.querySelector('.stage').textContent.includes('omputed here')")
	}
	p.clean()
}

// TestNothingLeaves: the page speaks to its origin only, and computes when
// that is gone; from a disk it asks for the file beside it, and as one file for nothing.
func TestNothingLeaves(t *testing.T) {
	address := serve(t)
	for name, c := range map[string]struct{ url, origin string }{
		"served":   {address, address},
		"folder":   {local(filepath.Join(folder, "index.html")), local(folder)},
		"one file": {local(oneFile), local(oneFile)},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			p := open(t, c.url, 1280, "light")
			p.until("document.querySelector('.lesson .guess button')")
			t.Logf("first interaction after %.2f s", time.Since(begun).Seconds())
			p.until("document.querySelector('#engine').dataset.state === 'ready'")
			t.Logf("the engine is ready after %.2f s", time.Since(begun).Seconds())
			p.do(call(offline, network.OverrideNetworkStateParams{Offline: true}))
			p.skip()
			command, _ := p.compute()
			t.Logf("%s: done after %.2f s", command, time.Since(begun).Seconds())
			for _, r := range p.requests {
				if !strings.HasPrefix(r, c.origin) && !strings.HasPrefix(r, "blob:") && !strings.HasPrefix(r, "data:") {
					t.Errorf("a request to %s", r)
				}
			}
			// The browser itself refuses: not even a page that wanted to could tell.
			if eval[string](p, `fetch("https://example.com/").then(() => "sent", () => "refused")`) != "refused" {
				t.Error("a request elsewhere is not refused")
			}
			if refused := eval[[]string](p, "refused"); len(refused) != 1 || !strings.HasPrefix(refused[0], "connect-src https://example.com") {
				t.Errorf("refused: %q", refused)
			}
		})
	}
}

// TestFaults: a worker that dies, a program that is damaged or missing, a browser that
// cannot compute: each is said, and the recordings stay.
func TestFaults(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile(`program-[0-9a-f]+\.js`).FindString(string(index))
	text, err := os.ReadFile(filepath.Join(folder, program))
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(data []byte) string {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, "index.html"), index, 0o666)
		if data != nil {
			os.WriteFile(filepath.Join(dir, program), data, 0o666)
		}
		return local(filepath.Join(dir, "index.html"))
	}
	without := first("delete window.WebAssembly")
	flipped := bytes.Clone(text)
	copy(flipped[len(flipped)/2:], "AAAAAAAAAAAAAAAAAAAAAAAA")
	for name, c := range map[string]struct {
		url    string
		before []chromedp.Action[chromedp.Void]
		says   string
	}{
		"missing":        {damaged(nil), nil, program},
		"cut short":      {damaged(append(bytes.Clone(text[:len(text)/2/4*4]), "\");\n"...)), nil, "recordings stay"},
		"changed":        {damaged(flipped), nil, "recordings stay"},
		"no WebAssembly": {local(oneFile), []chromedp.Action[chromedp.Void]{without}, "cannot compute here"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, c.url, 1280, "light", c.before...)
			p.until("document.querySelector('#engine').dataset.state === 'broken'")
			if says := eval[string](p, "document.querySelector('#engine').innerText"); !strings.Contains(says, c.says) {
				t.Errorf("it says %q", says)
			}
			p.skip()
			p.until("document.querySelectorAll('.stage figure').length > 0")
		})
	}
	t.Run("killed", func(t *testing.T) {
		p := open(t, local(oneFile), 1280, "light")
		p.until("document.querySelector('#engine').dataset.state === 'ready'")
		p.skip()
		p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.run').click()"))
		p.until("document.querySelector('#engine').dataset.state === 'busy'")
		p.do(chromedp.Evaluate[chromedp.Void]("engine.kill()"))
		p.until("document.querySelector('.outcome .fault')")
		if eval[int](p, "document.querySelectorAll('.stage figure').length") == 0 {
			t.Error("the recording went with the worker")
		}
		p.compute() // another worker, without compiling again
		p.clean()
	})
}

// TestLongTasks: the page answers while a run goes on. Its longest task is printed.
func TestLongTasks(t *testing.T) {
	p := open(t, local(oneFile), 1280, "light")
	p.until("document.querySelector('#engine').dataset.state === 'ready'")
	p.do(chromedp.Evaluate[chromedp.Void]("location.hash = new URLSearchParams({lesson: 'free', recipe: 'headline', do: 'train', set: 'rollout.prompts=2\\nrollout.group=4\\nsteps=6\\neval={every: 2, prompts: 4}'})"))
	p.until("document.querySelector('textarea')")
	p.do(chromedp.Evaluate[chromedp.Void]("window.longest = 0; new PerformanceObserver((l) => { for (const e of l.getEntries()) longest = Math.max(longest, e.duration); }).observe({ type: 'longtask' })"))
	p.compute()
	t.Logf("longest task of the page's thread while training: %.0f ms (0: none of 50 ms)", eval[float64](p, "longest"))
	if n := eval[int](p, "document.querySelectorAll('.stage figure').length"); n < 2 {
		t.Errorf("%d pictures of the run", n)
	}
	p.clean()
}

// TestSameBuild: two builds in different folders give equal bytes.
func TestSameBuild(t *testing.T) {
	var builds [2][]byte
	for i := range builds {
		dir := t.TempDir()
		unpack := exec.Command("sh", "-c", "git archive HEAD ':!results/published' ':!testdata' | tar x -C "+dir)
		unpack.Dir = filepath.Join("..", "..")
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", "lab.wasm", "./cmd/simulate/lab")
		build.Dir, build.Env = dir, append(os.Environ(), "GOOS=js", "GOARCH=wasm")
		for _, c := range []*exec.Cmd{unpack, build} {
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", c.Args, err, out)
			}
		}
		var err error
		if builds[i], err = os.ReadFile(filepath.Join(dir, "lab.wasm")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(builds[0], builds[1]) {
		t.Error("two builds of the program differ")
	}
}

// TestSizes keeps what is delivered below its size when this was written, with room.
func TestSizes(t *testing.T) {
	size := func(path string) int {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return int(info.Size())
	}
	packed, dumps := 0, 0 // the page for dumps has a program of its own
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var module []byte
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(text)
		z.Close()
		if e.Name() == "diagnose.html" {
			dumps = b.Len()
		} else {
			packed += b.Len()
		}
		if _, inside, ok := bytes.Cut(text, []byte(`driftlabProgram("`)); ok && strings.HasPrefix(e.Name(), "program") {
			text, _, _ := bytes.Cut(inside, []byte(`"`))
			plain := strings.NewReplacer("v", `"`, "w", `\`, "x", "<").Replace(string(text))
			if module, err = io.ReadAll(ascii85.NewDecoder(strings.NewReader(plain))); err != nil {
				t.Fatal(err)
			}
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(module))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.Copy(io.Discard, z)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what       string
		size, most int
	}{{"module", int(raw), 16_000_000}, {"module, gzip", len(module), 4_400_000}, {"one file", size(oneFile), 6_000_000}, {"folder, compressed", packed, 5_000_000}, {"page for dumps, compressed", dumps, 7_600_000}} {
		t.Logf("%s: %.2f MB", c.what, float64(c.size)/1e6)
		if c.size > c.most {
			t.Errorf("%s: %d bytes, more than %d", c.what, c.size, c.most)
		}
	}
}
