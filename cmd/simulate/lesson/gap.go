package lesson

import (
	"context"
	"fmt"
	"math"

	"driftlab/engine"
	"driftlab/precision/elementary"
	"driftlab/results/lab/panel"
	"driftlab/trainer/batch"
	"driftlab/trainer/measure"
	"driftlab/trainer/task"
)

// shownResponses is how many responses of a pair are shown token by token.
const shownResponses = 6

// Gap measures how far two engines are apart on the same tokens at the same
// weights, pair by pair; without pairs, the recipe's own engines.
func Gap(ctx context.Context, q measure.GapRequest) ([]panel.Panel, error) {
	vocab := q.Recipe.Task.New().Vocab()
	var shown [][]panel.Panel // strip and histogram of each pair
	q.Responses = func(_ string, b *batch.Batch, prompts []task.Prompt, _ []task.Verdict) error {
		shown = append(shown, []panel.Panel{gapStrip(b, vocab, prompts), gapHistogram(b)})
		return nil
	}
	m, err := measure.Gaps(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []panel.Panel
	for i, p := range m.Pairs {
		for _, one := range append(shown[i], gapTable(p)) {
			one.When = map[string]string{"rollout": p.Rollout, "learner": p.Learner}
			out = append(out, one)
		}
	}
	return out, nil
}

// Pairs are all of the formats that people serve with either of those they train in.
func Pairs() []measure.Pair {
	var pairs []measure.Pair
	for _, l := range Learners {
		for _, r := range Rollouts {
			rollout, _ := engine.Preset(r)
			learner, _ := engine.Preset(l)
			pairs = append(pairs, measure.Pair{Rollout: rollout, Learner: learner})
		}
	}
	return pairs
}

// The numerics that lessons offer.
var (
	Rollouts = []string{"fp32", "fp32-splitk4", "fp16", "bf16", "bf16-tp4", "int8-w8a8", "fp8-w8a8", "fp4-w4a16"}
	Learners = []string{"fp32", "bf16"}
)

// shades are where the next shade of a token begins, in nats; below the first the
// bits are equal.
var shades = []float64{math.SmallestNonzeroFloat64, 1e-3, 1e-2, 1e-1}

// shade is the level of a difference of log-probs.
func shade(delta float64) int {
	level := 0
	for _, from := range shades {
		if math.Abs(delta) >= from {
			level++
		}
	}
	return level
}

const shadeScale = "Difference of the log-probs in nats: blank equal bits, then below 0.001, 0.01, 0.1, and above."

// gapStrip shows the first responses of different prompts.
func gapStrip(b *batch.Batch, vocab []string, prompts []task.Prompt) panel.Panel {
	p := panel.Panel{Kind: panel.Strip, Name: "tokens", Title: "The same tokens, priced twice", Scale: shadeScale}
	last := -1
	for i := range b.Len() {
		if b.Group[i] == last || len(p.Lines) == shownResponses {
			continue
		}
		last = b.Group[i]
		line := panel.Line{Title: task.Text(vocab, prompts[i].Tokens)}
		from, to := b.Span(i)
		for t := from; t < to; t++ {
			delta := b.Old.Logp[t] - b.LogpRoll[t]
			line.Tokens = append(line.Tokens, panel.Token{Text: vocab[b.Token[t]], Level: shade(delta),
				Note: fmt.Sprintf("rollout %.4f, learner %.4f, difference %.1e", b.LogpRoll[t], b.Old.Logp[t], delta)})
		}
		p.Lines = append(p.Lines, line)
	}
	p.Said = fmt.Sprintf("The first responses to %d prompts, token by token, shaded by how far the two engines are apart.", len(p.Lines))
	return p
}

// gapHistogram counts the tokens by the size of the difference, in half decades.
func gapHistogram(b *batch.Batch) panel.Panel {
	const low, bins = -9, 20 // 1e-9 to 10
	p := panel.Panel{Kind: panel.Histogram, Name: "differences", Title: "How large the differences are",
		X: &panel.Axis{Label: "difference of the log-probs (nats)", Log: true}, Y: &panel.Axis{Label: "tokens"}}
	for i := range bins + 1 {
		p.Edges = append(p.Edges, elementary.Pow(10, low+float64(i)/2))
	}
	y := make([]float64, bins)
	equal, tokens := 0, b.Tokens()
	for t := range tokens {
		delta := math.Abs(b.Old.Logp[t] - b.LogpRoll[t])
		if delta == 0 {
			equal++
			continue
		}
		at := 0
		for at < bins-1 && delta >= p.Edges[at+1] {
			at++
		}
		y[at]++
	}
	p.Series = []panel.Series{{Name: "tokens", Y: y}}
	p.Said = fmt.Sprintf("%d of %d tokens have equal bits and are not drawn; the others by the size of the difference.", equal, tokens)
	return p
}

// gapTable is the pair's row of figures.
func gapTable(p measure.PairGap) panel.Panel {
	g := p.Gap
	return panel.Panel{Kind: panel.Table, Name: "figures", Title: p.Rollout + " rollouts, " + p.Learner + " learner",
		Columns: []panel.Column{{Name: "tokens", Num: true}, {Name: "unequal", Num: true}, {Name: "KL (nats)", Num: true},
			{Name: "mean |Δ|", Num: true}, {Name: "max |Δ|", Num: true}},
		Rows: [][]string{{fmt.Sprint(g.Tokens), fmt.Sprintf("%.1f%%", 100*g.Unequal), figure(g.ExactKL), figure(g.MeanAbsDlogp), figure(g.MaxAbsDlogp)}}}
}

// figure writes a small number with two digits, and an exact zero as 0.
func figure(x float64) string {
	switch {
	case x == 0:
		return "0"
	case math.Abs(x) < 1e-2:
		return shortened(fmt.Sprintf("%.1e", x))
	}
	return fmt.Sprintf("%.2g", x)
}
