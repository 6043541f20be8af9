// Package live makes the figures of what the lab computes: of a measured gap and of a run
// as it goes on. The page draws them next to recordings, which are made of the same.
//
// What it is not: it runs nothing.
package live

import (
	"fmt"
	"math"
	"strconv"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/results/lab/picture"
	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// drawn is how many responses a strip shows.
const drawn = 6

// Gap are the figures of a pair: its tokens, how their differences spread, its figures.
func Gap(gap measure.PairGap, b *batch.Batch, vocab []string) []figure.Figure {
	return []figure.Figure{strip(b, vocab), spread(b), figures(gap)}
}

// strip shows the first response to each of the first prompts, token by token.
func strip(b *batch.Batch, vocab []string) figure.Figure {
	p := figure.Figure{Kind: figure.Strip, Name: "strip", Title: "The tokens of the first responses, shaded by |d|", Scale: picture.Scale}
	unequal, tokens := 0, 0
	for i := range b.Len() {
		if len(p.Lines) == drawn || i > 0 && b.Group[i] == b.Group[i-1] {
			continue
		}
		var line figure.Line
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			t := figure.Token{Text: "<?>"}
			if id := int(b.Token[n]); id >= 0 && id < len(vocab) {
				t.Text = vocab[id]
			}
			if !b.Mask[n] {
				t.Note = "not sampled"
				line.Tokens = append(line.Tokens, t)
				continue
			}
			d := b.Old.Logp[n] - b.LogpRoll[n]
			t.Level = picture.Level(d)
			t.Note = fmt.Sprintf("rollout %.5g, learner %.5g, d %+.2g", b.LogpRoll[n], b.Old.Logp[n], d)
			tokens++
			if d != 0 {
				unequal++
			}
			line.Tokens = append(line.Tokens, t)
		}
		p.Lines = append(p.Lines, line)
	}
	p.Note = fmt.Sprintf("%d of the %d tokens shown have another log-prob in the learner.", unequal, tokens)
	return p
}

// spread is how |log-ratio| is distributed, in decades, with a bar of its own for exact equality.
func spread(b *batch.Batch) figure.Figure {
	const least, most = -9, 1
	labels := []string{"0"}
	for d := least; d < most; d++ {
		labels = append(labels, "1e"+strconv.Itoa(d))
	}
	count := make([]float64, len(labels))
	total := 0.0
	for i := range b.Len() {
		for n := range b.Where(i, b.Mask) {
			d := math.Abs(b.Old.Logp[n] - b.LogpRoll[n])
			at := 0
			if d > 0 {
				at = 1
				for at+1 < len(labels) && d >= math.Pow10(least+at) {
					at++
				}
			}
			count[at]++
			total++
		}
	}
	top := 0
	for i := range count {
		count[i] = 100 * count[i] / max(total, 1)
		if count[i] > count[top] {
			top = i
		}
	}
	at := "|d| of " + labels[top] + " and up to ten times that"
	if top == 0 {
		at = "no difference at all"
	}
	return figure.Figure{Kind: figure.Bars, Name: "spread", Title: "Tokens by |d|, the difference of the log-probs, in decades",
		X: figure.Axis{Label: "|d| = |log pi - log mu|, from"}, Y: figure.Axis{Label: "tokens, %"}, Labels: labels,
		Series: []figure.Series{{Name: "tokens", Y: count}},
		Note:   fmt.Sprintf("Of %.0f tokens %s %% have %s.", total, threeDigits(count[top]), at)}
}

// figures is the pair's line of the table.
func figures(g measure.PairGap) figure.Figure {
	p := figure.Figure{Kind: figure.Table, Name: "figures", Title: g.Rollout + " rollouts, " + g.Learner + " learner",
		Columns: []figure.Column{{Name: "router"}, {Name: "tokens", Align: figure.Right}, {Name: "unequal", Align: figure.Right}, {Name: "k3", Align: figure.Right}, {Name: "exact KL", Align: figure.Right},
			{Name: "mean |d|", Align: figure.Right}, {Name: "max |d|", Align: figure.Right}, {Name: "tokens with a flip", Align: figure.Right}}}
	add := func(name string, x *metrics.Gap) {
		if x == nil {
			return
		}
		p.Rows = append(p.Rows, figure.Words(name, strconv.Itoa(x.Tokens), percent(x.Unequal), threeDigits(x.K3), threeDigits(x.ExactKL),
			threeDigits(x.MeanAbsDlogp), threeDigits(x.MaxAbsDlogp), percent(x.FlipToken)))
	}
	add("free", &g.Gap)
	add("rollout's routes replayed", g.Replayed)
	add("routes and gates replayed", g.ReplayedGates)
	p.Note = fmt.Sprintf("%s of %d tokens differ; k3 %s nats, largest difference %s.", percent(g.Gap.Unequal), g.Gap.Tokens, threeDigits(g.Gap.K3), threeDigits(g.Gap.MaxAbsDlogp))
	return p
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

func threeDigits(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// curves are what is drawn of a run, as far as it records it.
var curves = []struct {
	name, metric, title, label string
	log                        bool
}{
	{"pass-rate", "val/learner/pass_rate", "Pass rate on held-out prompts", "pass rate", false},
	{"score", "critic/score/mean", "Training reward, batch by batch", "mean reward", false},
	{"k3", "gap/k3", "Mismatch between rollout policy and learner", "k3, nats", true},
}

// Run are the figures of a run so far.
func Run(title string, r *record.Record) []figure.Figure {
	var list []figure.Figure
	for _, c := range curves {
		column := r.Column(c.metric)
		if column == nil || len(column.Value) == 0 {
			continue
		}
		p := figure.Figure{Kind: figure.Lines, Name: c.name, Title: c.title, X: figure.Axis{Label: "step"}, Y: figure.Axis{Label: c.label, Log: c.log}}
		if !c.log {
			p.Y.High = 1
		}
		s := figure.Series{Name: title, Method: figure.Own, Y: column.Value}
		for _, step := range column.Step {
			s.X = append(s.X, float64(step))
		}
		p.Series = append(p.Series, s)
		last := len(column.Value) - 1
		p.Note = fmt.Sprintf("%s: %s at step %d, from %s.", title, threeDigits(column.Value[last]), column.Step[last], threeDigits(column.Value[0]))
		list = append(list, p)
	}
	return list
}
