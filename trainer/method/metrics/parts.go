package metrics

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Parts splits the gap of pi_old to mu at pi_v, the learner's numerics at the
// version that sampled (the α1 and α0 of the three-policy account): what the two
// engines make of the same weights, and what the weights have moved since. It
// needs the columns Behaviour in addition to those of Compare; the log-ratios of the two
// parts add up to the whole, token by token.
func Parts(b *batch.Batch) (engine, lag Gap) {
	view := *b
	view.Old, view.RoutesRoll = b.Behaviour, nil // routes are compared as a whole
	engine = Compare(&view)
	view.Old, view.LogpRoll, view.DistRoll = b.Old, b.Behaviour.Logp, b.Behaviour.Dist
	return engine, Compare(&view)
}

// Part appends the figures of one part of a gap under its name.
func (g *Gap) Part(dst []batch.Metric, name string) []batch.Metric {
	dst = append(dst, batch.Metric{Name: "gap/" + name + "_k3", Value: g.K3}, batch.Metric{Name: "gap/" + name + "_dlogp_mean", Value: g.MeanAbsDlogp})
	if g.HasExact {
		dst = append(dst, batch.Metric{Name: "gap/" + name + "_exact_kl", Value: g.ExactKL}, batch.Metric{Name: "gap/" + name + "_exact_tv", Value: g.ExactTV},
			batch.Metric{Name: "gap/" + name + "_exact_tv_max", Value: g.MaxTV})
	}
	return dst
}

// Update appends how far the updates of a step have moved the policy on its tokens (the α0
// of the three-policy account): from pi_old to what the learner says of them afterwards,
// with distributions.
func Update(dst []batch.Metric, b *batch.Batch, after batch.Scored) []batch.Metric {
	view := *b
	view.LogpRoll, view.DistRoll, view.RoutesRoll, view.Old = b.Old.Logp, b.Old.Dist, b.Old.Routes, after
	g := Compare(&view)
	sequence := 0.0
	for i := range b.Len() {
		before, now := 0.0, 0.0
		for n := range b.Where(i, b.Mask) {
			before += b.Old.Logp[n] - b.LogpRoll[n]
			now += after.Logp[n] - b.LogpRoll[n]
		}
		weight := func(sum float64) float64 { return elementary.Exp(min(max(sum, -clampLogRatio), clampLogRatio)) }
		sequence += math.Abs(weight(now) - weight(before))
	}
	dst = append(dst,
		batch.Metric{Name: "val/update_tv", Value: g.ExactTV},
		batch.Metric{Name: "val/update_tv_p95", Value: g.TailTV},
		batch.Metric{Name: "val/update_tv_max", Value: g.MaxTV},
		batch.Metric{Name: "val/update_tv_sequence", Value: sequence / float64(2*max(b.Len(), 1))})
	if g.HasRoutes {
		dst = append(dst, batch.Metric{Name: "val/update_flips", Value: g.FlipToken})
	}
	return dst
}

// TurnGap is the gap on what the policy wrote in one turn: before the first
// reply of a tool in turn 0, after one in the others.
type TurnGap struct {
	// Turn counts from 0.
	Turn int `json:"turn"`
	// Tokens is how many were compared, Sequences how many responses have the turn.
	Tokens    int `json:"tokens"`
	Sequences int `json:"sequences"`
	// MeanLogp is the mean log-prob in the rollout engine, nats: how sure it is.
	MeanLogp float64 `json:"mean_logp"`
	// K3, MeanAbsDlogp and MaxAbsDlogp are defined as in Gap.
	K3           float64 `json:"k3"`
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
	MaxAbsDlogp  float64 `json:"max_abs_dlogp"`
	// FirstAbsDlogp is mean |e| of the first token of the turn, nats.
	FirstAbsDlogp float64 `json:"first_abs_dlogp"`
}

