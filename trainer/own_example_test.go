package trainer_test

import (
	"fmt"
	"log"
	"slices"

	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// reinforce is -A log pi, averaged over tokens, times a coefficient that recipes can set.
type reinforce struct {
	Coef float64 `yaml:"coef" default:"0.5" range:"(0,inf]"`
}

// Eval sets the loss and its derivative with respect to every token's log-prob.
func (l *reinforce) Eval(out *loss.Grad, b *batch.Batch) error {
	n := b.Tokens()
	out.Reset(n)
	for t := range n {
		out.DLogp[t] = -l.Coef * b.Advantage[t] / float64(n)
		out.Loss += out.DLogp[t] * b.Now.Logp[t]
	}
	return nil
}

// A loss of one's own: a type with Eval, and a line in the registry. Recipes then know its name and its parameters.
func Example_lossOfOnesOwn() {
	defer func(before method.Table[loss.Loss]) { loss.Registry = before }(loss.Registry)
	spec := method.Spec{Name: "my_reinforce", Group: "loss", Unit: method.Token, Needs: batch.Columns{batch.Advantage}}
	loss.Registry = append(loss.Registry[:len(loss.Registry):len(loss.Registry)],
		method.Entry[loss.Loss]{Spec: spec, New: func() loss.Loss { return method.New[reinforce]() }})

	r, err := recipe.Load("default", "loss={name: my_reinforce, coef: 2}", "rollout.prompts=4", "rollout.max_tokens=32", "eval.every=0")
	if err != nil {
		log.Fatal(err)
	}
	r, params, err := trainer.Prepare(r)
	if err != nil {
		log.Fatal(err)
	}
	first := params.Clone()
	s, err := trainer.NewSession(r, params, trainer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Step(0); err != nil {
		log.Fatal(err)
	}
	fmt.Println("one step by", r.Loss.Name, "moved the weights:", !slices.Equal(params.Theta, first.Theta))
	_, err = recipe.Load("default", "loss={name: my_reinforce, coef: 0}")
	fmt.Println(err)
	// Output:
	// one step by my_reinforce moved the weights: true
	// --set loss={name: my_reinforce, coef: 0}: loss.coef: 0: must be above 0
}
