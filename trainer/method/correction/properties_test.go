package correction

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// random is a ragged batch with holes, an empty and a one-token response, and
// everything any method reads. At a spread of 0 it is on-policy.
func random(seed uint64, spread float64) *batch.Batch {
	r := rand.New(rand.NewPCG(seed, 1))
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}, Vocab: 2}}
	for i, length := range []int{7, 1, 12, 4, 9, 3} {
		for t := range length {
			b.Mask = append(b.Mask, i != 3 && !(i == 2 && t%4 == 2))
			b.Turn = append(b.Turn, int32(t/4))
			b.Version = append(b.Version, int32(t/3))
			b.Anchor = append(b.Anchor, -r.ExpFloat64())
			n := len(b.Anchor) - 1
			b.LogpRoll = append(b.LogpRoll, b.Anchor[n]+spread*r.NormFloat64())
			b.Now.Logp = append(b.Now.Logp, b.Anchor[n]+spread*r.NormFloat64())
			b.Advantage = append(b.Advantage, r.NormFloat64())
			b.Now.Entropy = append(b.Now.Entropy, float64(n*7%5))
			for _, dist := range []*[]float32{&b.DistRoll, &b.Now.Dist} {
				p := 1 / (1 + math.Exp(min(spread, 1)*r.NormFloat64()))
				*dist = append(*dist, float32(math.Log(p)), float32(math.Log(1-p)))
			}
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
		b.Finished = append(b.Finished, i%3 != 1)
		b.Correct = append(b.Correct, i%2 == 0)
	}
	return b
}

// every calls do with a pipeline of each registered method, in both modes.
func every(do func(name string, p *Pipeline)) {
	for _, mode := range []Mode{Decoupled, Bypass} {
		for _, e := range Weightings {
			do(string(mode)+"/"+e.Name, &Pipeline{Mode: mode, Weights: e.New()})
		}
		for _, e := range Masks {
			for _, d := range []Denominator{Pre, Post} {
				do(string(mode)+"/"+e.Name+"/"+string(d), &Pipeline{Mode: mode, Masks: []Masking{e.New()}, Denominator: d})
			}
		}
	}
}

// placebo reports whether the pipeline's mask is the control that knows no ratio.
func placebo(p *Pipeline) bool {
	if len(p.Masks) == 0 {
		return false
	}
	_, is := p.Masks[0].(*RandomMask)
	return is
}

func apply(t testing.TB, p *Pipeline, b *batch.Batch) {
	t.Helper()
	for _, s := range []Stage{AtBatch, AtStep} {
		must(t, p.Apply(b, s))
	}
}

// On-policy every weight is one, nothing is rejected, the ESS is one.
func TestOnPolicyChangesNothing(t *testing.T) {
	every(func(name string, p *Pipeline) {
		b := random(1, 0)
		clear(b.Version)
		for i := range b.Finished {
			b.Finished[i], b.Correct[i] = true, true
		}
		if placebo(p) {
			return // it rejects on-policy as it does anywhere
		}
		apply(t, p, b)
		for n, counts := range b.Mask {
			if b.LossMask[n] != counts || b.Gate != nil && counts && !b.Gate[n] {
				t.Errorf("%s: token %d is rejected on-policy", name, n)
			}
			if b.Weight != nil && counts && b.Weight[n] != 1 {
				t.Errorf("%s: token %d has weight %v on-policy", name, n, b.Weight[n])
			}
		}
		for _, m := range p.Metrics() {
			if strings.HasSuffix(m.Name, "eff_sample_size") && math.Abs(m.Value-1) > 1e-7 /* verl adds 1e-8 to a mean and to a count */ {
				t.Errorf("%s: %s is %v on-policy", name, m.Name, m.Value)
			}
		}
	})
}

