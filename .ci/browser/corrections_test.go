package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// corrections is the address of the published page of corrections, and of the lab's.
func corrections(t testing.TB, state string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "results", "published", "table", "corrections.html"))
	if err != nil {
		t.Fatal(err)
	}
	return local(path) + state
}

// visible are the settings of the table that is shown, in its order.
const visible = `[...document.querySelectorAll("section.problem:not([hidden]) tr[data-setting]:not([hidden]) .name")].map((b) => b.textContent)`

// state is what the address says, without the lesson's name.
func (p *tab) state() string {
	p.Helper()
	return strings.TrimPrefix(strings.TrimPrefix(eval[string](p, "location.hash"), "#"), "lesson=which&")
}

// TestCorrectionsLook: the page of corrections by itself and in the lab, on a phone and wide, on
// both papers, with a setting open: no fault, no sideways scroll, no violation of the
// accessibility rules, and the answer is on the first screen.
func TestCorrectionsLook(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"by itself": corrections(t, "#"), "in the lab": local(oneFile) + "#lesson=which&"} {
		for _, width := range []int{360, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprint(name, " ", width, " ", scheme), func(t *testing.T) {
					p := open(t, address+"problem=age16&open=sequence_tis-2", width, scheme)
					p.until("document.querySelector('section.problem[data-problem=age16] tr.more')")
					if eval[string](p, "document.documentElement.dataset.theme") != scheme {
						t.Errorf("the page is not %s", scheme)
					}
					if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > width {
						t.Errorf("the page is %d px wide", wide)
					}
					if end := eval[float64](p, "document.querySelector('section.problem:not([hidden]) .harms').getBoundingClientRect().bottom + scrollY"); end > 900 {
						t.Errorf("the answer ends at %.0f px, below the first screen", end)
					}
					if text := eval[string](p, "document.querySelector('section.problem:not([hidden]) .answer').innerText"); !strings.Contains(text, "Recommended setting: sequence_tis-5") || !strings.Contains(text, "n = 10 seeds") {
						t.Errorf("the answer is %q", text)
					}
					p.do(chromedp.Evaluate[chromedp.Void](string(axe)))
					p.do(chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details.all').forEach((d) => { d.open = true; })"))
					for _, v := range eval[[]string](p, `axe.run(document.querySelector(".corrections"), { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join("; ") + " " + (v.nodes[0].any[0] || v.nodes[0].all[0] || {}).message))`) {
						t.Error(v)
					}
					p.clean()
					for _, r := range p.requests {
						if !strings.HasPrefix(r, "file:") && !strings.HasPrefix(r, "data:") && !strings.HasPrefix(r, "blob:") {
							t.Errorf("the page asks for %s", r)
						}
					}
				})
			}
		}
	}
}

