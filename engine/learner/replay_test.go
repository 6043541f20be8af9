package learner_test

import (
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/moe"
	"driftlab/precision/must"
)

// Replaying the rollout engine's routes makes the learner follow them,
// whatever its own router would do; without replay it does not.
func TestReplayFollowsTheRoutes(t *testing.T) {
	p := enginetest.Named("moe").Params
	n := preset(t, "fp32")
	b := sampled(p, preset(t, "fp4-all"), 2, 32, 32) // coarse enough to flip routes
	l := learner.New(p, learner.Settings{Numerics: n}, 1)
	defer l.Close()

	l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
	own, ownRoutes := slices.Clone(b.Old.Logp), slices.Clone(b.Old.Routes)
	if slices.Equal(ownRoutes, b.RoutesRoll) {
		t.Fatal("no route differs: the test says nothing")
	}
	l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Replay: learner.ReplayRollout}})
	if !slices.Equal(b.Old.Routes, b.RoutesRoll) || !slices.EqualFunc(b.Old.PromptRoutes, b.PromptRoutes, slices.Equal) {
		t.Error("the learner visits other experts than those it replays")
	}
	if slices.Equal(own, b.Old.Logp) {
		t.Error("replay changes no log-prob")
	}
	replayed := slices.Clone(b.Old.Logp)
	gradient := func(replay learner.Replay) []float64 {
		must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature, Replay: replay}, Earlier: &b.Old}))(t)
		return slices.Clone(b.Now.Logp)
	}
	if !slices.Equal(gradient(learner.ReplayRollout), replayed) || !slices.Equal(gradient(learner.ReplayOld), replayed) {
		t.Error("the gradient's log-probs differ from those scored with the same replay")
	}
	if !slices.Equal(gradient(learner.ReplayNone), own) || !slices.Equal(gradient(""), own) {
		t.Error("without replay the gradient's log-probs are not the learner's own")
	}
}

// Where nothing was recorded, the router chooses: a recording of holes alone
// is no replay at all, and prompts that were not recorded are left to it.
func TestReplayWithHoles(t *testing.T) {
	p := enginetest.Named("moe-biased").Params
	b := sampled(p, preset(t, "fp4-all"), 3, 16, 16)
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
	own, routes := slices.Clone(b.Old.Logp), slices.Clone(b.Old.Routes)

	holes := *b
	holes.RoutesRoll = slices.Repeat([]uint8{moe.NoRoute}, len(b.RoutesRoll))
	holes.PromptRoutes = nil
	s.Score(&holes.Old, &holes.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Replay: learner.ReplayRollout}})
	if !slices.Equal(own, holes.Old.Logp) || !slices.Equal(routes, holes.Old.Routes) {
		t.Error("replaying nothing changes something")
	}
	// Prompts alone left open: the responses still follow.
	holes.RoutesRoll = b.RoutesRoll
	s.Score(&holes.Old, &holes.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Replay: learner.ReplayRollout}})
	if !slices.Equal(holes.Old.Routes, b.RoutesRoll) || slices.Equal(own, holes.Old.Logp) {
		t.Error("with the prompts open, the responses do not follow the recording")
	}
}

// Asking for routes that are not there is a programmer's fault, not a pass
// without replay; a dense model has none to ask for.
func TestReplayOfNothing(t *testing.T) {
	for _, name := range []string{"moe", "dense"} {
		for _, replay := range []learner.Replay{learner.ReplayOld, learner.ReplayRollout, "r4"} {
			p := enginetest.Named(name).Params
			s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
			s.Publish(p, 0)
			panics := func() (yes bool) {
				defer func() { yes = recover() != nil }()
				b := halves(enginetest.Sequences(1, 2, 13, 3, 5))
				s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Replay: replay}})
				return false
			}()
			if want := name == "moe" || replay == "r4"; panics != want {
				t.Errorf("%s, replay %s: panics %t, want %t", name, replay, panics, want)
			}
			s.Close()
		}
	}
}

// Batches without a response token, or without a response, score to nothing.
func TestScoreOfNothing(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 2)
	defer s.Close()
	s.Publish(p, 0)
	for _, b := range []*enginetest.Responses{
		given([][]int32{{1, 2}, {3}}, [][]int32{{}, {}}),
		{Sampled: column.Sampled{Offsets: []int{0}}},
	} {
		s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true})
		if len(b.Old.Logp) != 0 || len(b.Old.Routes) != 0 || len(b.Old.Dist) != 0 || len(b.Old.PromptRoutes) != b.Len() {
			t.Errorf("%d log-probs, %d routes", len(b.Old.Logp), len(b.Old.Routes))
		}
	}
}

// Entropy and the sum of squares are computed from the distributions.
func TestScoreStatistics(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "bf16"), 1)
	defer s.Close()
	s.Publish(p, 0)
	b := halves(enginetest.Sequences(1, 9, p.Config.Vocab, 3, 9))
	s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 0.5}, Distributions: true, SumSquares: true})
	v := p.Config.Vocab
	for n := range b.Token {
		var total, entropy, squares float64
		for _, lp := range b.Old.Dist[n*v : (n+1)*v] {
			total += exp(float64(lp))
			entropy -= exp(float64(lp)) * float64(lp)
			squares += exp(2 * float64(lp))
		}
		for _, x := range [][2]float64{{total, 1}, {b.Old.Entropy[n], entropy}, {b.Old.SumSquares[n], squares}, {b.Old.Logp[n], float64(b.Old.Dist[n*v+int(b.Token[n])])}} {
			if d := x[0] - x[1]; d > 2e-6 || d < -2e-6 {
				t.Fatalf("token %d: %g, want %g", n, x[0], x[1])
			}
		}
	}
}
