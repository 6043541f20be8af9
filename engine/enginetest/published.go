package enginetest

import (
	"cmp"
	"strings"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/precision"
)

// Published returns the parameters as an engine in these numerics sees them:
// rounded or quantised, tensor by tensor. Scales must belong to rows, since
// engines quantise some tensors as one matrix.
func Published(p *model.Params, n engine.Numerics) *model.Params {
	if !n.Weights.RowLocal() {
		panic("enginetest: " + n.Weights.String() + " shares scales between rows")
	}
	p = p.Clone()
	for _, t := range p.Tensors() {
		switch {
		case t.Name == "model.embed_tokens.weight" && n.Embedding != (precision.Quantizer{}):
			n.Embedding.RoundTrip(t.Data, t.Data, t.Shape[0], t.Shape[1])
		case len(t.Shape) == 1 || strings.HasPrefix(t.Name, "model.embed_"), strings.HasSuffix(t.Name, "conv1d.weight"):
			n.Activations.RoundSlice(t.Data, t.Data)
		case t.Name == "lm_head.weight":
			cmp.Or(n.HeadWeights, precision.Unscaled(n.Head)).RoundTrip(t.Data, t.Data, t.Shape[0], t.Shape[1])
		case strings.HasSuffix(t.Name, "block_sparse_moe.gate.weight"):
			n.Router.RoundSlice(t.Data, t.Data)
		default:
			n.Weights.RoundTrip(t.Data, t.Data, t.Shape[0], t.Shape[1])
		}
	}
	return p
}
