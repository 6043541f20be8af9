package loss

import (
	"math/rand/v2"

	"driftlab/trainer/method/batch"
)

// ClipCov drops the gradient of a few random tokens among those with a large
// covariance of advantage and log-prob; the others get PPO's clip, without dual clip.
//
// Tokens that PPO's rule clips are not drawn. Denominators are unchanged. The draw is
// seeded by Seed and the version of the learner's weights. At small scale c rarely
// exceeds the published low bound of 1: choose bounds by the distribution at
// hand.
type ClipCov struct {
	// EpsLow and EpsHigh are PPO's distances from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Share is the fraction of tokens to drop.
	Share float64 `yaml:"share" default:"2e-4" range:"(0,1]"`
	// Low and High bound the covariance of the candidates.
	Low  float64 `yaml:"low" default:"1"`
	High float64 `yaml:"high" default:"5"`
	// LogClamp bounds the log-ratio; 0 is no bound, as published.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Seed of the draw.
	Seed uint64 `yaml:"seed" default:"1"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *ClipCov) Validate() error {
	return check(p.Low < p.High, "low %v, high %v: low must be below high", p.Low, p.High)
}

// Eval computes the loss over the active tokens.
func (p *ClipCov) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		dropped := out.work(2, in.Tokens())
		cov := f.covariance()
		drawn := p.draw(f, cov)
		for _, n := range drawn {
			dropped[n] = 1
		}
		f.eachToken(func(n int) (value, dlogp float64) {
			f.note("c", cov[n])
			if dropped[n] == 1 {
				return f.drop()
			}
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
			c := f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, 0, 0)
			return c.value, c.dlogp
		})
		f.addClipFraction(float64(len(drawn)), in.Anchor, 0)
	})
}

// clips reports whether PPO's rule clips token n.
func (p *ClipCov) clips(f *frame, n int) bool {
	r, dr := ratio(f.sg[n]-f.in.Anchor[n], p.LogClamp)
	return clipped(f.in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, 0, 0).clipped
}

// draw returns the tokens to drop, by their covariances: a uniform draw without replacement.
func (p *ClipCov) draw(f *frame, cov []float64) []int {
	eligible := f.out.indices(f.in.Tokens())
	for n, m := range f.active {
		if m && cov[n] > p.Low && cov[n] < p.High && !p.clips(f, n) {
			eligible = append(eligible, n)
		}
	}
	k := min(max(int(p.Share*f.tokens), 1), len(eligible))
	shuffle(eligible, k, p.Seed, f.in.LearnerVersion)
	return eligible[:k]
}

// shuffle draws the first k of the tokens, without replacement: the first k steps
// of Fisher and Yates.
func shuffle(tokens []int, k int, seed uint64, version int) {
	var source rand.PCG
	source.Seed(seed, uint64(version))
	for i := range k {
		j := i + int(source.Uint64()%uint64(len(tokens)-i))
		tokens[i], tokens[j] = tokens[j], tokens[i]
	}
}