// No method lets a non-finite number through, whatever lies outside the mask and
// however large the gap; padding keeps weight 0 and stays out of the loss mask.
func TestNastyBatches(t *testing.T) {
	poison := func(b *batch.Batch) {
		for n, counts := range b.Mask {
			if !counts {
				b.Anchor[n], b.LogpRoll[n], b.Now.Logp[n], b.Advantage[n] = math.Inf(-1), math.NaN(), math.Inf(1), math.NaN()
			}
		}
	}
	for _, c := range []struct {
		name  string
		build func() *batch.Batch
	}{
		{"garbage behind the mask", func() *batch.Batch { b := random(2, .5); poison(b); return b }},
		{"e of a thousand", func() *batch.Batch { return random(3, 1000) }},
		{"all masked", func() *batch.Batch { b := random(4, .5); clear(b.Mask); poison(b); return b }},
		{"one token", func() *batch.Batch {
			b := random(5, .5)
			clear(b.Mask)
			b.Mask[3] = true
			poison(b)
			return b
		}},
		{"no responses", func() *batch.Batch { return &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}} }},
	} {
		every(func(name string, p *Pipeline) {
			if c.name == "no responses" && strings.Contains(name, "trm") {
				return // no distributions to require
			}
			for _, normalise := range []bool{false, true} {
				p.BatchNormalize = normalise && p.Weights != nil
				b := c.build()
				apply(t, p, b)
				for n, counts := range b.Mask {
					if b.LossMask[n] && !counts {
						t.Errorf("%s, %s: token %d entered the loss mask", c.name, name, n)
					}
					if b.Weight != nil && (math.IsNaN(b.Weight[n]) || math.IsInf(b.Weight[n], 0) || b.Weight[n] < 0 || !counts && b.Weight[n] != 0) {
						t.Errorf("%s, %s: token %d has weight %v", c.name, name, n, b.Weight[n])
					}
				}
				for _, m := range p.Metrics() {
					if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
						t.Errorf("%s, %s: metric %s is %v", c.name, name, m.Name, m.Value)
					}
				}
			}
		})
	}
}

// Token, sequence, geometric and segment forms coincide on one-token responses.
func TestFormsCoincideAtLengthOne(t *testing.T) {
	b := rows([][]float64{{-1.2}, {-.3}, {-2}}, [][]float64{{-.7}, {-.9}, {-2.1}})
	var first []float64
	for _, w := range []Weighting{&TokenTIS{Cap: 1.5}, &SequenceTIS{Cap: 1.5}, &GeometricTIS{Cap: 1.5}, &SegmentTIS{Cap: 1.5, By: ByRun}} {
		apply(t, &Pipeline{Weights: w}, b)
		if first == nil {
			first = slices.Clone(b.Weight)
		} else if !slices.Equal(first, b.Weight) {
			t.Errorf("%T: %v, the token form has %v", w, b.Weight, first)
		}
	}
}

// With from_turn, tokens of earlier turns have weight 1, and the others what they have without.
func TestTokenTISFromTurn(t *testing.T) {
	all, late := random(3, 1), random(3, 1)
	apply(t, &Pipeline{Weights: &TokenTIS{Cap: 2}}, all)
	apply(t, &Pipeline{Weights: &TokenTIS{Cap: 2, FromTurn: 1}}, late)
	changed := 0
	for n := range late.Weight {
		want := all.Weight[n]
		if late.Mask[n] && late.Turn[n] == 0 {
			want = 1
		}
		if want != all.Weight[n] {
			changed++
		}
		if late.Weight[n] != want {
			t.Errorf("token %d of turn %d: weight %v, want %v", n, late.Turn[n], late.Weight[n], want)
		}
	}
	if changed == 0 {
		t.Error("no token of the first turn has a weight other than 1 without from_turn")
	}
	late.Turn = nil
	if err := (&Pipeline{Weights: &TokenTIS{Cap: 2, FromTurn: 1}}).Apply(late, AtBatch); err == nil || !strings.Contains(err.Error(), "Turn") {
		t.Errorf("error %v, want one that names Turn", err)
	}
}

// Permuting the responses permutes the result.
func TestResponsesAreExchangeable(t *testing.T) {
	order := []int{4, 2, 0, 5, 1, 3}
	every(func(name string, p *Pipeline) {
		if placebo(p) {
			return // it draws by place
		}
		a := random(6, .4)
		apply(t, p, a)
		var want, b batch.Batch
		a.Select(&want, order)
		random(6, .4).Select(&b, order)
		apply(t, p, &b)
		if !slices.Equal(want.LossMask, b.LossMask) || !slices.Equal(want.Weight, b.Weight) || !slices.Equal(want.Gate, b.Gate) {
			t.Errorf("%s: permuting responses changes more than their order", name)
		}
	})
}

