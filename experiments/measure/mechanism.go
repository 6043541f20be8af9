package measure

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/trainer/recipe"
)

// mechanism is one way in which two engines differ: a switch that is either at
// the rollout engine's value or at the learner's.
type mechanism struct {
	// name is the field's, as recipes write it, where there is one.
	name string
	// rollout and learner are the two values in words.
	rollout, learner string
	// numerics copies the mechanism's fields from one engine's numerics; nil
	// where the mechanism is none of them.
	numerics func(dst, from *engine.Numerics)
}

// Mechanisms that are no single field of the numerics.
const (
	projectionsName = "weights+inputs"
	batchingName    = "batching"
	decodingName    = "decoding"
	retentionName   = "kv_retention"
	draftsName      = "drafts"
	logProbsName    = "log_probs"
	noiseName       = "noise"
	kvScalesName    = "kv_scales"
	prefixesName    = "shared_prefix_cache"
	syncName        = "weight_sync"
)

// mechanismsOf lists where the engines of a pair differ in what can act on a
// log-prob. Weights and inputs are one mechanism where the scales of one
// engine's do not go with the other's.
func mechanismsOf(r recipe.Recipe, pair Pair) []mechanism {
	var list []mechanism
	for _, f := range engine.Fields() {
		roll, learn := f.Text(&pair.Rollout), f.Text(&pair.Learner)
		if f.Name == engine.AdaptersField && r.LoRA == nil {
			continue
		}
		routed := f.Name == "router" || f.Name == engine.ExpertParallelField
		absent := routed && r.Model.Dense() || f.Name == engine.LinearAttentionField && !r.Model.HasLayer(model.LinearAttention) ||
			f.Name == engine.IndexField && (!r.Model.HasLayer(model.SparseAttention) || r.ReplaysRetention())
		if roll != learn && !absent {
			list = append(list, mechanism{f.Name, roll, learn, f.Copy})
		}
	}
	list = joinProjections(list, pair)
	if roll, learn := pair.Rollout.Reduction.BatchVariant, pair.Learner.Reduction.BatchVariant; roll || learn {
		words := func(variant bool) string {
			if variant {
				return "batch_variant"
			}
			return "batch-invariant"
		}
		list = append(list, mechanism{batchingName, words(roll) + ", as decoded", words(learn) + ", as scored",
			func(d, f *engine.Numerics) { d.Reduction.BatchVariant = f.Reduction.BatchVariant }})
	}
	if !pair.Rollout.Attention.PrefillIsDecode() {
		list = append(list, mechanism{name: decodingName, rollout: "token by token", learner: "as a sequence"})
	}
	if k := r.Rollout.KVRetention; k != nil && !r.ReplaysRetention() {
		list = append(list, mechanism{name: retentionName, rollout: retentionText(*k), learner: "every position"})
	}
	if r.Rollout.StalePrefixes() && r.Steps > 1 {
		list = append(list, mechanism{name: prefixesName, rollout: fmt.Sprintf("prompts cached %d steps ago", r.Steps-1), learner: "prompts read now"})
	}
	if w := r.Rollout.WeightSync; w.Partial(r.Steps - 1) {
		list = append(list, mechanism{name: syncName, rollout: syncText(*w, r.Steps-1), learner: "a whole weight sync"})
	}
	if sigma := r.Rollout.Noise.Start; sigma > 0 {
		list = append(list, mechanism{name: noiseName, rollout: fmt.Sprintf("sigma %g on the norms", sigma), learner: "none"})
	}
	if r.Rollout.KVScales.Prompts > 0 && pair.Rollout.StaticKV() && pair.Learner.StaticKV() {
		list = append(list, mechanism{name: kvScalesName, rollout: "found by the rollout engine", learner: "found by the learner"})
	}
	if d := r.Rollout.Speculative; d != nil && d.LogProbs != recipe.VerifierLogProbs {
		list = append(list, mechanism{name: draftsName, rollout: "log-prob of the " + d.LogProbs, learner: "log-prob of the model"})
	}
	if recorded, scored := logProbsText(r); recorded != scored {
		list = append(list, mechanism{name: logProbsName, rollout: recorded, learner: scored})
	}
	return list
}

// retentionText is what a compressed cache keeps, in words.
func retentionText(k recipe.KVRetention) string {
	kept := fmt.Sprintf("%g of the positions", k.Keep)
	if k.Budget > 0 {
		kept = fmt.Sprintf("%d positions", k.Budget)
	}
	return fmt.Sprintf("%s: %s", k.Policy, kept)
}

// syncText is what a partial sync misses, in words.
func syncText(w recipe.WeightSync, sync int) string {
	text := fmt.Sprintf("%s of %d steps ago", strings.Join(w.Missed, ", "), sync-w.Keeps())
	if w.Workers < 1 {
		text += fmt.Sprintf(" at %g of the workers", w.Workers)
	}
	return text
}

// logProbsText says which log-prob is recorded and which one is scored; the
// same text if the two mean the same.
func logProbsText(r recipe.Recipe) (recorded, scored string) {
	o := r.Rollout
	truncates := o.TopP < 1 || o.TopK > 0 && o.TopK < r.Model.Vocab
	scored = fmt.Sprintf("temperature %g, whole vocabulary", r.LearnerTemperature())
	if r.Support.Replay && truncates {
		scored = fmt.Sprintf("temperature %g, sampling support", r.LearnerTemperature())
	}
	switch {
	case o.LogProbs == recipe.RawLogProbs:
		return "temperature 1, whole vocabulary", scored
	case truncates && o.LogProbs == recipe.ProcessedLogProbs:
		return fmt.Sprintf("temperature %g, sampling support", o.Temperature), scored
	}
	return fmt.Sprintf("temperature %g, whole vocabulary", o.Temperature), scored
}

// joinProjections makes one mechanism of weights and inputs if a mixture of the
// engines' is not valid.
func joinProjections(list []mechanism, pair Pair) []mechanism {
	if len(list) < 2 || list[0].name != "weights" || list[1].name != "inputs" {
		return list
	}
	one, other := pair.Rollout, pair.Learner
	one.Inputs, other.Inputs = pair.Learner.Inputs, pair.Rollout.Inputs
	if one.Validate() == nil && other.Validate() == nil {
		return list
	}
	w, x := list[0], list[1]
	joined := mechanism{projectionsName, w.rollout + ", " + x.rollout, w.learner + ", " + x.learner,
		func(d, f *engine.Numerics) { d.Weights, d.Inputs = f.Weights, f.Inputs }}
	return slices.Concat([]mechanism{joined}, list[2:])
}

// subset is a set of mechanisms, by their index: those at the rollout engine's value.
type subset uint64

func (s subset) has(i int) bool { return s>>i&1 != 0 }

// count is the number of mechanisms in the set.
func (s subset) count() int { return bits.OnesCount64(uint64(s)) }

// only and without are the sets of one mechanism and of all but one.
func only(i int) subset               { return 1 << i }
func (s subset) without(i int) subset { return s &^ only(i) }

// mixture is the learner's numerics with the mechanisms of a set at the rollout
// engine's value.
func mixture(pair Pair, list []mechanism, s subset) engine.Numerics {
	n := pair.Learner
	// A wire is kept where nothing travels until all mechanisms have had their
	// turn: the order that makes use of it may come first or last.
	n.Reduction.Wire = engine.Wire(n.Reduction)
	for i, m := range list {
		if s.has(i) && m.numerics != nil {
			m.numerics(&n, &pair.Rollout)
		}
	}
	if n.Reduction.Kind != kernel.TensorParallel {
		n.Reduction.Wire = precision.Format{}
	}
	return n
}
