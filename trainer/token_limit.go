package trainer

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/masked"
)

// tokenLimit counts the tokens that a run has generated and trained, and says when it
// has had its share.
type tokenLimit struct{ most, generated, trained float64 }

// run counts a step. A token is trained as often as its gradient was taken.
func (l *tokenLimit) run(s *Session) error {
	b := &s.batch
	l.generated += float64(masked.Count(b.Mask) - stageOf[*promptSampler](s).reusedTokens())
	l.trained += float64(masked.Count(b.Active()) * s.recipe.Learner.Epochs)
	s.log("tokens/generated", l.generated)
	s.log("tokens/trained", l.trained)
	return nil
}

// reached reports whether the run ends here; without a limit it does not.
func (l *tokenLimit) reached() bool { return l != nil && l.generated >= l.most }

func (l *tokenLimit) AppendState(dst []byte) []byte {
	return method.AppendState(dst, []float64{l.generated, l.trained})
}

func (l *tokenLimit) SetState(state []byte) error {
	counts := make([]float64, 2)
	err := method.ReadState(state, counts)
	l.generated, l.trained = counts[0], counts[1]
	return err
}
