package diagnose

import (
	"math"
	"testing"
)

// Where routes were recorded the gap of tokens with other experts is told from that of the others, in any layer, and is
// routing's if it is larger; where replayed routes are the same, the same errors are not.
func TestFlips(t *testing.T) {
	for _, c := range []struct {
		name      string
		flips     func(jumped bool, n int) bool
		low, high float64
		first     string
	}{
		{"where errors jump", func(jumped bool, _ int) bool { return jumped }, 0.8, 1, Routing},
		{"anywhere", func(_ bool, n int) bool { return n%5 == 0 }, 0, 0.15, Precision},
		{"nowhere", func(bool, int) bool { return false }, 0, 0, Precision},
	} {
		w := Cases[0].Draw(31)
		w.Sigma, w.FlipShare, w.FlipRun, w.FlipSize = 0.02, 0.05, 2, 1
		rows, _ := w.Rows()
		n, flipped, apart := 0, 0, 0.0
		for _, r := range rows {
			r.Head, r.Tail = r.Step-1, r.Step-1
			for i, roll := range r.Roll {
				flip := c.flips(math.Abs(r.Old[i]-roll) > 0.1*(1-math.Exp(roll)), n)
				r.Flips = append(r.Flips, false, flip)
				if n++; flip {
					flipped++
					apart += math.Abs(r.Old[i] - roll)
				}
			}
		}
		r := analysed(Options{}, rows).judgement()
		if g := r.Gap; !g.HasRoutes || math.Abs(g.FlipToken-float64(flipped)/float64(n)) > 1e-12 || math.Abs(g.FlippedAbsDlogp-apart/float64(max(flipped, 1))) > 1e-12 ||
			math.Abs(g.FlippedAbsDlogp*float64(flipped)+g.RestAbsDlogp*float64(n-flipped)-g.MeanAbsDlogp*float64(n)) > 1e-9 || len(g.FlipLayer) != 2 || g.FlipLayer[0] != 0 || g.FlipLayer[1] != g.FlipToken {
			t.Errorf("%s: %+v", c.name, g)
		}
		f := r.Features
		if f.FlipPart == nil || *f.FlipPart < c.low || *f.FlipPart > c.high || r.Causes[0].Name != c.first {
			t.Errorf("%s: %v of the gap are flips, %+v", c.name, *f.FlipPart, r.Causes)
		}
	}
}

// Recorded routes decide against routing always, and for it where nothing is old.
func TestRouted(t *testing.T) {
	fresh, old := new(0.0), new(1.0)
	for _, c := range []struct{ part, lag, want *float64 }{
		{nil, fresh, new(0.0)}, {new(0.0), nil, new(-1.0)}, {new(0.4), old, new(-0.5)}, {new(0.6), fresh, new(0.5)}, {new(0.8), fresh, new(1.0)}, {new(0.8), old, new(0.0)}, {new(0.8), nil, new(0.0)},
	} {
		f := Features{FlipPart: c.part, Lag: c.lag}
		if got := f.routed(); math.Abs(got-*c.want) > 1e-12 {
			t.Errorf("%v, %v: %v, want %v", c.part, c.lag, got, *c.want)
		}
	}
}
