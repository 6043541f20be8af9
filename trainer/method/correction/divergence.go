package correction

import (
	"math"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// The eleven rejection modes of verl (compute_rollout_rejection_mask) threshold
// an estimate of KL(mu || pi_old) from the sampled token, per token or
// aggregated over the response: its sum, mean or largest, 0 where no token counts.
//
// k1 cancels between tokens, k2 and k3 do not; k3 grows exponentially where the
// rollout engine was too sure of itself and linearly where it was not sure
// enough. There is no seq_max_k1.

// mode is one of the eleven.
type mode struct {
	// aggregate is how tokens turn into a decision: token, seq_sum, seq_mean or seq_max.
	aggregate string
	// estimator is one of k1, k2 and k3.
	estimator string
}

// K1Rejection keeps tokens or responses whose k1 lies between log low and log
// high.
//
// Sign: k1 is −e, so the bounds are bounds of roll/old, the inverse of ρ.
// Reciprocal bounds do not notice; asymmetric ones act the other way round from
// Geometric and TokenMask. That is verl's behaviour and kept under verl's names.
type K1Rejection struct {
	mode mode
	// Low is the lower bound of roll/old. 1/high in verl's presets.
	Low float64 `yaml:"low" range:"(0,high]"`
	// High is the upper bound of roll/old.
	High float64 `yaml:"high" range:"(0,inf]"`
}

// DivergenceRejection keeps tokens or responses whose k2 or k3 is at most high.
type DivergenceRejection struct {
	mode mode
	// High is the largest divergence kept, in nats.
	High float64 `yaml:"high" range:"(0,inf]"`
}

// measured is a rule that thresholds a statistic, for verl's metrics.
type measured interface {
	Masking
	// measures is the mode that computes the statistic.
	measures() mode
	// limits are the bounds of the statistic; low counts only if twoSided.
	limits() (low, high float64, twoSided bool)
}

func (m *K1Rejection) measures() mode { return m.mode }
func (m *K1Rejection) limits() (low, high float64, twoSided bool) {
	return elementary.Log(m.Low), elementary.Log(m.High), true
}

// Reject clears what lies outside the bounds.
func (m *K1Rejection) Reject(keep []bool, in *Input) error { return rejectMeasured(keep, in, m) }

func (m *DivergenceRejection) measures() mode { return m.mode }
func (m *DivergenceRejection) limits() (low, high float64, twoSided bool) {
	return 0, m.High, false
}

// Reject clears what lies above the bound.
func (m *DivergenceRejection) Reject(keep []bool, in *Input) error {
	return rejectMeasured(keep, in, m)
}

// rejectMeasured applies a measured rule's bounds to its statistic.
func rejectMeasured(keep []bool, in *Input, m measured) error {
	stat := in.scratch()
	m.measures().fill(stat, in)
	low, high, twoSided := m.limits()
	if !twoSided {
		low = math.Inf(-1)
	}
	for n := range masked.Kept(in.Mask) {
		in.judge(keep, n, n+1, stat[n], low, high)
	}
	return nil
}

// name is what metrics and recipes call the mode.
func (m mode) name() string { return m.aggregate + "_" + m.estimator }

// perResponse says whether the statistic is one per response.
func (m mode) perResponse() bool { return m.aggregate != "token" }

// estimate is k1, k2 or k3 of one log-ratio, clamped already.
func (m mode) estimate(e float64) float64 {
	switch m.estimator {
	case "k1":
		return -e
	case "k2":
		return 0.5 * e * e
	}
	return elementary.Exp(e) - 1 - e
}

// fill computes the statistic for the tokens of in.Mask, a response's on each of its tokens.
func (m mode) fill(stat []float64, in *Input) {
	for i := range in.Len() {
		sum, count, largest := 0.0, 0, math.Inf(-1)
		for n := range in.Where(i, in.Mask) {
			stat[n] = m.estimate(in.clamp(in.LogRatio[n]))
			sum, count, largest = sum+stat[n], count+1, max(largest, stat[n])
		}
		switch m.aggregate {
		case "token":
			continue
		case "seq_mean":
			sum /= float64(count) + masked.Epsilon
		case "seq_max":
			sum = largest
		}
		for n := range in.Where(i, in.Mask) {
			stat[n] = sum
		}
	}
}

// newRejection builds a mode from its name, with the defaults that verl's
// presets use for it: 0.999 and 1.001 for means of k1, 0.5 and 2 for other k1
// modes, 0.01 for k2 and k3.
func newRejection(name string) Masking {
	cut := strings.LastIndexByte(name, '_')
	m := mode{name[:cut], name[cut+1:]}
	switch {
	case m.estimator != "k1":
		return &DivergenceRejection{mode: m, High: 0.01}
	case m.aggregate == "seq_mean":
		return &K1Rejection{mode: m, Low: 0.999, High: 1.001}
	}
	return &K1Rejection{mode: m, Low: 0.5, High: 2}
}

// TVDivergence drops the tokens that would widen the gap between old and mu, in
// responses whose mean |ρ − 1| leaves a band: the total variation that the sampled
// tokens estimate.
//
// A token with A = 0 or with equal log-probs is never dropped. A lower bound drops
// responses that are too close to the rollout policy. Dropped tokens stay in the
// denominators. In bypass mode old is mu, and nothing is dropped. open-instruct clamps
// log-ratios at ±10; its configuration demands high > 1, as for ratios, which the mean
// rarely exceeds.
type TVDivergence struct {
	// Low is the lower bound of the mean.
	Low float64 `yaml:"low" range:"[0,high]"`
	// High is the upper bound of the mean. The default is ours.
	High float64 `yaml:"high" default:"0.1" range:"(0,inf]"`
}

func (*TVDivergence) atEveryStep() {}

// Reject clears the tokens that widen the gap, in responses outside the band.
func (m *TVDivergence) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Advantage, batch.LogpRoll, batch.Anchor); err != nil {
		return err
	}
	for i := range in.Len() {
		sum, count := 0.0, 0
		for n := range in.Where(i, in.Mask) {
			sum += math.Abs(in.ratio(in.Anchor[n]-in.LogpRoll[n]) - 1)
			count++
		}
		mean := sum / float64(max(count, 1))
		inside := within(mean, m.Low, m.High)
		for n := range in.Where(i, in.Mask) {
			in.note(n, "A", in.Advantage[n])
			in.note(n, "D", mean)
			e, a := in.Anchor[n]-in.LogpRoll[n], in.Advantage[n]
			if !inside && (e > 0 && a > 0 || e < 0 && a < 0) { // the update moves old further from mu
				keep[n] = false
			}
		}
	}
	return nil
}

