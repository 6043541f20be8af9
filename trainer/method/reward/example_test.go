package reward_test

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/task"
)

// Two responses to one prompt, the second with a slip in its working, under
// the outcome reward, a penalty on length, and scores per step.
func Example() {
	chain := task.NewChain()
	vocab := chain.Vocab()
	p := task.Prompt{}
	p.Tokens, _ = task.Parse(vocab, "<bos> c + 3 b * 4 a - 2 : 7")
	p.Answer, _ = task.Parse(vocab, "8")

	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	var verdicts []task.Verdict
	for _, text := range []string{"c 0 b 0 a 8 # 8 <eos>", "c 0 b 1 a 9 # 9 <eos>"} {
		response, _ := task.Parse(vocab, text)
		b.Token = append(b.Token, response...)
		b.Offsets = append(b.Offsets, len(b.Token))
		verdicts = append(verdicts, chain.Verify(p, response))
	}
	b.Mask = make([]bool, len(b.Token))
	for n := range b.Mask {
		b.Mask[n] = true
	}

	scorer := reward.NewScorer(method.New[reward.Exact](), method.New[reward.Uniform](), method.New[reward.Process]())
	if err := scorer.Score(b, verdicts); err != nil {
		fmt.Println(err)
		return
	}
	for i := range b.Reward {
		from, to := b.Span(i)
		fmt.Printf("reward %6.3f = %.3f\n", b.Reward[i], b.RewardParts[i])
		fmt.Printf("  per token %5.2f\n", b.TokenReward[from:to])
	}
	// Output:
	// reward  1.045 = [1.000 -0.045 0.090]
	//   per token [ 0.00  0.03  0.00  0.03  0.00  0.03  0.00  0.00  0.95]
	// reward -0.015 = [0.000 -0.045 0.030]
	//   per token [ 0.00  0.03  0.00 -0.03  0.00  0.03  0.00  0.00 -0.04]
}
