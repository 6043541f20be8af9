package loss

import (
	"slices"

	"driftlab/trainer/method/batch"
)

// DependsOn reports whether the gradient of a loss, with its parameters, depends on
// LogpRoll or Anchor where the ratio of the policy to the anchor is 1. A Spec cannot say:
// it lists what a method reads under any parameters. It is found by evaluation, on the
// worked example with that column displaced. No state of the loss moves.
func DependsOn(l Loss, column batch.Column) (bool, error) {
	var before []float64
	// Displacements in both directions, within and beyond the bounds that methods have.
	for _, distance := range []float64{0, 0.05, -0.05, 0.5, -0.5, 3, -3} {
		b := Worked(l)
		copy(b.Now.Logp, b.Anchor)
		displaced := b.LogpRoll
		if column == batch.Anchor {
			displaced = b.Anchor
		}
		for n := range displaced {
			displaced[n] += float64(distance * float64(1-2*(n%2)))
		}
		out := &Grad{frozen: slices.Clone(b.Now.Logp)} // frozen: no dual variable moves
		if err := l.Eval(out, b); err != nil {
			return false, err
		}
		gradient := slices.Concat(out.DLogp, out.DLogits)
		if distance == 0 {
			before = gradient
		} else if !slices.Equal(before, gradient) {
			return true, nil
		}
	}
	return false, nil
}