// TRM is the trust-region mask: a response is admitted only if the rollout
// policy and the current one are close at every token of it, in exact KL over
// the vocabulary.
//
// It is recomputed at every gradient step. Rejected responses count as zeros in
// the denominators, which the paper's bound needs. A longer response has more
// chances to be rejected. Without recorded distributions, verl's seq_max_k2 and
// seq_max_k3 in bypass mode estimate the same criterion from sampled tokens.
type TRM struct {
	// Delta is the largest KL in nats. The paper's 1e-4 is an illustration; default 0.05,
	// as in the loss of that name.
	Delta float64 `yaml:"delta" default:"0.05" range:"[0,inf]"`
}

func (*TRM) atEveryStep() {}

// Reject clears responses with a token whose KL exceeds delta.
func (m *TRM) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.DistRoll, batch.Dist); err != nil {
		return err
	}
	v := in.Vocab
	for i := range in.Len() {
		largest := -unbounded
		for n := range in.Where(i, in.Mask) {
			largest = max(largest, klDivergence(in.DistRoll[n*v:(n+1)*v], in.Now.Dist[n*v:(n+1)*v]))
		}
		from, to := in.Span(i)
		in.judge(keep, from, to, largest, -unbounded, m.Delta)
	}
	return nil
}

// klDivergence is KL(p||q) of two rows of log-probs; entries with p = 0 add nothing.
func klDivergence(logP, logQ []float32) float64 {
	kl := 0.0
	for a, lp := range logP {
		if p := elementary.Exp(float64(lp)); p > 0 {
			kl += float64(p * (float64(lp) - float64(logQ[a])))
		}
	}
	return kl
}

