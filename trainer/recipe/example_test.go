package recipe_test

import (
	"fmt"

	"driftlab/trainer/recipe"
)

func ExampleParse() {
	_, err := recipe.Parse("recipe.yaml", []byte(`
name: mine
learner:
  optimizer: {lrr: 1e-3}
loss: {name: ppo_clip, eps_low: 0.2}
kl: {name: k3, coef: small}
`))
	fmt.Println(err)
	// Output:
	// recipe.yaml:4: learner.optimizer.lrr: unknown field; did you mean "lr"?
	// recipe.yaml:6: kl.coef: expected a number, got the text "small"
}

func ExampleLoad() {
	r, err := recipe.Load("default", "seed=7", "loss.eps_high=0.3", "rollout.numerics=bf16")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Name, r.Seed, r.Steps, r.Rollout.Numerics.Name, r.Rollout.Responses())
	// Output: default 7 200 bf16 128
}
