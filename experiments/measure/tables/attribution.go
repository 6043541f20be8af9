package tables

import (
	"cmp"
	"fmt"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// AttributionTable shows which difference between two engines makes how much of
// the gap between them.
func AttributionTable(a *measure.Attribution) *figure.Figure {
	t := head("attribution", a.Rollout, a.Learner, cmp.Or(a.Checkpoint, "random weights"), a.Task, a.Seed)
	t.Note = attributionNote(a)
	empty := figure.Word("")
	for _, m := range a.Mechanisms {
		routing, shares := figure.Word("-"), [2]figure.Cell{figure.Word("-"), figure.Word("-")}
		if m.AloneReplayed != nil {
			routing = figure.Number(m.Alone.K3-m.AloneReplayed.K3, 2)
		}
		if m.Shapley != nil && a.Total.K3 > 0 {
			shares[0] = figure.Percent(m.Shapley.K3/a.Total.K3, 0)
			shares[1] = figure.Percent(m.Shapley.MeanAbsDlogp/a.Total.MeanAbsDlogp, 0)
		}
		t.Add(figure.Word(m.Name), figure.Word(m.Rollout), figure.Word(m.Learner),
			figure.Number(m.Alone.K3, 2), routing, figure.Number(m.Removed.K3, 2), shares[0],
			figure.Number(m.Alone.MeanAbsDlogp, 2), figure.Number(m.Removed.MeanAbsDlogp, 2), shares[1])
	}
	if len(a.Mechanisms) > 1 {
		t.Add(figure.Word("interaction").As(figure.Muted), empty, empty, figure.Number(a.Interaction.K3, 2), empty, empty, empty,
			figure.Number(a.Interaction.MeanAbsDlogp, 2), empty, empty)
	}
	routing := figure.Word("-")
	if a.Routing != nil {
		routing = figure.Number(a.Routing.K3, 2)
	}
	t.Add(figure.Word("total").As(figure.Strong), figure.Word(a.Rollout), figure.Word(a.Learner),
		figure.Number(a.Total.K3, 2), routing, empty, empty, figure.Number(a.Total.MeanAbsDlogp, 2), empty, empty)
	return t
}

// listedPairs is how many interactions of two the note names.
const listedPairs = 3

// attributionNote explains the columns and names the largest interactions.
func attributionNote(a *measure.Attribution) string {
	if len(a.Mechanisms) == 0 {
		return "The engines have no difference that changes a log-prob."
	}
	note := "Alone: k3 if only this differs; with the interactions it sums to the total. Removed: k3 that is saved by giving it the learner's value. " +
		"By routing: k3 that routing replay (R3) removes.\n|Δ| is the mean difference of log-probs; single tokens have less weight in it than in k3."
	if a.Exact {
		note += fmt.Sprintf(" Share: Shapley share over all %d mixtures.", a.Scorings)
	} else {
		note += fmt.Sprintf(" No shares: %d mechanisms have too many mixtures to score all.", len(a.Mechanisms))
	}
	pairs := stats.Map(a.Pairs[:min(listedPairs, len(a.Pairs))], func(p measure.PairPart) string {
		return fmt.Sprintf("%s with %s %s", p.A, p.B, figure.FormatNumber(p.Interaction.K3, 2))
	})
	if len(pairs) > 0 {
		note += "\nLargest interactions of two: " + strings.Join(pairs, ", ") + "."
	}
	return note
}

// AttributionBars draws the parts of each mechanism, in k3.
func AttributionBars(a *measure.Attribution) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: fmt.Sprintf("Attribution of the mismatch of %s to %s", a.Rollout, a.Learner), Y: figure.Axis{Label: "k3 (nats per token)"},
		Note: "What each difference adds alone, and what removing it from all differences saves."}
	share := figure.Series{Name: "Shapley share"}
	alone, removed := figure.Series{Name: "alone"}, figure.Series{Name: "removed"}
	for _, m := range a.Mechanisms {
		b.Labels = append(b.Labels, m.Name)
		alone.Y, removed.Y = append(alone.Y, m.Alone.K3), append(removed.Y, m.Removed.K3)
		if m.Shapley != nil {
			share.Y = append(share.Y, m.Shapley.K3)
		}
	}
	b.Series = []figure.Series{alone, removed}
	if a.Exact {
		b.Series = []figure.Series{share, alone, removed}
	}
	return b
}
