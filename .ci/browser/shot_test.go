package browser

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShots takes pictures of the page, for a person to look at: LAB_SHOTS names the folder.
func TestShots(t *testing.T) {
	dir := os.Getenv("LAB_SHOTS")
	if dir == "" {
		t.Skip("LAB_SHOTS names no folder for pictures")
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
	}
}