// CompareTurns measures the gap of LogpOld to LogpRoll turn by turn. It returns
// nil where no response has a second turn, and panics if a column is missing.
func CompareTurns(b *batch.Batch) []TurnGap {
	if err := b.Require(batch.Mask, batch.Turn, batch.LogpOld, batch.LogpRoll); err != nil {
		panic("metrics: " + err.Error())
	}
	var turns []TurnGap
	for i := range b.Len() {
		last := -1
		for n := range b.Where(i, b.Mask) {
			k := int(b.Turn[n])
			for len(turns) <= k {
				turns = append(turns, TurnGap{Turn: len(turns)})
			}
			t, e := &turns[k], b.Old.Logp[n]-b.LogpRoll[n]
			t.Tokens++
			t.MeanLogp += b.LogpRoll[n]
			t.K3 += k3(e)
			t.MeanAbsDlogp += math.Abs(e)
			t.MaxAbsDlogp = max(t.MaxAbsDlogp, math.Abs(e))
			if k != last {
				t.Sequences++
				t.FirstAbsDlogp += math.Abs(e)
				last = k
			}
		}
	}
	if len(turns) < 2 {
		return nil
	}
	for k := range turns {
		t := &turns[k]
		for _, mean := range []*float64{&t.MeanLogp, &t.K3, &t.MeanAbsDlogp} {
			*mean /= float64(max(t.Tokens, 1))
		}
		t.FirstAbsDlogp /= float64(max(t.Sequences, 1))
	}
	return turns
}

// ResponseGap is what one response adds to the k3 of a batch: few tokens carry
// most of it, so a mean over tokens is as certain as its responses make it.
type ResponseGap struct {
	// Tokens is how many were compared.
	Tokens int
	// K3 is the sum of exp(e) − 1 − e over them, Largest that of one token.
	K3, Largest float64
}

// CompareResponses measures the gap of LogpOld to LogpRoll, response by response.
func CompareResponses(b *batch.Batch) []ResponseGap {
	out := make([]ResponseGap, b.Len())
	for i := range out {
		for n := range b.Where(i, b.Mask) {
			x := k3(b.Old.Logp[n] - b.LogpRoll[n])
			out[i] = ResponseGap{out[i].Tokens + 1, out[i].K3 + x, max(out[i].Largest, x)}
		}
	}
	return out
}

// Step appends the figures of a training step that can be computed from what
// the batch has recorded, in the order of the glossary: rewards and lengths, the
// probabilities' difference, verl's off-policy figures, this project's own gap,
// routes and entropy. Figures that are undefined (a correlation of constants) are
// left out, so every value is finite unless a log-prob is not.
func Step(dst []batch.Metric, b *batch.Batch, limit Limits) []batch.Metric {
	dst = data(dst, b, limit)
	if len(b.Old.Logp) == b.Tokens() && len(b.LogpRoll) == b.Tokens() {
		from := len(dst)
		dst = finite(probabilities(dst, b), from)
		dst = OffPolicy(dst, b)
		g := Compare(b)
		dst = g.metrics(dst)
	}
	if len(b.Old.Entropy) == b.Tokens() {
		dst = append(dst, batch.Metric{Name: "actor/entropy", Value: masked.Mean(b.Old.Entropy, b.Mask)})
	}
	if b.KVKept != nil {
		dst = append(dst, batch.Metric{Name: "rollout/kv_retained", Value: Retained(b)})
	}
	if b.ActualVersion != nil {
		dst = weightSync(dst, b)
	}
	if b.CachedTokens != nil {
		dst = prefixCache(dst, b)
	}
	return dst
}

// finite drops the undefined figures from position from on.
func finite(m []batch.Metric, from int) []batch.Metric {
	kept := slices.DeleteFunc(m[from:], func(x batch.Metric) bool { return math.IsNaN(x.Value) })
	return m[:from+len(kept)]
}

