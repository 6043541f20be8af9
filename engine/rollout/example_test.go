package rollout_test

import (
	"fmt"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/model"
)

// Two responses to one prompt, with what corrections need later: the log-prob
// under the engine's own numerics, the experts visited, the version.
func Example() {
	c := model.Config{Layers: 1, DModel: 16, Heads: 2, Experts: 4, Vocab: 8}.WithDefaults()
	params := model.New(c)
	params.Init(3)
	numerics, _ := engine.Preset("bf16")

	e := rollout.New(c, numerics, 2, 1)
	defer e.Close()
	e.Publish(params, 12)
	prompt := []int32{1, 5, 2}
	var b column.Sampled
	e.Generate(&b, []rollout.Request{
		{Prompt: prompt, Seed: 1, Stream: 0},
		{Prompt: prompt, Seed: 1, Stream: 1},
	}, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 4, Stop: 0})

	for i := range b.Len() {
		from, to := b.Span(i)
		fmt.Printf("%v finished %t, log-probs %.3f, version %d\n", b.Token[from:to], b.Finished[i], b.LogpRoll[from:to], b.Version[from])
	}
	fmt.Println("experts of the first token:", b.RoutesRoll[:b.TopK])
	// Output:
	// [3 0] finished true, log-probs [-2.502 -2.002], version 12
	// [7 0] finished true, log-probs [-2.363 -1.439], version 12
	// experts of the first token: [2 3]
}
