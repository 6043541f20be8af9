package loss

import (
	"cmp"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// M2PO bounds the second moment of the log-ratio over the batch: it clips no
// more tokens than that needs.
//
// Harmful are tokens with A > 0 and r > 1, or A < 0 and r < 1. This rule is
// Infini-AI-Lab/M2PO's; AReaL's, which is nearer to the paper's text, is m2_mask. The
// choice of τ is detached. Without a violation nothing is clipped; there is no dual clip.
type M2PO struct {
	// Budget is the bound of the second moment.
	Budget float64 `yaml:"budget" default:"0.04" range:"(0,inf]"`
	// MiniLow and MiniHigh keep the clip from being tighter than 1-MiniLow and
	// 1+MiniHigh.
	MiniLow  float64 `yaml:"mini_low" default:"0.3" range:"[0,inf]"`
	MiniHigh float64 `yaml:"mini_high" default:"0.5" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *M2PO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		low, high := p.bounds(f)
		var clips clipCounts
		f.eachToken(func(n int) (value, dlogp float64) {
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 20)
			return clips.add(f.clipped(in.Advantage[n], r, dr, low, high, 0, 0))
		})
		f.addClipFraction(clips.upper, in.Anchor, 0)
	})
}

// bounds returns the clip of the ratio for this batch.
func (p *M2PO) bounds(f *frame) (low, high float64) {
	v, sum := f.out.work(1, f.in.Tokens())[:0], 0.0
	for n, m := range f.active {
		a, lr := f.in.Advantage[n], f.sg[n]-f.in.Anchor[n]
		if m && (a > 1e-12 && lr > 0 || a < -1e-12 && lr < 0) {
			v = append(v, lr*lr)
			sum += float64(lr * lr)
		}
	}
	n := float64(len(v))
	before := sum / max(n, 1)
	f.out.Add("m2po/M2", before)
	f.out.Add("m2po/M2_budget", p.Budget)
	if n == 0 || before <= p.Budget+1e-12 {
		f.out.Add("m2po/M2_after", before)
		f.out.Add("m2po/clip_low", 1)
		f.out.Add("m2po/clip_high", noClip)
		return 0, 1 + noClip
	}
	slices.Sort(v)
	// The authors' 1e-12 puts the token that sets τ outside the clip.
	tau2 := max(secondMomentBound(v, p.Budget)-1e-12, 0)
	after := 0.0
	for _, x := range v {
		after += min(x, tau2)
	}
	f.out.Add("m2po/M2_after", after/n)
	tau := math.Sqrt(tau2)
	epsLow, epsHigh := max(1-elementary.Exp(-tau), p.MiniLow), max(elementary.Exp(tau)-1, p.MiniHigh)
	f.out.Add("m2po/clip_low", epsLow)
	f.out.Add("m2po/clip_high", epsHigh)
	return 1 - epsLow, 1 + epsHigh
}

// noClip is the distance from 1 that stands for no upper clip in the authors' code.
const noClip = 99999

// secondMomentBound returns the value of the sorted list before the first k
// with S_k + v_k·(n-k-1) ≥ budget·n, S_k the sum up to and with v_k; 0 if k is 0.
func secondMomentBound(v []float64, budget float64) float64 {
	sum := 0.0
	for k, x := range v {
		sum += x
		if sum+float64(x*float64(len(v)-k-1)) >= budget*float64(len(v)) {
			if k == 0 {
				return 0
			}
			return v[k-1]
		}
	}
	return v[len(v)-1]
}

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

	mask []bool // the generated tokens that are left
}

// Eval computes the loss over the active tokens the mask leaves.
func (p *M2Mask) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.LogpRoll, batch.Advantage}, func(f *frame) {
		p.fill(out, in)
		before := f.tokens
		f.restrict(p.mask)
		counted := either(p.Aggregation.Pre, p.mask, f.active)
		if f.err = p.Aggregation.rowWeights(f.rowWeight, in, counted, &out.groups); f.err != nil {
			return
		}
		for n, m := range f.active {
			if !m {
				f.reject(n)
			}
		}
		var clips clipCounts
		f.eachToken(func(n int) (value, dlogp float64) {
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
			return clips.add(f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, 0))
		})
		out.Add("m2po/masked", (before-f.tokens)/max(before, 1))
		f.addClipFractions(clips, in.Anchor, p.LogClamp)
	})
}

// fill computes the mask over the generated tokens.
func (p *M2Mask) fill(out *Grad, in *batch.Batch) {
	n := in.Tokens()
	p.mask = batch.Zeroed(p.mask, n)
	v, order, sum := out.work(1, n), out.indices(n), 0.0
	for t := range masked.Kept(in.Mask) {
		d := in.LogpRoll[t] - in.Anchor[t]
		v[t] = float64(d * d)
		sum += v[t]
		order = append(order, t)
		p.mask[t] = true
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