// metrics appends the figures of the gap that verl has no name for. Layers
// beyond maxLayerNames have no name of their own.
func (g *Gap) metrics(dst []batch.Metric) []batch.Metric {
	dst = append(dst,
		batch.Metric{Name: "gap/k1", Value: g.K1},
		batch.Metric{Name: "gap/k2", Value: g.K2},
		batch.Metric{Name: "gap/k3", Value: g.K3},
		batch.Metric{Name: "gap/chi2_token_p95", Value: g.Chi2Tail},
		batch.Metric{Name: "gap/ess_token", Value: g.ESSToken},
		batch.Metric{Name: "gap/ess_sequence", Value: g.ESSSequence},
		batch.Metric{Name: "gap/dlogp_mean", Value: g.MeanAbsDlogp},
		batch.Metric{Name: "gap/dlogp_max", Value: g.MaxAbsDlogp},
		batch.Metric{Name: "gap/dp_mean", Value: g.MeanAbsDp},
		batch.Metric{Name: "gap/dp_max", Value: g.MaxAbsDp},
		batch.Metric{Name: "gap/seq_dlogp_mean", Value: g.MeanAbsSequence},
		batch.Metric{Name: "gap/seq_dlogp_max", Value: g.MaxAbsSequence},
		batch.Metric{Name: "gap/unequal", Value: g.Unequal})
	if g.HasExact {
		dst = append(dst,
			batch.Metric{Name: "gap/exact_kl", Value: g.ExactKL},
			batch.Metric{Name: "gap/exact_kl_max", Value: g.MaxKL},
			batch.Metric{Name: "gap/exact_tv", Value: g.ExactTV},
			batch.Metric{Name: "gap/exact_tv_p95", Value: g.TailTV},
			batch.Metric{Name: "gap/exact_tv_max", Value: g.MaxTV})
	}
	if !g.HasRoutes {
		return dst
	}
	dst = append(dst,
		batch.Metric{Name: "routes/flip_token", Value: g.FlipToken},
		batch.Metric{Name: "routes/flip_route", Value: g.FlipRoute},
		batch.Metric{Name: "routes/flip_sequence", Value: g.FlipSequence},
		batch.Metric{Name: "routes/flip_expert_max", Value: g.FlipExpertMax},
		batch.Metric{Name: "routes/flip_expert_worst", Value: g.FlipExpertWorst},
		batch.Metric{Name: "routes/flipped_dlogp_mean", Value: g.FlippedAbsDlogp},
		batch.Metric{Name: "routes/rest_dlogp_mean", Value: g.RestAbsDlogp},
		batch.Metric{Name: "routes/flipped_k3", Value: g.FlippedK3},
		batch.Metric{Name: "routes/rest_k3", Value: g.RestK3})
	for l, share := range g.FlipLayer {
		if l < maxLayerNames {
			dst = append(dst, batch.Metric{Name: layerNames[l], Value: share})
		}
	}
	return dst
}

// maxLayerNames is how many layers have a flip rate of their own in the metrics.
const maxLayerNames = 64

// layerNames are routes/flip_layer/0 and so on, built once.
var layerNames = func() (names [maxLayerNames]string) {
	for l := range names {
		names[l] = "routes/flip_layer/" + strconv.Itoa(l)
	}
	return names
}()

// Released appends the figures of the gap that is measured with the learner's
// router choosing, compared with those of a learner that replays routes.
func (g *Gap) Released(dst []batch.Metric) []batch.Metric {
	dst = append(dst,
		batch.Metric{Name: "gap/released_k1", Value: g.K1},
		batch.Metric{Name: "gap/released_k3", Value: g.K3},
		batch.Metric{Name: "gap/released_dlogp_mean", Value: g.MeanAbsDlogp})
	if g.HasExact {
		dst = append(dst, batch.Metric{Name: "gap/released_exact_kl", Value: g.ExactKL})
	}
	if g.HasRoutes {
		dst = append(dst, batch.Metric{Name: "gap/released_flip_token", Value: g.FlipToken})
	}
	return dst
}

// VarianceProxy appends verl's compute_variance_proxy_metrics: estimates of the
// gradient's power and noise that need no per-response gradient. With the score
// norm W_i = Σ_t (1 − 2·exp(old_t) + Σ_a q(a)²):
//
//	proxy1 = ‖mean gradient‖²      proxy2 = mean(w̄_i²·Ā_i²·W_i)
//	proxy3 = max(0, (proxy2 − proxy1)/(N − 1))
//
// w̄ and Ā are means over the response, N counts all responses, empty ones as 0. It reads
// SumSquares, LogpOld, Advantage and Weight. A negative gradientNorm means that
// it is not known: proxy1 and proxy3 are 0. Tokens of weight 0 drop out of W in
// proxy2, as in verl.
//
// Source: verl metric_utils; arXiv 2602.07078.
func VarianceProxy(dst []batch.Metric, b *batch.Batch, gradientNorm float64) []batch.Metric {
	power, square, score := 0.0, 0.0, 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		mask := b.Mask[from:to]
		if masked.Count(mask) == 0 {
			continue
		}
		weighed, plain, weight := 0.0, 0.0, 1.0
		for k := range b.Where(i, b.Mask) {
			w := 1 - 2*elementary.Exp(b.Old.Logp[k]) + b.Old.SumSquares[k]
			if b.Weight != nil {
				v := b.Weight[k] * b.Weight[k]
				weighed += float64(w * v)
				w = w * v / max(v, 1e-10)
			} else {
				weighed += w
			}
			plain += w
		}
		if b.Weight != nil {
			weight = masked.Mean(b.Weight[from:to], mask)
		}
		a := masked.Mean(b.Advantage[from:to], mask)
		power += float64(weight * weight * a * a * max(plain, 0))
		square += float64(a * a)
		score += weighed
	}
	rows := float64(max(b.Len(), 1))
	signal, noise := 0.0, 0.0
	if gradientNorm >= 0 {
		signal = float64(gradientNorm * gradientNorm)
		if rows > 1 {
			noise = max((power/rows-signal)/(rows-1), 0)
		}
	}
	return append(dst,
		batch.Metric{Name: "variance_proxy/proxy1_signal_strength", Value: signal},
		batch.Metric{Name: "variance_proxy/proxy2_total_power", Value: power / rows},
		batch.Metric{Name: "variance_proxy/proxy3_pure_noise", Value: noise},
		batch.Metric{Name: "variance_proxy/expected_a_squared", Value: square / rows},
		batch.Metric{Name: "variance_proxy/expected_w", Value: score / rows})
}

