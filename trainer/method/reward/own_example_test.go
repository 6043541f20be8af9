package reward_test

import (
	"fmt"
	"log"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/task"
)

// shortAndRight pays a correct response for every token that it leaves out of a budget.
type shortAndRight struct{ Budget int }

// Part sets the reward of each response of a batch, given what the verifier says.
func (s shortAndRight) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	for i, v := range verdicts {
		from, to := b.Span(i)
		dst[i] = 0
		if v.Correct {
			dst[i] = float64(s.Budget-(to-from)) / float64(s.Budget)
		}
	}
	return nil
}

// A reward of one's own is one more part of the sum. A part with a line in reward.Registry can also be named in a recipe.
func Example_rewardOfOnesOwn() {
	chain := task.NewChain()
	p := task.Prompt{}
	p.Tokens, _ = task.Parse(chain.Vocab(), "<bos> c + 3 b * 4 a - 2 : 7")
	p.Answer, _ = task.Parse(chain.Vocab(), "8")
	response, _ := task.Parse(chain.Vocab(), "c 0 b 0 a 8 # 8 <eos>")
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, len(response)}, Token: response, Mask: []bool{true, true, true, true, true, true, true, true, true}}}

	scorer := reward.NewScorer(method.New[reward.Exact](), shortAndRight{Budget: 12})
	if err := scorer.Score(b, []task.Verdict{chain.Verify(p, response)}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("reward %.2f = %.2f\n", b.Reward[0], b.RewardParts[0])
	// Output: reward 1.25 = [1.00 0.25]
}