// ESTR is the entropy-scaled trust region: the log-ratio of the policy to mu that a
// token may have grows with the root of the entropy of mu at that place.
//
// Dropped tokens stay in the denominators. The paper multiplies it with PPO's clip of
// policy over mu: that is mode bypass with the loss ppo_clip. A distribution without
// entropy leaves a band of √(τ·ε).
type ESTR struct {
	// Tau is the bound of the score. No value was found in the source; the default is
	// ours: PPO's 0.2 at an entropy of 1 nat.
	Tau float64 `yaml:"tau" default:"0.04" range:"(0,inf]"`
	// Epsilon is added to the entropy (nats).
	Epsilon float64 `yaml:"epsilon" default:"0.01" range:"(0,inf)"`
}

func (*ESTR) atEveryStep() {}

// Reject clears the tokens outside the band.
func (m *ESTR) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.LogpRoll, batch.Logp, batch.DistRoll); err != nil {
		return err
	}
	for n, counts := range in.Mask {
		if d := in.Now.Logp[n] - in.LogpRoll[n]; counts {
			in.judge(keep, n, n+1, d*d, 0, m.Tau*(in.entropy(n)+m.Epsilon))
		}
	}
	return nil
}

// entropy is the entropy of mu where token n was sampled.
func (in *Input) entropy(n int) float64 {
	h := 0.0
	for _, logp := range in.DistRoll[n*in.Vocab : (n+1)*in.Vocab] {
		if p := elementary.Exp(float64(logp)); p > 0 {
			h -= float64(p * float64(logp))
		}
	}
	return h
}

// OPSM is DeepSeek-V3.2's off-policy sequence masking: responses with a
// negative advantage that the current policy has left are dropped from the
// policy term.
//
// It is a one-sided geometric mask on pi/mu, recomputed at every gradient step. Dropped
// tokens stay in the denominators and in any KL term. A = 0 is kept. The factored form
// computes D as the engine's part, mean(roll − old), plus the staleness, mean(old − logp);
// the two forms agree to rounding.
type OPSM struct {
	// Delta is the largest mean log-ratio mu/pi a response may have: the paper gives no
	// value, TRL suggests 0.5, slime 1e-4.
	Delta float64 `yaml:"delta" default:"0.5" range:"[0,inf]"`
	// Factored splits D into engine and staleness.
	Factored bool `yaml:"factored"`
	// Signs says which advantages can be dropped: negative (the paper),
	// positive or both (controls).
	Signs Signs `yaml:"signs" default:"negative" oneof:"negative positive both"`
}

// Signs names a set of advantage signs.
type Signs string

// The sets of signs.
const (
	Negative Signs = "negative"
	Positive Signs = "positive"
	Both     Signs = "both"
)

// has reports whether the advantage's sign is in the set; Both includes zero.
func (s Signs) has(advantage float64) bool {
	switch s {
	case Negative:
		return advantage < 0
	case Positive:
		return advantage > 0
	}
	return true
}

func (*OPSM) atEveryStep() {}

// Reject clears tokens of the chosen sign in responses whose D exceeds delta.
// The sign is read per token, so a process reward may drop part of a response.
func (m *OPSM) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Advantage, batch.LogpRoll, batch.Logp); err != nil {
		return err
	}
	if m.Factored {
		if err := in.Require(batch.Anchor); err != nil {
			return err
		}
	}
	for i := range in.Len() {
		engine, stale, count := 0.0, 0.0, 0
		for n := range in.Where(i, in.Mask) {
			count++
			if m.Factored {
				engine += in.LogpRoll[n] - in.Anchor[n]
				stale += in.Anchor[n] - in.Now.Logp[n]
			} else {
				engine += in.LogpRoll[n] - in.Now.Logp[n]
			}
		}
		length := float64(max(count, 1))
		mean := engine/length + stale/length
		for n := range in.Where(i, in.Mask) {
			in.note(n, "A", in.Advantage[n])
			in.note(n, "D", mean)
			if mean > m.Delta && m.Signs.has(in.Advantage[n]) {
				keep[n] = false
			}
		}
	}
	return nil
}

