package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Reinforce is the plain policy gradient, with whatever importance weight the
// correction stage has put into Batch.Weight: with that of token, sequence or geometric
// corrections it is importance-weighted REINFORCE. Its default aggregation comes from
// verl's bypass mode with loss_type reinforce.
type Reinforce struct {
	// Anchor is the policy that actor/ppo_kl is measured against.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-sum"`
	// Centering subtracts the expected score under the sampler; without the section nothing is subtracted.
	Centering *Centering `yaml:"centering"`
}

// Eval computes the loss over the active tokens.
func (p *Reinforce) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Advantage, p.Anchor.Column()}, func(f *frame) {
		c := centering{Centering: p.Centering, tau: 1, slope: unity}
		if f.err = c.prepare(f); f.err != nil {
			return
		}
		f.eachToken(func(n int) (value, dlogp float64) {
			a := in.Advantage[n]
			if p.Centering == nil {
				return -a * in.Now.Logp[n], -a
			}
			value, dlogp = f.detached(c.weight(elementary.Exp(f.sg[n]-in.LogpRoll[n])), a, in.Now.Logp[n])
			return c.add(f, n, value, dlogp)
		})
		c.log(f)
		f.addKL(p.Anchor.Of(in), 0)
	})
}

// unity is the slope of the policy gradient without a ratio.
func unity(_, _, _, _ float64) float64 { return 1 }

// GPG is the policy-gradient loss of Group Policy Gradient: no ratio, no clip.
//
// It goes with the advantage estimator gpg, and differs from Reinforce in its
// aggregation and in what it logs: nothing.
type GPG struct {
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *GPG) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Advantage}, func(f *frame) {
		f.eachToken(func(n int) (value, dlogp float64) {
			a := in.Advantage[n]
			return -a * in.Now.Logp[n], -a
		})
	})
}

// CrossEntropy is supervised learning on the sampled tokens.
//
// With a mask on correct responses it is rejection-sampling fine-tuning.
type CrossEntropy struct {
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *CrossEntropy) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, nil, func(f *frame) {
		var nll rowMean
		f.eachToken(func(n int) (value, dlogp float64) {
			nll.add(f, -in.Now.Logp[n])
			return -in.Now.Logp[n], -1
		})
		out.Add("nll", nll.total()/f.rows(true))
	})
}

// PositiveNLL adds the negative log-likelihood of the responses with a positive
// reward.
//
// The mean runs over their tokens in the minibatch, whatever the aggregation of the
// policy loss, so that its weight depends on how many minibatches a batch has. It
// ignores advantages, clips and importance weights. A response counts by its reward,
// not by its label.
type PositiveNLL struct {
	// Coef is mu.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,inf)"`
}

// AddLoss adds the term and logs its value.
func (p *PositiveNLL) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Logp, batch.Reward); err != nil {
		return err
	}
	sum, tokens, active := 0.0, out.indices(in.Tokens()), in.Active()
	for i, reward := range in.Reward {
		if reward > 0 {
			for n := range in.Where(i, active) {
				sum -= in.Now.Logp[n]
				tokens = append(tokens, n)
			}
		}
	}
	size := float64(len(tokens)) + 1e-8
	mean := sum / size
	out.Loss += float64(p.Coef * mean)
	for _, n := range tokens {
		out.DLogp[n] -= p.Coef / size
	}
	out.Add("positive_nll_loss", mean)
	return nil
}

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
	// Aggregation over tokens; level sequence gives a response the weight of all its tokens, which is the same for each with
	// seq-mean-token-mean, and its share of the tokens by default.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *ImportanceSampling) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), batch.Advantage}, func(f *frame) {
		anchor, sum := p.Anchor.Of(in), 0.0
		if p.Level == "token" {
			f.eachToken(func(n int) (value, dlogp float64) {
				r, dr := ratio(in.Now.Logp[n]-anchor[n], p.LogClamp)
				sum += r
				return f.live(in.Advantage[n], r, dr)
			})
			out.Add("importance_ratio", sum/max(f.tokens, 1))
			return
		}
		for i := range in.Len() {
			length := f.length(i)
			if length == 0 {
				continue
			}
			r, dr := ratio(f.sumLogRatio(i, in.Now.Logp, anchor), p.LogClamp)
			a, w := f.meanAdvantage(i, length), f.rowSum(i)
			sum += r
			f.share(i, "a", a)
			f.share(i, "r", r)
			f.share(i, "weight", w)
			f.addResponse(i, -float64(w*a*r))
			f.spread(i, -w*a*dr)
		}
		out.Add("importance_ratio", sum/max(float64(in.Len()), 1))
	})
}

// rowSum is the weight of response i's tokens together.
func (f *frame) rowSum(i int) float64 {
	sum := 0.0
	for n := range f.in.Where(i, f.active) {
		sum += f.weight(i, n)
	}
	return sum
}

// RolloutIS is REINFORCE with the ratio to the rollout policy kept inside a
// band and zero outside: IcePop in bypass mode.
//
// SkyRL's bounds are strict.
type RolloutIS struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.5" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4" range:"[0,inf]"`
	// Live leaves the weight in the graph: the value is -w·A, the gradient the same.
	Live bool `yaml:"live"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// NewSAO is RolloutIS with SAO's bounds.
func NewSAO() *RolloutIS {
	return &RolloutIS{EpsLow: 0.3, EpsHigh: 5, Live: true, Aggregation: Aggregation{Pre: true}}
}

// Eval computes the loss over the active tokens.
func (p *RolloutIS) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage}, func(f *frame) {
		dropped := 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			w, _ := ratio(f.sg[n]-in.LogpRoll[n], 20)
			f.note("w", w)
			if w <= 1-p.EpsLow || w >= 1+p.EpsHigh {
				dropped++
				return f.drop()
			}
			if p.Live {
				r, dr := ratio(in.Now.Logp[n]-in.LogpRoll[n], 20)
				return f.live(in.Advantage[n], r, dr)
			}
			return f.detached(w, in.Advantage[n], in.Now.Logp[n])
		})
		f.addClipFraction(dropped, in.LogpRoll, 20)
	})
}
