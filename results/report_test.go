package results

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
)

func TestReportHTML(t *testing.T) {
	r := demoReport()
	page := string(r.HTML())
	wellFormed(t, page)
	again := demoReport()
	if page != string(again.HTML()) {
		t.Error("two renderings differ")
	}
	for _, want := range []string{
		`<html lang="en">`, "<h1>Two engines, one model: a collapse and its rescue</h1>",
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		`<span class="badge good">token TIS rescues</span>`, "&lt;every&gt; rollout",
		`<a href="#s-the-collapse">The collapse</a>`, `<section id="s-the-collapse" aria-labelledby="s-the-collapse-h">`,
		"k₃ = mean(exp(e) − 1 − e)", `<pre class="command"><code>simulate train fp8-rollout-token-tis --seed 1 --out runs/tis</code></pre>`,
		"Not finite and left out: 1 value.", "At or below zero and not drawn on a log axis: ", "Copyright (c) 2022 Leon Sorokin",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	// What each kind of band is, is said once per section.
	if n := strings.Count(page, "Bands: lowest to highest seed."); n != 2 {
		t.Errorf("the band is explained %d times in 2 sections", n)
	}
}

// TestReportRequestsNothing looks for every way a page can load something.
func TestReportRequestsNothing(t *testing.T) {
	r := demoReport()
	page := string(r.HTML())
	forbid := func(text string, patterns ...string) {
		for _, pattern := range patterns {
			if found := regexp.MustCompile(pattern).FindString(text); found != "" {
				t.Errorf("%s finds %q", pattern, found)
			}
		}
	}
	forbid(page, `(?i)url\(`, `(?i)@import`, `\b(fetch|XMLHttpRequest|importScripts|sendBeacon|WebSocket|EventSource)\b`, `\bimport\s*\(`)
	forbid(rawPattern.ReplaceAllString(page, "$1$3"), `(?i)<(link|iframe|object|embed|img|image|base)\b`,
		`(?i)\s(src|srcset|data|action|poster|background)\s*=`, `(?i)\bhref\s*=\s*["']?[^#"']`)
	if !strings.Contains(page, `content="default-src 'none';`) {
		t.Error("no policy forbids requests")
	}
	// Addresses occur as text only: in uPlot's first line, in names of XML's and in the licence.
	for _, address := range regexp.MustCompile(`https?://[^\s"'<)]+`).FindAllString(page, -1) {
		if !strings.HasPrefix(address, "http://www.w3.org/") && address != "https://github.com/leeoniya/uPlot" {
			t.Errorf("an address: %s", address)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	r := Report{Title: "<nothing> & more"}
	page := string(r.HTML())
	wellFormed(t, page)
	if !strings.Contains(page, "<h1>&lt;nothing&gt; &amp; more</h1>") || strings.Contains(page, "<nav") {
		t.Error("an empty report is not empty, or not escaped")
	}
}

// TestReportEscapes puts hostile text everywhere text can be.
func TestReportEscapes(t *testing.T) {
	evil := `</script><script>alert(1)</script>"'&<b>`
	curve := []figure.Series{{Name: evil, X: []float64{1, 2}, Y: []float64{1, 2}}}
	chart := figure.Figure{Kind: figure.Lines, Title: evil, Metric: evil, X: figure.Axis{Label: evil}, Y: figure.Axis{Label: evil}, Note: evil,
		Series: []figure.Series{{Name: evil, Seeds: curve}}, Marks: []figure.Mark{{Name: evil, At: 1}}}
	table := figure.Figure{Kind: figure.Table, Title: evil, Columns: []figure.Column{{Name: evil, Unit: evil}}, Rows: [][]figure.Cell{{figure.Word(evil).As(figure.Bad)}}, Note: evil}
	r := Report{Title: evil, Eyebrow: evil, Lead: evil, Badges: []Badge{{evil, figure.Bad}}, Facts: []Fact{{evil, evil}},
		Sections: []Section{{Heading: evil, Badges: []Badge{{evil, figure.Bad}}, Blocks: []Block{Prose(evil), Code(evil), &chart, Charts{chart}, &table,
			&figure.Figure{Kind: figure.Multiples, Title: evil, Parts: []figure.Figure{chart}, Note: evil},
			&figure.Figure{Kind: figure.Bars, Title: evil, Labels: []string{evil}, Series: []figure.Series{{Name: evil, Y: []float64{1}}}, Note: evil},
			&figure.Figure{Kind: figure.Strip, Note: evil, Lines: []figure.Line{{Title: evil, Tokens: []figure.Token{{Text: evil, Note: evil, Level: -3}, {Text: evil, Note: evil}}}}}, Fold{Summary: evil, Blocks: []Block{Prose(evil)}}}}},
		Reruns: []Rerun{{evil, evil, evil}}, Glossary: []Term{{evil, evil, evil, evil, evil, evil}},
	}
	page := string(r.HTML())
	wellFormed(t, page)
	if strings.Contains(page, "alert(1)</script>") || strings.Count(page, "<script") != 2+1+2 {
		t.Errorf("%d scripts on the page, want 2 charts' data twice, the theme's, uPlot and ours", strings.Count(page, "<script"))
	}
}

func TestAnchorsAreUnique(t *testing.T) {
	r := Report{Sections: []Section{{Heading: "Same"}, {Heading: "same"}, {Heading: "– –"}, {Heading: "Größe 1/2"}}}
	page := string(r.HTML())
	wellFormed(t, page)
	for _, want := range []string{`id="s-same"`, `id="s-same-2"`, `id="s-"`, `id="s-gr-e-1-2"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestWriteReport(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "report.html")
	r := demoReport()
	must.Do(t, WriteReport(path, r))
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, r.HTML()) {
		t.Errorf("the file is not the page: %v", err)
	}
	var fe *record.FolderError
	if err := WriteReport(filepath.Join(path, "x.html"), r); !errors.As(err, &fe) {
		t.Errorf("below a file: %v", err)
	}
	if err := WriteReport(dir, r); !errors.As(err, &fe) {
		t.Errorf("over a folder: %v", err)
	}
}

// TestVendoredSums holds uPlot to the sums that its README states.
func TestVendoredSums(t *testing.T) {
	readme := must.Get(os.ReadFile("assets/uplot/README.md"))(t)
	sums := regexp.MustCompile(`([0-9a-f]{64})  (\S+)`).FindAllStringSubmatch(string(readme), -1)
	if len(sums) != 3 {
		t.Fatalf("%d sums", len(sums))
	}
	for _, m := range sums {
		data := must.Get(os.ReadFile(filepath.Join("assets/uplot", m[2])))(t)
		if sum := sha256.Sum256(data); fmt.Sprintf("%x", sum) != m[1] {
			t.Errorf("%s is not the file of its sum", m[2])
		}
	}
}
