package metrics

import (
	"math"
	"strconv"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Step appends the figures of a training step that can be computed from what
// the batch has recorded, in the order of Glossary: rewards and lengths, the
// probabilities' difference, verl's off-policy figures, this project's own gap,
// routes and entropy. Figures that are undefined
// (a correlation of constants) are left out, so every value is finite unless a
// log-prob is not.
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
	kept := m[:from]
	for _, x := range m[from:] {
		if !math.IsNaN(x.Value) {
			kept = append(kept, x)
		}
	}
	return kept
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