// OPSM is a one-sided geometric mask of pi/mu on negative advantages, and its
// two forms agree. Reference: arXiv 2512.02556.
func TestOPSMIsGeometric(t *testing.T) {
	for seed := range uint64(50) {
		for _, delta := range []float64{1e-4, .05, .3} {
			b := random(seed, .3)
			for i := range b.Len() { // one sign per response
				from, to := b.Span(i)
				for n := from; n < to; n++ {
					b.Advantage[n] = b.Advantage[from]
				}
			}
			apply(t, &Pipeline{Masks: []Masking{&OPSM{Delta: delta, Signs: Negative}}}, b)
			exact := slices.Clone(b.Gate)
			apply(t, &Pipeline{Masks: []Masking{&OPSM{Delta: delta, Signs: Negative, Factored: true}}}, b)
			if !slices.Equal(exact, b.Gate) {
				t.Errorf("seed %d, delta %v: exact and factored forms differ", seed, delta)
			}
			apply(t, &Pipeline{Mode: Bypass, Masks: []Masking{&Geometric{Low: math.Exp(-delta), High: math.Inf(1)}}}, b)
			for n, counts := range b.Mask {
				want := b.LossMask[n] || b.Advantage[n] >= 0
				if counts && exact[n] != want {
					t.Errorf("seed %d, delta %v: token %d kept %v by OPSM, %v by the geometric mask", seed, delta, n, exact[n], want)
				}
			}
		}
	}
}

// Every gradient step starts from what the batch stage left: a token that one
// step drops may return in the next.
func TestStepsStartFromTheBatchStage(t *testing.T) {
	b := random(7, .3)
	for n := range b.Advantage {
		b.Advantage[n] = -1
	}
	p := &Pipeline{Weights: &TokenTIS{Cap: 2}, Masks: []Masking{&TokenMask{Low: .7, High: 1.4}, &OPSM{Delta: .1, Signs: Negative}}}
	apply(t, p, b)
	mask, weight, gate := slices.Clone(b.LossMask), slices.Clone(b.Weight), slices.Clone(b.Gate)
	kept := slices.Clone(b.Now.Logp)
	for n := range b.Now.Logp {
		b.Now.Logp[n] -= 5 // everything has drifted: OPSM drops all
	}
	must(t, p.Apply(b, AtStep))
	for n, counts := range b.Mask {
		if counts && b.Gate[n] {
			t.Errorf("token %d survives a drift of 5 nats", n)
		}
	}
	b.Now.Logp = kept
	must(t, p.Apply(b, AtStep))
	if !slices.Equal(mask, b.LossMask) || !slices.Equal(weight, b.Weight) || !slices.Equal(gate, b.Gate) {
		t.Error("a third step does not repeat the first")
	}
}

// The figures of both stages stand side by side, each name once, and the totals
// count what both rejected.
func TestMetricsOfBothStages(t *testing.T) {
	b := random(7, .3)
	for n := range b.Advantage {
		b.Advantage[n] = -1
	}
	p := &Pipeline{Weights: &TokenTIS{Cap: 2}, Masks: []Masking{&TokenMask{Low: .7, High: 1.4}, &OPSM{Delta: .1, Signs: Negative}}}
	for range 3 {
		apply(t, p, b)
	}
	values := map[string]float64{}
	for _, m := range p.Metrics() {
		if _, twice := values[m.Name]; twice {
			t.Errorf("%s is reported twice", m.Name)
		}
		values[m.Name] = m.Value
	}
	out, tokens := 0., 0.
	for n, counts := range b.Mask {
		if counts {
			tokens++
			if !b.LossMask[n] || !b.Gate[n] {
				out++
			}
		}
	}
	if got := values["rollout_corr/rollout_rs_masked_fraction"]; math.Abs(got-out/tokens) > 1e-9 || out == 0 {
		t.Errorf("masked fraction %v, counted %v", got, out/tokens)
	}
	for _, name := range []string{"rollout_corr/rollout_is_mean", "rollout_corr/rollout_rs_token_mask_masked_fraction", "rollout_corr/rollout_rs_opsm_masked_fraction"} {
		if _, ok := values[name]; !ok {
			t.Errorf("%s is not reported", name)
		}
	}
}

