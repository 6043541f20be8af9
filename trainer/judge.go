package trainer

import (
	"math"

	"driftlab/trainer/cluster"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// newJudge returns what a recipe makes of a prompt group as soon as it is done: its
// worth to a replay, and whether dynamic sampling refuses it. Its rewards are those
// that the group will have in its batch, since no part that remembers is allowed here.
func newJudge(r recipe.Recipe) cluster.Judge {
	g := newGrader(r)
	var b batch.Batch
	var prompts []task.Prompt
	return func(responses *batch.Sampled, p task.Prompt) (worth float64, refused bool, err error) {
		b.Sampled, prompts = *responses, prompts[:0]
		for range b.Len() {
			prompts = append(prompts, p)
		}
		if err := g.grade(&b, prompts); err != nil {
			return 0, false, err
		}
		for _, x := range b.Reward {
			worth += math.Abs(x) / float64(b.Len())
		}
		return worth, refuses(r.Rollout.DynamicSampling, &b), nil
	}
}

// refuses reports whether a prompt group has nothing to teach.
func refuses(s *recipe.DynamicSampling, b *batch.Batch) bool {
	if s == nil {
		return false
	}
	for i := range b.Len() {
		switch s.Refuse {
		case recipe.RefuseEqualReward:
			if b.Reward[i] != b.Reward[0] {
				return false
			}
		case recipe.RefuseSolved:
			if !b.Correct[i] {
				return false
			}
		default:
			if b.Correct[i] != b.Correct[0] {
				return false
			}
		}
	}
	return true
}
