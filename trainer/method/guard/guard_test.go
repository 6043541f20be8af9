package guard

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/method/batch"
)

// weighted is a batch of one-token responses with the given importance weights.
func weighted(w ...float64) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for i, x := range w {
		b.Mask, b.Old.Logp, b.LogpRoll = append(b.Mask, true), append(b.Old.Logp, math.Log(x)), append(b.LogpRoll, 0)
		b.Offsets = append(b.Offsets, i+1)
	}
	return b
}

// long is a batch of two responses with the given mean length.
func long(mean int) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, mean, 2 * mean}}}
	for range 2 * mean {
		b.Mask = append(b.Mask, true)
	}
	return b
}

// decision is the decision of a guard.
func decision(t *testing.T, g Guard, grad []float32, in Input) Decision {
	t.Helper()
	return must.Get(g.Guard(grad, in))(t)
}

// Reference: w = [1 .5 2 8] has ESS share 11.5²/69.25/4 = .477437, square root .690968.
func TestESSByHand(t *testing.T) {
	for _, c := range []struct {
		g    *ESSLearningRate
		b    *batch.Batch
		want float64
	}{
		{&ESSLearningRate{Base: 1, Rule: "sqrt"}, weighted(1, .5, 2, 8), .690968},
		{&ESSLearningRate{Base: 1, Rule: "linear"}, weighted(1, .5, 2, 8), .477437},
		{&ESSLearningRate{Base: .4, Rule: "sqrt"}, weighted(1, .5, 2, 8), 1},
		{&ESSLearningRate{Base: 1, Rule: "sqrt"}, weighted(1, 1, 1), 1},
		{&ESSLearningRate{Base: 1, Rule: "sqrt"}, weighted(0, 0), 0},
		{&ESSLearningRate{Base: 1, Rule: "linear"}, weighted(1e300, 1e300, 1), 2. / 3},
	} {
		d := decision(t, c.g, nil, Input{Batch: c.b})
		if math.Abs(d.Scale-c.want) > 1e-6 || d.Skip {
			t.Errorf("%+v: %+v, want scale %v", c.g, d, c.want)
		}
	}
	bypass := weighted(1, .5, 2, 8) // old is the rollout's: only the current weights differ
	bypass.Now.Logp = bypass.Old.Logp
	bypass.Old.Logp = bypass.LogpRoll
	if d, err := (&ESSLearningRate{Base: 1, Rule: "linear", Current: true}).Guard(nil, Input{Batch: bypass}); err != nil || math.Abs(d.Scale-.477437) > 1e-6 {
		t.Errorf("current: %+v, error %v", d, err)
	}
	none := long(2)
	none.LogpRoll = make([]float64, 4)
	if _, err := (&ESSLearningRate{Base: 1, Rule: "sqrt"}).Guard(nil, Input{Batch: none}); err == nil || !strings.Contains(err.Error(), "LogpOld") {
		t.Errorf("error %v, want one that names the missing column", err)
	}
}

// A sum of log-ratios beyond the range of exp still gives a share.
func TestESSDoesNotOverflow(t *testing.T) {
	b := weighted(1, 1)
	b.Old.Logp[0], b.Old.Logp[1] = 1000, 1000
	if got := EffectiveShare(b, b.Old.Logp); math.Abs(got-1) > 1e-12 {
		t.Errorf("share %v, want 1", got)
	}
	b.Old.Logp[1] = 0
	if got := EffectiveShare(b, b.Old.Logp); math.Abs(got-.5) > 1e-12 {
		t.Errorf("share %v, want one of two", got)
	}
}

// Reference: a surge at step 110 has the period 1.8·110 = 198.
func TestLengthSurge(t *testing.T) {
	g := &LengthSurge{Rule: "baseline", Factor: 3, Warmup: 50, Decay: .5, Stretch: 1.8, Floor: .1}
	scale := map[int]float64{}
	for step := range 1200 {
		length := 10
		if step >= 110 {
			length = 30
		}
		if step > 120 {
			length = 12 // the rate does not rise again when lengths fall
		}
		for range 2 { // two gradient steps each
			d := decision(t, g, nil, Input{Batch: long(length), Step: step})
			scale[step] = d.Scale
		}
	}
	for step, want := range map[int]float64{0: 1, 109: 1, 110: 1, 307: 1, 308: .5, 505: .5, 506: .25, 704: .125, 902: .1, 1199: .1} {
		if scale[step] != want {
			t.Errorf("step %d has scale %v, want %v", step, scale[step], want)
		}
	}
}

// A length of exactly factor times the baseline is a surge.
func TestLengthSurgeBoundary(t *testing.T) {
	for length, want := range map[int]float64{29: 1, 30: .5} {
		g := &LengthSurge{Rule: "baseline", Factor: 3, Warmup: 2, Decay: .5, Stretch: 1, Floor: .1}
		scale := 0.
		for step := range 6 { // period 3 from step 3
			if step == 1 {
				continue // the loss scale skipped its updates: the step has the length before it
			}
			l := 10
			if step == 3 {
				l = length
			}
			d := decision(t, g, nil, Input{Batch: long(l), Step: step})
			scale = d.Scale
		}
		if d, err := g.Guard(nil, Input{Batch: long(10), Step: 6}); err != nil || d.Scale != want {
			t.Errorf("length %d: scale %v then %+v, want %v", length, scale, d, want)
		}
	}
}