// With denominators pre, rejected tokens close their gate and stay in the mask.
func TestDenominatorPre(t *testing.T) {
	pre, post := random(8, .5), random(8, .5)
	apply(t, &Pipeline{Masks: []Masking{&TokenMask{Low: .8, High: 1.2}}, Denominator: Pre}, pre)
	apply(t, &Pipeline{Masks: []Masking{&TokenMask{Low: .8, High: 1.2}}}, post)
	if !slices.Equal(pre.LossMask, pre.Mask) {
		t.Error("pre changed the loss mask")
	}
	if post.Gate != nil {
		t.Error("post made gates")
	}
	rejected := 0
	for n, counts := range pre.Mask {
		if counts && pre.Gate[n] != post.LossMask[n] {
			t.Errorf("token %d: gate %v, loss mask %v", n, pre.Gate[n], post.LossMask[n])
		}
		if counts && !pre.Gate[n] {
			rejected++
		}
	}
	if rejected == 0 {
		t.Error("the example rejects nothing")
	}
}

// Sequential pipelines let a later statistic see survivors only.
func TestOrder(t *testing.T) {
	// ρ = e^(.1, 3, .1): the outlier token alone spoils the geometric mean.
	build := func() *batch.Batch { return rows([][]float64{{-1, -1, -1}}, [][]float64{{-1.1, -4, -1.1}}) }
	masks := []Masking{&TokenMask{Low: .5, High: 2}, &Geometric{Low: .8, High: 1.25}}
	a, b := build(), build()
	apply(t, &Pipeline{Masks: masks, Order: Sequential}, a)
	apply(t, &Pipeline{Masks: masks, Order: Independent}, b)
	if want := []bool{true, false, true}; !slices.Equal(a.LossMask, want) {
		t.Errorf("sequential keeps %v, want %v", a.LossMask, want)
	}
	if want := []bool{false, false, false}; !slices.Equal(b.LossMask, want) {
		t.Errorf("independent keeps %v, want %v", b.LossMask, want)
	}
}

// At a gradient step too, a sequential pipeline lets OPSM see survivors only:
// the outlier token that the batch stage dropped does not condemn the response.
func TestOrderAtSteps(t *testing.T) {
	for _, c := range []struct {
		order Order
		want  []bool
	}{{Sequential, []bool{true, true, true}}, {Independent, []bool{false, false, false}}} {
		for _, d := range []Denominator{Post, Pre} {
			b := rows([][]float64{{-1, -6, -1}}, [][]float64{{-1, -1, -1}})
			apply(t, &Pipeline{Order: c.order, Denominator: d, Masks: []Masking{&TokenMask{Low: .5, High: 2}, &OPSM{Delta: .5, Signs: Negative}}}, b)
			for n := range b.LossMask {
				if n != 1 && b.Gate[n] != c.want[n] {
					t.Errorf("%s, %s: gates %v, want %v", c.order, d, b.Gate, c.want)
				}
			}
		}
	}
}

// TRM keeps what lies on its bound, and measures KL(mu || pi), not the reverse.
func TestTRMByHand(t *testing.T) {
	b := Worked()
	kl := klDivergence(b.DistRoll[:3], b.Now.Dist[:3])
	if math.Abs(kl-.025267) > 1e-6 {
		t.Fatalf("KL is %v, want .025267", kl)
	}
	for _, c := range []struct {
		delta float64
		want  bool
	}{{kl, true}, {math.Nextafter(kl, 0), false}} {
		apply(t, &Pipeline{Masks: []Masking{&TRM{Delta: c.delta}}}, b)
		if b.Gate[0] != c.want {
			t.Errorf("delta %v: kept %v, want %v", c.delta, b.Gate[0], c.want)
		}
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for _, c := range []struct {
		p    *Pipeline
		want string
	}{
		{&Pipeline{Mode: "decoupld"}, `mode: unknown name "decoupld": did you mean "decoupled"?`},
		{&Pipeline{Order: "parallel"}, "order: "},
		{&Pipeline{Denominator: "middle"}, "denominator: "},
		{&Pipeline{Weights: &TokenTIS{Cap: .5}}, "weights: cap 0.5"},
		{&Pipeline{Weights: &TokenTIS{Cap: 2, Floor: 1.5}}, "weights: floor 1.5"},
		{&Pipeline{Masks: []Masking{&Geometric{Low: 2, High: 1}}}, "masks[0]: low 2: must be in [0, high = 1]"},
		{&Pipeline{Masks: []Masking{&Veto{Threshold: 2}}}, "masks[0]: threshold 2"},
		{&Pipeline{Masks: []Masking{&OPSM{Signs: "odd"}}}, `masks[0]: signs: unknown name "odd"`},
		{&Pipeline{BatchNormalize: true}, "batch_normalize: "},
		{&Pipeline{WeightsAfter: 1}, "weights_after: "},
		{&Pipeline{WeightsAfter: 1, Order: Sequential}, "weights_after is 1, there are 0 masks"},
		{&Pipeline{Masks: []Masking{&Band{Level: "word"}}}, "masks[0]: level: unknown"},
	} {
		err := method.Check(c.p)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.p, err, c.want)
		}
	}
}

