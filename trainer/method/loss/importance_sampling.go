package loss

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ImportanceSampling is the unclipped importance-weighted policy gradient, per
// token or over the whole response.
//
// The sequence form is the textbook estimator, unbiased for the sampling policy
// as anchor, with a variance that grows exponentially in the length. The
// sequence form uses the mean advantage of the response.
type ImportanceSampling struct {
	// Level is token or sequence.
	Level string `yaml:"level" default:"token" oneof:"token sequence"`
	// Anchor is the denominator of the ratio.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// LogClamp bounds the log-ratio; 0 is no bound, as published.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens; for level sequence, a mean over responses of the
	// response's term (seq-mean-token-mean).
	Aggregation Aggregation `yaml:"aggregation"`
}

var importanceSamplingSpec = method.Spec{
	Name: "importance_sampling", Aliases: []string{"is"}, Unit: method.Token,
	Does:     "Multiplies the policy gradient by the ratio new/mu, per token or over the response, without any clip.",
	When:     "Use it as the textbook control; the variance of the sequence form grows exponentially with length.",
	Source:   "SkyRL importance_sampling; textbook",
	Formula:  "token: L = -A·exp(lr); sequence: L_i = -A·exp(Σ_t lr)",
	Gradient: "token: -A·exp(lr); sequence: -A·exp(Σ lr) on every token",
	Needs:    batch.Columns{batch.Advantage}, May: eitherAnchor,
}

// Eval computes the loss over the active tokens.
func (p *ImportanceSampling) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, p.Anchor.Column(), batch.Advantage)
	if err != nil {
		return err
	}
	anchor, sum := p.Anchor.Of(in), 0.0
	if p.Level == "token" {
		f.eachToken(func(n int) (value, dlogp float64) {
			r, dr := ratio(in.Now.Logp[n]-anchor[n], p.LogClamp)
			sum += r
			return live(in.Advantage[n], r, dr)
		})
		out.Add("importance_ratio", sum/max(f.tokens, 1))
		return nil
	}
	for i := range in.Len() {
		length := f.length(i)
		if length == 0 {
			continue
		}
		r, dr := ratio(f.sumLogRatio(i, in.Now.Logp, anchor), p.LogClamp)
		a, w := f.meanAdvantage(i, length), f.rowSum(i)
		sum += r
		out.Loss -= float64(w * a * r)
		f.spread(i, -w*a*dr)
	}
	out.Add("importance_ratio", sum/max(float64(in.Len()), 1))
	return nil
}

func (p *ImportanceSampling) rule(r *rule) {
	if p.Level == "token" {
		r.ratio("r", p.Anchor.logRatio(), p.LogClamp)
		r.kept("-A·r", "-A·r")
		return
	}
	r.Formula("S", "Σ("+p.Anchor.logRatio()+")")
	r.ratio("r", "S", p.LogClamp)
	r.Formula("a", "mean(A)")
	r.kept("-a·r", "-a·r")
	r.whole(r.rowSum)
}

// rowSum is the weight of response i's tokens together.
func (f *frame) rowSum(i int) float64 {
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += f.weight(i, n)
	}
	return sum
}