func TestLengthRatio(t *testing.T) {
	g := &LengthSurge{Rule: "ratio", Factor: 1.2, Warmup: 10, Decay: .5, Stretch: 1, Floor: .1}
	var scales []float64
	for step := range 40 {
		length := 10
		if step >= 12 {
			length = 13 // stays above 1.2 times the length ten steps ago until step 21
		}
		d := decision(t, g, nil, Input{Batch: long(length), Step: step})
		scales = append(scales, d.Scale)
	}
	for step, s := range scales {
		want := 1.
		if step >= 12 {
			want = .5
		}
		if s != want {
			t.Errorf("step %d has scale %v, want %v", step, s, want)
		}
	}
	if _, err := g.Guard(nil, Input{Batch: long(3), Step: 2}); err == nil {
		t.Error("a step back in time was accepted")
	}
}

// Reference: g = (.6, .8) after p = (1, 0) has cosine .6; with low .1 the
// parallel part .6 shrinks to .6·(.1/.6) = .1.
func TestGradientAlignment(t *testing.T) {
	for _, c := range []struct {
		g    *GradientAlignment
		grad []float32
		want []float32
		skip bool
	}{
		{&GradientAlignment{Low: .1, High: .9}, []float32{.6, .8}, []float32{.1, .8}, false},
		{&GradientAlignment{Low: .1, High: .9, Full: true}, []float32{.6, .8}, []float32{0, .8}, false},
		{&GradientAlignment{Low: .7, High: .9}, []float32{.6, .8}, []float32{.6, .8}, false},
		{&GradientAlignment{Low: .1, High: .9}, []float32{-.6, .8}, []float32{-.6, .8}, false},
		{&GradientAlignment{Low: .1, High: .5}, []float32{.6, .8}, []float32{.6, .8}, true},
		{&GradientAlignment{Low: .1, High: .9}, []float32{0, 0}, []float32{0, 0}, false},
	} {
		first := []float32{1, 0}
		if d, err := c.g.Guard(first, Input{}); err != nil || d.Skip || !slices.Equal(first, []float32{1, 0}) {
			t.Fatalf("the first step is not applied as it is: %+v %v %v", d, first, err)
		}
		grad := slices.Clone(c.grad)
		d := decision(t, c.g, grad, Input{})
		for i := range grad {
			if math.Abs(float64(grad[i]-c.want[i])) > 1e-7 {
				t.Errorf("%+v: gradient %v, want %v", c.g, grad, c.want)
			}
		}
		if d.Skip != c.skip || d.Scale != 1 {
			t.Errorf("%+v: decision %+v, want skip %v", c.g, d, c.skip)
		}
		if !slices.Equal(c.g.previous, c.grad) {
			t.Errorf("%+v: stored %v, want the raw gradient", c.g, c.g.previous)
		}
	}
	if _, err := (&GradientAlignment{Low: .1, High: .9, previous: []float32{1}}).Guard([]float32{1, 2}, Input{}); err == nil {
		t.Error("a gradient of another length was accepted")
	}
}

// A gradient next to an opposite or orthogonal one is never touched; whatever is
// left of an aligned one has the cosine share low/c.
func TestOnlyPositiveAlignmentIsRemoved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		g := &GradientAlignment{Low: .1, High: .95}
		p, x := make([]float32, 8), make([]float32, 8)
		for i := range p {
			p[i], x[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		before := slices.Clone(x)
		if _, err := Apply([]Guard{g}, slices.Clone(p), Input{}); err != nil {
			t.Fatal(err)
		}
		d := must.Get(Apply([]Guard{g}, x, Input{}))(t)
		dot := func(a, b []float32) (s float64) {
			for i := range a {
				s += float64(a[i]) * float64(b[i])
			}
			return s
		}
		c := dot(before, p) / math.Sqrt(dot(before, before)*dot(p, p))
		switch {
		case c <= .1:
			if !slices.Equal(x, before) {
				t.Errorf("cosine %v: the gradient changed", c)
			}
		case !d.Skip:
			if got, want := dot(x, p), dot(before, p)*.1/c; math.Abs(got-want) > 1e-5 {
				t.Errorf("cosine %v: parallel part %v, want %v", c, got, want)
			}
		}
	}
}

func TestApplyJoins(t *testing.T) {
	gac := &GradientAlignment{Low: .1, High: .5}
	guards := []Guard{&ESSLearningRate{Base: 1, Rule: "linear"}, gac}
	in := Input{Batch: weighted(1, .5, 2, 8)}
	if _, err := Apply(guards, []float32{1}, in); err != nil {
		t.Fatal(err)
	}
	d, err := Apply(guards, []float32{1}, in)
	if err != nil || !d.Skip || math.Abs(d.Scale-.477437) > 1e-6 {
		t.Errorf("decision %+v, error %v", d, err)
	}
	if _, err := Apply(guards, []float32{1}, Input{Batch: long(1)}); err == nil || !strings.HasPrefix(err.Error(), "guards[0]: ") {
		t.Errorf("error %v, want one that names the guard", err)
	}
}

func TestNoAllocations(t *testing.T) {
	b := weighted(1, 2, 3)
	grad := []float32{1, 2, 3, 4}
	var metrics []batch.Metric
	for _, e := range Registry {
		g := e.New()
		run := func() {
			if _, err := g.Guard(grad, Input{Batch: b, Step: 3}); err != nil {
				t.Error(err)
			}
			metrics = g.Metrics(metrics[:0])
		}
		run()
		if got := testing.AllocsPerRun(10, run); got != 0 {
			t.Errorf("%s: %v allocations per step", e.Name, got)
		}
		for _, m := range metrics {
			if !strings.HasPrefix(m.Name, "guard/") || math.IsNaN(m.Value) {
				t.Errorf("%s reports %+v", e.Name, m)
			}
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	grad := make([]float32, 1<<16)
	for i := range grad {
		grad[i] = float32(i % 7)
	}
	in := Input{Batch: weighted(1, 2, 3, 4)}
	for _, e := range Registry {
		b.Run(e.Name, func(b *testing.B) {
			g := e.New()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Guard(grad, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
