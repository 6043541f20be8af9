package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/guard"
)

// engines is two responses in two engines: routes of two layers with two
// experts each, distributions over three tokens.
func engines() *batch.Batch {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 2, 4}, Mask: []bool{true, true, true, false}, Layers: 2, TopK: 2, Vocab: 3, RoutesRoll: []uint8{0, 1, 2, 3 /**/, 0, 1, 2, 3 /**/, 4, 5, 6, 7 /**/, 0, 1, 2, 3}},
		Old:     batch.Scored{Routes: []uint8{1, 0, 2, 3 /**/, 0, 2, 2, 3 /**/, 5, 4, 7, 6 /**/, 9, 8, 7, 6}},
	}
	roll := [][]float64{{.5, .3, .2}, {.5, .3, .2}, {.2, .4, .4}, {1, 0, 0}}
	old := [][]float64{{.5, .3, .2}, {.25, .55, .2}, {.25, .35, .4}, {0, 1, 0}}
	for n := range roll {
		for a := range 3 {
			b.DistRoll = append(b.DistRoll, float32(math.Log(roll[n][a])))
			b.Old.Dist = append(b.Old.Dist, float32(math.Log(old[n][a])))
		}
		b.LogpRoll = append(b.LogpRoll, math.Log(roll[n][0]))
		b.Old.Logp = append(b.Old.Logp, math.Log(old[n][0]))
	}
	b.Old.Logp[3] = math.Inf(-1)
	return b
}

func close(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// The sampled token is the first: p_roll = .5, .5, .2 and p_old = .5, .25, .25,
// so ρ = 1, .5, 1.25 and e = 0, −.693147, .223144.
func TestCompareByHand(t *testing.T) {
	g := Compare(engines())
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"k1", g.K1, (.693147180559945 - .22314355131421) / 3},
		{"k2", g.K2, (.240226506959101 + .024896522249) / 3},
		{"k3", g.K3, (.5 - 1 + .693147180559945 + 1.25 - 1 - .22314355131421) / 3},
		{"chi2_token", g.Chi2Token, (1+.25+1.5625)/3 - 1},
		{"chi2_sequence", g.Chi2Sequence, (.25+1.5625)/2 - 1},
		{"ess_token", g.ESSToken, 2.75 * 2.75 / (3 * 2.8125)},
		{"ess_sequence", g.ESSSequence, 1.75 * 1.75 / (2 * 1.8125)},
		{"ppl_ratio", g.PPLRatio, (math.Sqrt2 + .8) / 2},
		{"mean |dlogp|", g.MeanAbsDlogp, (.693147180559945 + .22314355131421) / 3},
		{"max |dlogp|", g.MaxAbsDlogp, .693147180559945},
		{"mean |dp|", g.MeanAbsDp, .1},
		{"max |dp|", g.MaxAbsDp, .25},
		{"std |dp|", g.StdAbsDp, .1322875655532295},
		{"mean |seq|", g.MeanAbsSequence, (.693147180559945 + .22314355131421) / 2},
		{"unequal", g.Unequal, 2. / 3},
		{"exact KL", g.ExactKL, (.5*math.Log(2) + .3*math.Log(.3/.55) + .2*math.Log(.8) + .4*math.Log(.4/.35)) / 3},
		{"exact TV", g.ExactTV, (.25 + .05) / 3},
		{"TV that one in twenty exceeds", g.TailTV, .25},
		{"(ρ − 1)² that one in twenty exceeds", g.Chi2Tail, .25},
		{"max TV", g.MaxTV, .25},
		{"flip token", g.FlipToken, 1. / 3},
		{"flip route", g.FlipRoute, 1. / 6},
		{"flip layer 0", g.FlipLayer[0], 1. / 3},
		{"flip layer 1", g.FlipLayer[1], 0},
		{"flip sequence", g.FlipSequence, .5},
		{"flips of the worst expert", g.FlipExpertMax, 1. / 3},
		{"its part", g.FlipExpertWorst, .5},
		{"flipped |dlogp|", g.FlippedAbsDlogp, .693147180559945},
		{"rest |dlogp|", g.RestAbsDlogp, .22314355131421 / 2},
	} {
		if !close(c.got, c.want, 1e-6) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if g.Tokens != 3 || g.Sequences != 2 || !g.HasExact || !g.HasRoutes {
		t.Errorf("compared %d tokens of %d responses, exact %v, routes %v", g.Tokens, g.Sequences, g.HasExact, g.HasRoutes)
	}
}

