package learner

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

func numericsOf(t testing.TB, name string) engine.Numerics {
	n, ok := engine.Preset(name)
	if !ok {
		t.Fatalf("no preset %s", name)
	}
	return n
}

// grouped samples groups of 1 to 5 responses, whose numbers say nothing of their
// order, one response of one group after one of the next; of the last, nothing is
// left.
func grouped(t testing.TB, p *model.Params, name string, r rollout.Retention) *column.Sampled {
	e := rollout.New(p.Config, numericsOf(t, name), 30, 1)
	defer e.Close()
	e.SetRetention(r)
	e.Publish(p, 0)
	prompts := enginetest.Sequences(5, 6, p.Config.Vocab, 1, 9)
	var list []rollout.Request
	for round := range 5 {
		for g, prompt := range prompts {
			if round <= g%5 {
				list = append(list, rollout.Request{Prompt: prompt, Group: (g * 5) % 7, Seed: 4, Stream: uint64(10*g + round)})
			}
		}
	}
	var b column.Sampled
	e.Generate(&b, list, rollout.Sampling{Temperature: 0.9, TopP: 1, MaxTokens: 12, Gates: true})
	b.Offsets[b.Len()] = b.Offsets[b.Len()-1]
	tokens, per, words := b.Tokens(), b.Layers*b.TopK, b.KVPlanes*b.KVWords
	b.Token, b.Mask, b.RoutesRoll, b.GatesRoll = b.Token[:tokens], b.Mask[:tokens], b.RoutesRoll[:tokens*per], b.GatesRoll[:tokens*per]
	b.KVKept = b.KVKept[:tokens*words]
	return &b
}

// apart is the same batch in which no two responses are of one group.
func apart(b *column.Sampled) *column.Sampled {
	c := *b
	c.Group = nil
	return &c
}

// plainSum is Σ_n (n%5-2)·logp_n/10.
type plainSum struct{}

func (plainSum) Eval(out *column.Grad, now *column.Scored) error {
	out.Reset(len(now.Logp))
	for n, logp := range now.Logp {
		out.DLogp[n] = float64(n%5-2) / 10
		out.Loss += out.DLogp[n] * logp
	}
	return nil
}

// A prompt that a group shares is computed once, and nothing that a pass records
// differs by a bit: whatever is replayed, wherever the group's responses stand.
// The gradient is the same up to the order of one sum.
func TestSharedPromptsChangeNoBit(t *testing.T) {
	window := rollout.Retention{Policy: rollout.Window, Keep: 0.4, Sinks: 1, Recent: 2}
	for i, m := range enginetest.Models(enginetest.Small) {
		for _, test := range []struct {
			numerics string
			policy   Policy
		}{
			{"fp32", Policy{}}, {"bf16-tp4", Policy{}}, {"fp8-w8a8", Policy{Replay: ReplayRollout}}, {"fp32-online", Policy{Replay: ReplayOld, Gates: RecordedGates}},
			{"bf16", Policy{Retention: true}}, {"fp32", Policy{Replay: ReplayRollout, Gates: RecordedGates, Retention: true}},
		} {
			p, n := m.Params, numericsOf(t, test.numerics)
			test.policy.Temperature = 0.9
			var r rollout.Retention
			if test.policy.Retention {
				r = window
			}
			b := grouped(t, p, "fp4-all", r)
			how := fmt.Sprintf("%s, %+v", m.Name, test)
			var scored [2]column.Scored
			var earlier [2]column.Scored
			var grads [2][]float32
			var rows [2]int
			for k, in := range []*column.Sampled{b, apart(b)} {
				l := New(p.Clone(), Settings{Numerics: n, Recompute: i%2 == 0}, 1+i%3)
				first := test.policy
				first.Replay, first.Gates = ReplayNone, ""
				l.Score(&earlier[k], in, ScoreOptions{Policy: first, KeepGates: true, Distributions: true, SumSquares: true})
				rows[k] = l.pack.Rows()
				o := StepOptions{Policy: test.policy, Earlier: &earlier[k], Distributions: true, Entropy: true}
				must.Get(l.Gradient(&scored[k], in, plainSum{}, o))(t)
				grads[k] = slices.Clone(l.Grad())
				l.Close()
			}
			if rows[0] >= rows[1] {
				t.Fatalf("%s: %d rows, %d without sharing", how, rows[0], rows[1])
			}
			for k, columns := range [][2]column.Scored{earlier, scored} {
				if !identicalScored(&columns[0], &columns[1]) {
					t.Errorf("%s: pass %d records something else", how, k)
				}
			}
			if d := relativeDistance(grads[0], grads[1]); !(d < 2e-6) && n.Gradients.Identity() {
				t.Errorf("%s: the gradient is %.3g away", how, d)
			}
		}
	}
}

