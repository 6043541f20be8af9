package tables

import (
	"strings"

	"driftlab/engine"
	"driftlab/precision"
	"driftlab/results/figure"
)

// PresetTable shows every preset of numerics, and what the others leave open:
// whether a row depends on its batch, and a token on being decoded by itself.
func PresetTable() *figure.Figure {
	t := head("presets")
	answer := func(yes bool) figure.Cell {
		if yes {
			return figure.Word("yes")
		}
		return figure.Word("no").As(figure.Strong)
	}
	for _, n := range engine.Presets() {
		var orders []string
		if n.Reduction != (engine.Numerics{}).Reduction {
			orders = append(orders, n.Reduction.String())
		}
		if n.ExpertParallel != (engine.ExpertParallel{}) {
			orders = append(orders, "experts "+n.ExpertParallel.String())
		}
		if n.Eager {
			orders = append(orders, "eager")
		}
		head := n.Head.String()
		if n.HeadWeights != (precision.Quantizer{}) {
			head = n.HeadWeights.String()
		}
		t.Add(figure.Word(n.Name).As(figure.Strong), figure.Word(n.Weights.String()), mutedIf(n.Inputs.String(), n.Weights.String()),
			mutedIf(n.Activations.String(), n.Inputs.String()), figure.Word(n.Accumulator.String()), mutedIf(n.KVCache.String(), n.Activations.String()),
			mutedIf(n.Router.String(), n.Activations.String()), mutedIf(head, n.Activations.String()), figure.Word(strings.Join(orders, ", ")),
			figure.Word(n.Attention.String()), answer(n.BatchInvariant()), answer(n.Attention.PrefillIsDecode()))
	}
	return t
}

func mutedIf(text, neighbour string) figure.Cell {
	if text == neighbour {
		return figure.Word(text).As(figure.Muted)
	}
	return figure.Word(text)
}
