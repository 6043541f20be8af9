package results

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// figures are one of each kind, with and without data.
func figures() map[string]*figure.Figure {
	return map[string]*figure.Figure{
		"chart": demoChart(), "log": demoKL(), "bars": demoBars(), "panels": demoPanels(),
		"empty chart": {Kind: figure.Lines, Title: "nothing"}, "empty bars": {Kind: figure.Bars, Y: figure.Axis{Log: true}}, "empty panels": {Kind: figure.Multiples},
		"one point":   {Kind: figure.Lines, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{{X: []float64{3}, Y: []float64{2}}}}}},
		"flat":        {Kind: figure.Lines, Y: figure.Axis{Log: true}, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{{X: []float64{1, 2}, Y: []float64{5, 5}}}}}},
		"not finite":  {Kind: figure.Lines, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{{X: []float64{1, 2}, Y: []float64{math.NaN(), math.Inf(1)}}}}}},
		"linear bars": {Kind: figure.Bars, Labels: []string{"a", "b"}, Series: []figure.Series{{Name: "g", Y: []float64{-1, math.NaN()}}}},
	}
}

func TestPlotsAreDeterministic(t *testing.T) {
	again := figures()
	for name, f := range figures() {
		for kind, render := range map[string]func(*figure.Figure) []byte{
			"svg": SVG, "png": PNG,
		} {
			one, two := render(f), render(again[name])
			if !bytes.Equal(one, two) {
				t.Errorf("%s: two renderings to %s differ", name, kind)
			}
			if len(one) < 500 {
				t.Errorf("%s: %s of %d bytes", name, kind, len(one))
			}
		}
	}
}

func TestSVG(t *testing.T) {
	for name, f := range figures() {
		for _, alone := range []bool{true, false} {
			text := svg(f, alone)
			dec := xml.NewDecoder(bytes.NewReader(text))
			for {
				if _, err := dec.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
				t.Errorf("%s: coordinates that are not finite", name)
			}
			if bytes.Contains(text, []byte("@font-face")) {
				t.Errorf("%s: an embedded font", name)
			}
			// A page names the fonts of its drawings.
			if n := bytes.Count(text, []byte("font-family")); alone && n != 1 {
				t.Errorf("%s: a file that names fonts %d times", name, n)
			}
		}
	}
	// The dark rules find the colours only in the spelling that the drawing uses.
	text := string(SVG(demoChart()))
	for _, want := range []string{"fill:" + hex(light.ink), "fill:" + hex(light.muted), "stroke:" + hex(light.grid), "fill:" + hex(light.paper),
		"stroke:" + hex(armColor(1)), "prefers-color-scheme: dark", "<title>Pass rate on held prompts. Lines: matched engines, fp8"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the drawing", want)
		}
	}
	// Every colour that is drawn has a dark one, and no other colour has.
	style, drawing, _ := strings.Cut(text, "</style>")
	for i, c := range palette {
		for _, property := range []string{"fill:", "stroke:"} {
			if has, drawn := strings.Contains(style, property+hex(c)+`"]`), strings.Contains(drawing, property+hex(c)); has != drawn {
				t.Errorf("%s%s of place %d is drawn: %t, has a dark rule: %t", property, hex(c), i, drawn, has)
			}
		}
	}
}

