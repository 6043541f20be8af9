package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
	"driftlab/results/stability"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// Each limit of the table has a gap on either side of it.
func TestDecide(t *testing.T) {
	lag := func(x float64) *float64 { return &x }
	longer := func(after, off float64) *Growth {
		return &Growth{From: 1, To: 90, Before: 100, After: after, Error: off}
	}
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
		{"a quarter masked", func(k *known) { k.dropped = 0.26 }, "limits of rejection"},
		{"a tenth masked", func(k *known) { k.dropped = 0.24 }, "none of these"},
		{"few left behind a mask", func(k *known) { k.ESSToken, k.behind = 0.2, 0.29 }, "limits of rejection"},
		{"enough left behind a mask", func(k *known) { k.ESSToken, k.behind = 0.2, 0.31 }, "exploded weights"},
		{"few left, not exploded", func(k *known) { k.Chi2Token, k.behind = 0.5, 0.29 }, "heavy tail"},
		{"IcePop masks a quarter", func(k *known) { k.Chi2Token, k.jumps = 1.5, 0.26 }, "limits of rejection"},
		{"IcePop masks less", func(k *known) { k.Chi2Token, k.jumps = 1.5, 0.24 }, "exploded weights"},
		{"biased and noisy", func(k *known) { k.Chi2Token, k.TV, k.behind = 1.01, 0.17, 0.1 }, "bias and variance"},
		{"noisy alone", func(k *known) { k.Chi2Token, k.TV = 1.01, 0.15 }, "exploded weights"},
		{"biased alone", func(k *known) { k.Chi2Token, k.TV = 0.29, 0.17 }, "broad shift"},
		{"biased with a tail", func(k *known) { k.Chi2Token, k.TV = 0.31, 0.17 }, "heavy tail"},
		{"noisy weights", func(k *known) { k.noise, k.Chi2Token = lag(1.31), 0.5 }, "noisy weights"},
		{"weights without noise", func(k *known) { k.noise, k.Chi2Token = lag(1.29), 0.5 }, "heavy tail"},
		{"clip above .2", func(k *known) { k.clipped = lag(0.21) }, "clip saturation"},
		{"clip below .2", func(k *known) { k.clipped = lag(0.19) }, "none of these"},
		{"clip above .2 in engines that agree", func(k *known) { k.state, k.lag, k.clipped = Healthy, lag(1), lag(0.21) }, "clip saturation"},
		{"clip above .2 at a heavy tail", func(k *known) { k.Chi2Token, k.clipped = 0.31, lag(0.21) }, "heavy tail"},
		{"length above +20 %", func(k *known) { k.growth = longer(121, 6.9) }, "length surge"},
		{"length above +20 %, not significant", func(k *known) { k.growth = longer(121, 7.1) }, "none of these"},
		{"length below +20 %", func(k *known) { k.growth = longer(119, 1) }, "none of these"},
		{"length in engines that agree", func(k *known) { k.state, k.growth = Healthy, longer(130, 1) }, "length surge"},
	} {
		k := &known{Gap: &Gap{Gap: metrics.Gap{Pearson: 0.98, K1: 0.03, PPLRatio: 1.02, MeanAbsDp: 0.007, ESSToken: 0.9, Chi2Token: 0.1}}, state: Genuine, low: 0.99, high: 1.01, median: 100, behind: 0.9}
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

// Long responses and queues get sequence weights after a mask, others token weights.
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
	for _, c := range []struct{ sigma, low, high float64 }{{0.001, 0.99, 1.01}, {0.0334, 0.989, 1.011}, {0.2, 0.94, 1.064}, {9, 0.1, 10}} {
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
		{func(k *known) { k.MeanAbsDp = 0.02 }, []string{"skyrl", "slime", "verl", "vime", "roll"}},
		{func(k *known) { k.causes, k.sure = []string{"routing"}, true }, []string{"slime", "verl", "vime", "nemo-rl"}},
		{func(k *known) { k.causes, k.sure, k.median = []string{"staleness"}, true, 10 }, []string{"skyrl", "slime", "trl", "verl", "vime", "nemo-rl", "areal", "openrlhf", "roll", "open-instruct", "ms-swift"}},
		{func(k *known) { k.Chi2Token = 2 }, []string{"slime", "trl", "verl", "vime", "nemo-rl", "openrlhf"}},
	} {
		k := &known{Gap: &Gap{Gap: metrics.Gap{Pearson: 1, ESSToken: 0.9}}, state: Genuine}
		k.median, k.low, k.high = world.band()
		k.behind = 0.9
		c.set(k)
		evaluated := decide(k)
		fix, config := world.recommend(evaluated)
		if fix == nil || fix.Effect == nil || len(config) != len(foreign.Writable()) {
			t.Fatalf("%+v, %v", fix, config)
		}
		want := must.Get(world.weights(evaluated[len(evaluated)-1].correction))(t)
		r := must.Get(recipe.Load("default", strings.Replace(briefly(evaluated[len(evaluated)-1].correction), ": ", "=", 1)))(t)
		if got, err := world.weights(r.Correction.Pipeline()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: other weights: %v", briefly(evaluated[len(evaluated)-1].correction), err)
		}
		for _, name := range foreign.Writable() {
			text := config[ConfigKey(name)]
			whole := !strings.Contains(text, " has no ") && !strings.Contains(text, foreign.NotWritten) && name != "prime-rl" && name != "tinker-cookbook" // which weigh in the loss
			if whole != slices.Contains(c.full, name) {
				t.Errorf("%s says all of it: %v\n%s", name, whole, text)
			}
			if !whole {
				continue
			}
			read, err := foreign.ReadAs(name, name, []byte(text))
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			got := must.Get(world.weights(read.Pipeline))(t)
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

// A geometric mask that drops more than a tenth has weights with it.
func TestHeavyTailByMaskedShare(t *testing.T) {
	for dropped, want := range map[float64]bool{0.09: false, 0.11: true} {
		k := &known{Gap: &Gap{Gap: metrics.Gap{Pearson: 0.98, ESSToken: 0.9, Chi2Token: 0.5}}, state: Genuine, low: 0.99, high: 1.01, dropped: dropped}
		evaluated := decide(k)
		if got := evaluated[len(evaluated)-1].correction; (got.Weights != nil) != want || len(got.Masks) != 1 {
			t.Errorf("%v masked: %s", dropped, got.Recipe())
		}
	}
}

// The mode follows the survey's recommendation: the clip of a bypass sees gap and update
// together.
func TestMode(t *testing.T) {
	for _, c := range []struct {
		set  func(k *known)
		want string
	}{
		{func(*known) {}, "bypass"},
		{func(k *known) { k.causes, k.sure = []string{Staleness}, true }, "decoupled"},
		{func(k *known) { k.causes, k.sure = []string{Staleness, Precision}, false }, "bypass"},
		{func(k *known) { k.lag = new(0.5) }, "decoupled"},
		{func(k *known) { k.lag = new(float64) }, "bypass"},
		{func(k *known) { k.moved = true }, "decoupled"},
		{func(k *known) { k.Chi2Token = 0.31 }, "decoupled"},
		{func(k *known) { k.Chi2Token = 0.29 }, "bypass"},
		{func(k *known) { k.K1 = -0.051 }, "decoupled"},
	} {
		k := &known{Gap: &Gap{}, state: Genuine}
		c.set(k)
		if got := k.mode().Say[1]; got.Value != c.want || got.Effect == "" {
			t.Errorf("%+v: %+v, want %s", k, got, c.want)
		}
	}
}

// The facts of the table from rows: the policy moves by a log-ratio of 0.3 on every fourth
// token, upwards in the first half of the responses, and the advantages alternate. The second
// half is longer by 24 tokens.
func TestFacts(t *testing.T) {
	rows := slices.Concat(rowsOf(8, 0.4, 15, 70), rowsOf(9, 0.4, 15, 90), rowsOf(10, 0.4, 15, 94), rowsOf(11, 0.4, 15, 114))
	for i, row := range rows {
		row.Step = 1 + i/30*50 // the second half at step 51
		row.New, row.Advantage = slices.Clone(row.Old), make([]float64, len(row.Old))
		for n := range row.Old {
			row.Advantage[n] = float64(1 - 2*(n/4%2))
			if n%4 == 0 {
				row.New[n] += 0.3 - 0.6*float64(i/30)
			}
		}
	}
	a := analysed(Options{}, rows)
	r := a.judgement()
	k := newTrial(a.sample.inOrder()).facts(&r, nil)
	tv, clipped, tokens, ratio, squares := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, row := range rows {
		for n, m := range row.Mask {
			if !m {
				continue
			}
			rho, moved := math.Exp(row.Old[n]-row.Roll[n]), math.Exp(row.New[n]-row.Old[n])
			tv, tokens = tv+math.Abs(rho-1)/2, tokens+1
			if math.Abs(moved-math.Min(math.Max(moved, 0.8), 1.2)) > 0 && (moved > 1) == (row.Advantage[n] > 0) {
				clipped++
			}
			ratio, squares = ratio+rho*row.Advantage[n]*rho*row.Advantage[n], squares+row.Advantage[n]*row.Advantage[n]
		}
	}
	if math.Abs(k.TV-tv/tokens) > 1e-12 || k.TV == 0 {
		t.Errorf("total variation %v, want %v", k.TV, tv/tokens)
	}
	if k.clipped == nil || *k.clipped != clipped/tokens || *k.clipped < 0.1 || !k.moved || k.noise != nil {
		t.Errorf("clip fraction %v, want %v; moved %v, noise %v", k.clipped, clipped/tokens, k.moved, k.noise)
	}
	// 30 lengths of mean ± 10 have the variance 100·30/29.
	if g := k.growth; g == nil || g.From != 1 || g.To != 51 || g.Before != 80 || g.After != 104 || math.Abs(g.Error-math.Sqrt(200./29)) > 1e-12 {
		t.Errorf("growth %+v", g)
	}
	// A token is masked by IcePop where ρ is not in 0.5 to 5, a response by the geometric mask
	// where the exponential of its mean is not in the band.
	kept, jumps, sum, squared := 0.0, 0.0, 0.0, 0.0
	for _, row := range rows {
		mean, n := 0.0, 0.0
		for i, m := range row.Mask {
			if d := row.Old[i] - row.Roll[i]; m {
				mean, n = mean+d, n+1
				if d < math.Log(0.5) || d > math.Log(5) {
					jumps++
				}
			}
		}
		if g := math.Exp(mean / n); g < k.low || g > k.high {
			continue
		}
		for i, m := range row.Mask {
			if rho := math.Exp(row.Old[i] - row.Roll[i]); m {
				kept, sum, squared = kept+1, sum+rho, squared+rho*rho
			}
		}
	}
	if math.Abs(k.jumps-jumps/tokens) > 1e-12 || jumps == 0 || math.Abs(k.dropped-(1-kept/tokens)) > 1e-12 || math.Abs(k.behind-sum*sum/squared/kept) > 1e-9 {
		t.Errorf("IcePop masks %v, want %v; the geometric mask %v, want %v, and leaves an ESS of %v, want %v", k.jumps, jumps/tokens, k.dropped, 1-kept/tokens, k.behind, sum*sum/squared/kept)
	}
	// A narrow band masks some responses.
	narrow := weighted(nil, &correction.Geometric{Low: 0.99, High: 1.01})
	if dropped, ess := newTrial(a.sample.inOrder()).left(narrow); dropped <= k.dropped || dropped == 1 || ess == k.behind {
		t.Errorf("a narrow band masks %v and leaves an ESS of %v", dropped, ess)
	}
	rates := &stability.Alarms{Rules: []stability.Rule{{Metric: "actor/pg_clipfrac", Limit: 0.2, Rates: stability.AlarmRates{Detected: 3, Of: 4}}}}
	if got := k.alarms(rates); len(got) != 2 || got[0].Value != *k.clipped || got[0].Fired != (*k.clipped > 0.2) || got[0].Detection == nil || *got[0].Detection != 0.75 || got[1].Value != 1.3 || !got[1].Fired {
		t.Errorf("alarms %+v", got)
	}
	if whole := a.Report(); len(whole.Alarms) != len(r.Alarms)+2 {
		t.Errorf("%d alarms in the report, %d without the table's", len(whole.Alarms), len(r.Alarms))
	}
	config := &foreign.Config{Pipeline: &correction.Pipeline{Weights: &correction.TokenTIS{Cap: math.Inf(1)}}}
	if k := newTrial(a.sample.inOrder()).facts(&r, config); k.noise == nil || math.Abs(*k.noise-ratio/squares) > 1e-9 {
		t.Errorf("noise %v, want %v", k.noise, ratio/squares)
	}
	for _, row := range rows {
		row.New = nil
	}
	a = analysed(Options{}, rows)
	if k := newTrial(a.sample.inOrder()).facts(&r, nil); k.clipped != nil || k.moved {
		t.Errorf("clip fraction %v without a training forward", k.clipped)
	}
}

// Growth is from the first of the last hundred steps that has enough responses.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		steps []int // of eight responses each, one token longer from step to step
		from  int   // 0 for none
	}{{[]int{1}, 0}, {[]int{1, 101}, 1}, {[]int{1, 102}, 0}, {[]int{1, 2, 102}, 2}, {[]int{7, 3, 9}, 3}} {
		x := new(text)
		for i, step := range c.steps {
			for range leastResponses {
				x.add(&reader.Row{Step: step, Mask: slices.Repeat([]bool{true}, 5+i), Reward: math.NaN(), Head: reader.Unknown, Tail: reader.Unknown})
			}
		}
		got := x.growth()
		if (got == nil) != (c.from == 0) || got != nil && (got.From != c.from || got.To != slices.Max(c.steps) || got.Error != 0) {
			t.Errorf("steps %v: %+v, want from %d", c.steps, got, c.from)
		}
		for range leastResponses - 1 {
			x.add(&reader.Row{Step: 103, Mask: []bool{true}, Reward: math.NaN(), Head: reader.Unknown, Tail: reader.Unknown})
		}
		if got := x.growth(); got != nil {
			t.Errorf("steps %v, and one with few responses: %+v", c.steps, got)
		}
	}
}
