package learner_test

import (
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// echo answers every token divisible by four with two tokens.
type echo struct{}

func (echo) Reply(dst, _, response []int32) []int32 {
	if newest := response[len(response)-1]; newest%4 == 0 {
		return append(dst, 5, newest+1)
	}
	return dst
}

// sampledGates samples responses with routes and gates recorded; prompts of a
// few lengths share beginnings, and a tool answers every other response.
func sampledGates(p *model.Params, n engine.Numerics, prefill rollout.Prefill) *enginetest.Responses {
	e := rollout.New(p.Config, n, 3, 2)
	defer e.Close()
	e.Publish(p, 0)
	e.SetPrefill(prefill)
	var requests []rollout.Request
	for i := range 8 {
		requests = append(requests, rollout.Request{Prompt: []int32{1, 2, 3, 4, 5, int32(i % 3)}[:3+i%4], Seed: 3, Stream: uint64(i)})
		if i%2 == 1 {
			requests[i].Tool = echo{}
		}
	}
	b := new(enginetest.Responses)
	e.Generate(&b.Sampled, requests, rollout.Sampling{Temperature: temperature, TopP: 1, MaxTokens: 12, Stop: 0, Gates: true})
	return b
}

// With equal numerics, ids and gates replayed give the bits of the rollout
// engine, as no replay does; with other numerics the learner uses the very
// values that were recorded, however prompts were read.
func TestRecordedGatesAreTheRolloutEngines(t *testing.T) {
	p := enginetest.Named("moe").Params
	for _, name := range []string{"fp32", "bf16", "fp4-all"} {
		first := sampledGates(p, preset(t, name), rollout.Prefill{})
		for _, prefill := range []rollout.Prefill{{Chunk: 2}, {PrefixCache: true}} {
			b := sampledGates(p, preset(t, name), prefill)
			if !slices.Equal(b.GatesRoll, first.GatesRoll) || !slices.EqualFunc(b.PromptGates, first.PromptGates, slices.Equal) {
				t.Errorf("%s: with %+v other gates are recorded", name, prefill)
			}
		}
		for _, scorer := range []string{name, "fp32"} {
			s := learner.NewScorer(p.Config, preset(t, scorer), 1)
			s.Publish(p, 0)
			score := func(b *enginetest.Responses, g learner.Gates) {
				s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Replay: learner.ReplayRollout, Gates: g}, KeepGates: true})
			}
			b := sampledGates(p, preset(t, name), rollout.Prefill{})
			score(b, learner.RecordedGates)
			if !slices.Equal(b.Old.Gates, b.GatesRoll) || !slices.EqualFunc(b.Old.PromptGates, b.PromptGates, slices.Equal) {
				t.Errorf("%s scored in %s: other gates than the recorded ones", name, scorer)
			}
			replies := false
			for n, own := range b.Mask {
				if scorer == name && own && b.Old.Logp[n] != b.LogpRoll[n] {
					t.Fatalf("%s: equal engines, and replay makes a gap at token %d", name, n)
				}
				replies = replies || !own
			}
			if !replies {
				t.Fatal("no tool has replied")
			}
			recorded := slices.Clone(b.Old.Logp)
			score(b, learner.LiveGates)
			if same := slices.Equal(b.Old.Logp, recorded); same != (scorer == name) {
				t.Errorf("%s scored in %s: live and recorded gates agree: %t", name, scorer, same)
			}
			s.Close()
		}
	}
}

// R2 with recorded gates: the gradient's forward pass is the scoring pass, and
// stays it however far the router has moved, while the router still learns.
func TestRecordedGatesOfTheLearner(t *testing.T) {
	p := enginetest.Named("moe").Params.Clone()
	b := sampledGates(p, preset(t, "fp32"), rollout.Prefill{})
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32"), AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}}, 1)
	defer l.Close()
	l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}, KeepGates: true})
	o := learner.StepOptions{Policy: learner.Policy{Temperature: temperature, Replay: learner.ReplayOld, Gates: learner.RecordedGates}, Earlier: &b.Old}
	objective := &linear{c: coefficients(1, b.Tokens())}
	gradient := func(o learner.StepOptions) []float64 {
		must.Get(l.Gradient(&b.Now, &b.Sampled, objective, o))(t)
		return slices.Clone(b.Now.Logp)
	}
	if !slices.Equal(gradient(o), b.Old.Logp) {
		t.Error("before an update the replayed pass is another one")
	}
	router := slices.Clone(p.Layer(0).Router)
	norm := 0.0
	for l := range p.Config.Layers {
		for i := range p.Layer(l).Router {
			p.Layer(l).Router[i] *= 1.5 // only the routers move
		}
	}
	l.Update(0) // publishes
	recorded := gradient(o)
	if !slices.Equal(recorded, b.Old.Logp) {
		t.Error("with routes and gates replayed, the router's weights act on the forward pass")
	}
	gate := model.View(p.Config, l.Grad())
	for _, g := range gate.Layer(0).Router {
		norm += float64(g) * float64(g)
	}
	if norm == 0 {
		t.Error("the router does not learn")
	}
	o.Gates = learner.LiveGates
	if slices.Equal(gradient(o), recorded) || slices.Equal(router, p.Layer(0).Router) {
		t.Error("live gates are those of the old router: nothing was tested")
	}
}

// Asking for gates that were not recorded is a programmer's fault.
func TestGatesOfNothing(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	for name, spoil := range map[string]func(b *enginetest.Responses) learner.Gates{
		"no gates":        func(b *enginetest.Responses) learner.Gates { b.GatesRoll = nil; return learner.RecordedGates },
		"no prompt gates": func(b *enginetest.Responses) learner.Gates { b.PromptGates = nil; return learner.RecordedGates },
		"unknown":         func(b *enginetest.Responses) learner.Gates { return "frozen" },
	} {
		b := sampledGates(p, preset(t, "fp32"), rollout.Prefill{})
		gates := spoil(b)
		must.Panic(t, name, func() {
			s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Replay: learner.ReplayRollout, Gates: gates}})
		})
	}
}
