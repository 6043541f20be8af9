package reward

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Relative lowers the reward of correct responses by how long they are among
// the correct responses of their group. Wrong ones lose nothing, and since the
// loss stays below Coef < 1, a correct one is always worth more.
type Relative struct {
	Ramp `yaml:",inline"`
	// Coef is α, the most that is taken from a correct response.
	Coef float64 `yaml:"coef" default:"0.2" range:"[0,1]"`
	// Eps is added to the standard deviation of the lengths, above 0.
	Eps float64 `yaml:"eps" default:"1e-6" range:"(0,1e6]"`

	groups batch.Groups
}

var relativeSpec = method.Spec{
	Name: "length_relative", Aliases: []string{"reason_efficiently"}, Unit: method.Group,
	Does:   "Lowers the reward of correct responses by their length relative to the other correct responses of the group.",
	When:   "Use it to trade accuracy against length with one coefficient; a correct response always earns more than a wrong response.",
	Source: "Training Language Models to Reason Efficiently, arXiv:2502.04463",
	Formula: "R = −α · σ((L − mean)/(std + eps)) if correct, 0 if not\n" +
		"mean and std (over n) of L among the correct responses of the group",
	Needs: batch.Columns{batch.Group},
	Example: "α = 0.4, correct lengths 5 and 15: mean 10, std 5\n" +
		"5 tokens: −0.4·σ(−1) = −0.107577\n" +
		"15 tokens: −0.4·σ(1) = −0.292423",
	Reconstruction: "the paper sweeps α from 0 to 0.4; 0.2 as the default and eps 1e-6 are ours",
}

// Part implements Shaper.
func (r *Relative) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := b.Require(batch.Group); err != nil {
		return err
	}
	coef := r.Coef * r.share(b)
	r.groups.Find(b.Group)
	for k := range r.groups.Len() {
		rows := r.groups.Rows(k)
		mean, std := correctLengths(b, verdicts, rows)
		for _, i := range rows {
			dst[i] = 0
			if verdicts[i].Correct {
				z := (length(b, i) - mean) / (std + r.Eps)
				dst[i] = -coef / (1 + elementary.Exp(-z))
			}
		}
	}
	return nil
}

// correctLengths returns the mean and the standard deviation (over n) of the
// lengths of the correct ones of these responses; zeros if there are none.
func correctLengths(b *batch.Batch, verdicts []task.Verdict, rows []int) (mean, std float64) {
	n, sum := 0.0, 0.0
	for _, i := range rows {
		if verdicts[i].Correct {
			n++
			sum += length(b, i)
		}
	}
	if n == 0 {
		return 0, 0
	}
	mean = sum / n
	squares := 0.0
	for _, i := range rows {
		if verdicts[i].Correct {
			d := length(b, i) - mean
			squares += float64(d * d)
		}
	}
	return mean, math.Sqrt(squares / n)
}
