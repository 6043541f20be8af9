package trainer_test

import (
	"fmt"
	"log"

	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Two steps of a session by hand, with another rollout engine.
func Example() {
	r, err := recipe.Load("default", "rollout.numerics=bf16", "rollout.prompts=4", "rollout.max_tokens=32", "eval.every=0")
	if err != nil {
		log.Fatal(err)
	}
	r, params, err := trainer.Prepare(r)
	if err != nil {
		log.Fatal(err)
	}
	s, err := trainer.NewSession(r, params, trainer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for step := range 2 {
		if err := s.Step(step); err != nil {
			log.Fatal(err)
		}
		b, _, _, _ := s.Sampled()
		fmt.Println(b.Len(), "responses, by engines that differ:", b.LogpRoll[0] != b.Old.Logp[0])
	}
	// Output:
	// 32 responses, by engines that differ: true
	// 32 responses, by engines that differ: true
}
