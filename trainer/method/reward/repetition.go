package reward

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Repetition is a penalty on n-grams that a response repeats. The stop token and what a
// tool wrote are no part of them; a response with fewer than N tokens has no penalty.
type Repetition struct {
	// Coef is the penalty as every n-gram is the same; repetition_max_penalty with the
	// opposite sign.
	Coef float64 `yaml:"coef" default:"1" range:"[0,1e6]"`
	// N is the number of tokens of an n-gram.
	N int `yaml:"n" default:"3" range:"[1,64]"`

	tokens []int32
	starts []int // of the n-grams, sorted by their tokens
}

var repetitionSpec = method.Spec{
	Name: "repetition", Aliases: []string{"repetition_penalty"}, Unit: method.Sequence,
	Does:    "Penalises a response by the share of its n-grams that occur in it before.",
	When:    "Use it if responses repeat themselves, as under long generation limits or a low-precision rollout engine.",
	Source:  "Demystifying Long Chain-of-Thought Reasoning, arXiv:2502.03373; open-r1 repetition_penalty, ms-swift repetition_n_grams; the third stage of CompassMax, arXiv:2512.07710, has one without a formula",
	Formula: "R = −coef·(1 − distinct/total), over the n-grams of the response",
	Example: "coef = 1, n = 2: a b a b a b\n" +
		"n-grams: 5, distinct 2\n" +
		"R = −(1 − 2/5) = −0.6",
	Needs: batch.Columns{batch.Token},
}

// Part implements Shaper.
func (p *Repetition) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	if err := b.Require(batch.Mask, batch.Token); err != nil {
		return err
	}
	for i := range b.Len() {
		p.tokens = p.tokens[:0]
		for n := range b.Where(i, b.Mask) {
			if b.Token[n] != task.EOS {
				p.tokens = append(p.tokens, b.Token[n])
			}
		}
		dst[i] = 0
		if total := len(p.tokens) - p.N + 1; total > 0 {
			dst[i] = -p.Coef * float64(total-p.distinct(total)) / float64(total)
		}
	}
	return nil
}

// distinct counts the different ones of the first total n-grams.
func (p *Repetition) distinct(total int) (count int) {
	p.starts = p.starts[:0]
	for s := range total {
		p.starts = append(p.starts, s)
	}
	compare := func(a, b int) int { return slices.Compare(p.tokens[a:a+p.N], p.tokens[b:b+p.N]) }
	slices.SortFunc(p.starts, compare)
	for k, s := range p.starts {
		if k == 0 || compare(p.starts[k-1], s) != 0 {
			count++
		}
	}
	return count
}