// identicalScored compares all columns.
func identicalScored(a, b *column.Scored) bool {
	return slices.Equal(a.Logp, b.Logp) && slices.Equal(a.Entropy, b.Entropy) && slices.Equal(a.SumSquares, b.SumSquares) &&
		slices.Equal(a.Dist, b.Dist) && slices.Equal(a.Routes, b.Routes) && slices.Equal(a.Gates, b.Gates) &&
		slices.EqualFunc(a.PromptRoutes, b.PromptRoutes, slices.Equal) && slices.EqualFunc(a.PromptGates, b.PromptGates, slices.Equal)
}

// relativeDistance is |a-b|/|b|.
func relativeDistance(a, b []float32) float64 {
	var d, n float64
	for i, x := range b {
		d += math.Pow(float64(a[i])-float64(x), 2)
		n += math.Pow(float64(x), 2)
	}
	return math.Sqrt(d / n)
}

// Exactly the listed conditions keep prompts separate.
func TestWhatKeepsPromptsApart(t *testing.T) {
	p := enginetest.Named("moe").Params
	b := grouped(t, p, "fp32", rollout.Retention{})
	whole := 0
	for i, prompt := range b.Prompt {
		from, to := b.Span(i)
		whole += len(prompt) + max(to-from-1, 0)
	}
	shared := whole
	for g := range 8 {
		var members []int
		for i, h := range b.Group {
			if h == g {
				members = append(members, i)
			}
		}
		if len(members) > 1 {
			shared -= (len(members) - 1) * (len(b.Prompt[members[0]]) - 1)
		}
	}
	other := func(change func(*column.Sampled)) *column.Sampled {
		c := *b
		c.PromptRoutes, c.PromptGates, c.Group = slices.Clone(b.PromptRoutes), slices.Clone(b.PromptGates), slices.Clone(b.Group)
		change(&c)
		return &c
	}
	routes := other(func(c *column.Sampled) {
		for i, r := range c.PromptRoutes {
			c.PromptRoutes[i] = slices.Clone(r)
			if len(r) > 0 {
				c.PromptRoutes[i][0], c.PromptRoutes[i][1] = uint8(i%5), uint8((i/5+i+1)%5)
				if c.PromptRoutes[i][0] == c.PromptRoutes[i][1] {
					c.PromptRoutes[i][1] = uint8((i + 2) % 5)
				}
			}
		}
	})
	gates := other(func(c *column.Sampled) {
		for i, g := range c.PromptGates {
			c.PromptGates[i] = slices.Clone(g)
			if len(g) > 0 {
				c.PromptGates[i][0] = float32(i) / 64
			}
		}
	})
	r3 := Policy{Replay: ReplayRollout, Temperature: 1}
	r3gates := Policy{Replay: ReplayRollout, Gates: RecordedGates, Temperature: 1}
	for _, test := range []struct {
		what     string
		numerics string
		settings Settings
		in       *column.Sampled
		policy   Policy
		once     bool
	}{
		{"nothing", "fp32", Settings{}, b, Policy{Temperature: 1}, true},
		{"equal routes", "fp32", Settings{}, b, r3, true},
		{"equal gates", "fp32", Settings{}, b, r3gates, true},
		{"routes that are not replayed", "fp32", Settings{}, routes, Policy{Temperature: 1}, true},
		{"gates that are not replayed", "fp32", Settings{}, gates, r3, true},
		{"gates", "fp32", Settings{}, gates, r3gates, false},
		{"no groups", "fp32", Settings{}, apart(b), Policy{Temperature: 1}, false},
		{"batch-variant numerics", "fp32-batch-variant", Settings{}, b, Policy{Temperature: 1}, false},
		{"flash-decoding", "bf16-flash-decoding", Settings{}, b, Policy{Temperature: 1}, false},
		{"the load", "fp32", Settings{Balance: 0.1}, b, Policy{Temperature: 1}, false},
	} {
		test.settings.Numerics = numericsOf(t, test.numerics)
		l := New(p.Clone(), test.settings, 1)
		var scored column.Scored
		must.Get(l.Gradient(&scored, test.in, plainSum{}, StepOptions{Policy: test.policy}))(t)
		want := whole
		if test.once {
			want = shared
		}
		if l.pack.Rows() != want {
			t.Errorf("%s: %d rows, want %d", test.what, l.pack.Rows(), want)
		}
		l.Close()
	}
	// Of routes that differ, those of neighbours in a group may still be equal.
	l := New(p.Clone(), Settings{Numerics: numericsOf(t, "fp32")}, 1)
	defer l.Close()
	var scored column.Scored
	l.Score(&scored, routes, ScoreOptions{Policy: r3})
	if !slices.EqualFunc(scored.PromptRoutes, routes.PromptRoutes, slices.Equal) {
		t.Error("a response follows the prompt routes of another")
	}
}
