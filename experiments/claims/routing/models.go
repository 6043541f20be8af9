package routing

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
)

// eightLayers is a warm-started model of this replication with eight thin
// layers, where a route can carry on from layer to layer, or its dense counterpart of
// equal active width. It has seen a tenth of what chain-base has: a warm start
// of the same length would cost eight of those.
func eightLayers(ctx context.Context, e *claim.Env, experts, context int) (*model.Params, error) {
	width := 32
	if experts == 0 {
		width *= 2 // the two experts that a token visits
	}
	dir, err := e.Warm(ctx, "chain-base", "model.layers=8", fmt.Sprintf("model.experts=%d", experts), fmt.Sprintf("model.d_ff=%d", width),
		"pretrain.batch=32", fmt.Sprintf("pretrain.steps=%d", e.Pick(300, 60, 2)))
	if err != nil {
		return nil, err
	}
	return claim.Loaded(dir, context)
}

// rung is a pair of models of the routing claims: how the mixture of experts
// is sampled, and its dense counterpart of equal active width.
type rung struct {
	name  string
	level claim.Level
	probe claim.Probe
	dense *model.Params
}

// moeAndDense are chain-base and random models of eight layers, each with its dense counterpart.
func moeAndDense(ctx context.Context, e *claim.Env) ([]rung, error) {
	base, dense, err := e.MoEAndDense(ctx, 0)
	if err != nil {
		return nil, err
	}
	return []rung{
		{"natural", claim.Natural, claim.Probe{Params: base, Sequences: e.Pick(2048, 256, 8), Tokens: 32, Stops: true}, dense},
		{"amplified", claim.Amplified, claim.Probe{Params: e.Deep(8, 8, 256, 128), Sequences: e.Pick(48, 16, 3), Tokens: e.Pick(96, 64, 16)}, e.Deep(8, 0, 256, 128)},
	}, nil
}
