package correction

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Masking is a rejection rule: a pointer to a parameter struct.
type Masking interface {
	// Reject clears keep for every token of in.Mask that the rule rejects. It
	// never sets an entry. It allocates nothing.
	Reject(keep []bool, in *Input) error
}

// stepMasking marks the rules that compare the current weights with the
// rollout engine and so run at every gradient step also in decoupled mode.
// What they reject has its gate closed: it stays in the loss's denominators, and
// any KL term next to the policy loss still acts on it, as DeepSeek-V3.2, TRL and
// slime have it.
type stepMasking interface {
	Masking
	atEveryStep()
}

// reject clears the entries from..to of keep that count.
func reject(keep []bool, in *Input, from, to int) {
	for k := range masked.Kept(in.Mask[from:to]) {
		keep[from+k] = false
	}
}

// judge rejects the entries from..to that count if their statistic s lies outside low..high, and records it.
func (in *Input) judge(keep []bool, from, to int, s, low, high float64) {
	if !within(s, low, high) {
		reject(keep, in, from, to)
	}
	for n := from; n < to && in.record != nil; n++ {
		in.note(n, "low", low)
		in.note(n, "high", high)
		in.note(n, statistic, s)
	}
}

// within reports low ≤ x ≤ high, both ends kept; NaN is outside.
func within(x, low, high float64) bool { return x >= low && x <= high }

// geometricMean is exp of the mean log-ratio of the entries from..to that count, 1 if none does.
func (in *Input) geometricMean(from, to int) float64 {
	sum, count := in.spanSum(from, to)
	return in.ratio(sum / float64(max(count, 1)))
}

// unbounded is the upper bound that never binds.
var unbounded = math.Inf(1)

// oneOf returns an error that names the field unless value is in the list.
func oneOf(field, value string, known ...string) error {
	if !slices.Contains(known, value) {
		return fmt.Errorf("%s: %w", field, method.UnknownName(value, known))
	}
	return nil
}

