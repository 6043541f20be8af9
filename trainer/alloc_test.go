package trainer

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// TestAllocations compares steps with few and with many tokens: what a step
// allocates in its steady state belongs to the step and its prompts.
func TestAllocations(t *testing.T) {
	const steps = 9
	for _, sets := range [][]string{
		nil,
		{"rollout.numerics=fp8-w8a8", "learner.numerics=bf16", "schedule={name: lag, k: 2}", "learner.minibatches=2", "routing.replay=r3"},
		{"correction={mode: bypass, masks: [geometric, opsm]}", "terms=[entropy, top_entropy]", "loss=gspo"},
		{"advantage=gae", "kl={name: k1, in: reward}", "guards=[ess_lr, length_surge, gradient_alignment]"},
		{"advantage=optimal_token_baseline", "kl=exact", "rollout.top_p=1"},
		{"advantage=remax", "correction.masks=[trm]", "loss=dppo_kl"},
	} {
		var median, bytes [2]uint64
		var tokens [2]int
		for i, group := range []int{4, 32} {
			s := sessionOf(t, Options{}, append(sets, fmt.Sprintf("rollout.group=%d", group), "eval.every=0", "learner.optimizer.lr=1e-6")...)
			var counts, sizes []uint64
			var before, after runtime.MemStats
			for step := range steps {
				runtime.ReadMemStats(&before)
				must(t, s.Step(step))
				runtime.ReadMemStats(&after)
				counts = append(counts, after.Mallocs-before.Mallocs)
				sizes = append(sizes, after.TotalAlloc-before.TotalAlloc)
				tokens[i] += s.batch.Tokens() / steps
			}
			slices.Sort(counts)
			// The least: on a loaded machine the runtime adds goroutines of its own
			// to some steps, and a column would be in all of them.
			median[i], bytes[i] = counts[len(counts)/2], slices.Min(sizes)
		}
		if few, many := median[0], median[1]; many > few+20 || few > 500 {
			t.Errorf("%v: %d allocations in a step of %d tokens, %d in one of %d", sets, few, tokens[0], many, tokens[1])
		}
		// Recorded routes are new memory for each batch, a byte each; a column of
		// float64 would be eight bytes per token more.
		if few, many := bytes[0], bytes[1]; many > few+8*uint64(tokens[1]-tokens[0]) {
			t.Errorf("%v: %d bytes in a step of %d tokens, %d in one of %d", sets, few, tokens[0], many, tokens[1])
		}
	}
}