// Equal engines have a gap of exactly zero in every figure that measures one.
func TestEqualEnginesHaveNoGap(t *testing.T) {
	b := engines()
	b.Old.Logp, b.Old.Dist, b.Old.Routes = b.LogpRoll, b.DistRoll, b.RoutesRoll
	g := Compare(b)
	want := Gap{Tokens: 3, Sequences: 2, ESSToken: 1, ESSSequence: 1, PPLRatio: 1, Pearson: g.Pearson,
		HasExact: true, HasRoutes: true, FlipLayer: g.FlipLayer}
	a, _ := json.Marshal(g)
	c, _ := json.Marshal(want)
	if string(a) != string(c) || !slices.Equal(g.FlipLayer, []float64{0, 0}) || !close(g.Pearson, 1, 1e-15) {
		t.Errorf("gap of equal engines:\n got %s\nwant %s", a, c)
	}
}

// Batches with nothing to compare give finite figures that a record can hold.
func TestCompareNothing(t *testing.T) {
	for _, b := range []*batch.Batch{
		{Sampled: batch.Sampled{Offsets: []int{0}}},
		{
			Sampled: batch.Sampled{Offsets: []int{0, 2}, Mask: []bool{false, false}, LogpRoll: []float64{math.NaN(), 0}},
			Old:     batch.Scored{Logp: []float64{math.Inf(-1), 0}},
		},
		{
			Sampled: batch.Sampled{Offsets: []int{0, 1}, Mask: []bool{true}, LogpRoll: []float64{-2}},
			Old:     batch.Scored{Logp: []float64{-1}},
		},
	} {
		if _, err := json.Marshal(Compare(b)); err != nil {
			t.Errorf("%+v: %v", b, err)
		}
		for _, m := range Step(nil, b, Limits{}) {
			if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
				t.Errorf("%s is %v", m.Name, m.Value)
			}
		}
	}
}

// A gap of a thousand nats leaves every clamped figure finite.
func TestCompareHugeGap(t *testing.T) {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 2}, Mask: []bool{true, true}, LogpRoll: []float64{-1, -1}},
		Old:     batch.Scored{Logp: []float64{-1000, -1}},
	}
	g := Compare(b)
	if g.MaxAbsDlogp != 999 || math.IsInf(g.Chi2Sequence, 0) || math.IsNaN(g.ESSSequence) {
		t.Errorf("gap %+v", g)
	}
}

// Under samples of mu in proportion to its probabilities the mean of k1, and
// that of k3, is the exact KL(mu || pi); k2 misses by what theory gives,
// E[e²/2] − KL. Reference: Schulman, Approximating KL divergence, 2020.
func TestEstimatorsAreExactInExpectation(t *testing.T) {
	mu := []float64{.5, .25, .125, .125}
	copies := []int{4, 2, 1, 1}
	r := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		pi, total := make([]float64, 4), 0.0
		for a := range pi {
			pi[a] = math.Exp(r.NormFloat64())
			total += pi[a]
		}
		kl, half, chi2 := 0.0, 0.0, 0.0
		b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 8}}}
		for a := range pi {
			pi[a] /= total
			e := math.Log(pi[a] / mu[a])
			kl -= mu[a] * e
			half += mu[a] * e * e / 2
			chi2 += pi[a] * pi[a] / mu[a]
			for range copies[a] {
				b.Mask = append(b.Mask, true)
				b.Old.Logp, b.LogpRoll = append(b.Old.Logp, math.Log(pi[a])), append(b.LogpRoll, math.Log(mu[a]))
			}
		}
		g := Compare(b)
		if !close(g.K1, kl, 1e-12) || !close(g.K3, kl, 1e-12) {
			t.Errorf("k1 %v, k3 %v, exact %v", g.K1, g.K3, kl)
		}
		if !close(g.K2-kl, half-kl, 1e-12) {
			t.Errorf("k2 misses by %v, want %v", g.K2-kl, half-kl)
		}
		if !close(g.Chi2Token, chi2-1, 1e-12) {
			t.Errorf("χ² %v, exact %v", g.Chi2Token, chi2-1)
		}
		// ESS is 1/(1 + χ²) when the weights' mean is 1.
		if !close(g.ESSToken, 1/chi2, 1e-12) {
			t.Errorf("ESS %v, exact %v", g.ESSToken, 1/chi2)
		}
	}
}