// TokenMask drops tokens whose ratio leaves a band from the loss mask: IcePop as a mask,
// whose rejected tokens leave the default denominators too. SkyRL suggests 0.5 and 2 and
// needs both bounds set; slime's tis_mode mask uses 1/high for a missing low.
type TokenMask struct {
	// Low is the lower bound.
	Low float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

// Reject clears tokens outside the band.
func (m *TokenMask) Reject(keep []bool, in *Input) error {
	for n := range masked.Kept(in.Mask) {
		in.judge(keep, n, n+1, in.ratio(in.LogRatio[n]), m.Low, m.High)
	}
	return nil
}

// SequenceMask drops responses whose weight, the product of the ratios, leaves
// a band.
//
// The product widens with length: acceptance is low on long responses. A
// response without a counting token has the product 1. verl's seq_sum_k1 is the same on the
// inverse ratio.
type SequenceMask struct {
	// Low is the lower bound.
	Low float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

// Reject clears responses outside the band.
func (m *SequenceMask) Reject(keep []bool, in *Input) error {
	byResponse.each(in, func(from, to int) {
		sum, _ := in.spanSum(from, to)
		in.judge(keep, from, to, in.ratio(sum), m.Low, m.High)
	})
	return nil
}

// Geometric drops responses whose geometric mean ratio leaves a band. It is a
// mask, not a weight.
//
// Acceptance does not depend on length. A response without a counting token has
// the mean 1 and is kept. SkyRL has the bounds 0.99 and 1.01; verl's seq_mean_k1 is the
// same on the inverse ratio, with 0.999 and 1.001 in its presets.
type Geometric struct {
	// Low is the lower bound.
	Low float64 `yaml:"low" default:"0.99" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"1.01" range:"(0,inf]"`
}

// Reject clears responses outside the band.
func (m *Geometric) Reject(keep []bool, in *Input) error {
	one := SegmentMask{Low: m.Low, High: m.High, By: byResponse}
	return one.Reject(keep, in)
}

// SegmentMask drops segments, turns or runs of generated tokens, whose
// geometric mean ratio leaves a band.
type SegmentMask struct {
	// Low is the lower bound; 0.8 and 1.2 are ROLL's example.
	Low float64 `yaml:"low" default:"0.8" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"1.2" range:"(0,inf]"`
	// By says what a segment is: run or turn.
	By Segmentation `yaml:"by" default:"turn" oneof:"run turn"`
}

// Reject clears segments outside the band.
func (m *SegmentMask) Reject(keep []bool, in *Input) error {
	if err := m.By.require(in); err != nil {
		return err
	}
	m.By.each(in, func(from, to int) {
		in.judge(keep, from, to, in.geometricMean(from, to), m.Low, m.High)
	})
	return nil
}

// Outlier drops a whole response if any of its tokens has an extreme ratio: it finds
// collapsed responses that a mean would hide. SkyRL suggests 1e-4 and 100; prime-rl's later
// symmetric veto is the same rule.
type Outlier struct {
	// Low is the lower bound, 0 for none.
	Low float64 `yaml:"low" default:"1e-4" range:"[0,high]"`
	// High is the upper bound, .inf for none.
	High float64 `yaml:"high" default:"100" range:"(0,inf]"`
}

// Reject clears responses with an outlier.
func (m *Outlier) Reject(keep []bool, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		for n := from; n < to; n++ {
			if in.Mask[n] && !within(in.ratio(in.LogRatio[n]), m.Low, m.High) {
				reject(keep, in, from, to)
				break
			}
		}
	}
	return nil
}

// Veto drops a whole response if its worst token's ratio is below a threshold.
//
// The comparison is strict and made on the log-ratio without the clamp, so
// thresholds below e^-20 work. A response without a counting token is kept. verl and slime
// compare old with rollout; prime-rl, at the time of INTELLECT-3 (1e-5), the current policy
// with the rollout's, which bypass mode does.
type Veto struct {
	// Threshold is the smallest ratio a token may have, in (0, 1]. Default 1e-4
	// (slime's example, prime-rl's first default).
	Threshold float64 `yaml:"threshold" default:"1e-4" range:"(0,1]"`
}

// Reject clears responses with a token below the threshold.
func (m *Veto) Reject(keep []bool, in *Input) error {
	floor := elementary.Log(m.Threshold)
	for i := range in.Len() {
		from, to := in.Span(i)
		least := unbounded
		for n := range in.Where(i, in.Mask) {
			least = min(least, in.LogRatio[n])
		}
		in.judge(keep, from, to, least, floor, unbounded)
	}
	return nil
}

// Truncated drops the responses that did not end with the stop token.
//
// They still count in the baseline of their group. ROLL also masks a response that ends
// exactly at the limit; open-instruct removes truncated responses before it computes
// advantages. A batch of truncated responses alone has a loss of 0.
type Truncated struct{}

// Reject clears the responses that were cut.
func (*Truncated) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Finished); err != nil {
		return err
	}
	for i, finished := range in.Finished {
		if !finished {
			from, to := in.Span(i)
			reject(keep, in, from, to)
		}
	}
	return nil
}

// LastVersion drops the tokens of a response that older weights sampled than those
// that ended it: of a response that was interrupted and resumed only the last part trains.
//
// Rewards, baselines and lengths belong to the whole response. slime and miles clear
// the mask at every resumption, also of a response that had ended by then, which then
// trains on nothing; here its last part remains.
type LastVersion struct{}

// Reject clears the tokens before the last version of their response.
func (*LastVersion) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Version); err != nil {
		return err
	}
	for i := range in.Len() {
		var last int32
		for n := range in.Where(i, in.Mask) {
			last = max(last, in.Version[n])
		}
		for n := range in.Where(i, in.Mask) {
			in.note(n, "version", float64(in.Version[n]))
			in.note(n, "last", float64(last))
			if in.Version[n] < last {
				keep[n] = false
			}
		}
	}
	return nil
}

// RandomMask drops tokens at random: a placebo, not a correction. An arm with
// it at the rate of another mask shows what dropping that many tokens does
// whichever they are, so what is left between the two arms is due to the choice.
//
// The draw reads nothing but the run's seed, the training step and the place of
// the token in the batch: a run repeats it, and no log-prob acts on it. In bypass
// mode, where masks are drawn at every gradient step, places count within the
// minibatch.
type RandomMask struct {
	// Rate is the probability of dropping a token, 0 to 1. The
	// published share of IcePop is one to two per mille (arXiv 2510.18855).
	Rate float64 `yaml:"rate" default:"1e-3" range:"[0,1]"`
	// Low and High are the band that sets the number instead of the rate; 0 and 0 is none.
	Low  float64 `yaml:"low" range:"[0,high]"`
	High float64 `yaml:"high" range:"[0,inf]"`
}

