package learner_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/precision/must"
)

// answering replies to even tokens with one to four of its own.
type answering struct{ vocab int32 }

func (a answering) Reply(dst, _, response []int32) []int32 {
	newest := response[len(response)-1]
	if newest%2 == 1 {
		return dst
	}
	for i := range 1 + (newest/2)%4 {
		dst = append(dst, (newest+int32(len(response))+5*i)%a.vocab)
	}
	return dst
}

// With equal numerics the engines agree in every bit on what the policy wrote
// after, between and before the replies of a tool, and on the routes of all
// tokens, the replies' too; so replaying the routes changes no bit. On the
// replies themselves every log-prob and entropy is 0, and so is the gradient.
func TestEnginesAgreeAcrossReplies(t *testing.T) {
	models := enginetest.Models(enginetest.Small)
	for i, n := range cases(t) {
		if i%3 != 0 && !*exhaustive {
			continue
		}
		m := models[i%len(models)]
		t.Run(n.Name+"/"+m.Name, func(t *testing.T) {
			p := m.Params
			e := rollout.New(p.Config, n, []int{20, 7, 1}[i%3], 1)
			defer e.Close()
			e.Publish(p, 0)
			var list []rollout.Request
			for k, prompt := range enginetest.Sequences(uint64(i), 20, p.Config.Vocab, 1, 9) {
				list = append(list, rollout.Request{Prompt: prompt, Seed: uint64(i), Stream: uint64(k), Tool: answering{int32(p.Config.Vocab)}})
			}
			var b enginetest.Responses
			e.Generate(&b.Sampled, list, rollout.Sampling{Temperature: temperature, TopP: 1, MaxTokens: 24, Stop: 1, Distributions: true, Gates: true})
			if turns := slices.Max(b.Turn); turns < 3 {
				t.Fatalf("%d turns at most: the test needs more", turns)
			}
			type replay struct {
				routes learner.Replay
				gates  learner.Gates
			}
			replays := []replay{{learner.ReplayNone, learner.LiveGates}}
			if !p.Config.Dense() {
				replays = append(replays, replay{learner.ReplayRollout, learner.LiveGates}, replay{learner.ReplayRollout, learner.RecordedGates})
			}
			for _, r := range replays {
				l := learner.New(p, learner.Settings{Numerics: n}, 1+i%2)
				defer l.Close()
				how := fmt.Sprintf("replay %s, gates %s", r.routes, r.gates)
				l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Replay: r.routes, Gates: r.gates}, KeepGates: true, Distributions: true, SumSquares: true})
				if !slices.Equal(b.GatesRoll, b.Old.Gates) || !slices.EqualFunc(b.PromptGates, b.Old.PromptGates, slices.Equal) {
					t.Errorf("%s: gates differ", how)
				}
				agree(t, how+", Score", &b.Sampled, &b.Old)
				if !slices.Equal(b.RoutesRoll, b.Old.Routes) || !slices.EqualFunc(b.PromptRoutes, b.Old.PromptRoutes, slices.Equal) {
					t.Errorf("%s: routes differ", how)
				}
				must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature, Replay: r.routes, Gates: r.gates}, Distributions: true, Entropy: true}))(t)
				agree(t, how+", Gradient", &b.Sampled, &b.Now)
				for k, generated := range b.Mask {
					if !generated && (b.Old.Entropy[k] != 0 || b.Old.SumSquares[k] != 0 || b.Now.Entropy[k] != 0) {
						t.Fatalf("%s: entropies %g and %g, sum of squares %g of a reply", how, b.Old.Entropy[k], b.Now.Entropy[k], b.Old.SumSquares[k])
					}
				}
			}
		})
	}
}

// agree compares log-probs everywhere and distributions where the policy chose.
func agree(t *testing.T, how string, in *column.Sampled, scored *column.Scored) {
	t.Helper()
	if !slices.Equal(in.LogpRoll, scored.Logp) {
		t.Errorf("%s: log-probs differ", how)
	}
	for n, generated := range in.Mask {
		at := n * in.Vocab
		if generated && !slices.EqualFunc(in.DistRoll[at:at+in.Vocab], scored.Dist[at:at+in.Vocab], func(x, y float32) bool {
			return math.Float32bits(x) == math.Float32bits(y)
		}) {
			t.Errorf("%s: distributions of token %d differ", how, n)
			return
		}
	}
}

// What a tool wrote takes no part in a gradient but as what is read: with the
// likelihood of the generated tokens as the objective, other ids in a reply's
// place change the gradient through the text alone, and the reply's own
// likelihood is not in it.
func TestNoGradientOfReplies(t *testing.T) {
	p := enginetest.Named("dense").Params
	b := halves(enginetest.Sequences(7, 6, p.Config.Vocab, 6, 9))
	l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32")}, 1)
	defer l.Close()
	gradient := func() []float32 {
		must.Get(l.Gradient(&b.Now, &b.Sampled, maskedLikelihood{b.Mask}, learner.StepOptions{Policy: learner.Policy{Temperature: 1}}))(t)
		return slices.Clone(l.Grad())
	}
	// The last token of a response is read by no row: as a reply it must not count at all.
	for i := range b.Len() {
		if from, to := b.Span(i); from < to {
			b.Mask[to-1] = false
		}
	}
	want := gradient()
	for i := range b.Len() {
		if from, to := b.Span(i); from < to {
			b.Token[to-1] = (b.Token[to-1] + 1) % int32(p.Config.Vocab)
		}
	}
	if !slices.Equal(want, gradient()) {
		t.Error("the gradient depends on an unread token outside the mask")
	}
}

// maskedLikelihood is the log-prob of the generated tokens.
type maskedLikelihood struct{ mask []bool }

func (m maskedLikelihood) Eval(out *column.Grad, now *column.Scored) error {
	out.Reset(len(now.Logp))
	for n, counts := range m.mask {
		if counts {
			out.Loss -= now.Logp[n]
			out.DLogp[n] = -1
		}
	}
	return nil
}
