package diagnose

import (
	"math/rand/v2"

	"driftlab/precision/elementary"
)

// Case is a kind of gap, whose sizes Draw chooses at random.
type Case struct {
	// Name is the case's, Cause the cause that it counts as.
	Name, Cause string
	// Mixed says that two causes have a part of it.
	Mixed bool
	set   func(w *SyntheticDump, d *dice)
}

// Cases are all of them.
var Cases = []Case{
	{"bf16", precision, false, func(w *SyntheticDump, d *dice) { w.Sigma = d.log(0.01, 0.06) }},
	{"fp8", precision, false, func(w *SyntheticDump, d *dice) { d.coarse(w, 0.08, 0.3) }},
	{"fp4", precision, false, func(w *SyntheticDump, d *dice) { d.coarse(w, 0.3, 0.8) }},
	{"routing", routing, false, func(w *SyntheticDump, d *dice) { d.flips(w) }},
	{"lag", staleness, false, func(w *SyntheticDump, d *dice) { d.lag(w) }},
	{"lags", staleness, false, func(w *SyntheticDump, d *dice) {
		d.lag(w)
		w.Lags = [][]int{{1, 8, 32}, {1, 4, 16}, {2, 16}, {4, 8, 16, 32}}[d.r.IntN(4)]
	}},
	{"unsynced", staleness, false, func(w *SyntheticDump, d *dice) { w.Unsynced = d.log(0.12, 0.6) }},
	{"lag+routing", "", true, func(w *SyntheticDump, d *dice) { d.lag(w); d.flips(w) }},
	{"fp8+lag", "", true, func(w *SyntheticDump, d *dice) { d.lag(w); d.coarse(w, 0.08, 0.3) }},
	{"fp8+routing", "", true, func(w *SyntheticDump, d *dice) { d.flips(w); d.coarse(w, 0.08, 0.3) }},
}

// Draw is a world of the case, of random size.
func (c Case) Draw(seed uint64) SyntheticDump {
	d := &dice{rand.New(rand.NewPCG(seed, 0xca5e))}
	w := SyntheticDump{Seed: seed, Group: 8, Steps: 1, Responses: 8 * (2 + d.r.IntN(6)), Length: d.log(40, 90),
		Sure: d.between(0.6, 0.78), IDs: []int{512, 1024, 2048}[d.r.IntN(3)], Zipf: d.between(0.3, 0.9),
		Sigma: d.log(0.02, 0.045), Uneven: d.between(0.3, 0.65), ByID: d.between(0.15, 0.6), Stays: d.between(0, 0.8), Temperature: 1, TopP: 1}
	w.Rivals = (1 - w.Sure) * d.between(0.5, 0.75)
	if d.r.IntN(5) == 0 {
		w.Temperature, w.TopP = d.between(0.6, 1), d.between(0.85, 1)
	}
	c.set(&w, d)
	return w
}

// dice draw sizes.
type dice struct{ r *rand.Rand }

func (d *dice) between(low, high float64) float64 { return low + float64((high-low)*d.r.Float64()) }

// log draws evenly in the logarithm.
func (d *dice) log(low, high float64) float64 {
	return low * elementary.Exp(d.r.Float64()*elementary.Log(high/low))
}

// coarse is a format with an error of its own for every id.
func (d *dice) coarse(w *SyntheticDump, low, high float64) {
	w.Sigma = d.log(low, high)
	w.Bias = w.Sigma * d.between(0, 0.5)
}

func (d *dice) flips(w *SyntheticDump) {
	w.FlipShare, w.FlipRun, w.FlipSize = d.log(0.012, 0.08), d.between(1.5, 6), d.log(0.4, 1.6)
}

func (d *dice) lag(w *SyntheticDump) {
	w.Lags = []int{[]int{2, 4, 8, 16, 32, 64}[d.r.IntN(6)]}
	w.Eta, w.Push = d.log(0.03, 0.08), d.between(0, 0.15)
	w.Sharp = d.between(-0.0025, 0.0025)
}
