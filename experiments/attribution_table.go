package experiments

import (
	"fmt"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/results"
)

// AttributionTable shows which difference between two engines makes how much of
// the gap between them.
func AttributionTable(a *measure.Attribution) *results.Table {
	t := &results.Table{
		Title: fmt.Sprintf("Where the gap of %s to %s comes from: %s, task %s, seed %d", a.Rollout, a.Learner, a.Checkpoint, a.Task, a.Seed),
		Columns: []results.TableColumn{{Name: "mechanism"}, {Name: "rollout"}, {Name: "learner"},
			right("alone", "k3"), right("by routing", "k3"), right("removed", "k3"), right("share", "k3"),
			right("alone", "|Δ|"), right("removed", "|Δ|"), right("share", "|Δ|")},
		Note: attributionNote(a),
	}
	empty := results.Word("")
	for _, m := range a.Mechanisms {
		routing, shares := results.Word("-"), [2]results.Cell{results.Word("-"), results.Word("-")}
		if m.AloneReplayed != nil {
			routing = results.Number(m.Alone.K3-m.AloneReplayed.K3, 2)
		}
		if m.Shapley != nil && a.Total.K3 > 0 {
			shares[0] = results.Percent(m.Shapley.K3/a.Total.K3, 0)
			shares[1] = results.Percent(m.Shapley.MeanAbsDlogp/a.Total.MeanAbsDlogp, 0)
		}
		t.Add(results.Word(m.Name), results.Word(m.Rollout), results.Word(m.Learner),
			results.Number(m.Alone.K3, 2), routing, results.Number(m.Removed.K3, 2), shares[0],
			results.Number(m.Alone.MeanAbsDlogp, 2), results.Number(m.Removed.MeanAbsDlogp, 2), shares[1])
	}
	if len(a.Mechanisms) > 1 {
		t.Add(results.Word("interaction").As(results.Muted), empty, empty, results.Number(a.Interaction.K3, 2), empty, empty, empty,
			results.Number(a.Interaction.MeanAbsDlogp, 2), empty, empty)
	}
	routing := results.Word("-")
	if a.Routing != nil {
		routing = results.Number(a.Routing.K3, 2)
	}
	t.Add(results.Word("total").As(results.Strong), results.Word(a.Rollout), results.Word(a.Learner),
		results.Number(a.Total.K3, 2), routing, empty, empty, results.Number(a.Total.MeanAbsDlogp, 2), empty, empty)
	return t
}

// listedPairs is how many interactions of two the note names.
const listedPairs = 3

// attributionNote explains the columns and names the largest interactions.
func attributionNote(a *measure.Attribution) string {
	if len(a.Mechanisms) == 0 {
		return "The engines differ in nothing that acts on a log-prob."
	}
	note := "Alone: only this differs; with the interaction, it sums to the total. Removed: what giving it the learner's value saves. " +
		"By routing: what replaying routes (R3) takes away.\n|Δ| is the mean difference of log-probs; single tokens weigh less in it than in k3."
	if a.Exact {
		note += fmt.Sprintf(" Share: Shapley share over all %d mixtures.", a.Scorings)
	} else {
		note += fmt.Sprintf(" No shares: %d mechanisms have too many mixtures to score all.", len(a.Mechanisms))
	}
	var pairs []string
	for _, p := range a.Pairs[:min(listedPairs, len(a.Pairs))] {
		pairs = append(pairs, fmt.Sprintf("%s with %s %s", p.A, p.B, results.FormatNumber(p.Interaction.K3, 2)))
	}
	if len(pairs) > 0 {
		note += "\nLargest interactions of two: " + strings.Join(pairs, ", ") + "."
	}
	return note
}

// AttributionBars draws the parts of each mechanism, in k3.
func AttributionBars(a *measure.Attribution) *results.Bars {
	b := &results.Bars{Title: fmt.Sprintf("Where the gap of %s to %s comes from", a.Rollout, a.Learner), ValueLabel: "k3 (nats per token)"}
	share := results.BarGroup{Name: "Shapley share"}
	alone, removed := results.BarGroup{Name: "alone"}, results.BarGroup{Name: "removed"}
	for _, m := range a.Mechanisms {
		b.Categories = append(b.Categories, m.Name)
		alone.Value, removed.Value = append(alone.Value, m.Alone.K3), append(removed.Value, m.Removed.K3)
		if m.Shapley != nil {
			share.Value = append(share.Value, m.Shapley.K3)
		}
	}
	b.Groups = []results.BarGroup{alone, removed}
	if a.Exact {
		b.Groups = []results.BarGroup{share, alone, removed}
	}
	return b
}
