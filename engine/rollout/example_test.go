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

// A response that is in progress when new weights come.
func ExampleEngine_Load() {
	c := model.Default()
	c.Vocab = 16
	p := model.New(c)
	p.Init(1)
	fp32, _ := engine.Preset("fp32")
	var versions []*engine.Weights
	for v := range 2 {
		w := engine.NewWeights(c, fp32)
		w.Publish(p, v)
		versions = append(versions, w)
	}
	e := rollout.New(c, fp32, 2, 1)
	defer e.Close()
	e.Load(versions[0], rollout.Pin)
	e.Begin([]rollout.Request{{ID: 7, Prompt: []int32{1, 2, 3}}}, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 6, Stop: -1})
	fmt.Println(e.Advance(4), "steps, then other weights")
	e.Load(versions[1], rollout.Reprefill)
	fmt.Println(e.Advance(10), "steps to the end")
	var b column.Sampled
	fmt.Println("complete:", e.Collect(&b, nil), "versions", b.Version)
	// Output:
	// 4 steps, then other weights
	// 2 steps to the end
	// complete: [7] versions [0 0 0 0 1 1]
}
