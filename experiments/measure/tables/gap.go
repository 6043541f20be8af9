package tables

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// GapTable shows the size of the gap of each pair of a measurement.
func GapTable(m *measure.Measurement) *figure.Figure {
	t := head("gap", cmp.Or(m.Checkpoint, "random weights"), m.Task, m.Seed, sampleText(m))
	t.Note += " " + intervalNote
	for _, p := range m.Pairs {
		g := p.Gap
		kl := figure.Word("-")
		if g.HasExact {
			kl = figure.Number(g.ExactKL, 2)
		}
		t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Word(fmt.Sprint(g.Tokens)), kl, figure.Number(g.K3, 2),
			intervalCell(k3Interval(&p), func(x float64) figure.Cell { return figure.Number(x, 2) }), figure.Number(g.MeanAbsDlogp, 2), figure.Number(g.MaxAbsDlogp, 2), figure.Number(g.MaxAbsDp, 2),
			figure.Number(1-g.Pearson, 2), figure.Number(max(g.Chi2Token, 0), 2), figure.Percent(g.Unequal, 1))
	}
	return t
}

// RouteTable shows the routing flips of each pair and what replay removes. It
// has no rows for a dense model.
func RouteTable(m *measure.Measurement) *figure.Figure {
	t := head("routes", sampleText(m))
	t.Note += " " + intervalNote
	for _, p := range m.Pairs {
		g := p.Gap
		if !g.HasRoutes || p.Replayed == nil {
			continue
		}
		removed, between, largest, flipped := figure.Word("-"), figure.Word("-"), figure.Word("-"), figure.Word("-")
		if g.K3 > 0 {
			percent := func(x float64) figure.Cell { return figure.Percent(x, 0) }
			removed, between, largest = percent(1-p.Replayed.K3/g.K3), intervalCell(removedInterval(&p), percent), percent(largestToken(&p))
		}
		if g.FlipToken > 0 {
			flipped = figure.Number(g.FlippedAbsDlogp, 2)
		}
		t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Word(fmt.Sprint(g.Tokens)), figure.Percent(g.FlipRoute, 2), figure.Percent(g.FlipToken, 2),
			flipped, figure.Number(g.RestAbsDlogp, 2), figure.Number(g.K3, 2), figure.Number(p.Replayed.K3, 2), removed, between, largest)
	}
	return t
}

// FlipTable shows the routing flips of each pair by layer, token and response,
// and what is left when the learner replays the rollout engine's expert ids, or
// ids and gate values. It has no rows for a dense model.
func FlipTable(m *measure.Measurement) *figure.Figure {
	t := head("flips")
	for _, p := range m.Pairs {
		g := p.Gap
		if !g.HasRoutes || p.Replayed == nil || p.ReplayedGates == nil {
			continue
		}
		layers := stats.Map(g.FlipLayer, func(f float64) string { return figure.Percent(f, 2).Text })
		t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Word(strings.Join(layers, " ")), figure.Percent(g.FlipToken, 2),
			figure.Percent(g.FlipSequence, 1), figure.Number(g.ExactKL, 2), figure.Number(p.Replayed.ExactKL, 2), figure.Number(p.ReplayedGates.ExactKL, 2))
	}
	return t
}

// RetentionTable shows what a compressed KV cache, or the index of sparse attention, makes of
// the gap, and what replaying its masks or choices removes. It has no rows for full attention.
func RetentionTable(m *measure.Measurement) *figure.Figure {
	t := head("retention")
	for _, p := range m.Pairs {
		if p.Shadow == nil {
			continue
		}
		t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Percent(p.Retained, 1), figure.Number(p.Gap.K3, 2), figure.Number(p.Gap.MeanAbsDlogp, 2),
			figure.Number(p.Gap.ExactKL, 2), figure.Number(p.Shadow.K3, 2), figure.Number(p.Shadow.MeanAbsDlogp, 2), figure.Percent(p.Shadow.Unequal, 1))
	}
	return t
}

// KeptMassTable shows the self-test of recorded log-probs. It has no rows where
// nothing shapes the distribution that is sampled.
func KeptMassTable(m *measure.Measurement) *figure.Figure {
	t := head("kept mass")
	for _, p := range m.Pairs {
		k := p.KeptMass
		if k == nil {
			continue
		}
		verdict := figure.Word("yes")
		if !k.Holds {
			verdict = figure.Word("no").As(figure.Strong)
		}
		t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Number(k.Kept, 4), figure.Number(k.Expected, 4), figure.Number(k.Ratio, 4),
			figure.Number(k.StdErr, 2), verdict)
	}
	return t
}

// SpeculativeTable shows what became of drafted tokens, and what verification
// and the recorded log-probs make of the gap. It has no rows without drafts.
func SpeculativeTable(m *measure.Measurement) *figure.Figure {
	t := head("speculative")
	for _, p := range m.Pairs {
		s := p.Speculative
		if s == nil {
			continue
		}
		t.Add(figure.Word(p.Rollout), figure.Word(p.Learner), figure.Word(fmt.Sprint(s.Draft)), figure.Percent(s.Acceptance, 1), figure.Percent(1-s.TV, 1),
			figure.Number(s.AcceptedLength, 3), figure.Number(s.TokensPerPass, 3), figure.Number(s.Cost, 3), figure.Number(s.Speedup, 3), figure.Number(s.LawTV, 2),
			figure.Number(s.Mislabelled, 2), figure.Number(p.Gap.K3, 2), figure.Number(s.Verifier.K3, 2), figure.Number(s.Law.K3, 2))
	}
	return t
}

// GapBars draws k3 of each pair, with the learner's own routes and with routes replayed.
func GapBars(m *measure.Measurement) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: "Training-inference mismatch at equal weights", Y: figure.Axis{Label: "k3 (nats per token)", Log: true},
		Note: "k3 estimate of the KL divergence from the rollout engine to the learner, per token."}
	free, replayed := figure.Series{Name: "own routes"}, figure.Series{Name: "routes replayed (R3)"}
	for _, p := range m.Pairs {
		b.Labels = append(b.Labels, p.Rollout+" → "+p.Learner)
		free.Y = append(free.Y, p.Gap.K3)
		if p.Replayed != nil {
			replayed.Y = append(replayed.Y, p.Replayed.K3)
		} else {
			replayed.Y = append(replayed.Y, math.NaN())
		}
	}
	b.Series = []figure.Series{free, replayed}
	return b
}
