package results

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"driftlab/precision/must"
)

// chromium finds a browser, or skips the test.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium on this machine: the report is not driven in a browser (install the package chromium)")
	return ""
}

// recorder stands first in the page's head and keeps every fault.
const recorder = `<script>
window.faults = [];
addEventListener("error", (e) => faults.push("error: " + e.message));
addEventListener("unhandledrejection", (e) => faults.push("rejection: " + e.reason));
addEventListener("securitypolicyviolation", (e) => faults.push("request refused: " + e.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => faults.push("console." + level + ": " + words.join(" "));
</script>`

// frames is a page that shows a report at several widths and collects what the
// copies say of themselves. A window cannot be as narrow as a phone; a frame can.
const frames = `<!DOCTYPE html><html><head><meta name="color-scheme" content="light dark"></head><body>
<script>
addEventListener("message", (e) => {
  const out = document.createElement("pre");
  out.textContent = e.data;
  document.body.append(out);
});
</script>
<iframe src="checked.html" width="360" height="800"></iframe>
<iframe src="checked.html" width="1280" height="900"></iframe>
</body></html>`

// seen is what testdata/selfcheck.js reports.
type seen struct {
	Width  int
	Charts int
	Dark   bool
	At     string
	Values []string
	Spoken string
	Faults []string
}

// TestReportInChromium drives the report in a headless browser: phone and desk
// width, light, and with -exhaustive dark, too.
func TestReportInChromium(t *testing.T) {
	browser := chromium(t)
	check := must.Get(os.ReadFile(filepath.Join("testdata", "selfcheck.js")))(t)
	r := demoReport()
	page := string(r.HTML())
	page = strings.Replace(page, "<head>\n", "<head>\n"+recorder, 1)
	page = strings.Replace(page, "</body>", "<script>"+string(check)+"</script></body>", 1)
	dir := t.TempDir()
	for name, text := range map[string]string{"checked.html": page, "frames.html": frames} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for scheme, number := range map[string]int{"dark": 0, "light": 1} {
		if scheme == "dark" && !*exhaustive {
			continue
		}
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			reports := drive(t, browser, dir, number)
			if len(reports) != 2 {
				t.Fatalf("%d of 2 frames reported", len(reports))
			}
			for _, s := range reports {
				for _, f := range s.Faults {
					t.Errorf("%d px: %s", s.Width, f)
				}
				if s.Dark != (scheme == "dark") {
					t.Errorf("the browser is not %s", scheme)
				}
				if s.Charts != 5 || s.At != "step 150" || len(s.Values) != 4 {
					t.Errorf("%d px: %d charts, hover %q with %q", s.Width, s.Charts, s.At, s.Values)
				}
				if !strings.HasPrefix(s.Spoken, "step 155: matched engines 0.") {
					t.Errorf("%d px: a screen reader hears %q", s.Width, s.Spoken)
				}
			}
			if len(reports) == 2 && reports[0].Width+reports[1].Width != 360+1280 {
				t.Errorf("widths %d and %d", reports[0].Width, reports[1].Width)
			}
		})
	}
}

// drive opens the frames and returns what they reported.
func drive(t *testing.T, browser, dir string, scheme int) []seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), "--window-size=1400,1000",
		"--virtual-time-budget=20000", "--dump-dom", "file://"+filepath.ToSlash(filepath.Join(dir, "frames.html")))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var reports []seen
	for _, m := range regexp.MustCompile(`(?s)<pre>(.*?)</pre>`).FindAllStringSubmatch(string(dom), -1) {
		var s seen
		if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &s); err != nil {
			t.Fatalf("%v in %s", err, m[1])
		}
		reports = append(reports, s)
	}
	return reports
}
