package browser

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShots takes pictures of the page, for a person to look at, and the README's:
// LAB_SHOTS names the folder.
func TestShots(t *testing.T) {
	dir := os.Getenv("LAB_SHOTS")
	if dir == "" {
		t.Skip("LAB_SHOTS names no folder for pictures")
	}
	p := open(t, local(folder+"/index.html"), 1240, "light")
	p.until("document.querySelector('#engine').dataset.state === 'ready'")
	p.until("document.querySelector('.guess input[type=number]')")
	p.do(chromedp.Evaluate[chromedp.Void](`{ const n = document.querySelector(".guess input[type=number]"), d = document.querySelector(".guess select"); n.value = 20; n.dispatchEvent(new Event("input")); d.value = "-2"; d.dispatchEvent(new Event("change")); document.querySelector(".guess form").requestSubmit(); }`))
	p.until("!document.querySelector('.aha').hidden")
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(dir+"/lab.png", picture, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, scheme string
		width        int
	}{{"1280-light", "light", 1280}, {"390-dark", "dark", 390}} {
		p := open(t, local(folder+"/index.html"), c.width, c.scheme)
		shot := func(name string) {
			picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
			if err == nil {
				err = os.WriteFile(dir+"/"+name+"-"+c.name+".png", picture, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range document.Lessons {
			p.goTo(l.Name)
			shot(l.Name + "-guess")
			p.skip()
			shot(l.Name)
		}
		p.do(chromedp.Evaluate[chromedp.Void]("location.hash = 'lesson=fix&arm=all'"))
		p.until("document.querySelector('.stage.many')")
		shot("fix-all")
	}
}
