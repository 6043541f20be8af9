package scaling

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/trainer/method/task"
)

// chapterWords is the number of words of a chapter, and baseChapters how many
// chapters an answer of the base has.
const chapterWords, baseChapters = 6, 6

// headWidth is that of an attention head: wider models have more heads.
const headWidth = 16

// lengthOf is the length of an answer of n chapters without slips, and about that
// of one with them.
func lengthOf(n int) int {
	t := task.Chapters{Difficulty: task.Range{n, n}, Words: chapterWords}
	return t.MaxResponse()
}

// tails holds the entropy of a word at 1.15 nats whatever the vocabulary: the
// law of what is written stays what it is while the words grow in number.
var tails = map[int]float64{32: 0.5829, 128: 0.1711, 512: 0.1276, 4096: 0.0987}

// prose is the task of a rung. All its answers have one number of chapters: a model
// this small does not read from the prompt how many are asked for, but it counts down.
func (r rung) prose() *task.Chapters {
	n := (r.Size.Length - 1) / (lengthOf(2) - lengthOf(1))
	return &task.Chapters{Difficulty: task.Range{n, n}, Words: chapterWords, Vocabulary: r.Size.Vocabulary,
		Tail: tails[r.Size.Vocabulary], Zipf: 1, Noise: 0.1, Slip: 0.1}
}

// changes turn the recipe of chain-base into the rung's warm start.
func (r rung) changes() []string {
	s, t := r.Size, r.prose()
	dff := 2 * s.Width
	if r.Family == denseFamily {
		dff *= base.TopK
	}
	return []string{
		fmt.Sprintf("task={name: chapters, difficulty: [%d, %d], words: %d, vocabulary: %d, tail: %v, zipf: %v, noise: %v, slip: %v}",
			t.Difficulty[0], t.Difficulty[1], t.Words, t.Vocabulary, t.Tail, t.Zipf, t.Noise, t.Slip),
		fmt.Sprintf("model.layers=%d", s.Layers), fmt.Sprintf("model.d_model=%d", s.Width), fmt.Sprintf("model.heads=%d", s.Width/headWidth), fmt.Sprintf("model.d_ff=%d", dff),
		fmt.Sprintf("model.experts=%d", s.Experts), fmt.Sprintf("model.top_k=%d", s.TopK),
		fmt.Sprintf("model.context=%d", max(128, t.MaxPrompt()+t.MaxResponse())),
		// Base 100 has no frequency that turns once in two thousand tokens.
		"model.rope_theta=1000", fmt.Sprintf("pretrain.steps=%d", r.Steps), fmt.Sprintf("pretrain.batch=%d", r.batch()),
	}
}

// batch is the number of demonstrations of a step: about a thousand tokens, and
// at least one.
func (r rung) batch() int { return max(1, 976/r.Size.Length) }

// warm is the rung's model of this replication.
func (r rung) warm(ctx context.Context, e *claim.Env) (*model.Params, error) {
	dir, err := e.WarmFrom(ctx, r.Start, "chain-base", r.changes()...)
	if err != nil {
		return nil, err
	}
	c, err := model.Load(dir)
	if err != nil {
		return nil, err
	}
	return c.Params, nil
}
