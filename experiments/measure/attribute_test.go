package measure

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/must"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// named returns a preset's numerics with changes.
func named(t testing.TB, name string, changes ...func(*engine.Numerics)) engine.Numerics {
	t.Helper()
	n, ok := engine.Preset(name)
	if !ok {
		t.Fatalf("no preset %s", name)
	}
	for _, change := range changes {
		change(&n)
	}
	must.Do(t, n.Validate())
	return n
}

func format(t testing.TB, text string) precision.Format {
	t.Helper()
	return must.Get(precision.ParseFormat(text))(t)
}

func order(t testing.TB, text string) kernel.Reduction {
	t.Helper()
	return must.Get(kernel.ParseReduction(text))(t)
}

// fewer is the small measurement on half the prompts: an attribution scores many
// mixtures.
func fewer(t testing.TB) recipe.Recipe {
	r := measured(t)
	r.Rollout.Prompts /= 2
	return r
}

// attributed is the attribution of a small measurement that has to succeed.
func attributed(t testing.TB, pair Pair, exactLimit int, sets ...string) *Attribution {
	t.Helper()
	r := fewer(t)
	must.Do(t, r.Set(sets...))
	a, err := Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: pair, ExactLimit: exactLimit})
	if err != nil {
		t.Fatalf("%s to %s: %v", pair.Rollout.Name, pair.Learner.Name, err)
	}
	return a
}

