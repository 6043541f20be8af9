package recipe

import (
	"fmt"

	"driftlab/trainer/method/advantage"
)

// Cautions lists the parts of a recipe that act in few of its groups, each by its field
// with the reason and the remedy. Inert lists those that act in none.
func (r Recipe) Cautions() (notes []string) {
	if _, ok := r.Advantage.Params.(*advantage.GRPOPassK); ok && len(r.Reward) == 1 && (r.Reward[0].Name == "exact" || r.Reward[0].Name == "pass_at_k") {
		notes = append(notes, fmt.Sprintf("advantage grpo_passk: only the best response of a group has an advantage, its lead over the second best, and with reward %s two right answers tie: "+
			"every group with more than one right answer, or none, has advantage 0. Add a graded reward, reward=[%s, length_uniform], or use harder prompts", r.Reward[0].Name, r.Reward[0].Name))
	}
	return notes
}
