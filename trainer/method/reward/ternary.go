package reward

import (
	"math"
	"math/rand/v2"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Ternary is a generative judge that compares a response with a reference and
// says better, similar or worse. The judge observes a latent quality through
// noise; three labels with a gap wider than the noise keep small jitter near
// the group's mean from flipping the sign of advantages, which the continuous
// score does not.
type Ternary struct {
	// Noise is the standard deviation s of the judge's impression.
	Noise float64 `yaml:"noise" default:"0.1" range:"[0,1e6]"`
	// Threshold is τ: impressions within ±τ are "similar".
	Threshold float64 `yaml:"threshold" default:"0.25" range:"[0,1e6]"`
	// Steps is the share w of the working in the quality.
	Steps float64 `yaml:"steps" default:"0.5" range:"[0,1]"`
	// Reference is the quality of the answer compared with.
	Reference float64 `yaml:"reference" default:"0.5" range:"[0,1]"`
	// Continuous gives the impression itself as the reward: the control.
	Continuous bool `yaml:"continuous"`

	judge rand.PCG
}

var ternarySpec = method.Spec{
	Name: "genrm_ternary", Aliases: []string{"ternary", "genrm"}, Unit: method.Sequence,
	Does:   "Simulates a generative reward model that labels a response better than, similar to or worse than a reference, from a noisy score.",
	When:   "Use it to study reward noise: three labels keep small errors of the score from changing the sign of an advantage.",
	Source: "generative reward model of CompassMax-V3-Thinking, arXiv:2512.07710",
	Formula: "quality = (1 − w)·1[correct] + w·(share of exact steps);  x = quality − reference + N(0, s²)\n" +
		"R = +1 if x > τ, −1 if x < −τ, else 0",
	Needs: batch.Columns{batch.PromptID},
	Example: "s = 0, τ = 0.25, w = 0.5, reference 0.5\n" +
		"correct, all steps exact: x = 0.5, R = 1; wrong, 2 of 3 exact: x = −0.1667, R = 0\n" +
		"wrong, no step exact: x = −0.5, R = −1",
	Reconstruction: "published is the ternary label in words; the latent quality, the noise and the threshold are ours. " +
		"continuous: true gives the score x itself to compare with",
}

// Part implements Shaper.
func (t *Ternary) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := requirePrompts(b); err != nil {
		return err
	}
	for i := range verdicts {
		x := t.quality(&verdicts[i]) - t.Reference
		if t.Noise > 0 {
			seedFor(&t.judge, b, i)
			x += float64(t.Noise * normal(&t.judge))
		}
		switch {
		case t.Continuous:
			dst[i] = x
		case x > t.Threshold:
			dst[i] = 1
		case x < -t.Threshold:
			dst[i] = -1
		default:
			dst[i] = 0
		}
	}
	return nil
}

// quality is what the judge would see without noise.
func (t *Ternary) quality(v *task.Verdict) float64 {
	steps := v.Steps()
	exact := 0.0
	for _, s := range steps {
		if s.Exact {
			exact += 1 / float64(len(steps))
		}
	}
	return float64((1-t.Steps)*outcome(v)) + float64(t.Steps*exact)
}

// normal draws a standard normal number (Box and Muller).
func normal(src *rand.PCG) float64 {
	const unit = 1.0 / (1 << 53)
	u := (float64(src.Uint64()>>11) + 0.5) * unit // within (0, 1): its logarithm is finite
	v := float64(src.Uint64()>>11) * (2 * unit)
	return math.Sqrt(-2*elementary.Log(u)) * elementary.CosPi(v)
}
