package trainer

import "driftlab/trainer/method/loss"

// penalty takes a KL penalty that belongs into the reward from TokenReward, and
// appends its figures.
type penalty struct{ kl loss.KL }

func newPenalty(s *Session) (stage, error) {
	if !s.penalised() {
		return nil, nil
	}
	return penalty{s.objective.kl}, nil
}

func (p penalty) run(s *Session) error {
	coef := p.kl.Coefficient() // before the controller moves it
	kl, err := p.kl.AddReward(&s.batch)
	if err != nil {
		return err
	}
	s.log("actor/reward_kl_penalty", kl)
	s.log("actor/reward_kl_penalty_coeff", coef)
	return nil
}

// penalised reports whether the KL term acts in the reward.
func (s *Session) penalised() bool {
	switch kl := s.objective.kl.(type) {
	case *loss.KLTerm:
		return kl.In == loss.InReward
	case *loss.ExactKL:
		return kl.In == loss.InReward
	}
	return false
}
