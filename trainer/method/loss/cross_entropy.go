package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// CrossEntropy is supervised learning on the sampled tokens.
//
// With a mask on correct responses it is rejection-sampling fine-tuning.
type CrossEntropy struct {
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var crossEntropySpec = method.Spec{
	Name: "cross_entropy", Aliases: []string{"ce", "sft"}, Unit: method.Token,
	Does:     "Is supervised learning on the sampled tokens, whatever their advantage.",
	When:     "Use it for supervised or rejection-sampling fine-tuning on filtered responses.",
	Source:   "SkyRL cross_entropy, prime-rl ce_loss_fn",
	Formula:  "L = -w·logp",
	Gradient: "-w",
}

// Eval computes the loss over the active tokens.
func (p *CrossEntropy) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation)
	if err != nil {
		return err
	}
	var nll rowMean
	for i := range in.Len() {
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			nll.add(-in.Now.Logp[n])
			return -in.Now.Logp[n], -1
		})
		nll.close()
	}
	out.Add("nll", nll.total/f.rows(true))
	return nil
}

func (*CrossEntropy) rule(r *rule) { r.term("-logp", "-1") }