// part returns the part of a mechanism, which must be there.
func part(t testing.TB, a *Attribution, name string) MechanismPart {
	t.Helper()
	for _, m := range a.Mechanisms {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no mechanism %s in %+v", name, a.Mechanisms)
	return MechanismPart{}
}

// TestShapley solves games whose shares are known.
func TestShapley(t *testing.T) {
	for _, c := range []struct {
		name string
		v    func(subset) float64
		want []float64
	}{
		{"alone", func(s subset) float64 { return 3 * float64(s) }, []float64{3}},
		// Additive: everyone gets their own.
		{"additive", func(s subset) float64 { return float64(s) }, []float64{1, 2, 4, 8, 16}},
		// All but the third are needed: they share alike, the third gets nothing.
		{"unanimity", func(s subset) float64 {
			if s.has(0) && s.has(1) && s.has(3) {
				return 6
			}
			return 0
		}, []float64{2, 2, 0, 2}},
		// A left glove and two right ones: a pair is worth 1. The left one is pivotal
		// in 4 of the 6 orders, each right one in 1.
		{"gloves", func(s subset) float64 {
			if s.has(0) && s&6 != 0 {
				return 1
			}
			return 0
		}, []float64{4. / 6, 1. / 6, 1. / 6}},
		// The airport game of costs 1, 4, 9: v is the largest. Each segment of the
		// runway is shared by those who need it: 1/3, 1/3+3/2, 1/3+3/2+5.
		{"airport", func(s subset) float64 { return []float64{0, 1, 4, 4, 9, 9, 9, 9}[s] }, []float64{1. / 3, 11. / 6, 41. / 6}},
	} {
		for i, want := range c.want {
			got := shapley(len(c.want), i, func(s subset) GapSize { return GapSize{c.v(s), -2 * c.v(s)} })
			if math.Abs(got.K3-want) > 1e-14 || math.Abs(got.MeanAbsDlogp+2*want) > 1e-14 {
				t.Errorf("%s: player %d gets %v, want %v", c.name, i, got, want)
			}
		}
	}
}

// TestAttributeSumsUp holds parts to their sums, and the whole to Gaps.
func TestAttributeSumsUp(t *testing.T) {
	for _, c := range []struct{ rollout, learner, mechanisms string }{
		{"bf16", "fp32", "activations head inputs kv_cache probabilities router weights"},
		{"fp8-all", "bf16", "head inputs kv_cache weights"},
		{"fp8-block", "bf16", "weights+inputs"},
		{"bf16-tp4", "bf16", "reduction wire"},
		{"bf16", "bf16-tp4", "reduction wire"},
		{"fp32-tp4", "fp32-tp2", "reduction"},
		{"fp32-online", "fp32-unfused", "attention reduction"},
		{"bf16-accumulate", "bf16-fp32-head", "accumulator head"},
		{"fp32-batch-variant", "fp32-splitk4", "batching reduction"},
		{"fp16", "fp16", ""},
	} {
		pair := Pair{named(t, c.rollout), named(t, c.learner)}
		a := attributed(t, pair, 0)
		var names []string
		sum, share := a.Interaction, GapSize{}
		largest := 0.
		for _, m := range a.Mechanisms {
			names = append(names, m.Name)
			sum, share = sum.plus(m.Alone), share.plus(*m.Shapley)
			largest = max(largest, math.Abs(m.Alone.K3), math.Abs(m.Alone.MeanAbsDlogp))
			if m.AloneReplayed == nil || m.Rollout == m.Learner {
				t.Errorf("%s to %s: %+v", c.rollout, c.learner, m)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.mechanisms || !a.Exact || a.Scorings != 1<<len(names) {
			t.Errorf("%s to %s: mechanisms %s in %d scorings, want %s", c.rollout, c.learner, got, a.Scorings, c.mechanisms)
		}
		// Both sums are exact but for the rounding of the additions.
		if !close(sum, a.Total, 4e-15) || !close(share, a.Total, 1e-13) && len(names) > 0 {
			t.Errorf("%s to %s: alone and interaction sum to %v, shares to %v, total %v", c.rollout, c.learner, sum, share, a.Total)
		}
		m := must.Get(Gaps(context.Background(), GapRequest{Recipe: fewer(t), Pairs: []Pair{pair}}))(t)
		g, replayed := m.Pairs[0].Gap, m.Pairs[0].Replayed
		if a.Total != sizeOf(&g) || *a.Routing != a.Total.minus(sizeOf(replayed)) || a.Tokens != g.Tokens || a.Checkpoint != m.Checkpoint || a.Seed != m.Seed {
			t.Errorf("%s to %s: total %v without routing %v of %d tokens, Gaps says %v, %v", c.rollout, c.learner, a.Total, *a.Routing, a.Tokens, sizeOf(&g), sizeOf(replayed))
		}
		if len(names) == 2 {
			x, y := a.Mechanisms[0], a.Mechanisms[1]
			// v(xy) − v(y) is what removing x saves, and the pair is all there is.
			if x.Removed != a.Total.minus(y.Alone) || y.Removed != a.Total.minus(x.Alone) || a.Interaction != (GapSize{}) && len(a.Pairs) != 1 {
				t.Errorf("%s to %s: %+v", c.rollout, c.learner, a)
			}
		}
	}
}

// close compares two sizes, relative to the larger.
func close(x, y GapSize, tolerance float64) bool {
	near := func(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b)) }
	return near(x.K3, y.K3) && near(x.MeanAbsDlogp, y.MeanAbsDlogp)
}

// idle is a model in which attention and experts write zeros to the residual
// stream: what an engine does inside them cannot matter.
func idle(t testing.TB) (recipe.Recipe, *model.Params) {
	t.Helper()
	r, p, err := trainer.Prepare(fewer(t))
	must.Do(t, err)
	p = p.Clone()
	for l := range p.Config.Layers {
		layer := p.Layer(l)
		clear(layer.O)
		for _, down := range layer.W2 {
			clear(down)
		}
	}
	return r, p
}

// TestAttributeKnownTruth differs in up to seven ways, of which five cannot
// act: the others get the whole gap, and the five exactly nothing in any figure.
func TestAttributeKnownTruth(t *testing.T) {
	r, p := idle(t)
	inside := func(n *engine.Numerics) {
		n.Weights = named(t, "fp8-w8a8").Weights
		n.Scores, n.KVCache, n.Router = precision.BF16, precision.Unscaled(precision.E4M3), precision.E4M3
		n.Attention, n.Tile = kernel.Online, 4
	}
	for _, c := range []struct {
		acting string
		change func(*engine.Numerics)
	}{
		{"", func(*engine.Numerics) {}},
		{"head", func(n *engine.Numerics) { n.Head = precision.FP16 }},
		{"activations", func(n *engine.Numerics) { n.Activations = precision.FP16 }},
		{"activations head", func(n *engine.Numerics) { n.Activations, n.Head = precision.FP16, precision.FP16 }},
	} {
		pair := Pair{named(t, "bf16", inside, c.change), named(t, "bf16")}
		a := must.Get(attribute(context.Background(), newMixer(r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, pair, 1), AttributeRequest{}))(t)
		acting := strings.Fields(c.acting)
		if len(a.Mechanisms) != 5+len(acting) || (a.Total.K3 > 0) != (len(acting) > 0) || *a.Routing != (GapSize{}) {
			t.Errorf("%q: %+v", c.acting, a)
		}
		flips := 0.
		for _, m := range a.Mechanisms {
			flips = max(flips, m.FlipToken)
			acts := slices.Contains(acting, m.Name)
			for what, part := range map[string]GapSize{"alone": m.Alone, "alone, routes replayed": *m.AloneReplayed, "removed": m.Removed, "share": *m.Shapley} {
				switch {
				case !acts && part != (GapSize{}):
					t.Errorf("%q: %s, %s: %v", c.acting, m.Name, what, part)
				case acts && part == (GapSize{}):
					t.Errorf("%q: %s, %s: nothing", c.acting, m.Name, what)
				case len(acting) == 1 && acts && what != "share" && part != a.Total, len(acting) == 1 && acts && !close(part, a.Total, 1e-13):
					t.Errorf("%q: %s, %s: %v of %v", c.acting, m.Name, what, part, a.Total)
				}
			}
		}
		if flips == 0 {
			t.Errorf("%q: no route changes, so that routing would matter nowhere", c.acting)
		}
		if len(acting) < 2 && (len(a.Pairs) > 0 || a.Interaction != (GapSize{})) || len(a.Pairs) > 1 {
			t.Errorf("%q: interaction %v, %v", c.acting, a.Interaction, a.Pairs)
		}
	}
}

// TestAttributeIndependent differs in two fields whose errors have nothing to
// do with each other, the weights and the rounding of logits: k3, half the
// square of small errors, then adds up. Each token's own interaction has mean
// zero, so theirs lies within four standard errors of it.
func TestAttributeIndependent(t *testing.T) {
	r, p, err := trainer.Prepare(measured(t))
	must.Do(t, err)
	r.Rollout.Prompts, r.Rollout.Group = 24, 8
	pair := Pair{named(t, "fp32", func(n *engine.Numerics) { n.Weights, n.Head = precision.Unscaled(format(t, "e8m6")), precision.BF16 }), named(t, "fp32")}
	m := newMixer(r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, pair, 1)
	var each [4][]float64 // k3 of each token, by set
	for s := range subset(4) {
		b := m.score(mixture(pair, m.mechanisms, s), s)
		for i := range b.LogpRoll {
			e := b.Old.Logp[i] - b.LogpRoll[i]
			each[s] = append(each[s], math.Expm1(e)-e)
		}
	}
	tokens, sum, squares := float64(len(each[0])), 0., 0.
	for i := range each[0] {
		d := each[3][i] - each[1][i] - each[2][i]
		sum, squares = sum+d, squares+d*d
	}
	mean := sum / tokens
	deviation := math.Sqrt((squares/tokens - mean*mean) / tokens)
	a := must.Get(attribute(context.Background(), m, AttributeRequest{}))(t)
	t.Logf("interaction %.3g with standard error %.2g, total %.3g of %g tokens", a.Interaction.K3, deviation, a.Total.K3, tokens)
	if math.Abs(a.Interaction.K3-mean) > 1e-9*a.Total.K3 || math.Abs(mean) > 4*deviation || 4*deviation > a.Total.K3/2 {
		t.Errorf("interaction %g, by token %g with standard error %g, total %g", a.Interaction.K3, mean, deviation, a.Total.K3)
	}
	for _, m := range a.Mechanisms {
		if share := m.Shapley.K3 / a.Total.K3; share < 0.2 || share > 0.8 || math.Abs(m.Alone.K3-m.Shapley.K3) > 4*deviation {
			t.Errorf("%s: %+v", m.Name, m)
		}
	}
}

// TestAttributeInexact leaves the shares out and the rest as it was, with far
// fewer scorings.
func TestAttributeInexact(t *testing.T) {
	pair := Pair{named(t, "fp8-all", func(n *engine.Numerics) { n.Router = precision.FP32 }), named(t, "bf16")}
	exact, partial := attributed(t, pair, 0), attributed(t, pair, 3)
	n := len(exact.Mechanisms)
	if n < 5 || partial.Exact || exact.Scorings != 1<<n || partial.Scorings != 2+n+n+n*(n-1)/2 {
		t.Fatalf("%d mechanisms, %d scorings, %d", n, exact.Scorings, partial.Scorings)
	}
	for i, m := range exact.Mechanisms {
		m.Shapley = nil
		if got := part(t, partial, m.Name); !reflect.DeepEqual(got, m) {
			t.Errorf("%+v, want %+v", got, m)
		}
		if i > 0 && (exact.Mechanisms[i-1].Shapley.K3 < exact.Mechanisms[i].Shapley.K3 || partial.Mechanisms[i-1].Removed.K3 < partial.Mechanisms[i].Removed.K3) {
			t.Error("not in order")
		}
	}
	if !reflect.DeepEqual(exact.Pairs, partial.Pairs) || exact.Interaction != partial.Interaction || exact.Total != partial.Total {
		t.Errorf("%+v\n%+v", exact, partial)
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
		must.Do(t, r.Set(tc.sets...))
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
	must.Do(t, r.Set("rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "rollout.kv_scales={prompts: 3, every: 2}"))
	if _, err := Attribute(context.Background(), AttributeRequest{Recipe: r}); err == nil {
		t.Error("stale scales were attributed at equal weights")
	}
}
