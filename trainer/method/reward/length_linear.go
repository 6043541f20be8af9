package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// LengthLinear lowers the reward of each response by its generated tokens, its other tokens and its
// turns, each relative to the largest of its group, in proportion to the group's mean reward.
//
// It reads the sum of the parts that stand before it. A group without a reward is not penalised,
// and in one with a negative mean the longest response gains. prime-rl subtracts the group's mean
// afterwards: take the advantage grpo with std: false and singleton: zero.
type LengthLinear struct {
	Ramp `yaml:",inline"`
	// Output weighs the generated tokens.
	Output float64 `yaml:"output" default:"0.25" range:"[0,1e6]"`
	// Input weighs the tokens of the prompt and of tools.
	Input float64 `yaml:"input" default:"0.1" range:"[0,1e6]"`
	// Turns weighs the turns; a batch that records none has one turn a response.
	Turns float64 `yaml:"turns" default:"0.1" range:"[0,1e6]"`

	groups batch.Groups
}

var linearSpec = method.Spec{
	Name: "length_linear", Aliases: []string{"length_penalty"}, Unit: method.Group,
	Does:   "Lowers the reward by tokens and turns relative to the longest response of the group, in proportion to the group's mean reward.",
	When:   "Use it behind the other parts of a reward, to save tokens in groups that are already solved.",
	Source: "prime-rl algo.length_penalty",
	Formula: "R = −mean_g(R before)·(output·o/max(1, max_g o) + input·i/max(1, max_g i) + turns·u/max(1, max_g u))\n" +
		"o generated tokens, i other tokens with the prompt's, u turns",
	Needs: batch.Columns{batch.Group},
	Example: "output 0.25, input 0, turns 0, rewards before 1 and 0: mean 0.5\n" +
		"10 generated tokens of at most 20: −0.5·0.25·10/20 = −0.0625\n" +
		"20 generated tokens: −0.125",
}

// follows implements follower.
func (*LengthLinear) follows() {}

// Part implements Shaper.
func (l *LengthLinear) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	if err := b.Require(batch.Group, batch.Reward); err != nil {
		return err
	}
	share := l.share(b)
	l.groups.Find(b.Group)
	for k := range l.groups.Len() {
		rows := l.groups.Rows(k)
		mean, most := 0.0, [3]float64{1, 1, 1}
		for _, i := range rows {
			mean += b.Reward[i] / float64(len(rows))
			for j, size := range sizes(b, i) {
				most[j] = max(most[j], size)
			}
		}
		for _, i := range rows {
			size := sizes(b, i)
			relative := float64(l.Output*size[0]/most[0]) + float64(l.Input*size[1]/most[1]) + float64(l.Turns*size[2]/most[2])
			dst[i] = -share * mean * relative
		}
	}
	return nil
}

// sizes are the generated tokens, the other tokens with the prompt's, and the turns of response i.
func sizes(b *batch.Batch, i int) [3]float64 {
	from, to := b.Span(i)
	generated, input, turns := length(b, i), 0.0, 1.0
	if len(b.Prompt) == b.Len() {
		input = float64(len(b.Prompt[i]))
	}
	if len(b.Turn) == b.Tokens() && to > from {
		turns = float64(b.Turn[to-1]) + 1
	}
	return [3]float64{generated, input + float64(to-from) - generated, turns}
}