// A gap of a few float32 roundings keeps its digits: KL is half the mean square
// of the log-ratio under p to leading order, far below the rounding of its terms.
func TestSmallDivergence(t *testing.T) {
	logP := []float32{-1.0986123, -1.0986123, -1.0986123}
	logQ := []float32{-1.0986123 + 2e-6, -1.0986123 - 1e-6, -1.0986123 - 1e-6}
	want, tv := 0.0, 0.0
	for a := range logP {
		d := float64(logQ[a]) - float64(logP[a])
		p := math.Exp(float64(logP[a]))
		want += p * d * d / 2
		tv += p * math.Abs(d) / 2
	}
	kl, got := divergence(logP, logQ)
	if math.Abs(kl-want) > 1e-3*want || math.Abs(got-tv) > 1e-3*tv {
		t.Errorf("KL %g and TV %g, want %g and %g", kl, got, want, tv)
	}
	if kl, tv := divergence(logP, logP); kl != 0 || tv != 0 {
		t.Errorf("KL %g and TV %g of equal rows", kl, tv)
	}
	inf := float32(math.Inf(-1))
	if kl, tv := divergence([]float32{0, inf}, []float32{float32(math.Log(.5)), float32(math.Log(.5))}); math.Abs(kl-math.Ln2) > 1e-7 || math.Abs(tv-.5) > 1e-7 {
		t.Errorf("KL %v and TV %v of a certain row, want log 2 and a half", kl, tv)
	}
}

func TestSameExpertsIgnoresOrder(t *testing.T) {
	for _, c := range []struct {
		a, b []uint8
		want bool
	}{
		{[]uint8{1, 2}, []uint8{2, 1}, true},
		{[]uint8{1, 2}, []uint8{1, 3}, false},
		{[]uint8{7}, []uint8{7}, true},
		{[]uint8{0, 1, 2}, []uint8{2, 1, 3}, false},
	} {
		if got := sameExperts(c.a, c.b); got != c.want {
			t.Errorf("SameExperts(%v, %v) is %v", c.a, c.b, got)
		}
	}
}

// full is a batch in which everything a step can record is recorded.
func full() *batch.Batch {
	b := engines()
	b.Prompt = [][]int32{{1, 2}, {1, 2}}
	b.Reward, b.Correct, b.Group = []float64{1, 0}, []bool{true, false}, []int{0, 0}
	b.TokenReward, b.Value = make([]float64, 4), []float64{.1, .2, .3, .4}
	b.Old.Entropy, b.Old.SumSquares = []float64{1, 1, 1, 1}, []float64{.4, .4, .4, .4}
	b.Now.Logp, b.Advantage, b.Return = []float64{-1, -1, -1, -1}, []float64{1, 1, -1, 0}, []float64{1, 1, 0, 0}
	b.Now.Dist, b.Now.Entropy = b.Old.Dist, b.Old.Entropy
	b.Turn = make([]int32, 4)
	b.Version, b.Finished = make([]int32, 4), []bool{true, true}
	return b
}

