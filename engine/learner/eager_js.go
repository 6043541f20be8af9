package learner

import "driftlab/model"

// newMachine is the eager machine itself.
func newMachine(w *eager, _, _ *model.Params, _ int) (machine, error) { return w, nil }
