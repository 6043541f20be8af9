package measure_test

import (
	"context"
	"fmt"
	"log"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/precision"
	"driftlab/trainer/recipe"
)

// Which of two differences makes the gap: the precision of the output head, or
// keys and values that are stored in bf16 where they were bf16 before.
func ExampleAttribute() {
	r, err := recipe.Load("default", "rollout.prompts=2", "rollout.max_tokens=32")
	if err != nil {
		log.Fatal(err)
	}
	rollout, _ := engine.Preset("bf16")
	learner, _ := engine.Preset("bf16-fp32-head")
	learner.KVCache = precision.Unscaled(precision.FP32)
	a, err := measure.Attribute(context.Background(), measure.AttributeRequest{Recipe: r, Pair: measure.Pair{Rollout: rollout, Learner: learner}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range a.Mechanisms {
		fmt.Printf("%s, %s against %s: %.0f%%\n", m.Name, m.Rollout, m.Learner, 100*m.Shapley.K3/a.Total.K3)
	}
	fmt.Println("interaction:", a.Interaction.K3)
	// Output:
	// head, bf16 against fp32: 100%
	// kv_cache, bf16 against fp32: 0%
	// interaction: 0
}