// Every figure that a step, a correction, a guard or the variance proxy reports
// has an entry in the glossary, with a formula; and no two orders exist.
func TestGlossaryIsComplete(t *testing.T) {
	var names []string
	collect := func(m []batch.Metric) {
		for _, x := range m {
			names = append(names, x.Name)
		}
	}
	collect(VarianceProxy(Step(nil, full(), Limits{}), full(), .3))
	collect((&Rejection{}).Metrics(nil))
	g := Compare(full())
	collect(g.Released(nil))
	collect(g.Part(nil, "engine"))
	collect(g.Part(nil, "lag"))
	for _, style := range []string{"verl", "skyrl"} {
		for _, w := range correction.Weightings {
			for _, m := range correction.Masks {
				p := &correction.Pipeline{Weights: w.New(), BatchNormalize: true, Masks: []correction.Masking{m.New()}, Names: style}
				b := full()
				b.Old.Logp[3] = 0
				b.Anchor = b.Old.Logp
				for _, s := range []correction.Stage{correction.AtBatch, correction.AtStep} {
					if err := p.Apply(b, s); err != nil {
						t.Fatal(err)
					}
					collect(p.Metrics())
				}
			}
		}
	}
	for _, e := range guard.Registry {
		collect(e.New().Metrics(nil))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if term, ok := Lookup(name); !ok || term.Name != name || term.Formula == "" || term.Title == "" || term.Source == "" {
			t.Errorf("the glossary does not explain %s", name)
		}
	}
	for i, term := range glossary {
		if _, err := path.Match(term.Name, ""); err != nil {
			t.Errorf("%s: %v", term.Name, err)
		}
		for _, earlier := range glossary[:i] {
			if earlier.Name == term.Name || !strings.Contains(term.Name, "*") && strings.Contains(earlier.Name, "*") {
				if ok, _ := path.Match(earlier.Name, term.Name); ok {
					t.Errorf("%s is never reached: %s comes first", term.Name, earlier.Name)
				}
			}
		}
	}
	if _, ok := Lookup("actor/no_such_figure"); ok {
		t.Error("the glossary explains a name that does not exist")
	}
}

// The order of a step's figures does not depend on their values.
func TestStepOrderIsFixed(t *testing.T) {
	a, b := full(), full()
	for n := range b.Old.Logp {
		b.Old.Logp[n] -= float64(n)
	}
	x, y := Step(nil, a, Limits{}), Step(nil, b, Limits{})
	if len(x) != len(y) {
		t.Fatalf("%d figures, then %d", len(x), len(y))
	}
	for i := range x {
		if x[i].Name != y[i].Name {
			t.Errorf("figure %d is %s, then %s", i, x[i].Name, y[i].Name)
		}
	}
}

func TestRejectedFractions(t *testing.T) {
	b := full()
	b.LossMask = []bool{true, false, true, false}
	b.Weight = []float64{1, 1, 0, 0}
	var r Rejection
	r.Add(b, nil)
	m := r.Metrics(nil)
	if len(m) != 2 {
		t.Fatalf("%d figures", len(m))
	}
	want := map[string]float64{"correction/masked_fraction": 2. / 3, "correction/seq_masked_fraction": .5}
	for _, x := range m {
		if w, ok := want[x.Name]; ok && !close(x.Value, w, 1e-15) {
			t.Errorf("%s is %v, want %v", x.Name, x.Value, w)
		}
	}
	r.Add(b, []bool{true, true, false, false}) // by the loss, one of them out already
	if got := r.Metrics(nil)[0].Value; got != 5./6 {
		t.Errorf("with the loss's own mask the share is %v, want %v", got, 5./6)
	}
}

func TestNoAllocationsPerToken(t *testing.T) {
	b := full()
	m := Step(nil, b, Limits{})
	// Compare makes one slice, FlipLayer, per call.
	if got := testing.AllocsPerRun(20, func() { m = Step(m[:0], b, Limits{}) }); got > 1 {
		t.Errorf("Step allocates %v times", got)
	}
}

func BenchmarkStep(b *testing.B) {
	in, one := &batch.Batch{}, full()
	rows := make([]int, 512)
	for i := range rows {
		rows[i] = i % 2
	}
	one.Select(in, rows)
	for i := range in.Group {
		in.Group[i] = i / 8
	}
	e, err := advantage.Registry.Lookup("grpo")
	if err != nil {
		b.Fatal(err)
	}
	if err := e.New().Estimate(in); err != nil {
		b.Fatal(err)
	}
	m := Step(nil, in, Limits{})
	b.ReportAllocs()
	for b.Loop() {
		m = Step(m[:0], in, Limits{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Tokens()), "ns/token")
}

func TestTail(t *testing.T) {
	var all []float64
	for i := range 100 {
		all = append(all, float64((i*37+5)%100))
	}
	if got := tail(all); got != 94 { // of 0 to 99, 95 to 99 are beyond
		t.Errorf("the 95th percentile is %v", got)
	}
}
