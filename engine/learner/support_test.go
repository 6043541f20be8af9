package learner_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/reference"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// truncated samples responses from truncated distributions.
func truncated(p *model.Params, n engine.Numerics, seed uint64, responses int, s rollout.Sampling) *enginetest.Responses {
	e := rollout.New(p.Config, n, responses, 1)
	defer e.Close()
	e.Publish(p, 0)
	var list []rollout.Request
	for i, prompt := range enginetest.Sequences(seed, responses, p.Config.Vocab, 1, 9) {
		list = append(list, rollout.Request{Prompt: prompt, Seed: seed, Stream: uint64(i)})
	}
	s.Temperature, s.MaxTokens, s.Distributions, s.OnSupport = temperature, 12, true, true
	var b enginetest.Responses
	e.Generate(&b.Sampled, list, s)
	return &b
}

// truncations are the ways to cut the vocabulary.
var truncations = []rollout.Sampling{{TopP: 0.9}, {TopP: 1, TopK: 3}, {TopP: 0.7, TopK: 5}, {TopP: 0.05}}

// With equal engines and the support replayed, scoring and gradient have the
// log-probs of the rollout bit for bit, and its distributions; without replay
// they differ by the log of the kept mass, bit for bit, and no ratio exceeds 1.
func TestSupportReplayAgrees(t *testing.T) {
	models := enginetest.Models(enginetest.Small)
	for i, n := range cases(t) {
		p := models[i%len(models)].Params
		b := truncated(p, n, uint64(i), 16, truncations[i%len(truncations)])
		l := learner.New(p, learner.Settings{Numerics: n}, 2)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Support: true}, Distributions: true})
		identical(t, n.Name+": Score", b, &b.Old)
		must.Get(l.Gradient(&b.Now, &b.Sampled, &linear{}, learner.StepOptions{Policy: learner.Policy{Temperature: temperature, Support: true}, Distributions: true}))(t)
		identical(t, n.Name+": Gradient", b, &b.Now)

		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
		below := 0
		for k, full := range b.Old.Logp {
			if full-engine.LogOfMass(b.KeptMass[k]) != b.LogpRoll[k] {
				t.Fatalf("%s, token %d: full %g, kept mass %g, rollout %g", n.Name, k, full, b.KeptMass[k], b.LogpRoll[k])
			}
			if full > b.LogpRoll[k]+1e-7 {
				t.Fatalf("%s, token %d: ratio above 1", n.Name, k)
			}
			if full < b.LogpRoll[k]-1e-3 {
				below++
			}
		}
		if below < len(b.Old.Logp)/2 {
			t.Errorf("%s: %d of %d ratios are below 1", n.Name, below, len(b.Old.Logp))
		}
		l.Close()
	}
}

// Between unequal engines the replay takes the bias out and leaves the gap.
func TestSupportReplayLeavesTheGap(t *testing.T) {
	p := enginetest.Named("moe").Params
	b := truncated(p, preset(t, "bf16"), 3, 64, rollout.Sampling{TopP: 0.8})
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	bias := func(support bool) (mean float64) {
		s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Support: support}})
		for n, lp := range b.Old.Logp {
			mean += (lp - b.LogpRoll[n]) / float64(len(b.Old.Logp))
		}
		return mean
	}
	if with, without := bias(true), bias(false); with == 0 || math.Abs(with) > 1e-3 || without > -0.1 {
		t.Errorf("mean log ratio %g with replay, %g without", with, without)
	}
}

