package learner

// LossScale are the settings of dynamic loss scaling (arXiv:1710.03740): the
// gradient is computed for a multiple of the loss, so that small fp16 gradients
// do not vanish, and divided again before the update.
type LossScale struct {
	// Initial is the first factor; 0 switches scaling off. 65536 is usual.
	Initial float64
	// Growth is the number of clean gradients after which the factor doubles.
	Growth int
}

// lossScaler is the factor and its history.
type lossScaler struct {
	settings LossScale
	scale    float64
	clean    int
}

func newLossScaler(s LossScale) lossScaler { return lossScaler{settings: s, scale: s.Initial} }

func (s *lossScaler) active() bool { return s.settings.Initial > 0 }

// factor is what the loss is multiplied by.
func (s *lossScaler) factor() float64 {
	if !s.active() {
		return 1
	}
	return s.scale
}

// overflow halves the factor, down to 1: the gradient was not finite and is
// thrown away. It returns false where there is nothing left to halve, and the
// fault is not the factor's.
func (s *lossScaler) overflow() bool {
	if s.factor() <= 1 {
		return false
	}
	s.scale, s.clean = max(s.scale/2, 1), 0
	return true
}

// fine counts a finite gradient and doubles the factor when there were enough.
func (s *lossScaler) fine() {
	if !s.active() {
		return
	}
	if s.clean++; s.settings.Growth > 0 && s.clean >= s.settings.Growth {
		s.scale, s.clean = s.scale*2, 0
	}
}