// randomStream separates the draws from other random streams of a run.
const randomStream = 0x706c616365626f // "placebo"

// Reject clears tokens by the draw.
func (m *RandomMask) Reject(keep []bool, in *Input) error {
	var rng rand.PCG
	rng.Seed(in.Seed^randomStream, uint64(in.Step))
	if m.Low != 0 || m.High != 0 {
		m.rejectAsMany(keep, in, &rng)
		return nil
	}
	below := uint64(math.Ldexp(m.Rate, 53))
	for n, counts := range in.Mask {
		// Every place takes one number, masked or not.
		if u := rng.Uint64() >> 11; counts && u < below {
			keep[n] = false
		}
	}
	return nil
}

// rejectAsMany clears as many tokens as lie outside the band: each in turn with
// the share of those to go among those left (Knuth's selection sampling).
func (m *RandomMask) rejectAsMany(keep []bool, in *Input, rng *rand.PCG) {
	left, outside := 0.0, 0.0
	for n := range masked.Kept(in.Mask) {
		left++
		if !within(in.ratio(in.LogRatio[n]), m.Low, m.High) {
			outside++
		}
	}
	for n := range masked.Kept(in.Mask) {
		if u := math.Ldexp(float64(rng.Uint64()>>11), -53); u*left < outside {
			keep[n] = false
			outside--
		}
		left--
	}
}

// FailureTokens keeps, of responses that were judged wrong, only the tokens at which the policy is least certain.
// Right responses keep all. Dropped tokens stay in the denominators.
type FailureTokens struct {
	// Share is the fraction of a wrong response's tokens that is kept, rounded up.
	Share float64 `yaml:"share" default:"0.5" range:"(0,1]"`

	order []int
}

func (*FailureTokens) atEveryStep() {}

// Reject clears the certain tokens of wrong responses.
func (m *FailureTokens) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Correct, batch.Entropy); err != nil {
		return err
	}
	for i := range in.Len() {
		if in.Correct[i] {
			continue
		}
		m.order = m.order[:0]
		for n := range in.Where(i, in.Mask) {
			m.order = append(m.order, n)
			in.note(n, "H", in.Now.Entropy[n])
		}
		slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(in.Now.Entropy[b], in.Now.Entropy[a]) })
		for _, n := range m.order[int(math.Ceil(m.Share*float64(len(m.order)))):] {
			keep[n] = false
		}
	}
	return nil
}

// TailMask drops the share of a batch's tokens that the policy has moved farthest
// from the rollout, among those whose advantage has a given sign. It is an
// instrument: with signs negative and positive it asks which side of the tail
// does the damage, on equally many tokens.
//
// The share counts all tokens of the batch. The mask is recomputed at every gradient step.
// Dropped tokens stay in any KL term.
type TailMask struct {
	// Share is the fraction of the batch's tokens to drop.
	Share float64 `yaml:"share" default:"0.005" range:"(0,1]"`
	// Signs says which advantages can be dropped.
	Signs Signs `yaml:"signs" default:"negative" oneof:"negative positive both"`
	// By is the distance: "tv" of the probabilities or "log_ratio".
	By string `yaml:"by" default:"tv" oneof:"tv log_ratio"`

	order []int
}

func (*TailMask) atEveryStep() {}

// Reject clears the tail.
func (m *TailMask) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Advantage, batch.LogpRoll, batch.Logp); err != nil {
		return err
	}
	distance := in.scratch()
	m.order = m.order[:0]
	all := 0.0
	for n := range masked.Kept(in.Mask) {
		all++
		if !m.Signs.has(in.Advantage[n]) {
			continue
		}
		d := in.clamp(in.LogRatio[n])
		if m.By == "tv" {
			d = elementary.Exp(in.LogpRoll[n]) * elementary.Expm1(d)
		}
		distance[n] = math.Abs(d)
		if in.note(n, "d", distance[n]); distance[n] > 0 {
			m.order = append(m.order, n)
		}
	}
	slices.SortStableFunc(m.order, func(a, b int) int { return cmp.Compare(distance[b], distance[a]) })
	for _, n := range m.order[:min(len(m.order), max(1, int(m.Share*all)))] {
		keep[n] = false
	}
	return nil
}