// Rejection counts what the correction, the loss and its terms keep out of the
// gradient: tokens out of the loss mask, with a closed gate, of weight 0, or that the
// loss rejects by a mask of its own.
// Which those are can change from gradient step to gradient step, so every one
// adds its minibatch; a token that takes part in several counts each time.
type Rejection struct{ tokens, out, rows, gone int }

// Add counts a batch as its gradient saw it, with the tokens that the loss rejected, nil
// for none.
func (r *Rejection) Add(b *batch.Batch, byLoss []bool) {
	for i := range b.Len() {
		count, lost := 0, 0
		for n := range b.Where(i, b.Mask) {
			count++
			if b.LossMask != nil && !b.LossMask[n] || b.Gate != nil && !b.Gate[n] || b.Weight != nil && b.Weight[n] == 0 || byLoss != nil && byLoss[n] {
				lost++
			}
		}
		r.tokens, r.out = r.tokens+count, r.out+lost
		if count > 0 {
			r.rows++
			if lost == count {
				r.gone++
			}
		}
	}
}

// Metrics appends the shares of tokens, and of responses that lost all of theirs.
func (r *Rejection) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst,
		batch.Metric{Name: "correction/masked_fraction", Value: float64(r.out) / float64(max(r.tokens, 1))},
		batch.Metric{Name: "correction/seq_masked_fraction", Value: float64(r.gone) / float64(max(r.rows, 1))})
}

// Retained is the share of the positions up to their own that generated tokens
// still saw in the rollout engine's compressed cache, a mean over tokens and
// planes; 1 where nothing was compressed.
func Retained(b *batch.Batch) float64 {
	per := b.KVPlanes * b.KVWords
	var sum float64
	tokens := 0
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to && per > 0; n++ {
			if !b.Mask[n] {
				continue
			}
			held := 0
			for _, w := range b.KVKept[n*per : (n+1)*per] {
				held += bits.OnesCount64(w)
			}
			sum += float64(held) / float64(b.KVPlanes*(len(b.Prompt[i])+n-from))
			tokens++
		}
	}
	if tokens == 0 {
		return 1
	}
	return sum / float64(tokens)
}

// runLength is the number of tokens of a run that Repeated looks for.
const runLength = 4

// seenRuns is the memory of one response's runs.
var seenRuns = sync.Pool{New: func() any { return map[[runLength]int32]bool{} }}

// Repeated is the share of runs of four generated tokens, ending at the positions from
// to to of their response, that occurred before in it: 0 where there is no run. The
// first run of a response ends at position 4.
func Repeated(b *batch.Batch, from, to int) float64 {
	seen := seenRuns.Get().(map[[runLength]int32]bool)
	defer seenRuns.Put(seen)
	again, all := 0.0, 0.0
	for i := range b.Len() {
		clear(seen)
		first, end := b.Span(i)
		generated := 0 // tokens in a row
		for n := first; n < end; n++ {
			generated++
			if !b.Mask[n] {
				generated = 0
			}
			if generated < runLength {
				continue
			}
			run := [runLength]int32(b.Token[n+1-runLength:])
			if at := n + 1 - first; at > from && at <= to {
				all++
				if seen[run] {
					again++
				}
			}
			seen[run] = true
		}
	}
	return again / max(all, 1)
}

