package measure_test

import (
	"context"
	"fmt"
	"log"

	"driftlab/experiments/measure"
	"driftlab/trainer/recipe"
)

// The gap between two engines at equal weights; nothing is trained.
func ExampleGaps() {
	r, err := recipe.Load("default", "rollout.prompts=2", "rollout.max_tokens=32")
	if err != nil {
		log.Fatal(err)
	}
	pairs := measure.UsualPairs()
	m, err := measure.Gaps(context.Background(), measure.GapRequest{Recipe: r, Pairs: []measure.Pair{pairs[0], pairs[6]}})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range m.Pairs {
		fmt.Printf("%s samples, %s scores: equal bits %v\n", p.Rollout, p.Learner, p.Gap.Unequal == 0)
	}
	// Output:
	// fp32 samples, fp32 scores: equal bits true
	// fp8-w8a8 samples, bf16 scores: equal bits false
}