// TestCorrectionsKeyboard: the problem, a filter, the order and a setting are chosen by keys
// alone; the count is said, and the address has all of it, so that another window shows the
// same.
func TestCorrectionsKeyboard(t *testing.T) {
	p := open(t, corrections(t, ""), 1280, "light")
	p.until(visible + ".length > 0")
	// to presses Tab until an expression is true of the focused element.
	to := func(what, is string) {
		t.Helper()
		for range 200 {
			p.do(chromedp.KeyEvent(kb.Tab))
			if eval[bool](p, "((e) => !!("+is+"))(document.activeElement)") {
				if eval[string](p, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
					t.Errorf("%s: the focus cannot be seen", what)
				}
				return
			}
		}
		t.Fatalf("Tab does not reach %s", what)
	}
	to("the problem", "e.id === 'problem'")
	p.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	p.until("location.hash === '#problem=age16'")
	to("a button to copy", "e.matches('.answer .copy')")
	to("the families", "e.name === 'family'")
	p.do(chromedp.KeyEvent("w"))
	p.until("location.hash.includes('family=weights')")
	if said := eval[string](p, "document.querySelector('[role=status].count').textContent"); !strings.Contains(said, "of 78 settings, sorted by improvement, descending") {
		t.Errorf("the count is %q", said)
	}
	to("the frameworks", "e.name === 'framework'")
	to("the heading p", "e.matches('.sort') && e.textContent === 'p'")
	sorted := func() string {
		t.Helper()
		return eval[string](p, "[...document.querySelectorAll('section.problem:not([hidden]) th[aria-sort]')].map((h) => h.textContent + ' ' + h.getAttribute('aria-sort')).join()")
	}
	if got := sorted(); got != "improvement descending" {
		t.Errorf("sorted by %s", got)
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("location.hash.includes('sort=last')")
	if got := sorted(); got != "p ascending" {
		t.Errorf("sorted by %s", got)
	}
	p.do(chromedp.KeyEvent(" "))
	p.until("location.hash.includes('sort=-last')")
	to("a setting", "e.matches('.name')")
	first := eval[string](p, "document.activeElement.textContent")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("document.activeElement.getAttribute('aria-expanded') === 'true' && document.querySelector('tr.more .method')")
	to("a button to copy in the row", "e.matches('tr.more .copy')")
	want := eval[[]string](p, visible)
	again := open(t, corrections(t, "#"+p.state()), 1280, "light")
	again.until("document.querySelector('tr.more')")
	if got := eval[[]string](again, visible); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("another window shows %v, this one %v", got, want)
	}
	if got := eval[string](again, "document.querySelector('.name[aria-expanded=true]').textContent"); got != first {
		t.Errorf("another window opens %s, want %s", got, first)
	}
	p.clean()
	again.clean()
}

// TestCorrectionsOrder: each heading sorts up and down as its figures do, equal ones keep the
// order of the page as it was written, and what has no figure is last.
func TestCorrectionsOrder(t *testing.T) {
	written := open(t, corrections(t, "#all=1"), 1280, "light")
	data := struct {
		Problems []string
		Settings []struct {
			Name, Family string
			Frameworks   []string
			Regret       []float64
			Effects      [][]*float64
		}
	}{}
	if err := json.Unmarshal([]byte(eval[string](written, "document.querySelector('.corrections script').textContent")), &data); err != nil {
		t.Fatal(err)
	}
	for j, problem := range append(data.Problems, "any") {
		written.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = 'all=1&problem=%s'", problem)))
		written.until(fmt.Sprintf("!document.querySelector('section.problem[data-problem=\"%s\"]').hidden", problem))
		place := map[string]int{}
		for i, name := range eval[[]string](written, visible) {
			place[name] = i
		}
		if len(place) != len(data.Settings) {
			t.Fatalf("%s: %d settings are shown, want %d", problem, len(place), len(data.Settings))
		}
		figure := map[string]map[string]*float64{"figure": {}, "last": {}}
		for i := range data.Settings {
			s := &data.Settings[i]
			if problem == "any" {
				figure["figure"][s.Name], figure["last"][s.Name] = &s.Regret[0], &s.Regret[3]
			} else {
				figure["figure"][s.Name], figure["last"][s.Name] = s.Effects[j][0], s.Effects[j][3]
			}
		}
		for key, of := range figure {
			for _, sign := range []string{"", "-"} {
				written.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = 'all=1&problem=%s&sort=%s%s'", problem, sign, key)))
				order := map[string]string{"": "ascending", "-": "descending"}[sign]
				written.until(fmt.Sprintf("document.querySelector('section.problem:not([hidden]) th[data-sort=%s]').getAttribute('aria-sort') === '%s'", key, order))
				names := eval[[]string](written, visible)
				for i := 1; i < len(names); i++ {
					a, b := of[names[i-1]], of[names[i]]
					if a == nil && b != nil {
						t.Errorf("%s by %s%s: %s has no figure and is not last", problem, sign, key, names[i-1])
					}
					if a == nil || b == nil {
						continue
					}
					if up := *a < *b; *a != *b && up != (sign == "") || *a == *b && place[names[i-1]] > place[names[i]] {
						t.Errorf("%s by %s%s: %s (%v) stands before %s (%v)", problem, sign, key, names[i-1], *a, names[i], *b)
					}
				}
			}
		}
	}
	written.clean()
}

