package learner

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/precision"
	"driftlab/precision/must"
)

// A gradient that goes back from the scoring pass has the bits of one that makes
// its own, whatever both replay, in what it records and in the update.
func TestScoreAheadChangesNoBit(t *testing.T) {
	window := rollout.Retention{Policy: rollout.Window, Keep: 0.4, Sinks: 1, Recent: 2}
	for i, m := range enginetest.Models(enginetest.Small) {
		for _, test := range []struct {
			numerics string
			policy   Policy
			made     bool
		}{
			{"fp32", Policy{}, true}, {"fp8-w8a8", Policy{Replay: ReplayRollout}, true},
			{"bf16", Policy{Retention: true, Replay: ReplayRollout, Gates: RecordedGates}, true}, {"fp32-batch-variant", Policy{}, true},
			{"fp16", Policy{Replay: ReplayOld}, false},
		} {
			test.policy.Temperature = 0.8
			var r rollout.Retention
			if test.policy.Retention {
				r = window
			}
			b := grouped(t, m.Params, "fp4-all", r)
			var results [2]struct {
				old, now, dense column.Scored
				grad, theta     []float32
			}
			for k := range results {
				got := &results[k]
				l := New(m.Params.Clone(), Settings{Numerics: numericsOf(t, test.numerics), Recompute: i%2 == 1,
					LossScale: LossScale{Initial: 8, Growth: 100}, AdamW: AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}}, 1+i%3)
				for range 2 { // the second time at other weights
					o := ScoreOptions{Policy: test.policy, KeepGates: true, Router: true, Distributions: true, SumSquares: true}
					if o.Replay == ReplayOld {
						o.Replay = ReplayNone
					}
					score := l.Score
					if k == 1 {
						score = l.ScoreAhead
					}
					score(&got.old, b, o)
					steps := StepOptions{Policy: test.policy, Earlier: &got.old, Distributions: true, Entropy: true, Router: true}
					if test.policy.Retention {
						steps.Dense = plainSum{}
					}
					ahead := l.ahead.has(b, test.policy)
					must.Get(l.Gradient(&got.now, b, plainSum{}, steps))(t)
					if ahead != (test.made && k == 1) {
						t.Errorf("%s, %+v: forward pass made ahead: %t", m.Name, test, ahead)
					}
					got.grad = slices.Clone(l.Grad())
					l.Update(1e-3)
				}
				got.theta = l.Params().Theta
				l.Close()
			}
			one, two := &results[0], &results[1]
			if !identicalScored(&one.old, &two.old) || !identicalScored(&one.now, &two.now) {
				t.Errorf("%s, %+v: other columns", m.Name, test)
			}
			if !slices.Equal(one.grad, two.grad) || !slices.Equal(one.theta, two.theta) {
				t.Errorf("%s, %+v: another gradient or update", m.Name, test)
			}
		}
	}
}

// The router's log-probs are of the experts that the old policy visited, under a softmax over all experts: the
// gates are their ratios, in a gradient at the same weights they are the same, and after an update others.
func TestRouterLogp(t *testing.T) {
	p := enginetest.Named("moe").Params
	b := grouped(t, p, "fp4-all", rollout.Retention{})
	for _, replay := range []Replay{ReplayNone, ReplayRollout} {
		l := New(p.Clone(), Settings{Numerics: numericsOf(t, "fp32"), AdamW: AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}}, 2)
		defer l.Close()
		var old, now column.Scored
		policy := Policy{Temperature: 0.8, Replay: replay}
		l.Score(&old, b, ScoreOptions{Policy: policy, KeepGates: true, Router: true})
		top := p.Config.TopK
		if len(old.RouterLogp) != b.Tokens()*p.Config.Layers*top {
			t.Fatalf("%d log-probs", len(old.RouterLogp))
		}
		for at := 0; at < len(old.Gates); at += top {
			sum := 0.0
			for k := range top {
				sum += math.Exp(old.RouterLogp[at+k])
				if ratio := math.Exp(old.RouterLogp[at+k] - old.RouterLogp[at]); math.Abs(ratio-float64(old.Gates[at+k]/old.Gates[at])) > 1e-5*max(ratio, 1) {
					t.Fatalf("replay %q, entry %d: the ratio is %v, that of the gates %v", replay, at+k, ratio, old.Gates[at+k]/old.Gates[at])
				}
			}
			if sum > 1+1e-9 {
				t.Fatalf("replay %q: probabilities of some experts sum to %v", replay, sum)
			}
		}
		for i := range 2 {
			must.Get(l.Gradient(&now, b, plainSum{}, StepOptions{Policy: policy, Earlier: &old, Router: true}))(t)
			if equal := slices.Equal(now.RouterLogp, old.RouterLogp); equal != (i == 0) {
				t.Errorf("replay %q, after %d updates: the log-probs are the same: %t", replay, i, equal)
			}
			l.Update(1e-2)
		}
	}
}

