package learner_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
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
// behind, between and before the replies of a tool, and on the routes of all
// tokens, the replies' too; so replaying the routes changes no bit. On the
// replies themselves every log-prob and entropy is 0, and so is the gradient.
func TestEnginesAgreeAcrossReplies(t *testing.T) {
	models := enginetest.Models(enginetest.Small)
	for i, n := range cases(t) {
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
			var b batch.Batch
			e.Generate(&b, list, rollout.Sampling{Temperature: temperature, TopP: 1, MaxTokens: 24, Stop: 1, Distributions: true, Gates: true})
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
				l.Score(&b, learner.ScoreOptions{Temperature: temperature, Replay: r.routes, Gates: r.gates, KeepGates: true, Distributions: true, SumSquares: true})
				if !slices.Equal(b.GatesRoll, b.GatesOld) || !slices.EqualFunc(b.PromptGates, b.PromptGatesOld, slices.Equal) {
					t.Errorf("%s: gates differ", how)
				}
				agree(t, how+", Score", &b, b.LogpOld, b.DistOld)
				if !slices.Equal(b.RoutesRoll, b.RoutesOld) || !slices.EqualFunc(b.PromptRoutes, b.PromptRoutesOld, slices.Equal) {
					t.Errorf("%s: routes differ", how)
				}
				if _, err := l.Gradient(&b, &linear{}, learner.StepOptions{Temperature: temperature, Replay: r.routes, Gates: r.gates, Distributions: true, Entropy: true}); err != nil {
					t.Fatal(err)
				}
				agree(t, how+", Gradient", &b, b.Logp, b.Dist)
				for k, generated := range b.Mask {
					if !generated && (b.Entropy[k] != 0 || b.SumSquares[k] != 0) {
						t.Fatalf("%s: entropy %g, sum of squares %g of a reply", how, b.Entropy[k], b.SumSquares[k])
					}
				}
			}
		})
	}
}

// agree compares log-probs everywhere and distributions where the policy chose.
func agree(t *testing.T, how string, b *batch.Batch, logp []float64, dist []float32) {
	t.Helper()
	if !slices.Equal(b.LogpRoll, logp) {
		t.Errorf("%s: log-probs differ", how)
	}
	for n, generated := range b.Mask {
		at := n * b.Vocab
		if generated && !slices.EqualFunc(b.DistRoll[at:at+b.Vocab], dist[at:at+b.Vocab], func(x, y float32) bool {
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
		if _, err := l.Gradient(b, maskedLikelihood{}, learner.StepOptions{Temperature: 1}); err != nil {
			t.Fatal(err)
		}
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
type maskedLikelihood struct{}

func (maskedLikelihood) Eval(out *loss.Grad, b *batch.Batch) error {
	out.Reset(b.Tokens())
	for n, counts := range b.Mask {
		if counts {
			out.Loss -= b.Logp[n]
			out.DLogp[n] = -1
		}
	}
	return nil
}