// Speculation is what became of drafted tokens. Rates are 0 where there is
// nothing to take them of.
type Speculation struct {
	// Tests are the drafted tokens that were put to the test, Accepted those that
	// passed. Places after a rejection were not tested.
	Tests    int `json:"tests"`
	Accepted int `json:"accepted"`
	// Windows are the passes that tested anything, Passes all that made a token.
	Windows int `json:"windows"`
	Passes  int `json:"passes"`
	// Acceptance is Accepted over Tests, and AcceptedLength over Windows.
	Acceptance     float64 `json:"acceptance"`
	AcceptedLength float64 `json:"accepted_length"`
	// TokensPerPass is the number of generated tokens over Passes.
	TokensPerPass float64 `json:"tokens_per_pass"`
	// TV is the mean total variation of the drafter's distribution and the verifier's over
	// the tests: exact verification accepts with a rate of 1 - TV on average.
	TV float64 `json:"tv"`
	// LawTV is the mean total variation of the emitted tokens' distribution and the
	// verifier's over generated tokens: how far the sampling distribution is shifted.
	LawTV float64 `json:"law_tv"`
	// Mislabelled is mean |LogpRoll - LogpLaw| over generated tokens, nats: how wrong
	// the recorded log-prob is.
	Mislabelled float64 `json:"mislabelled"`
	// Age is the mean number of updates by which the drafter is behind, over tests.
	Age float64 `json:"age"`
}

// CompareDrafts measures the speculation of a batch, and reports whether any
// was recorded.
func CompareDrafts(b *batch.Batch) (s Speculation, recorded bool) {
	if b.Draft == nil {
		return s, false
	}
	tokens := 0
	for i := range b.Len() {
		pass, window := int32(-1), int32(-1)
		for n := range b.Where(i, b.Mask) {
			tokens++
			s.LawTV += b.LawTV[n]
			s.Mislabelled += math.Abs(b.LogpRoll[n] - b.LogpLaw[n])
			if b.Window[n] != pass {
				pass = b.Window[n]
				s.Passes++
			}
			if b.Draft[n] == batch.Undrafted {
				continue
			}
			if b.Window[n] != window {
				window = b.Window[n]
				s.Windows++
			}
			s.Tests++
			if b.Draft[n] == batch.Accepted {
				s.Accepted++
			}
			s.TV += b.DraftTV[n]
			s.Age += float64(b.Version[n] - b.DrafterVersion[n])
		}
	}
	over := func(x float64, n int) float64 { return x / float64(max(n, 1)) }
	s.Acceptance, s.AcceptedLength = over(float64(s.Accepted), s.Tests), over(float64(s.Accepted), s.Windows)
	s.TokensPerPass = over(float64(tokens), s.Passes)
	s.TV, s.Age = over(s.TV, s.Tests), over(s.Age, s.Tests)
	s.LawTV, s.Mislabelled = over(s.LawTV, tokens), over(s.Mislabelled, tokens)
	return s, true
}

// Metrics appends the figures.
func (s *Speculation) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst,
		batch.Metric{Name: "speculative/acceptance", Value: s.Acceptance},
		batch.Metric{Name: "speculative/accepted_length", Value: s.AcceptedLength},
		batch.Metric{Name: "speculative/tokens_per_pass", Value: s.TokensPerPass},
		batch.Metric{Name: "speculative/tv", Value: s.TV},
		batch.Metric{Name: "speculative/law_tv", Value: s.LawTV},
		batch.Metric{Name: "speculative/mislabelled", Value: s.Mislabelled},
		batch.Metric{Name: "speculative/drafter_age", Value: s.Age})
}

// weightSync appends how far the weights that sampled are behind the version that is
// recorded.
func weightSync(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	oldest, old, tokens := 0, 0, 0
	for n := range masked.Kept(b.Mask) {
		tokens++
		if age := int(b.Version[n] - b.ActualVersion[n]); age > 0 {
			oldest, old = max(oldest, age), old+1
		}
	}
	return append(dst,
		batch.Metric{Name: "weight_sync/missed_tokens", Value: float64(old) / float64(max(tokens, 1))},
		batch.Metric{Name: "weight_sync/max_age", Value: float64(oldest)})
}

// prefixCache appends how much of the prompts came from a prefix cache that is shared over
// requests and steps, and how old it was.
func prefixCache(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	cached, prompt, oldest, stale := 0, 0, 0, 0
	for i, n := range b.CachedTokens {
		cached, prompt = cached+int(n), prompt+len(b.Prompt[i])
		from, to := b.Span(i)
		if version := b.CachedVersion[i]; version >= 0 && from < to {
			age := int(b.Version[from] - version)
			oldest = max(oldest, age)
			if age > 0 {
				stale++
			}
		}
	}
	return append(dst,
		batch.Metric{Name: "prefix_cache/hit_rate", Value: float64(cached) / float64(max(prompt, 1))},
		batch.Metric{Name: "prefix_cache/max_age", Value: float64(oldest)},
		batch.Metric{Name: "prefix_cache/stale_responses", Value: float64(stale) / float64(max(b.Len(), 1))})
}
