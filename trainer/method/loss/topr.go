package loss

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TOPR is tapered off-policy REINFORCE: good responses are learned as in
// supervised training, bad ones with an importance weight of at most 1.
//
//	R > 0: L = -w₊·A·logp
//	R ≤ 0: L = -w₋·sg[clip(ρ, low, high)]·A·logp,   ρ = exp(Σ_t logp - anchor) or the token's ratio
//
// Source: 2503.14286 eq. 8, whose ratio is that of the trajectory. ROLL's code
// uses token ratios against old and the sign of the episode's score: level
// token, anchor old. The sign is that of the reward where it is recorded.
type TOPR struct {
	// Level of the ratio: trajectory, token, or turn for ROLL's segments.
	Level string `yaml:"level" default:"trajectory" oneof:"trajectory token turn"`
	// Low and High clip the ratio of bad responses.
	Low  float64 `yaml:"low" range:"[0,inf]"`
	High float64 `yaml:"high" default:"1"`
	// PositiveWeight and NegativeWeight are w₊ and w₋.
	PositiveWeight float64 `yaml:"positive_weight" default:"1" range:"[0,inf]"`
	NegativeWeight float64 `yaml:"negative_weight" default:"1" range:"[0,inf]"`
	// Sign is reward or advantage: what tells good from bad.
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

var toprSpec = method.Spec{
	Name: "topr", Group: "loss", Unit: method.Sequence,
	Source:   "arXiv:2503.14286 eq. 8; ROLL topr",
	Formula:  "R>0: L = -A·logp; R≤0: L = -sg[min(1, exp(Σ lr))]·A·logp",
	Gradient: "-A for good responses, -min(1, exp(Σ lr))·A for bad ones",
	Needs:    batch.Columns{batch.Advantage, batch.Reward}, May: slices.Concat(eitherAnchor, method.If("level turn", batch.Turn)),
	Example: onTwoResponses + `A = +1: d loss/d logp = -0.166667 -0.166667 -0.166667
A = -1: d loss/d logp = 0.166667 0.166667 0.166667; loss = 0.000000`,
}

// Validate checks the parameters that depend on each other.
func (p *TOPR) Validate() error {
	return check(p.Low <= p.High, "low %v, high %v: need 0 ≤ low ≤ high", p.Low, p.High)
}

// Eval computes the loss over the active tokens.
func (p *TOPR) Eval(out *Grad, in *batch.Batch) error {
	sign := batch.Advantage
	if p.Sign == "reward" {
		sign = batch.Reward
	}
	turn := sign
	if p.Level == "turn" {
		turn = batch.Turn
	}
	f, err := start(out, in, p.Aggregation, p.Anchor.Column(), batch.Advantage, sign, turn)
	if err != nil {
		return err
	}
	anchor, good := p.Anchor.Of(in), 0.0
	for i := range in.Len() {
		score := f.firstAdvantage(i)
		if p.Sign == "reward" {
			score = in.Reward[i]
		}
		good += count(score > 0)
		whole, _ := ratio(f.sumLogRatio(i, f.sg, anchor), p.LogClamp)
		var s segment
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			w := p.PositiveWeight
			if score <= 0 {
				rho := whole
				switch p.Level {
				case "token":
					rho, _ = ratio(f.sg[n]-anchor[n], p.LogClamp)
				case "turn":
					rho = s.ratioAt(&f, i, n, anchor, p.Epsilon, p.LogClamp)
				}
				w = p.NegativeWeight * clamp(rho, p.Low, p.High)
				f.note(n, "ρ", "", rho)
			}
			f.note(n, "w", "", w)
			return f.detached(n, in.Advantage[n], w, false)
		})
	}
	out.Add("topr/positive_samples", good)
	out.Add("topr/negative_samples", float64(in.Len())-good)
	f.addKL(anchor, 0)
	return nil
}

// segment remembers the geometric mean ratio of the turn last asked for.
type segment struct {
	end   int
	ratio float64
}

// ratioAt is the geometric mean ratio of the turn of token n, asked for in order.
func (s *segment) ratioAt(f *frame, i, n int, anchor []float64, epsilon, limit float64) float64 {
	if n >= s.end {
		_, to := f.in.Span(i)
		s.end = f.turnEnd(n, to)
		sum, length := 0.0, 0.0
		for t := n; t < s.end; t++ {
			if f.active[t] {
				sum += f.sg[t] - anchor[t]
				length++
			}
		}
		s.ratio, _ = ratio(sum/(max(length, 1)+epsilon), limit)
	}
	return s.ratio
}
