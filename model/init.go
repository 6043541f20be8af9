package model

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
)

// Init draws every parameter from seed and clears the router bias.
//
//	embeddings (tokens, positions)   standard deviation 0.5
//	norms                            1
//	q, k, v, w1, w3, router          1/√fan_in
//	o, w2, lm_head                   0.5/√fan_in
//	conv1d                           1/√width
//	A_log                            0
//	dt_bias                          from -1 in the first head to -4 in the last
//
// The heads of a linear-attention layer so begin with decays of about exp(-0.31) to
// exp(-0.02) per token: memories of 3 to 55 tokens.
//
// The halved output projections keep the residual stream near the embeddings at
// the start and the first next-token distribution close to uniform. Router
// logits of order one are what makes the top-k choice matter from the start.
//
// Each tensor has its own PCG stream, keyed by seed and tensor name, so adding
// a tensor (an expert, learned positions) does not change the others. The draws
// are integer sums, so all machines make the same bits.
func (p *Params) Init(seed uint64) {
	for i := range p.tensors {
		t := &p.tensors[i]
		if len(t.Shape) == 1 {
			for j := range t.Data {
				t.Data[j] = initVector(t.Name, j, len(t.Data))
			}
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(t.Name))
		rng := rand.New(rand.NewPCG(seed, h.Sum64()))
		std := initStd(t.Name, t.Shape[1])
		for j := range t.Data {
			t.Data[j] = float32(std * normal(rng))
		}
	}
	p.RouterBias = nil
}

// initVector is entry j of n of a tensor with one dimension.
func initVector(name string, j, n int) float32 {
	switch {
	case strings.HasSuffix(name, decayLog):
		return 0
	case strings.HasSuffix(name, decayBias):
		return -1 - 3*float32(j)/float32(max(n-1, 1))
	}
	return 1
}

// initStd is the standard deviation of a matrix of that name.
func initStd(name string, fanIn int) float64 {
	switch {
	case strings.Contains(name, "embed_"):
		return 0.5
	case strings.Contains(name, ".o_proj."), strings.Contains(name, ".w2."),
		strings.Contains(name, ".down_proj."), strings.HasPrefix(name, "lm_head."):
		return 0.5 / math.Sqrt(float64(fanIn))
	default:
		return 1 / math.Sqrt(float64(fanIn))
	}
}

// normal draws from the Irwin-Hall approximation of the standard normal: the
// sum of 12 uniforms, minus 6. Mean 0 and variance 1 are exact (to the 32 bits
// of each uniform), the tails end at ±6. The sum is an integer, so no rounding
// and no library exponential enters; a ziggurat's tail would bring both.
func normal(rng *rand.Rand) float64 {
	var sum uint64
	for range 6 {
		u := rng.Uint64()
		sum += u>>32 + u&0xffffffff
	}
	// Each of the 12 terms has mean (2^32-1)/2.
	return float64(2*int64(sum)-12*(1<<32-1)) / (1 << 33)
}
