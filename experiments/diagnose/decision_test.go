package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe/foreign"
)

// Each limit of the table has a gap on either side of it.
func TestDecide(t *testing.T) {
	lag := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		name string
		set  func(k *known)
		want string
	}{
		{"faults", func(k *known) { k.state, k.Chi2Token = Repair, 2 }, "bookkeeping"},
		{"healthy", func(k *known) { k.state = Healthy }, "agreement"},
		{"Pearson below .95", func(k *known) { k.Pearson = 0.949 }, "alignment"},
		{"Pearson above .95", func(k *known) { k.Pearson = 0.951 }, "none of these"},
		{"k1 above .05", func(k *known) { k.K1 = -0.051 }, "alignment"},
		{"k1 below .05", func(k *known) { k.K1 = -0.049 }, "none of these"},
		{"old weights have another Pearson", func(k *known) { k.Pearson, k.causes, k.sure = 0.9, []string{"staleness"}, true }, "staleness"},
		{"routes have another difference", func(k *known) { k.MeanAbsDp, k.causes, k.sure = 0.1, []string{"routing"}, true }, "routing"},
		{"either routing or precision is none", func(k *known) { k.MeanAbsDp, k.causes = 0.1, []string{"routing", "precision"} }, "precision"},
		{"difference above .01", func(k *known) { k.MeanAbsDp = 0.0101 }, "precision"},
		{"difference below .01", func(k *known) { k.MeanAbsDp = 0.0099 }, "none of these"},
		{"old weights, no sample left", func(k *known) { k.causes, k.sure, k.ESSToken = []string{"staleness"}, true, 0.49 }, "exploded weights"},
		{"versions", func(k *known) { k.lag = lag(0.1) }, "asynchrony"},
		{"one version", func(k *known) { k.lag = lag(0) }, "none of these"},
		{"chi2 above .3", func(k *known) { k.Chi2Token = 0.31 }, "heavy tail"},
		{"chi2 below .3", func(k *known) { k.Chi2Token = 0.29 }, "none of these"},
		{"chi2 above 1", func(k *known) { k.Chi2Token = 1.01 }, "exploded weights"},
		{"chi2 below 1", func(k *known) { k.Chi2Token = 0.99 }, "heavy tail"},
		{"ESS below .5", func(k *known) { k.ESSToken = 0.49 }, "exploded weights"},
		{"ESS above .5", func(k *known) { k.ESSToken = 0.51 }, "none of these"},
		{"a quarter masked", func(k *known) { k.dropped = 0.26 }, "masked share"},
		{"a tenth masked", func(k *known) { k.dropped = 0.24 }, "none of these"},
	} {
		k := &known{Gap: &Gap{Gap: metrics.Gap{Pearson: 0.98, K1: 0.03, PPLRatio: 1.02, MeanAbsDp: 0.007, ESSToken: 0.9, Chi2Token: 0.1}}, state: Genuine, low: 0.99, high: 1.01, median: 100}
		c.set(k)
		evaluated := decide(k)
		last := evaluated[len(evaluated)-1]
		if last.Row != c.want || !last.Fired || last.Advice == "" {
			t.Errorf("%s: %+v, want %s", c.name, last, c.want)
		}
		if n := len(evaluated); slices.ContainsFunc(evaluated[:n-1], func(d Decision) bool { return d.Fired || d.Advice != "" }) {
			t.Errorf("%s: an earlier row fired: %+v", c.name, evaluated)
		}
	}
}

// Where it is either of two causes, the two are to be distinguished before anything is done.
func TestAdviceOnEither(t *testing.T) {
	k := &known{Gap: &Gap{Gap: metrics.Gap{Pearson: 0.98, MeanAbsDp: 0.02, ESSToken: 0.9}}, state: Genuine, causes: []string{Staleness, Precision}}
	evaluated := decide(k)
	if got := evaluated[len(evaluated)-1].Advice; !strings.HasPrefix(got, "distinguish staleness from precision first (run a step with learning rate 0") || !strings.Contains(got, "if it is not staleness, raise the precision") {
		t.Error(got)
	}
	k.causes, k.sure = []string{Precision, Staleness}, true
	evaluated = decide(k)
	if got := evaluated[len(evaluated)-1].Advice; !strings.HasPrefix(got, "raise the precision") {
		t.Error(got)
	}
}

// Weights that were never synced are mended, and no correction hides them.
func TestUnsyncedIsMended(t *testing.T) {
	evaluated := decide(&known{Gap: &Gap{Gap: metrics.Gap{Pearson: 0.9, MeanAbsDp: 0.02, ESSToken: 0.9}}, state: Genuine, causes: []string{Unsynced}, sure: true})
	if d := evaluated[len(evaluated)-1]; d.Row != "weight sync" || d.correction != nil || !strings.Contains(d.Advice, "weight sync") {
		t.Errorf("%+v", d)
	}
}

