package measure

import (
	"context"
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// stacks are the shipped precision stacks, and whether their engines agree.
var stacks = []struct {
	name  string
	equal bool
}{
	{"fp16-aligned", false}, {"flashrl-int8", false}, {"flashrl-fp8", false}, {"flashrl-mixed", false},
	{"fp8-rl", false}, {"fp8-rl-end-to-end", false}, {"fp8-rl-stale", false}, {"jet-rl", true}, {"qurl", false}, {"qarl", true},
	{"qerl", false}, {"fp8-acc14", false}, {"fp8-tensor-scales", false}, {"fp8-block-scales", false},
}

// short is a shipped recipe, a few small steps of it.
func short(t testing.TB, name string, sets ...string) recipe.Recipe {
	t.Helper()
	r := must.Get(recipe.Load(name, append([]string{"steps=2", "rollout.prompts=4", "rollout.group=4", "rollout.max_tokens=24", "learner.optimizer.warmup=0",
		"eval.every=0"}, sets...)...))(t)
	return r
}

// unequal is the share of unequal log-probs at every step of a run.
func unequal(t testing.TB, r recipe.Recipe) []float64 {
	t.Helper()
	return run(t, r).Record.Column("gap/unequal").Value
}

// TestStacks trains and measures every shipped precision stack: those that share
// one quantiser agree bit for bit at every step, the others at none.
func TestStacks(t *testing.T) {
	for _, stack := range stacks {
		r := short(t, stack.name)
		for step, share := range unequal(t, r) {
			quiet := stack.name == "qerl" && step == 0 // the first stage has no noise
			if (share == 0) != (stack.equal || quiet) {
				t.Errorf("%s, step %d: %g of the log-probs differ", stack.name, step, share)
			}
		}
		m, err := Gaps(context.Background(), GapRequest{Recipe: r})
		if err != nil {
			t.Fatalf("%s: %v", stack.name, err)
		}
		if g := m.Pairs[0].Gap; (g.Unequal == 0) != stack.equal || (g.K3 == 0) != stack.equal {
			t.Errorf("%s: measured %+v", stack.name, g)
		}
	}
}

// TestOneFlow breaks Jet-RL's one flow of precision by one rule at a time: each
// alone undoes what all together give, a ratio of exactly one at every step.
// Reference: arXiv 2601.14243.
func TestOneFlow(t *testing.T) {
	for _, rule := range []string{
		"rollout.numerics.weights=fp8_e4m3/64x128", // another block
		"rollout.numerics.inputs=fp8_e4m3/mx",      // a power of two for a scale
		"rollout.numerics={base: fp8-block, weights: fp8_e4m3/channel, inputs: fp8_e4m3/channel}",
		"rollout.numerics.kv_cache=fp8_e4m3/channel",
		"rollout.numerics.accumulator=e8m13",
		"rollout.numerics.weights=fp8_e5m2/128x128",
	} {
		for step, share := range unequal(t, short(t, "jet-rl", rule)) {
			if share == 0 {
				t.Errorf("%s, step %d: the engines still agree", rule, step)
			}
		}
	}
}

// TestQuantisedTraining has gradients pass straight through a quantised forward
// pass: they equal the gradients of a learner in fp32 whose weights are the quantised
// ones.
func TestQuantisedTraining(t *testing.T) {
	r := short(t, "default")
	r, p, err := trainer.Prepare(r)
	must.Do(t, err)
	_, requests := measureRequests(r)
	sampler := (&Probe{r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, requests, 1}).fleet()
	defer sampler.Close()
	var b batch.Batch
	sampler.Generate(&b.Sampled, requests, engines.Sampling(r))
	for range b.Tokens() {
		b.Advantage = append(b.Advantage, 1)
	}
	objective := must.Get(recipe.Choose[loss.Loss]("reinforce"))(t)
	gradient := func(p *model.Params, n engine.Numerics) []float32 {
		l := learner.New(p, learner.Settings{Numerics: n}, 1)
		defer l.Close()
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
		b.Anchor = b.Old.Logp
		must.Get(l.Gradient(&b.Now, &b.Sampled, &loss.Objective{Loss: objective.New(), Batch: &b},
			learner.StepOptions{Policy: learner.Policy{Temperature: 1, Replay: learner.ReplayOld}, Earlier: &b.Old}))(t)
		return slices.Clone(l.Grad())
	}
	fp32 := named(t, "fp32")
	n := fp32
	n.Weights = named(t, "fp8-w8a8").Weights
	quantised := gradient(p, n)
	rounded := p.Clone()
	round := func(x []float32, in int) { n.Weights.RoundTrip(x, x, len(x)/in, in) }
	for l := range p.Config.Layers {
		y := rounded.Layer(l)
		round(y.QKV, p.Config.DModel)
		round(y.O, p.Config.DModel)
		for e := range y.W13 {
			round(y.W13[e], p.Config.DModel)
			round(y.W2[e], p.Config.DFF)
		}
	}
	same, other := gradient(rounded, fp32), gradient(p, fp32)
	distance := func(a, b []float32) float64 {
		d, size := 0.0, 0.0
		for i := range a {
			d += float64((a[i] - b[i]) * (a[i] - b[i]))
			size += float64(a[i] * a[i])
		}
		return math.Sqrt(d / size)
	}
	if d := distance(same, quantised); d > 1e-4 {
		t.Errorf("the gradient is off by %g from that at the quantised weights", d)
	}
	if d := distance(other, quantised); d < 1e-3 {
		t.Errorf("the gradient is that at the unquantised weights, within %g: the forward pass was not quantised", d)
	}
}
