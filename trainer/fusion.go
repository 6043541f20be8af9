package trainer

import (
	"driftlab/model"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// preparePartner gives the model whose logits are mixed in the weights of the step, if
// it is the policy.
func (s *Session) preparePartner(weights *model.Params) {
	if f := s.recipe.Rollout.Fusion; f != nil && f.With == recipe.FusedWithSelf {
		s.fleet.Main().PublishPartner(weights)
	}
}

// share is the part that another model's logits have in the responses to a prompt.
func (s *Session) share(step int, p task.Prompt) float64 {
	if f := s.recipe.Rollout.Fusion; f != nil {
		return f.Share(step, p.Difficulty)
	}
	return 0
}

// observeFusion appends how much of the other model there was in the step's responses,
// and how far it moved the laws that their tokens were drawn by.
func (s *Session) observeFusion() {
	if s.recipe.Rollout.Fusion == nil {
		return
	}
	b, alpha, shift, tokens := &s.batch, 0.0, 0.0, 0
	for i, q := range s.requests {
		alpha += q.Fuse
		for n := range b.Where(i, b.Mask) {
			shift += b.LawTV[n]
			tokens++
		}
	}
	s.log("rollout/fusion_alpha", alpha/float64(len(s.requests)))
	s.log("rollout/fusion_tv", shift/float64(max(tokens, 1)))
}
