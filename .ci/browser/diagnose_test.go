package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// upload gives the page's form a file with these bytes, repeated copies times.
func (p *tab) upload(name string, content []byte, copies int) {
	p.Helper()
	text, err := json.Marshal(base64.StdEncoding.EncodeToString(content))
	if err != nil {
		p.Fatal(err)
	}
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{
		const bytes = Uint8Array.from(atob(%s), (c) => c.charCodeAt(0)), chosen = new DataTransfer(), input = document.getElementById("files");
		chosen.items.add(new File(Array(%d).fill(bytes), %q));
		input.files = chosen.files;
		input.dispatchEvent(new Event("change"));
	}`, text, copies, name)))
}

// diagnosed starts the diagnosis and returns the document that the page offers, empty where it shows only a fault.
func (p *tab) diagnosed() (document, fault string) {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("report").replaceChildren(); document.getElementById("start").click()`))
	p.until(`document.querySelector("#report a[download], #report .fault") && document.getElementById("stop").hidden`)
	return eval[string](p, `document.querySelector("#report a[download]") ? fetchBlob(document.querySelector("#report a[download]").href) : ""`),
		eval[string](p, `(document.querySelector("#report > .fault") || {}).textContent || ""`)
}

// keepBlobs keeps what the page offers for saving where a test can read it: the page may fetch nothing, a blob neither.
const keepBlobs = `{
	const made = new Map(), make = URL.createObjectURL.bind(URL);
	URL.createObjectURL = (b) => { const url = make(b); made.set(url, b); return url; };
	window.fetchBlob = (url) => made.get(url).text();
}`

// TestDiagnosePage: what the page makes of a dump is the document of the command, byte for byte, and it asks for nothing but
// itself. A file that is no dump ends in the command's line.
func TestDiagnosePage(t *testing.T) {
	dumps := filepath.Join("..", "..", "testdata", "dumps")
	for _, c := range []struct{ width, scheme, dump string }{
		{"390", "light", "nemo/lagrun/train_data_step43.jsonl.gz"},
		{"390", "dark", "skyrl/lag/dumped_data/global_step_54_training_input.pkl"},
		{"1280", "light", "slime/temp/train_data/6.pt"},
		{"1280", "dark", "trl/text/completions/completions_00041.parquet"},
	} {
		t.Run(c.dump, func(t *testing.T) {
			width := 390
			if c.width != "390" {
				width = 1280
			}
			page := local(filepath.Join(folder, "diagnose.html"))
			p := open(t, page, width, c.scheme, first(keepBlobs))
			content, err := os.ReadFile(filepath.Join(dumps, filepath.FromSlash(c.dump)))
			if err != nil {
				t.Fatal(err)
			}
			p.upload(filepath.Base(c.dump), content, 1)
			document, fault := p.diagnosed()
			alone := t.TempDir() // where a file stands alone, as in the page
			if err := os.WriteFile(filepath.Join(alone, filepath.Base(c.dump)), content, 0o666); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(simulate, "diagnose", "--json", filepath.Base(c.dump))
			command.Dir = alone
			want, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			if document != string(want) || fault != "" {
				t.Errorf("%q: the page's document has %d bytes, the command's %d:\n%.1500s", fault, len(document), len(want), document)
			}
			p.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => { d.open = true; })`))
			p.judge("the page", width)
			p.upload("zeros.jsonl", make([]byte, 1<<20), 1)
			if _, fault = p.diagnosed(); !strings.HasPrefix(fault, "zeros.jsonl: no complete row") {
				t.Errorf("a file of zeros ends in %q", fault)
			}
			p.mu.Lock()
			for _, url := range p.requests {
				if url != page && !strings.HasPrefix(url, "blob:") && !strings.HasPrefix(url, "data:") {
					t.Errorf("it asks for %s", url)
				}
			}
			p.mu.Unlock()
			p.clean()
		})
	}
}

// TestDiagnoseKeyboard: without a pointer, from the first key to the verdict.
func TestDiagnoseKeyboard(t *testing.T) {
	p := open(t, local(filepath.Join(folder, "diagnose.html")), 1280, "light", first(keepBlobs))
	content, err := os.ReadFile(filepath.Join("..", "..", "testdata", "dumps", "nemo", "lagrun", "train_data_step43.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	p.upload("train_data_step43.jsonl.gz", content, 1)
	for range 12 {
		p.do(chromedp.KeyEvent(kb.Tab))
		if eval[string](p, "document.activeElement.id") == "start" {
			break
		}
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until(`document.activeElement.textContent.startsWith("Verdict: ")`)
	p.clean()
}

// TestDiagnoseLarge: 200 MB of rows are read piece by piece, and the page tells how far it is.
func TestDiagnoseLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	p := open(t, local(filepath.Join(folder, "diagnose.html")), 1280, "light", first(keepBlobs))
	var block strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&block, `{"logp_rollout":[%s-1.5],"logp_old":[%s-1.25],"group":%d,"reward":%d}`+"\n", strings.Repeat("-0.31640625,", 20), strings.Repeat("-0.30078125,", 20), i/8, i%2)
	}
	copies := 200_000_000/block.Len() + 1
	p.upload("large.jsonl", []byte(block.String()), copies)
	begun := time.Now()
	p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("start").click()`))
	p.until(`document.getElementById("state").textContent.startsWith("Read ") && document.getElementById("progress").value > 0`)
	p.until(`document.querySelector("#report a[download], #report .fault") && document.getElementById("stop").hidden`)
	t.Logf("%d MB in %v", copies*block.Len()/1_000_000, time.Since(begun).Round(100*time.Millisecond))
	if rows := eval[int](p, `fetchBlob(document.querySelector("#report a[download]").href).then((text) => JSON.parse(text).inputs[0].rows)`); rows != 2000*copies {
		t.Errorf("%d rows, want %d", rows, 2000*copies)
	}
	p.clean()
}
