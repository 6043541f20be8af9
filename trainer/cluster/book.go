package cluster

import (
	"driftlab/trainer/engines"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
)

// book has the prompts of all samples: those of a step as a synchronous run has them.
type book struct {
	from  *engines.Prompts
	seed  uint64
	batch int // samples of a step

	step    int // whose prompts are open
	prompts []task.Prompt
}

func (b *book) prompt(sample int) task.Prompt {
	if step := sample / b.batch; step != b.step {
		b.step, b.prompts = step, b.from.Step(b.prompts[:0], step, b.batch)
	}
	return b.prompts[sample%b.batch]
}

// random names the random numbers of a response, one of width responses to its prompt.
func (b *book) random(sample, response, width int) (seed, id uint64) {
	return b.seed + uint64(sample/b.batch)<<32, stream.ID(stream.Sampling, sample%b.batch*width+response)
}
