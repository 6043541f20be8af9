package loss

import "driftlab/trainer/method/batch"

// TOPR is tapered off-policy REINFORCE: good responses are learned as in
// supervised training, bad ones with an importance weight of at most 1.
//
// The paper uses the ratio of the trajectory. ROLL's code uses token ratios against old
// and the sign of the episode's score: level token, anchor old.
type TOPR struct {
	// Level of the ratio: trajectory, token, or turn for ROLL's segments.
	Level string `yaml:"level" default:"trajectory" oneof:"trajectory token turn"`
	// Low and High clip the ratio of bad responses.
	Low  float64 `yaml:"low" range:"[0,inf]"`
	High float64 `yaml:"high" default:"1"`
	// PositiveWeight and NegativeWeight are w₊ and w₋.
	PositiveWeight float64 `yaml:"positive_weight" default:"1" range:"[0,inf]"`
	NegativeWeight float64 `yaml:"negative_weight" default:"1" range:"[0,inf]"`
	// Sign is reward or advantage: which sign makes a response good or bad.
	Sign string `yaml:"sign" default:"reward" oneof:"reward advantage"`
	// Anchor is the denominator of the ratio.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// LogClamp bounds log-ratios; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Epsilon is added to a turn's length before dividing by it (ROLL 1e-8).
	Epsilon float64 `yaml:"epsilon" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *TOPR) Validate() error {
	return check(p.Low <= p.High, "low %v, high %v: need 0 ≤ low ≤ high", p.Low, p.High)
}

// Eval computes the loss over the active tokens.
func (p *TOPR) Eval(out *Grad, in *batch.Batch) error {
	rewarded := p.Sign == "reward"
	needs := batch.Columns{p.Anchor.Column(), batch.Advantage, either(rewarded, batch.Reward, batch.Advantage), either(p.Level == "turn", batch.Turn, batch.Advantage)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		good := 0.0
		for i := range in.Len() {
			score := f.firstAdvantage(i)
			if rewarded {
				score = in.Reward[i]
			}
			good += count(score > 0)
			var s segment
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				w := p.PositiveWeight
				if score <= 0 {
					r := p.ratioAt(f, i, n, &s)
					w = p.NegativeWeight * clamp(r, p.Low, p.High)
					f.note("r", r)
				}
				return f.detached(w, in.Advantage[n], in.Now.Logp[n])
			})
		}
		out.Add("topr/positive_samples", good)
		out.Add("topr/negative_samples", float64(in.Len())-good)
		f.addKL(p.Anchor.Of(in), 0)
	})
}

// segment is the stretch of a response whose tokens share a ratio, last asked for.
type segment struct {
	end   int
	ratio float64
}

// ratioAt is the ratio of token n of response i, whose tokens are asked for in order.
func (p *TOPR) ratioAt(f *frame, i, n int, s *segment) float64 {
	anchor := p.Anchor.Of(f.in)
	if p.Level == "token" {
		r, _ := ratio(f.sg[n]-anchor[n], p.LogClamp)
		return r
	}
	if n < s.end {
		return s.ratio
	}
	_, s.end = f.in.Span(i)
	if p.Level == "trajectory" {
		s.ratio, _ = ratio(f.sumLogRatio(i, f.sg, anchor), p.LogClamp)
		return s.ratio
	}
	s.end = f.turnEnd(n, s.end)
	sum, length := 0.0, 0.0
	for t := n; t < s.end; t++ {
		if f.active[t] {
			sum += f.sg[t] - anchor[t]
			length++
		}
	}
	s.ratio, _ = ratio(sum/(max(length, 1)+p.Epsilon), p.LogClamp)
	return s.ratio
}
