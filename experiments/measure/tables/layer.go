package tables

import (
	"fmt"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
)

// LayerTable shows at which operation two engines part, and how their difference grows through the layers.
func LayerTable(d *measure.Divergence) *figure.Figure {
	t := head("layers", d.Rollout, d.Learner, d.Checkpoint, d.Task, d.Seed, d.Tokens)
	t.Note = layerNote(d)
	for _, o := range d.Operations {
		first, flips := figure.Word(""), figure.Word("")
		if o.First > 0 {
			first = figure.Word(fmt.Sprint(o.First)).As(figure.Warn)
		}
		if o.Name == "router" {
			flips = figure.Word(fmt.Sprint(o.Flips))
		}
		t.Add(figure.Word(layerName(d, o)), figure.Word(o.Name), first, figure.Word(fmt.Sprint(o.Differ)), figure.Number(o.Median, 2), figure.Number(o.High, 2), flips)
	}
	return t
}

func layerName(d *measure.Divergence, o measure.OperationGap) string {
	switch {
	case o.Layer < 0:
		return "input"
	case o.Layer == d.Operations[len(d.Operations)-1].Layer:
		return "head"
	}
	return fmt.Sprint(o.Layer)
}

// layerNote explains the columns and says what decoding adds.
func layerNote(d *measure.Divergence) string {
	note := "A token parts at the first operation whose result differs in any bit. Relative difference: the Euclidean norm of the difference over that of the learner's values, over tokens. "
	if d.Equal > 0 {
		note += fmt.Sprintf("%d tokens are equal in every operation. ", d.Equal)
	}
	switch {
	case d.Unequal < 0:
		note += "The recorded log-probs are of a shaped sampling distribution, and not compared with this pass."
	case d.Unequal == 0:
		note += "Decoding token by token gave the log-probs of this pass over whole sequences in every bit."
	default:
		note += fmt.Sprintf("Decoding token by token gave %d tokens other log-probs than this pass over whole sequences: the rollout engine depends on its batch, or records other log-probs.", d.Unequal)
	}
	return note
}

// LayerBars draws how the difference grows from operation to operation.
func LayerBars(d *measure.Divergence) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: fmt.Sprintf("Difference of %s from %s, operation by operation", d.Rollout, d.Learner), Y: figure.Axis{Label: "relative difference", Log: true},
		Note: "Operations in the order in which they run; those without a difference have no mark."}
	median, high := figure.Series{Name: "median token"}, figure.Series{Name: "90 % of tokens below"}
	for _, o := range d.Operations {
		b.Labels = append(b.Labels, layerName(d, o)+" "+o.Name)
		median.Y, high.Y = append(median.Y, o.Median), append(high.Y, o.High)
	}
	b.Series = []figure.Series{median, high}
	return b
}
