package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// sitePages are a page of each kind.
var sitePages = []string{"index", "map", "corrections", "claims", "claim-length-trap", "claim-gap-scaling", "methods", "sources", "figures", "framework-verl", "lab", "diagnose"}

// TestSite: a page of each kind at the widths of a phone, on dark paper, and of a laptop, on light paper, from a disk: no fault, no sideways scroll, no
// violation of the accessibility rules, no request but for files of the site. LAB_SHOTS names a folder for pictures.
func TestSite(t *testing.T) {
	for width, scheme := range map[int]string{390: "dark", 1366: "light"} {
		for _, name := range sitePages {
			t.Run(fmt.Sprint(name, " ", width), func(t *testing.T) {
				p := open(t, local(filepath.Join(site, name+".html")), width, "light")
				p.until("document.readyState === 'complete' && document.querySelector('nav.site') && !document.querySelector('.theme').hidden")
				t.Logf("loaded in %d ms", eval[int](p, "Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"))
				p.do(prefers(scheme))
				p.until(fmt.Sprintf("document.documentElement.dataset.theme === %q", scheme))
				p.judge(name+", "+scheme, width)
				if dir := os.Getenv("LAB_SHOTS"); dir != "" {
					picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
					if err == nil {
						err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("site-%s-%d-%s.png", name, width, scheme)), picture, 0o666)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				p.mu.Lock()
				for _, url := range p.requests {
					if !strings.HasPrefix(url, local(site)+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") {
						t.Errorf("it asks for %s", url)
					}
				}
				p.mu.Unlock()
				p.clean()
			})
		}
	}
}

// TestSiteMap: a cell says its runs, its interval and its command, with the keyboard alone.
func TestSiteMap(t *testing.T) {
	p := open(t, local(filepath.Join(site, "map.html")), 1366, "light")
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.cells .scroll').focus()"), chromedp.KeyEvent(kb.Tab))
	if says := eval[string](p, "document.querySelector('.says').innerText"); !strings.Contains(says, "10 runs") || !strings.Contains(says, "95 % interval") || !strings.Contains(says, "./simulate sweep stability/staleness --only lag=0,method=none,rate=") {
		t.Errorf("a cell says %q", says)
	}
	p.judge("a cell", 1366)
	p.clean()
}

// TestSiteFilters: the filters of the claims leave the rows that meet them all, and a link to a method opens its fold.
func TestSiteFilters(t *testing.T) {
	p := open(t, local(filepath.Join(site, "claims.html")), 1366, "light")
	const shown = "[...document.querySelectorAll('figure.sortable tbody tr')].filter((r) => !r.hidden).length"
	all := eval[int](p, shown)
	choose := func(label, value string) int {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const s = [...document.querySelectorAll("figure.sortable label")].find((l) => l.textContent.startsWith(%q)).querySelector("select"); s.value = %q; s.dispatchEvent(new Event("change")); }`, label, value)))
		return eval[int](p, shown)
	}
	frozen := choose("rates", "without training")
	refuted := choose("verdict", "refuted at this scale")
	if !(all > frozen && frozen > refuted && refuted > 0) {
		t.Errorf("%d claims, %d without training, %d of them refuted", all, frozen, refuted)
	}
	if cited := choose("paper", "2507.18071"); cited > refuted {
		t.Errorf("%d of %d cite a paper", cited, refuted)
	}
	p.judge("the filters", 1366)
	p.clean()
	p = open(t, local(filepath.Join(site, "methods.html"))+"#correction.weights-token_tis", 1366, "light")
	p.until("document.getElementById('correction.weights-token_tis').open")
	p.clean()
}