func TestPNGPaper(t *testing.T) {
	img := must.Get(png.Decode(bytes.NewReader(PNG(demoBars()))))(t)
	if r, g, b, a := img.At(1, 1).RGBA(); r&g&b&a != 0xFFFF {
		t.Errorf("corner %x %x %x %x, want white", r, g, b, a)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < img.Bounds().Dy(); y += 3 {
		for x := 0; x < img.Bounds().Dx(); x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for k := range 2 { // both groups of bars are there
		c := armColor(k)
		if !colours[[3]uint32{uint32(c.R), uint32(c.G), uint32(c.B)}] {
			t.Errorf("no pixel of colour %d", k)
		}
	}
}

func TestSavePlot(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b.svg", "c.PNG"} {
		if err := SavePlot(filepath.Join(dir, name), demoBars()); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var fe *record.FolderError
	if err := SavePlot(filepath.Join(dir, "a.gif"), demoBars()); !errors.As(err, &fe) || !strings.Contains(err.Error(), "use .svg or .png") {
		t.Errorf("gif: %v", err)
	}
	if err := SavePlot(filepath.Join(dir, "c.PNG", "x.svg"), demoBars()); !errors.As(err, &fe) {
		t.Errorf("below a file: %v", err)
	}
}

func TestPoints(t *testing.T) {
	nan := math.NaN()
	arm := figure.Series{Seeds: []figure.Series{
		{X: []float64{1, 2, 3, 5}, Y: []float64{1, 2, nan, 5}},
		{X: []float64{1, 3, 5}, Y: []float64{3, 4, math.Inf(1)}},
	}}
	want := []point{
		{X: 1, Mean: 2, Low: 1, High: 3},
		{X: 2, Mean: nan, Low: 2, High: 2},
		{X: 3, Mean: nan, Low: 4, High: 4},
		{X: 5, Mean: nan, Low: 5, High: 5},
	}
	c := newChart(&figure.Figure{})
	if diff := cmp.Diff(want, c.pointsOf(&arm), cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	c.MeanOnly = true
	if p := c.pointsOf(&arm)[0]; !math.IsNaN(p.Low) || p.Mean != 2 {
		t.Errorf("no band: %+v", p)
	}
}

func TestNotDrawn(t *testing.T) {
	c := figure.Figure{Kind: figure.Lines, Y: figure.Axis{Log: true}, Series: []figure.Series{
		{Name: "a", Seeds: []figure.Series{{X: []float64{1, 2, 3, 4}, Y: []float64{0, -1, math.NaN(), 2}}}},
		{Name: "z", Seeds: []figure.Series{{X: []float64{1}, Y: []float64{0}}}},
		{Name: "m", Seeds: []figure.Series{{X: []float64{1}, Y: []float64{-1}}}},
		{Name: "n", Seeds: []figure.Series{{X: []float64{1}, Y: []float64{math.NaN()}}}},
	}}
	if f, p := newChart(&c).notDrawn(); f != 2 || p != 4 {
		t.Errorf("%d not finite, %d not positive", f, p)
	}
	want := "a|z (exactly 0)|m (never above 0)|n (no data)"
	var names []string
	for _, k := range newChart(&c).keys(false) {
		names = append(names, k.name)
	}
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("legend %s, want %s", got, want)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{0, 1, false, "0 0.2 0.4 0.6 0.8 1"}, {0, 300, false, "0 100 200 300"}, {-0.13, 0.11, false, "-0.1 -0.05 0 0.05 0.1"},
		{0, 3e-6, false, "0 1e-6 2e-6 3e-6"}, {1e5, 2.1e5, false, "1e5 1.5e5 2e5"}, {1, 1, false, ""},
		{1e-7, 0.1, true, "1e-7 1e-6 1e-5 1e-4 0.001 0.01 0.1"}, {0.5, 20, true, "0.5 1 2 5 10 20"},
		{1e-16, 1, true, "1e-16  1e-14  1e-12  1e-10  1e-8  1e-6  1e-4  0.01  1"},
	} {
		var labels []string
		ticks := linearTicks(c.low, c.high)
		if c.log {
			ticks = logTicks(c.low, c.high)
		}
		for _, k := range ticks {
			labels = append(labels, k.label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%v..%v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestPanelsShareColours(t *testing.T) {
	curve := []figure.Series{{X: []float64{1, 2}, Y: []float64{1, 2}}}
	m := &figure.Figure{Kind: figure.Multiples, Parts: []figure.Figure{
		{Series: []figure.Series{{Name: "a", Seeds: curve}, {Name: "b", Seeds: curve}}},
		{Series: []figure.Series{{Name: "b", Seeds: curve}, {Name: "c", Seeds: curve}}},
	}}
	charts, keys := multiples{m}.aligned()
	if len(keys) != 3 || charts[1].lines[0].Slot != 2 || charts[1].lines[1].Slot != 3 || m.Parts[1].Series[0].Slot != 0 {
		t.Errorf("keys %+v, charts %+v", keys, charts)
	}
}

// TestEmpty: what would be an empty axis is said in words, in pictures and on pages.
func TestEmpty(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		log  bool
		want string
	}{
		{nil, false, "no data"}, {[]float64{math.NaN()}, false, "no data"}, {[]float64{0, 0}, false, "exactly 0 throughout"},
		{[]float64{0, math.NaN()}, true, "exactly 0 throughout"}, {[]float64{-1, 0}, true, "never above 0"}, {[]float64{-1, 0}, false, ""}, {[]float64{0, 1}, true, ""},
	} {
		chart := &figure.Figure{Kind: figure.Lines, Y: figure.Axis{Log: c.log}, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{{X: []float64{1, 2}[:len(c.y)], Y: c.y}}}}}
		if got := newChart(chart).empty(); got != c.want {
			t.Errorf("%v, log %v: %q, want %q", c.y, c.log, got, c.want)
		}
		for kind, text := range map[string][]byte{"picture": svg(chart, false), "page": newChart(chart).data("")} {
			if c.want != "" && !bytes.Contains(text, []byte(c.want)) {
				t.Errorf("%v, log %v: the %s does not say %q", c.y, c.log, kind, c.want)
			}
		}
	}
}

// TestStride: a page draws every n-th step and the last of a chart with more
// values than it may carry.
func TestStride(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	c := figure.Figure{Kind: figure.Lines, Most: 4, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{{X: x, Y: x}}}}}
	if got := string(newChart(&c).data("")); !strings.Contains(got, `"x":[1,4,7,10]`) || !strings.Contains(got, `"y":[1,4,7,10]`) {
		t.Error(got)
	}
	c.Series[0].Seeds[0].Y = []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}
	if c.Most = 0; !strings.Contains(string(newChart(&c).data("")), `"y":5}`) {
		t.Errorf("a curve that never moves is written out: %s", newChart(&c).data(""))
	}
}