// Entropy and the sum of squares are those on the support, tokens drawn from
// the whole vocabulary are scored as without replay, and a token alone in its
// support is certain up to rounding.
func TestSupportStatistics(t *testing.T) {
	p := enginetest.Named("moe").Params
	b := truncated(p, preset(t, "fp32"), 5, 16, rollout.Sampling{TopP: 0.6})
	for n := range b.Support {
		switch n % 3 {
		case 0:
			b.Support[n] = nil
		case 1:
			b.Support[n] = b.Token[n : n+1]
		}
	}
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature}})
	whole := slices.Clone(b.Old.Logp)
	s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: temperature, Support: true}, Distributions: true, SumSquares: true})
	v := p.Config.Vocab
	for n := range b.Token {
		if b.Support[n] == nil && b.Old.Logp[n] != whole[n] {
			t.Fatalf("token %d: replay of no truncation moves %g to %g", n, whole[n], b.Old.Logp[n])
		}
		if len(b.Support[n]) == 1 && math.Abs(b.Old.Logp[n]) > 5e-7 {
			t.Fatalf("token %d is alone and has log-prob %g", n, b.Old.Logp[n])
		}
		var total, entropy, squares float64
		for a, lp := range b.Old.Dist[n*v : (n+1)*v] {
			if b.Support[n] != nil && !slices.Contains(b.Support[n], int32(a)) {
				if !math.IsInf(float64(lp), -1) {
					t.Fatalf("token %d: log-prob %g outside the support", n, lp)
				}
				continue
			}
			total += exp(float64(lp))
			entropy -= exp(float64(lp)) * float64(lp)
			squares += exp(2 * float64(lp))
		}
		for _, x := range [][2]float64{{total, 1}, {b.Old.Entropy[n], entropy}, {b.Old.SumSquares[n], squares}} {
			if !(math.Abs(x[0]-x[1]) < 2e-6) {
				t.Fatalf("token %d: %g, want %g", n, x[0], x[1])
			}
		}
	}
}

// The gradient on replayed supports equals that of the float64 reference's restricted policy, entropy included.
func TestSupportGradientsAreTheReferences(t *testing.T) {
	const warm = 0.7
	for i, m := range enginetest.Models(enginetest.Tiny)[:3] {
		p, c := m.Params, m.Params.Config
		b := halves(enginetest.Sequences(uint64(i+40), 2, c.Vocab, 4, 6))
		for n, token := range b.Token {
			// The sampled token and every third other; one in four is not truncated.
			var kept []int32
			for a := range int32(c.Vocab) {
				if a == token || (int(a)+n)%3 == 0 {
					kept = append(kept, a)
				}
			}
			if n%4 == 3 {
				kept = nil
			}
			b.Support = append(b.Support, kept)
		}
		o := &linear{coefficients(uint64(i), b.Tokens()), 0.3}
		l := learner.New(p, learner.Settings{Numerics: preset(t, "fp32")}, 1)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: warm, Support: true}})
		must.Get(l.Gradient(&b.Now, &b.Sampled, o, learner.StepOptions{Policy: learner.Policy{Temperature: warm, Support: true}, Distributions: true, Entropy: true}))(t)
		r := reference.New(p)
		backward(r, b, forward(r, b, nil), o.onSupport(b, warm), 0)
		enginetest.CompareGradients(t, m.Name, p, l.Grad(), r.Grad, 1e-5)
		l.Close()
	}
}

// onSupport is the objective of the restricted policy.
func (o *linear) onSupport(b *enginetest.Responses, temperature float64) objective {
	return func(n int, logits []float64) float64 {
		kept := b.Support[n]
		if kept == nil {
			for a := range logits {
				kept = append(kept, int32(a))
			}
		}
		z := 0.0
		for _, a := range kept {
			z += math.Exp(logits[a] / temperature)
		}
		sum := o.at(n) * (logits[b.Token[n]]/temperature - math.Log(z))
		for _, a := range kept {
			lp := logits[a]/temperature - math.Log(z)
			sum -= o.entropy * math.Exp(lp) * lp
		}
		return sum
	}
}

// Supports that are not there, or that leave the sampled token out, are a
// programmer's fault.
func TestSupportOfNothing(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	for _, support := range [][][]int32{nil, {{1}, {4}}} {
		b := given([][]int32{{1, 2}}, [][]int32{{3, 4}})
		b.Support = support
		must.Panic(t, fmt.Sprintf("supports %v", support), func() {
			s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Support: true}})
		})
	}
}
