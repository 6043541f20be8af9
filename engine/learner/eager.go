package learner

import "driftlab/engine"

// machine runs a pass once, forward and backward, with the loss between. It has room
// for packs of a capacity that it was made for.
type machine interface {
	run() error
	close()
}

// eager is a machine that calls the stages of a pass in the order of the model. It is
// what a browser runs, where Gorgonia is four times the size of everything else; the
// gradient is the graph's, bit for bit.
type eager struct {
	pass   *engine.Pass
	layers int
	// headAndLoss runs the head and returns the value of the policy loss, headGradient
	// goes back through both.
	headAndLoss  func() (float64, error)
	headGradient func() error
}

func (w *eager) run() error {
	w.pass.ForwardEmbed()
	for l := range w.layers {
		w.pass.ForwardAttention(l)
		w.pass.ForwardExperts(l)
	}
	if _, err := w.headAndLoss(); err != nil {
		return err
	}
	if err := w.headGradient(); err != nil {
		return err
	}
	for l := w.layers - 1; l >= 0; l-- {
		w.pass.BackwardExperts(l)
		w.pass.BackwardAttention(l)
	}
	w.pass.BackwardEmbed()
	return nil
}

func (w *eager) close() {}
