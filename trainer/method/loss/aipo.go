package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// AIPO is LlamaRL's asynchronous importance-weighted policy optimisation: the
// detached weight against the rollout policy, capped from above only.
//
// Later implementations quote it with c between 2 and 10. There is no lower
// bound and no token loses its gradient.
type AIPO struct {
	// Cap is c; its default is ours.
	Cap float64 `yaml:"cap" default:"4" range:"[1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var aipoSpec = method.Spec{
	Name: "aipo", Aliases: []string{"llamarl"}, Unit: method.Token,
	Does:           "Weights the policy gradient by a detached ratio new/mu that is capped from above only.",
	When:           "Use it in asynchronous pipelines, to correct staleness and engine mismatch by a single weight.",
	Source:         "arXiv:2505.24034 (LlamaRL)",
	Formula:        "L = -sg[min(w, c)]·A·logp, w = exp(logp-roll)",
	Gradient:       "-min(w, c)·A",
	Needs:          batch.Columns{batch.LogpRoll, batch.Advantage},
	Reconstruction: "the formula is quoted by later implementations; the cap 4 is ours, within their range of 2 to 10",
}

// Eval computes the loss over the active tokens.
func (p *AIPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.LogpRoll, batch.Advantage)
	if err != nil {
		return err
	}
	cut := 0.0
	f.eachToken(func(n int) (value, dlogp float64) {
		r, _ := ratio(f.sg[n]-in.LogpRoll[n], 20)
		w, above := capped(r, p.Cap)
		cut += count(above)
		return detached(w, in.Advantage[n], in.Now.Logp[n])
	})
	out.Add("actor/pg_clipfrac", f.mean(cut))
	f.addKL(in.LogpRoll, 20)
	return nil
}

func (p *AIPO) rule(r *rule) {
	r.ratio("r", "logp - roll", 20)
	r.capped(p.Cap)
}