// Whatever comes between makes the gradient take a forward pass of its own.
func TestWhatEndsScoringAhead(t *testing.T) {
	p := enginetest.Named("moe").Params
	b, policy := grouped(t, p, "fp32", rollout.Retention{}), Policy{Temperature: 0.8}
	n := numericsOf(t, "bf16")
	n.KVCache = precision.Unscaled(precision.E4M3) // with static scales
	other := *b
	for what, between := range map[string]func(l *Learner, o *StepOptions) *column.Sampled{
		"an update":        func(l *Learner, _ *StepOptions) *column.Sampled { l.Update(1e-2); return b },
		"other parameters": func(l *Learner, _ *StepOptions) *column.Sampled { l.Params().Theta[3] = 2; l.Republish(); return b },
		"other weights": func(l *Learner, _ *StepOptions) *column.Sampled {
			l.Publish(enginetest.NewParams(p.Config, 9), 1)
			return b
		},
		"another policy": func(l *Learner, o *StepOptions) *column.Sampled { o.Temperature = 1; return b },
		"another batch":  func(*Learner, *StepOptions) *column.Sampled { return &other },
		"another score": func(l *Learner, _ *StepOptions) *column.Sampled {
			l.Score(new(column.Scored), &other, ScoreOptions{Policy: policy})
			return b
		},
		"calibration": func(l *Learner, _ *StepOptions) *column.Sampled { l.Calibrate(b.Prompt, 1); return b },
		"other scales": func(l *Learner, _ *StepOptions) *column.Sampled {
			l.SetKVScales(slices.Repeat([]float32{0.25}, 2*p.Config.Layers*p.Config.KVHeads))
			return b
		},
		"a search": func(l *Learner, _ *StepOptions) *column.Sampled {
			l.Locate(&other, ScoreOptions{Policy: policy})
			return b
		},
		"norms of the scores": func(l *Learner, o *StepOptions) *column.Sampled {
			must.Get(l.ScoreNorms(nil, b, *o))(t)
			return b
		},
		"another gradient": func(l *Learner, o *StepOptions) *column.Sampled {
			must.Get(l.Gradient(new(column.Scored), b, plainSum{}, *o))(t)
			return b
		},
	} {
		var grads [2][]float32
		for k := range grads {
			l := New(p.Clone(), Settings{Numerics: n, AdamW: AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}}, 1)
			o, scored := StepOptions{Policy: policy}, column.Scored{}
			if k == 1 {
				l.ScoreAhead(&scored, b, ScoreOptions{Policy: policy})
			} else {
				l.Score(&scored, b, ScoreOptions{Policy: policy})
			}
			in := between(l, &o)
			l.publish()
			if l.ahead.has(in, o.Policy) {
				t.Errorf("after %s the pass still counts as made", what)
			}
			must.Get(l.Gradient(&scored, in, plainSum{}, o))(t)
			grads[k] = slices.Clone(l.Grad())
			l.Close()
		}
		if !slices.Equal(grads[0], grads[1]) {
			t.Errorf("after %s the gradient is another", what)
		}
	}
}