// TestCorrectionsFilter: family and framework leave exactly the settings that have them, and an
// address with words that are unknown shows the whole.
func TestCorrectionsFilter(t *testing.T) {
	p := open(t, corrections(t, "#problem=router4&family=weights&framework=verl&all=1"), 1280, "light")
	wrong := eval[[]string](p, `(() => {
  const data = JSON.parse(document.querySelector(".corrections script").textContent), shown = `+visible+`;
  return data.settings.filter((s) => (s.family === "weights" && s.frameworks.includes("verl")) !== shown.includes(s.name)).map((s) => s.name);
})()`)
	if len(wrong) > 0 || eval[int](p, visible+".length") == 0 {
		t.Errorf("wrongly shown or left out: %v", wrong)
	}
	q := open(t, corrections(t, "#problem=nothing&family=x&framework=y&sort=z&open=w"), 1280, "light")
	if n := eval[int](q, visible+".length"); n < 60 || q.state() != "problem=coarse-negatives&open=w" {
		t.Errorf("%d settings, the address is %s", n, q.state())
	}
	p.clean()
	q.clean()
}

// TestCorrectionsCopy: a button copies its lines to the letter, and says so.
func TestCorrectionsCopy(t *testing.T) {
	p := open(t, corrections(t, "#problem=age16"), 360, "light", first(`navigator.clipboard.writeText = async (text) => { window.copied = text; };`))
	for _, of := range []string{"recipe", "verl"} {
		at := fmt.Sprintf("section.problem:not([hidden]) .answer pre[data-for=%s]", of)
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector('%s').previousElementSibling.querySelector('.copy').click()", at)))
		p.until(fmt.Sprintf("window.copied === document.querySelector('%s').textContent", at))
		p.until("document.querySelector('.count').textContent.startsWith('Copied: ')")
	}
	if got := eval[string](p, "copied"); !strings.HasPrefix(got, "algorithm: {rollout_correction:") {
		t.Errorf("copied %q", got)
	}
	p.clean()
}

// TestCorrectionsWithoutScript: every table and every line is there, and nothing is shown that
// would do nothing.
func TestCorrectionsWithoutScript(t *testing.T) {
	p := open(t, corrections(t, ""), 360, "light", call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	tables := eval[[]int](p, `[...document.querySelectorAll("section.problem")].filter((s) => s.offsetHeight > 0).map((s) => s.querySelectorAll("tbody tr").length)`)
	if len(tables) != 8 {
		t.Errorf("%d tables are shown, want 8", len(tables))
	}
	for _, n := range tables {
		if n != 78 {
			t.Errorf("a table has %d rows, want 78", n)
		}
	}
	if n := eval[int](p, `[...document.querySelectorAll("button, select, input")].filter((e) => e.offsetHeight > 0).length`); n > 0 {
		t.Errorf("%d fields are shown that do nothing", n)
	}
	if wide := eval[int](p, "document.documentElement.scrollWidth"); wide > 360 {
		t.Errorf("the page is %d px wide", wide)
	}
}

// TestSkip: the link that skips to the content leaves the page where it is, in the lab and by
// itself, although it changes the address.
func TestSkip(t *testing.T) {
	for _, address := range []string{corrections(t, "#problem=router4"), local(oneFile) + "#lesson=which&problem=router4"} {
		p := open(t, address, 1280, "light")
		p.until("document.querySelector('section.problem[data-problem=router4]:not([hidden])')")
		p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.skip').click()"))
		p.until("!location.hash.includes('problem')")
		p.do(chromedp.Evaluate[chromedp.Void]("new Promise((done) => setTimeout(done, 300))", chromedp.EvalAwaitPromise))
		if !eval[bool](p, "!!document.querySelector('section.problem[data-problem=router4]:not([hidden])')") {
			t.Errorf("%s: the page shows something else", address)
		}
		p.clean()
	}
}
