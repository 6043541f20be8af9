package advantage

import "driftlab/trainer/method/batch"

// outcome is the frame of estimators that give a response one number: per fills
// the scores of a group from its rewards, and every generated token gets its
// response's.
func (g *groups) outcome(b *batch.Batch, a Asymmetry, per func(score, reward []float64, rows []int) error) error {
	if err := b.Require(batch.Reward); err != nil {
		return err
	}
	if err := g.find(b); err != nil {
		return err
	}
	g.score = batch.Zeroed(g.score, b.Len())
	if err := g.each(g.score, b.Reward, per); err != nil {
		return err
	}
	broadcast(b, g.score)
	a.apply(b)
	return nil
}

// centre is the group's mean as verl's loop form takes it: 0 for a group of
// one, which so keeps its raw reward.
func centre(reward []float64) float64 {
	if len(reward) == 1 {
		return 0
	}
	return mean(reward)
}
