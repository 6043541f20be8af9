package metrics

import (
	"math"
	"slices"
	"sync"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// clampLogRatio bounds log-ratios before exp in the chi-squared figures and the
// effective sample sizes, as verl does.
const clampLogRatio = 20

// Gap is the difference between learner and rollout engine on the tokens of a
// batch. Means are over tokens unless a name says Sequence; probabilities are
// those of the sampled token. A figure that cannot be computed is 0, and Has
// fields say so.
type Gap struct {
	// Tokens and Sequences are how many were compared; responses without a
	// generated token do not count.
	Tokens    int `json:"tokens"`
	Sequences int `json:"sequences"`

	// K1 is mean(roll − old), nats: the direct estimate of KL(roll || old).
	K1 float64 `json:"k1"`
	// K2 is mean(e²)/2, nats.
	K2 float64 `json:"k2"`
	// K3 is mean(exp(e) − 1 − e), nats: never negative.
	K3 float64 `json:"k3"`
	// Chi2Token is mean(ρ²) − 1.
	Chi2Token float64 `json:"chi2_token"`
	// Chi2Tail is the 95th percentile of (ρ − 1)², whose mean is chi-squared where the
	// mean of ρ is 1; 0, and not written, for responses that were added one by one.
	Chi2Tail float64 `json:"chi2_tail,omitempty"`
	// Chi2Sequence is the mean over responses of (Π ρ)² − 1.
	Chi2Sequence float64 `json:"chi2_sequence"`
	// ESSToken is (Σρ)²/(n·Σρ²), the effective share of the tokens.
	ESSToken float64 `json:"ess_token"`
	// ESSSequence is the same over responses, with their products.
	ESSSequence float64 `json:"ess_sequence"`
	// PPLRatio is the mean over responses of exp(mean_t(roll − old)).
	PPLRatio float64 `json:"ppl_ratio"`
	// Pearson is the correlation of the two probabilities; 0 if either is constant.
	Pearson float64 `json:"pearson"`

	// MeanAbsDlogp and MaxAbsDlogp are of |e|, nats.
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
	MaxAbsDlogp  float64 `json:"max_abs_dlogp"`
	// MeanAbsDp, MaxAbsDp and StdAbsDp are of |p_old − p_roll|; the deviation is unbiased.
	MeanAbsDp float64 `json:"mean_abs_dp"`
	MaxAbsDp  float64 `json:"max_abs_dp"`
	StdAbsDp  float64 `json:"std_abs_dp"`
	// MeanAbsSequence and MaxAbsSequence are of |Σ_t e_t| per response, nats.
	MeanAbsSequence float64 `json:"mean_abs_sequence"`
	MaxAbsSequence  float64 `json:"max_abs_sequence"`
	// Unequal is the share of tokens whose two log-probs differ in any bit.
	Unequal float64 `json:"unequal"`

	// HasExact says that full distributions were recorded. ExactKL is the mean
	// KL(roll || old) over the vocabulary, nats; MaxKL the largest of a token.
	HasExact bool    `json:"has_exact"`
	ExactKL  float64 `json:"exact_kl"`
	MaxKL    float64 `json:"max_kl"`
	// ExactTV is the mean total variation ½·Σ|p − q|; TailTV its 95th percentile, MaxTV
	// the largest.
	ExactTV float64 `json:"exact_tv"`
	TailTV  float64 `json:"tail_tv,omitempty"`
	MaxTV   float64 `json:"max_tv"`

	// HasRoutes says that routes were recorded in both engines.
	HasRoutes bool `json:"has_routes"`
	// FlipLayer is, per layer, the share of tokens with another set of experts.
	FlipLayer []float64 `json:"flip_layer"`
	// FlipRoute is the share of token-layer pairs, FlipToken of tokens with a
	// flip in any layer, FlipSequence of responses with a flip at any token.
	FlipRoute    float64 `json:"flip_route"`
	FlipToken    float64 `json:"flip_token"`
	FlipSequence float64 `json:"flip_sequence"`
	// FlipExpertMax is the share of tokens for which the worst expert of any layer was
	// visited in one engine alone, FlipExpertWorst its part of all such visits: 1 if a
	// single expert flips.
	FlipExpertMax   float64 `json:"flip_expert_max"`
	FlipExpertWorst float64 `json:"flip_expert_worst"`
	// FlippedAbsDlogp and RestAbsDlogp are mean |e| on tokens with and without a
	// flip; FlippedK3 and RestK3 likewise.
	FlippedAbsDlogp float64 `json:"flipped_abs_dlogp"`
	RestAbsDlogp    float64 `json:"rest_abs_dlogp"`
	FlippedK3       float64 `json:"flipped_k3"`
	RestK3          float64 `json:"rest_k3"`
}

// scratch is the memory in which a percentile sorts a value of each token.
var scratch = sync.Pool{New: func() any { return new([]float64) }}

// Compare measures the gap of LogpOld to LogpRoll. It panics if either column
// is missing; routes and distributions are optional.
func Compare(b *batch.Batch) Gap {
	if err := b.Require(batch.Mask, batch.LogpOld, batch.LogpRoll); err != nil {
		panic("metrics: " + err.Error())
	}
	var t Tally
	for i := range b.Len() {
		from, to := b.Span(i)
		t.Add(b.Old.Logp[from:to], b.LogpRoll[from:to], b.Mask[from:to])
	}
	g := t.Gap()
	if g.Tokens > 0 {
		all := scratch.Get().(*[]float64)
		defer scratch.Put(all)
		*all = slices.Grow((*all)[:0], g.Tokens)
		g.compareTails(b, *all)
		g.compareDistributions(b, *all)
		g.compareRoutes(b)
	}
	return g
}

// Tally measures a gap response by response, for dumps that no batch can hold:
// the log-probs of sampled tokens, without distributions and routes.
type Tally struct {
	gap             Gap // sums, so far
	token, sequence weightSums
	p               pair
}

// Add takes a response; a nil mask takes all its tokens.
func (t *Tally) Add(old, roll []float64, mask []bool) {
	sum, count := 0.0, 0
	for n := range old {
		if mask != nil && !mask[n] {
			continue
		}
		e := old[n] - roll[n]
		t.gap.addToken(e)
		t.token.add(e)
		t.p.add(elementary.Exp(old[n]), elementary.Exp(roll[n]))
		sum, count = sum+e, count+1
	}
	if count == 0 {
		return
	}
	g := &t.gap
	g.Sequences++
	g.PPLRatio += elementary.Exp(-sum / float64(count))
	g.MeanAbsSequence += math.Abs(sum)
	g.MaxAbsSequence = max(g.MaxAbsSequence, math.Abs(sum))
	t.sequence.add(sum)
}

// Gap returns the gap of the responses so far.
func (t *Tally) Gap() Gap {
	g := t.gap
	if g.Tokens == 0 {
		return g
	}
	tokens, rows := float64(g.Tokens), float64(g.Sequences)
	for _, mean := range []*float64{&g.K1, &g.K2, &g.K3, &g.MeanAbsDlogp, &g.Unequal} {
		*mean /= tokens
	}
	g.PPLRatio, g.MeanAbsSequence = g.PPLRatio/rows, g.MeanAbsSequence/rows
	g.Chi2Token, g.ESSToken = t.token.squares/tokens-1, t.token.effective(tokens)
	g.Chi2Sequence, g.ESSSequence = t.sequence.squares/rows-1, t.sequence.effective(rows)
	g.MeanAbsDp, g.MaxAbsDp, g.StdAbsDp = t.p.difference.Mean, t.p.difference.Largest, t.p.difference.Deviation()
	if r := t.p.pearson(); !math.IsNaN(r) {
		g.Pearson = r
	}
	return g
}

// addToken adds one log-ratio to the sums that become token means.
func (g *Gap) addToken(e float64) {
	g.Tokens++
	g.K1 -= e
	g.K2 += float64(0.5 * e * e)
	g.K3 += k3(e)
	g.MeanAbsDlogp += math.Abs(e)
	g.MaxAbsDlogp = max(g.MaxAbsDlogp, math.Abs(e))
	if e != 0 {
		g.Unequal++
	}
}

// k3 is exp(e) − 1 − e; Expm1 keeps the digits of small gaps.
func k3(e float64) float64 { return elementary.Expm1(e) - e }

// weightSums accumulates importance weights and their squares.
type weightSums struct{ sum, squares float64 }

func (s *weightSums) add(logRatio float64) {
	w := elementary.Exp(min(max(logRatio, -clampLogRatio), clampLogRatio))
	s.sum, s.squares = s.sum+w, s.squares+float64(w*w)
}

// effective is the share (Σw)²/(n·Σw²).
func (s *weightSums) effective(n float64) float64 { return s.sum * s.sum / (n * s.squares) }

// pair accumulates two variables, their difference and their correlation.
type pair struct {
	x, y       masked.Running
	difference masked.Running // of |x − y|
	product    float64        // co-moment
}

func (p *pair) add(x, y float64) {
	dx := x - p.x.Mean
	p.x.Add(x)
	p.y.Add(y)
	p.product += float64(dx * (y - p.y.Mean))
	p.difference.Add(math.Abs(x - y))
}

// pearson is the correlation coefficient, NaN below two values or if either
// variable is constant.
func (p *pair) pearson() float64 {
	if p.x.N < 2 || p.x.Smallest == p.x.Largest || p.y.Smallest == p.y.Largest {
		return math.NaN()
	}
	return p.product / math.Sqrt(p.x.Squares*p.y.Squares)
}

// compareDistributions fills exact KL and total variation from DistRoll and
// DistOld, if both are recorded; all is memory for a value of each token.
func (g *Gap) compareDistributions(b *batch.Batch, all []float64) {
	if b.Vocab == 0 || b.Require(batch.DistRoll, batch.DistOld) != nil {
		return
	}
	g.HasExact = true
	for n := range masked.Kept(b.Mask) {
		at := n * b.Vocab
		kl, tv := divergence(b.DistRoll[at:at+b.Vocab], b.Old.Dist[at:at+b.Vocab])
		g.ExactKL, g.ExactTV = g.ExactKL+kl, g.ExactTV+tv
		g.MaxKL, g.MaxTV = max(g.MaxKL, kl), max(g.MaxTV, tv)
		all = append(all, tv)
	}
	g.TailTV = tail(all)
	g.ExactKL /= float64(g.Tokens)
	g.ExactTV /= float64(g.Tokens)
}

// compareTails fills Chi2Tail; all is memory for a value of each token.
func (g *Gap) compareTails(b *batch.Batch, all []float64) {
	for n := range masked.Kept(b.Mask) {
		e := min(max(b.Old.Logp[n]-b.LogpRoll[n], -clampLogRatio), clampLogRatio)
		off := elementary.Expm1(e)
		all = append(all, off*off)
	}
	g.Chi2Tail = tail(all)
}

// tail is the 95th percentile: the least value that at most one in twenty exceeds. It
// sorts its argument.
func tail(all []float64) float64 {
	slices.Sort(all)
	return all[(95*len(all)+99)/100-1]
}

// divergence returns KL(p||q) in nats and the total variation ½·Σ|p−q| of two
// rows of log-probs. Tokens with p = 0 add nothing to the KL. Rows that are
// equal give exactly 0.
func divergence(logP, logQ []float32) (kl, tv float64) {
	var probs [2][64]float64 // of a part of both rows
	for n := 0; len(logP) > 0; logP, logQ = logP[n:], logQ[n:] {
		n = min(len(logP), len(probs[0]))
		elementary.Exps(probs[0][:n], logP[:n])
		elementary.Exps(probs[1][:n], logQ[:n])
		for a := range n {
			if logP[a] == logQ[a] {
				continue
			}
			lp, lq, p, q := float64(logP[a]), float64(logQ[a]), probs[0][a], probs[1][a]
			if p > 0 {
				// Each term p·(lp−lq) − p + q is never negative, and the added parts
				// sum to nothing: small divergences keep their digits.
				kl += float64(p*(lp-lq)) - p + q
			} else {
				kl += q
			}
			tv += math.Abs(p - q)
		}
	}
	return kl, tv / 2
}

// KeptMass tests that recorded log-probs belong to the distribution the tokens were drawn
// from. Given a prefix, the ratio of the learner's policy p to the sampling distribution mu
// averages to the mass that p has on the support of mu:
//
//	E_mu[p(a)/mu(a)] = Σ_{a∈support} p(a)
//
// which is 1 where nothing is truncated and the kept mass where top-p or top-k is
// and the engines are equal. Log-probs from before temperature or truncation, or
// of another engine, break it.
type KeptMass struct {
	// Kept is the mean mass of the sampling support in the rollout engine.
	Kept float64 `json:"kept"`
	// Expected is the mean of the right-hand side: the learner's mass there.
	Expected float64 `json:"expected"`
	// Ratio is the mean of the left-hand side over the sampled tokens, and StdErr
	// the standard error of Ratio − Expected: given the prefix each token's
	// difference has mean 0, so their squares add up.
	Ratio  float64 `json:"ratio"`
	StdErr float64 `json:"std_err"`
	// Holds says that the two sides agree within four standard errors, or rounding.
	Holds bool `json:"holds"`
}

// Bounds of KeptMass.Holds.
const (
	keptErrors   = 4
	keptRounding = 1e-5
)

// CompareKeptMass computes the identity over the generated tokens, false where
// the learner's distributions have not been recorded. It panics without LogpOld,
// LogpRoll or KeptMass.
func CompareKeptMass(b *batch.Batch) (k KeptMass, ok bool) {
	if err := b.Require(batch.Mask, batch.LogpOld, batch.LogpRoll, batch.KeptMass); err != nil {
		panic("metrics: " + err.Error())
	}
	if b.Tokens() == 0 || len(b.Old.Dist) != b.Tokens()*b.Vocab {
		return k, false
	}
	n, squares := 0, 0.0
	for i := range masked.Kept(b.Mask) {
		mass := 0.0
		p := b.Old.Dist[i*b.Vocab : (i+1)*b.Vocab]
		if b.Support == nil || b.Support[i] == nil {
			for _, logp := range p {
				mass += elementary.Exp(float64(logp))
			}
		} else {
			for _, id := range b.Support[i] {
				mass += elementary.Exp(float64(p[id]))
			}
		}
		ratio := elementary.Exp(b.Old.Logp[i] - b.LogpRoll[i])
		n++
		k.Kept += b.KeptMass[i]
		k.Expected += mass
		k.Ratio += ratio
		squares += float64((ratio - mass) * (ratio - mass))
	}
	if n == 0 {
		return k, false
	}
	count := float64(n)
	k.Kept, k.Expected, k.Ratio = k.Kept/count, k.Expected/count, k.Ratio/count
	k.StdErr = math.Sqrt(squares) / count
	k.Holds = math.Abs(k.Ratio-k.Expected) <= float64(keptErrors*k.StdErr)+keptRounding
	return k, true
}
