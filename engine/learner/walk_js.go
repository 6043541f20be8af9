package learner

import "driftlab/model"

// newMachine is the walk itself.
func newMachine(w *walk, _, _ *model.Params, _ int) (machine, error) { return w, nil }