// Long responses and queues get sequence weights behind a mask, others token weights.
func TestStalenessByLength(t *testing.T) {
	for _, c := range []struct {
		median float64
		lag    *float64
		want   string
	}{{2000, nil, "token_tis"}, {2001, nil, "sequence_tis"}, {10, new(float64), "token_tis"}} {
		k := &known{Gap: &Gap{Gap: metrics.Gap{ESSToken: 0.6}}, state: Genuine, causes: []string{"staleness"}, sure: true, low: 0.99, high: 1.01, median: c.median, lag: c.lag}
		evaluated := decide(k)
		if got := evaluated[len(evaluated)-1].correction.Recipe(); !strings.Contains(got, "name: "+c.want) {
			t.Errorf("%v: %s", c.median, got)
		}
	}
}

// The band: three standard errors of a response's mean, no narrower than a hundredth.
func TestBand(t *testing.T) {
	for _, c := range []struct{ sigma, low, high float64 }{{0.001, 0.99, 1.01}, {0.0334, 0.989, 1.011}, {0.2, 0.94, 1.06}, {9, 0.1, 1.9}} {
		var rows []*kept
		for range 10 {
			k := &kept{}
			for n := range 100 {
				k.roll, k.old = append(k.roll, -1), append(k.old, -1+c.sigma*float64(n%2*2-1))
			}
			rows = append(rows, k)
		}
		if median, low, high := newTrial(rows).band(); median != 100 || low != c.low || high != c.high {
			t.Errorf("sd %v: %v to %v at %v tokens, want %v to %v", c.sigma, low, high, median, c.low, c.high)
		}
	}
}

// What is recommended is tried, and each framework's text, where it says all of it,
// changes the very same tokens by the very same weights.
func TestRecommendedConfigurations(t *testing.T) {
	world := newTrial(keptOf(rowsOf(7, 0.4, 60, 80)))
	for _, c := range []struct {
		set  func(k *known)
		full []string // the frameworks that can say all of it
	}{
		{func(k *known) { k.MeanAbsDp = 0.02 }, []string{"skyrl", "slime", "verl"}},
		{func(k *known) { k.causes, k.sure = []string{"routing"}, true }, []string{"slime", "trl", "verl"}},
		{func(k *known) { k.causes, k.sure, k.median = []string{"staleness"}, true, 10 }, []string{"skyrl", "slime", "trl", "verl"}},
		{func(k *known) { k.Chi2Token = 2 }, []string{"slime", "trl", "verl"}},
	} {
		k := &known{Gap: &Gap{Gap: metrics.Gap{Pearson: 1, ESSToken: 0.9}}, state: Genuine}
		k.median, k.low, k.high = world.band()
		c.set(k)
		evaluated := decide(k)
		fix, config := world.recommend(evaluated)
		if fix == nil || fix.Effect == nil || len(config) != 5 {
			t.Fatalf("%+v, %v", fix, config)
		}
		want, err := world.weights(evaluated[len(evaluated)-1].correction)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range config {
			read, err := foreign.Read(name, []byte(text))
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			whole := !strings.Contains(text, " has no ") && name != "prime"
			if whole != slices.Contains(c.full, name) {
				t.Errorf("%s says all of it: %v\n%s", name, whole, text)
			}
			if !whole {
				continue
			}
			got, err := world.weights(read.Pipeline)
			if err != nil {
				t.Fatal(err)
			}
			for n := range want {
				if math.Abs(got[n]-want[n]) > 1e-12 {
					t.Errorf("%s: weight %v at token %d, want %v\n%s", name, got[n], n, want[n], text)
					break
				}
			}
		}
	}
	if fix, config := world.recommend([]Decision{{Row: "agreement", Fired: true}}); fix != nil || config != nil {
		t.Errorf("%v %v", fix, config)
	}
}

// keptOf are rows as the sample keeps them.
func keptOf(rows []*reader.Row) []*kept {
	a := analysed(Options{}, rows)
	return a.sample.inOrder()
}

// Disagreements say what each answer does here: a narrow band drops the short.
func TestDisagreements(t *testing.T) {
	r := analysed(Options{}, rowsOf(7, 0.4, 60, 80)).Report()
	if len(r.Disagreements) == 0 || len(r.Decisions) == 0 {
		t.Fatalf("%+v", r.Verdict)
	}
	band := r.Disagreements[0].Say
	if band[0].Effect == band[3].Effect || !strings.HasPrefix(band[3].Effect, "drops ") || band[4].Value == band[0].Value {
		t.Errorf("%+v", band)
	}
	if r.Verdict.State == Genuine && r.Verdict.Next != r.Decisions[len(r.Decisions)-1].Advice {
		t.Errorf("%q", r.Verdict.Next)
	}
}

// A response of two turns has a tool's tokens between: masks are counted by turn.
func TestMaskedByTurn(t *testing.T) {
	row := rowsOf(1, 0, 1, 9)[0]
	for n := range row.Mask {
		row.Mask[n] = n < 3 || n > 4
		row.Old[n] = row.Roll[n]
	}
	row.Old[5] = row.Roll[5] + 2
	row.Roll[6] = math.NaN() // not compared, and no end of a turn
	tried := newTrial(keptOf([]*reader.Row{row})).try("x", "mask", &correction.Pipeline{Masks: []correction.Masking{&correction.TokenMask{Low: 0.5, High: 2}}}, nil)
	if want := []float64{0, 1. / 3}; tried.Masked == nil || !slices.Equal(tried.Masked.Turn, want) {
		t.Errorf("%+v, want %v", tried.Masked, want)
	}
}
