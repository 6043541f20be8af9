package explain_test

import (
	"context"
	"fmt"
	"log"

	"driftlab/experiments/measure/explain"
	"driftlab/trainer/recipe"
)

// A token through two updates of the first step, its sampler in fp8.
func Example() {
	r, err := recipe.Load("default", "rollout.numerics=fp8-w8a8", "rollout.prompts=6", "rollout.max_tokens=16", "learner.minibatches=2", "eval.every=0")
	if err != nil {
		log.Fatal(err)
	}
	u, err := explain.Follow(context.Background(), r, explain.Request{Step: 1, Tokens: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("outside the band before any update:", u.OutsideMerged[0] > 0, "merged,", u.OutsideDecoupled[0] > 0, "decoupled")
	t := u.Tokens[0]
	fmt.Printf("token %s: %.3f x %.3f = %.3f\n", t.Token, t.Engine, t.Staleness[2], t.Merged[2])
	fmt.Println(t.DecoupledLines[2][6])
	// Output:
	// outside the band before any update: true merged, false decoupled
	// token 4: 0.745 x 0.726 = 0.541
	// w = 0.744942   (kept)
}
