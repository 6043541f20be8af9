package trainer

import (
	"context"
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/trainer/batch"
	"driftlab/trainer/engines"
)

// TestFleet holds every response of a mixed fleet against the engine that was to
// sample it, alone: the same tokens, and that engine's log-probs.
func TestFleet(t *testing.T) {
	r := measured(t)
	if err := r.Set("rollout.numerics=bf16", "rollout.fleet=[{numerics: fp16, share: 0.5}, {numerics: fp8-w8a8, share: 0.25}]"); err != nil {
		t.Fatal(err)
	}
	r, p, err := prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	_, requests := measureRequests(r, r.Task.New())
	mixed := measuredFleet(r, weights{p, p, p}, r.Rollout.Numerics, requests, 1)
	defer mixed.Close()
	var b batch.Sampled
	for range 2 { // the second time in the same memory
		mixed.Generate(&b, requests, engines.Sampling(r))
	}
	if name := mixed.Name(r.Rollout.Numerics); name != "25% bf16 + 50% fp16 + 25% fp8-w8a8" {
		t.Errorf("name %q", name)
	}
	alone := r
	alone.Rollout.Fleet = nil
	from := 0
	for i, want := range []struct {
		n     engine.Numerics
		count int
	}{{r.Rollout.Numerics, 6}, {r.Rollout.Fleet[0].Numerics, 12}, {r.Rollout.Fleet[1].Numerics, 6}} {
		one := measuredFleet(alone, weights{p, p, p}, want.n, requests, 1)
		var c, part batch.Sampled
		one.Generate(&c, requests, engines.Sampling(r))
		one.Close()
		var rows []int
		for k := range want.count {
			rows = append(rows, from+k)
		}
		c.Select(&part, rows)
		x, y := b.Offsets[from], b.Offsets[from+want.count]
		if !slices.Equal(b.Token[x:y], part.Token) || !slices.Equal(b.LogpRoll[x:y], part.LogpRoll) || !slices.Equal(b.DistRoll[x*b.Vocab:y*b.Vocab], part.DistRoll) {
			t.Errorf("the responses of engine %d are not those of %s alone", i, want.n.Name)
		}
		from += want.count
	}
}

func preset(t testing.TB, name string) engine.Numerics { return named(t, name) }

// TestInvariantScale leaves the function what it is: in fp32 exactly for a power
// of two, else up to rounding. Updates then weigh more against the error of
// quantised weights, by the factor. Reference: arXiv 2602.13953 (UAQ).
func TestInvariantScale(t *testing.T) {
	score := func(s float64) []float64 {
		r := measured(t)
		r.InvariantScale = s
		m, p, err := prepare(r)
		if err != nil {
			t.Fatal(err)
		}
		scorer := learner.NewScorer(m.Model, m.Learner.Numerics, 1)
		defer scorer.Close()
		scorer.Publish(p, 0)
		b := batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 4, 8}, Prompt: [][]int32{{1, 5, 12, 6, 3}, {1, 7, 13, 9, 3}}, Token: []int32{4, 5, 6, 2, 9, 8, 7, 2}, Mask: make([]bool, 8)}}
		scorer.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
		return b.Old.Logp
	}
	plain := score(1)
	if !slices.Equal(plain, score(2)) {
		t.Error("a factor of 2 changes log-probs")
	}
	for i, x := range score(1.5) {
		if math.Abs(x-plain[i]) > 2e-5 {
			t.Errorf("token %d: a factor of 1.5 moves the log-prob by %g", i, x-plain[i])
		}
	}
	// How far an update moves the projections, over the error of their quantiser.
	ratio := func(s float64) float64 {
		r := measured(t)
		r.InvariantScale, r.Steps, r.Eval.Every, r.Learner.Optimizer.Warmup = s, 3, 0, 0
		_, before, err := prepare(r)
		if err != nil {
			t.Fatal(err)
		}
		after := mustRun(t, r, Options{}).Params
		q := named(t, "int8-w8a8").Weights
		var moved, lost float64
		for l := range before.Config.Layers {
			x, y := before.Layer(l).QKV, after.Layer(l).QKV
			rounded := make([]float32, len(x))
			q.RoundTrip(rounded, x, len(x)/before.Config.DModel, before.Config.DModel)
			for i := range x {
				moved += float64((y[i] - x[i]) * (y[i] - x[i]))
				lost += float64((rounded[i] - x[i]) * (rounded[i] - x[i]))
			}
		}
		return math.Sqrt(moved / lost)
	}
	if gain := ratio(1.5) / ratio(1); gain < 1.35 || gain > 1.65 {
		t.Errorf("updates weigh %.3g times as much against the quantiser's error, want about 1.5", gain)
	}
}

// TestAttributeEverything splits a gap with every mechanism that is no field of
// the numerics in it; that all of them together give the recorded log-probs bit
// for bit is checked on the way.
func TestAttributeEverything(t *testing.T) {
	for _, tc := range []struct {
		sets  []string
		names []string
	}{
		{[]string{"rollout.numerics=fp32-flash-decoding", "learner.numerics=fp32", "rollout.noise.start=1e-3"}, []string{"attention", "decoding", "noise"}},
		{[]string{"rollout.numerics={base: fp8-block, kv_cache: fp8_e4m3}", "learner.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales.prompts=3"},
			[]string{"weights+inputs", "kv_scales"}},
		{[]string{"rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.numerics=bf16", "rollout.kv_scales.prompts=3", "rollout.temperature=1.2", "learner.temperature=1"},
			[]string{"kv_cache", "log_probs"}},
		{[]string{"rollout.top_p=0.8", "rollout.temperature=1.2", "rollout.log_probs=tempered", "learner.temperature=1"}, []string{"log_probs"}},
		{[]string{"rollout.top_p=0.8", "rollout.temperature=1.2", "learner.temperature=1"}, []string{"log_probs"}},
	} {
		r := fewer(t)
		if err := r.Set(tc.sets...); err != nil {
			t.Fatal(err)
		}
		a, err := Attribute(context.Background(), AttributeRequest{Recipe: r})
		if err != nil {
			t.Errorf("%q: %v", tc.sets, err)
			continue
		}
		var names []string
		for _, m := range a.Mechanisms {
			names = append(names, m.Name)
			if m.Removed.MeanAbsDlogp == 0 {
				t.Errorf("%q: without %s the gap is the same", tc.sets, m.Name)
			}
		}
		if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(tc.names))) {
			t.Errorf("%q: mechanisms %q, want %q", tc.sets, names, tc.names)
		}
	}
	r := fewer(t)
	if err := r.Set("rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 3, every: 2}"); err != nil {
		t.Fatal(err)
	}
	if _, err := Attribute(context.Background(), AttributeRequest{Recipe: r}); err == nil {
		t.Error("stale scales were attributed at equal weights")
	}
}
