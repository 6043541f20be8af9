package foreign_test

import (
	"fmt"

	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

func ExampleReadAs() {
	c, err := foreign.ReadAs("", "run.sh", []byte("--use-tis --tis-clip 2.0 --use-rollout-routing-replay"))
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := recipe.Load("default", c.Assignments()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Framework, r.Correction.Weights.Name, r.Routing.Replay)
	text, notes := foreign.Write("trl", r)
	fmt.Print(text, notes, "\n")
	// Output:
	// slime token_tis r3
	// GRPOConfig(vllm_importance_sampling_correction=True, vllm_importance_sampling_mode="token_truncate", vllm_importance_sampling_clip_max=2.0, loss_type="dapo", epsilon=0.2, epsilon_high=0.2)
	// [trl's setting for routing.replay is not written here]
}