func TestMissingColumnsAreNamed(t *testing.T) {
	b := random(9, .1)
	b.Turn = nil
	if err := (&Pipeline{Weights: &SegmentTIS{Cap: 2, By: ByTurn}}).Apply(b, AtBatch); err == nil || !strings.Contains(err.Error(), "Turn") {
		t.Errorf("error %v, want one that names Turn", err)
	}
	if err := (&Pipeline{Mode: Bypass}).Apply(b, AtStep); err == nil || !strings.Contains(err.Error(), "BatchMask") {
		t.Errorf("error %v, want one that names BatchMask", err)
	}
}

func TestNoAllocations(t *testing.T) {
	every(func(name string, p *Pipeline) {
		p.BatchNormalize = p.Weights != nil
		for _, names := range []string{"verl", "skyrl"} {
			p.Names = names
			b := random(10, .4)
			step := func() {
				if p.Apply(b, AtBatch) != nil || p.Apply(b, AtStep) != nil {
					t.Error("error")
				}
			}
			step()
			if got := testing.AllocsPerRun(10, step); got != 0 {
				t.Errorf("%s, %s: %v allocations per step", name, names, got)
			}
		}
	})
}

func TestPresetsAreValid(t *testing.T) {
	for _, preset := range Presets {
		if err := method.Check(preset.New()); err != nil {
			t.Errorf("%s: %v", preset.Name, err)
		}
		apply(t, preset.New(), random(11, .1))
	}
	if _, err := LookupPreset("decoupled_geo_r"); err == nil || !strings.Contains(err.Error(), `did you mean "decoupled_geo_rs"`) {
		t.Errorf("error %v, want the nearest name", err)
	}
}

func BenchmarkWeights(b *testing.B) {
	for _, e := range Weightings {
		b.Run(e.Name, func(b *testing.B) { benchmark(b, &Pipeline{Weights: e.New()}) })
	}
}

func BenchmarkMasks(b *testing.B) {
	for _, e := range Masks {
		b.Run(e.Name, func(b *testing.B) { benchmark(b, &Pipeline{Masks: []Masking{e.New()}}) })
	}
}

// benchmark applies a pipeline to 600 responses of six tokens on average.
func benchmark(b *testing.B, p *Pipeline) {
	var in batch.Batch
	rows := make([]int, 600)
	for i := range rows {
		rows[i] = i % 6
	}
	random(1, 0.5).Select(&in, rows)
	apply(b, p, &in) // grows the scratch memory
	b.ReportAllocs()
	for b.Loop() {
		apply(b, p, &in)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Tokens()), "ns/token")
}

// The clamp sits after the sum, at 20 unless the pipeline says otherwise.
func TestClamp(t *testing.T) {
	for _, c := range []struct{ clamp, want float64 }{{0, elementary.Exp(20)}, {5, elementary.Exp(5)}, {math.Inf(1), elementary.Exp(30)}} {
		b := rows([][]float64{{-1, -1}}, [][]float64{{-11, -21}})
		apply(t, &Pipeline{Weights: &SequenceTIS{Cap: math.Inf(1)}, Clamp: c.clamp}, b)
		if b.Weight[0] != c.want {
			t.Errorf("clamp %v: weight %v, want %v", c.clamp, b.Weight[0], c.want)
		}
	}
	if method.Check(&Pipeline{Clamp: -1}) == nil {
		t.Error("a negative clamp was accepted")
	}
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
