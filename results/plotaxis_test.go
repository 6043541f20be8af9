package results

import (
	"bytes"
	"flag"
	"math"
	"regexp"
	"testing"

	"driftlab/results/figure"
)

var exhaustive = flag.Bool("exhaustive", false, "all pairs of extreme values, as in nightly tests, in place of a fifth, and the report in a dark browser")

// extremes are the values that an axis must survive.
var extremes = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1,
	math.Float64frombits(0x3fe4000000000000), math.Float64frombits(0x3fe4000000000001), // 0.625 and the number after it
	5e-324, 1e-323, -5e-324, 2.3e-308, 1e-17, math.MaxFloat64, math.Nextafter(math.MaxFloat64, 0), -math.MaxFloat64, 1 << 53, 1<<53 + 2,
}

// checkTicks checks marks for what a reader and a drawing need: few, finite, in
// order, inside the axis up to their twelve digits.
func checkTicks(t *testing.T, kind string, low, high float64, ticks []tick, most int) {
	t.Helper()
	if len(ticks) > most {
		t.Fatalf("%s %v..%v: %d ticks", kind, low, high, len(ticks))
	}
	for i, k := range ticks {
		if !finite(k.value) || i > 0 && k.value <= ticks[i-1].value {
			t.Errorf("%s %v..%v: tick %d of %v", kind, low, high, i, ticks)
		}
		// Twelve digits, or the last bits of the smallest numbers.
		if padding := 1e-11*math.Max(math.Abs(low), math.Abs(high)) + 1e-322; k.value < low-padding || k.value > high+padding {
			t.Errorf("%s %v..%v: tick %v is outside", kind, low, high, k.value)
		}
	}
}

// FuzzAxis checks range and ticks, together and separately, against their bounds.
func FuzzAxis(f *testing.F) {
	for _, low := range extremes {
		for _, high := range extremes {
			f.Add(low, high)
		}
	}
	f.Fuzz(func(t *testing.T, low, high float64) {
		checkTicks(t, "linear", low, high, linearTicks(low, high), mostTicks)
		checkTicks(t, "log", low, high, logTicks(low, high), 3*(308+324+2))
		if math.IsInf(low, 0) || math.IsInf(high, 0) {
			return // a range is made of values that can be drawn
		}
		a, b := axisRange(low, high, false)
		if !finite(a) || !finite(b) || !finite(b-a) || !(b > a) {
			t.Fatalf("linear range of %v..%v: %v..%v", low, high, a, b)
		}
		if ticks := linearTicks(a, b); len(ticks) < 2 {
			t.Errorf("linear %v..%v, shown from %v to %v: ticks %v", low, high, a, b, ticks)
		}
		if low <= 0 {
			return
		}
		a, b = axisRange(low, high, true)
		if !(a > 0) || !finite(b) || b < 9.99*a {
			t.Fatalf("log range of %v..%v: %v..%v", low, high, a, b)
		}
		if ticks := logTicks(a, b); len(ticks) < 1 {
			t.Errorf("log %v..%v, shown from %v to %v: no tick", low, high, a, b)
		}
	})
}

// notCoordinate finds an attribute that holds more than numbers.
var notCoordinate = regexp.MustCompile(`="[^"]*(NaN|Inf|e\+)[^"]*"`)

// TestExtremeFigures draws every pair of extremes in every kind of figure.
func TestExtremeFigures(t *testing.T) {
	for i, low := range extremes {
		for j, high := range extremes[i:] {
			if j%5 != i%5 && !*exhaustive {
				continue
			}
			for _, log := range []bool{false, true} {
				curve := figure.Series{X: []float64{1, 2}, Y: []float64{low, high}}
				across := figure.Series{X: []float64{low, high}, Y: []float64{1, 2}}
				c := figure.Figure{Kind: figure.Lines, Y: figure.Axis{Log: log}, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{curve}}}, Marks: []figure.Mark{{Name: "r", At: high}}}
				x := figure.Figure{Kind: figure.Lines, Y: figure.Axis{Log: log}, Series: []figure.Series{{Name: "a", Seeds: []figure.Series{across}}}}
				for name, f := range map[string]*figure.Figure{
					"chart": &c, "x": &x, "panels": &figure.Figure{Kind: figure.Multiples, Parts: []figure.Figure{c, x}},
					"bars": &figure.Figure{Kind: figure.Bars, Y: figure.Axis{Log: log}, Labels: []string{"p", "q"}, Series: []figure.Series{{Name: "g", Y: []float64{low, high}, Low: []float64{high, low}, High: []float64{low, high}}}},
				} {
					text := svg(f, false)
					if at := notCoordinate.Find(text); at != nil {
						t.Errorf("%s of %v and %v, log %v: %s", name, low, high, log, at)
					}
					if len(text) > 1<<20 {
						t.Errorf("%s of %v and %v, log %v: %d bytes", name, low, high, log, len(text))
					}
				}
				if data := newChart(&c).data("s"); !bytes.HasPrefix(data, []byte("{")) || bytes.Contains(data, []byte("NaN")) {
					t.Errorf("%s", data)
				}
			}
		}
	}
}
