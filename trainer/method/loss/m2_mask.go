package loss

import (
	"cmp"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// M2Mask is the other published rule of M2PO: tokens whose policies differ
// most are masked until the second moment of the rest is below a threshold;
// the rest gets PPO's clip.
//
// At least one token is kept. The sign of the advantage plays no part. AReaL divides by the
// tokens this mask leaves, but counts those that rejection sampling drops.
type M2Mask struct {
	// Threshold bounds the mean of v.
	Threshold float64 `yaml:"threshold" default:"0.04" range:"(0,inf]"`
	// EpsLow and EpsHigh are the distances of PPO's bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// DualClip is the constant that bounds the loss where A < 0.
	DualClip float64 `yaml:"dual_clip" range:"0=none|(1,inf]"`
	// LogClamp bounds the log-ratio of r; 0 is no bound, as in AReaL.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"token-mean@pre"`

	mask []bool
}

var m2MaskSpec = method.Spec{
	Name: "m2_mask", Unit: method.Batch,
	Does:     "Masks tokens with the largest log-ratio between old and mu until the second moment of the rest is below a threshold.",
	When:     "Use it for stale data, to mask only as many tokens as the threshold needs; PPO's clip applies to the rest.",
	Source:   "arXiv:2510.01161; inclusionAI/AReaL m2_threshold",
	Formula:  "mask the largest (roll-old)² until the mean of the rest is below the threshold; PPO clip on the rest",
	Gradient: "PPO's on the rest, 0 on masked tokens",
	Needs:    batch.Columns{batch.Anchor, batch.LogpRoll, batch.Advantage},
}

// Eval computes the loss over the active tokens the mask leaves.
func (p *M2Mask) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.LogpRoll, batch.Advantage)
	if err != nil {
		return err
	}
	p.fill(out, in)
	counted := f.active
	if p.Aggregation.Pre {
		counted = in.Mask
	}
	f.restrict(p.both(0, f.active))
	if err := p.Aggregation.rowWeights(f.rowWeight, in, p.both(1, counted), &out.groups); err != nil {
		return err
	}
	before := f.tokens
	f.tokens = 0
	for n, m := range f.active {
		f.tokens += count(m)
		if !m {
			f.reject(n)
		}
	}
	var clips clipCounts
	f.eachToken(func(n int) (value, dlogp float64) {
		r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
		return clips.add(clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0))
	})
	out.Add("m2po/masked", (before-f.tokens)/max(before, 1))
	f.addClipFractions(clips, in.Anchor, p.LogClamp)
	return nil
}

func (p *M2Mask) rule(r *rule) {
	r.ratio("r", "logp - old", p.LogClamp)
	r.band(1-p.EpsLow, 1+p.EpsHigh)
	r.clip("r", p.DualClip)
}

// fill computes the mask over the generated tokens: p.mask[:N].
func (p *M2Mask) fill(out *Grad, in *batch.Batch) {
	n := in.Tokens()
	if cap(p.mask) < 3*n {
		p.mask = make([]bool, 3*n)
	}
	p.mask = p.mask[:3*n]
	clear(p.mask)
	v, order, sum := out.work(1, n), out.indices(n), 0.0
	for t, m := range in.Mask {
		if m {
			d := in.LogpRoll[t] - in.Anchor[t]
			v[t] = float64(d * d)
			sum += v[t]
			order = append(order, t)
			p.mask[t] = true
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(v[y], v[x]) })
	for k, t := range order {
		rest := len(order) - k
		if rest <= 1 || sum/float64(rest) < p.Threshold {
			break
		}
		p.mask[t] = false
		sum -= v[t]
	}
}

// both is the conjunction of a mask with p.mask, in the k-th part of its memory.
func (p *M2Mask) both(k int, mask []bool) []bool {
	n := len(mask)
	x := p.mask[(k+1)*n : (k+2)*n]
	for t := range x {
		x[t] = mask[t] && p.mask[t]
	}
	return x
}
