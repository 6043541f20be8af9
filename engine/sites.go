package engine

import (
	"driftlab/engine/kernel"
	"driftlab/precision"
)

// siteNumerics is Numerics resolved for each kind of operation of a pass.
type siteNumerics struct {
	norm        kernel.Numerics
	projection  kernel.Numerics // column-parallel: query, key, value, gate, up
	rowParallel kernel.Numerics // attention output, expert down projection
	adapters    kernel.Numerics // products of unmerged adapters
	router      kernel.Numerics
	head        kernel.Numerics
	attention   kernel.AttentionNumerics
	inputs      precision.Quantizer
	headInputs  precision.Quantizer
	queries     precision.Format
	index       precision.Quantizer
	eager       bool
	kvCache     precision.Quantizer
	activations precision.Format
	gradients   precision.Format
	gradient    kernel.Numerics // products of the backward pass
	delta       kernel.DeltaNumerics
	experts     ExpertParallel // how a token's experts are added
	// plainInputs and plainCache are true where rounding to inputs or kvCache
	// changes nothing that was rounded to activations before.
	plainInputs, plainCache bool
}

// round rounds x in place; fp32 leaves it alone, memory included.
func round(f precision.Format, x []float32) {
	if !f.Identity() {
		f.RoundSlice(x, x)
	}
}

// sites resolves the numerics for a batch of that many rows. Tensor
// parallelism splits the sums of the row-parallel projections only, as in
// Megatron (arXiv:1909.08053): the others hold whole rows on every rank.
func (n *Numerics) sites(batchRows int) siteNumerics {
	r := n.Reduction.At(batchRows)
	whole := r.Local()
	at := func(r kernel.Reduction, out precision.Format) kernel.Numerics {
		return kernel.Numerics{Accumulator: n.Accumulator, Output: out, Reduction: r}
	}
	return siteNumerics{
		// Norms are computed in fp32 everywhere and rounded once.
		norm:        kernel.Numerics{Accumulator: precision.FP32, Output: n.Activations, Reduction: whole, Eager: n.Eager},
		projection:  at(whole, n.Activations),
		rowParallel: at(r, n.Activations),
		adapters:    at(whole, n.adapterFormat()),
		router:      at(whole, n.Router),
		head:        at(whole, n.Head),
		attention: kernel.AttentionNumerics{
			Kernel: n.Attention, Tile: n.Tile, Splits: n.Splits, Scores: n.Scores,
			Probs: n.Probabilities, Output: n.Activations, Reduction: whole, Eager: n.Eager,
		},
		inputs: n.Inputs, kvCache: n.KVCache, headInputs: n.headInputs(), queries: n.queries(), index: n.index(), eager: n.Eager,
		delta:       kernel.DeltaNumerics{LinearAttention: n.LinearAttention, Operands: n.Activations, Output: n.Activations},
		plainInputs: n.Inputs.Identity() || n.Inputs == precision.Unscaled(n.Activations),
		plainCache:  n.KVCache.Identity() || n.KVCache == precision.Unscaled(n.Activations),
		activations: n.Activations, gradients: n.Gradients,
		gradient: kernel.Numerics{Accumulator: precision.FP32, Output: n.Gradients},
		experts:  n.ExpertParallel.essential(),
	}
}
