package trainer

// estimate is the advantage stage: it reads the rewards (Reward, Correct, TokenReward) and
// what the estimator asks for (GreedyReward, Value, PrefixValue, ScoreNorm), and writes
// Advantage and, for estimators that have returns, Return. Estimators that work on one
// number per response see the KL penalty too: for them a response's reward is the sum over
// its tokens, as in verl. Reward itself keeps the score without the penalty.
func (s *Session) estimate() error {
	b := &s.batch
	score := b.Reward
	if s.recipe.PenalisesReward() {
		s.penalisedReward = s.penalisedReward[:0]
		for i := range b.Len() {
			from, to := b.Span(i)
			sum := 0.0
			for _, r := range b.TokenReward[from:to] {
				sum += r
			}
			s.penalisedReward = append(s.penalisedReward, sum)
		}
		b.Reward = s.penalisedReward
	}
	err := s.estimator.Estimate(b)
	b.Reward = score
	return err
}

// penalise takes a KL penalty that belongs into the reward from TokenReward, and
// appends its figures.
func (s *Session) penalise() error {
	coef := s.objective.kl.Coefficient() // before the controller moves it
	kl, err := s.objective.kl.AddReward(&s.batch)
	if err != nil {
		return err
	}
	s.log("actor/reward_kl_penalty", kl)
	s.log("actor/reward_kl_penalty_coeff", coef)
	return nil
}