// Band is the general form of the named masks: a statistic of the
// log-ratios l, per token or aggregated, must lie in a band.
//
// AReaL's kl_k3 is k3_inverse: it inverts the ratio, unlike its documentation. Unlike
// verl's modes k1 is not negated, and nothing is clamped.
type Band struct {
	// Level is token, segment (a run of generated tokens) or sequence.
	Level string `yaml:"level" default:"token" oneof:"token segment sequence"`
	// Statistic is ratio, exp(l); k1, l; k2, l²/2; k3, exp(l) − 1 − l; k3_inverse,
	// exp(−l) − 1 + l; difference, p_old − p_roll; tv, its absolute value; roll_binary_kl, the KL
	// divergence of "this token or another" from mu to old; or binary_kl, the larger one of both directions.
	Statistic string `yaml:"statistic" default:"ratio" oneof:"ratio k1 k2 k3 k3_inverse difference tv binary_kl roll_binary_kl"`
	// Aggregate is mean, sum or max, for segments and sequences: of the log-ratios for
	// ratio, of the statistic itself otherwise.
	Aggregate string `yaml:"aggregate" default:"mean" oneof:"mean sum max"`
	// Eps is added to the number of tokens of a mean (ROLL: 1e-8).
	Eps float64 `yaml:"eps" range:"[0,inf]"`
	// Floor keeps probabilities of a binary KL between floor and 1 − floor (AReaL 1e-8; prime-rl, OpenRLHF 1e-6).
	Floor float64 `yaml:"floor" default:"1e-6" range:"[0,0.5)"`
	// Low is the lower bound, -.inf for none.
	Low float64 `yaml:"low" range:"[-inf,high]"`
	// High is the upper bound, .inf for none.
	High float64 `yaml:"high" default:"2"`
}

// Reject clears units whose statistic leaves the band.
func (m *Band) Reject(keep []bool, in *Input) error {
	by := Segmentation(m.Level)
	if m.Level == "segment" {
		by = ByRun
	}
	by.each(in, func(from, to int) { in.judge(keep, from, to, m.unit(in, from, to), m.Low, m.High) })
	return nil
}

// unit returns the statistic of the entries from..to that count.
func (m *Band) unit(in *Input, from, to int) float64 {
	sum, count, largest := 0.0, 0, math.Inf(-1)
	for n := from; n < to; n++ {
		if !in.Mask[n] {
			continue
		}
		x := in.LogRatio[n]
		switch m.Statistic {
		case "k2":
			x = 0.5 * x * x
		case "k3":
			x = elementary.Exp(x) - 1 - x
		case "k3_inverse":
			x = elementary.Exp(-x) - 1 + x
		case "difference", "tv", "binary_kl", "roll_binary_kl":
			x = m.distance(in, n)
		}
		sum, count, largest = sum+x, count+1, max(largest, x)
	}
	switch {
	case count == 0:
		sum = 0
	case m.Aggregate == "max":
		sum = largest
	case m.Aggregate == "mean" && m.Level != "token":
		sum /= length(count, m.Eps)
	}
	if m.Statistic == "ratio" {
		return elementary.Exp(sum)
	}
	return sum
}

// distance is a statistic of the two probabilities of token n.
func (m *Band) distance(in *Input, n int) float64 {
	roll, old := elementary.Exp(in.LogpRoll[n]), elementary.Exp(in.LogpRoll[n]+in.LogRatio[n])
	switch m.Statistic {
	case "difference":
		return old - roll
	case "tv":
		return math.Abs(old - roll)
	}
	roll, old = truncate(roll, m.Floor, 1-m.Floor), truncate(old, m.Floor, 1-m.Floor)
	kl := binaryKL(roll, old)
	if m.Statistic == "binary_kl" {
		kl = max(kl, binaryKL(old, roll))
	}
	return kl
}

// binaryKL is the KL divergence of two Bernoulli distributions.
func binaryKL(p, q float64) float64 {
	return float64(p*elementary.Log(p/q)) + float64((1-p)*elementary.Log((1-p)/(1-q)))
}
