package engine_test

import (
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
)

// A pass may serve weights of different numerics in turn, packs of different
// sizes, and room reserved before it has seen any numerics: nothing of the one
// is left in the other.
func TestPassIsReusable(t *testing.T) {
	p := enginetest.Named("moe").Params
	pass := engine.NewPass(p.Config, 2)
	defer pass.Close()
	pass.Reserve(100)
	for _, name := range []string{"fp8-w8a8", "fp32", "fp8-block", "bf16", "int8-w8a8", "fp32-online"} {
		for _, count := range []int{3, 40, 1} {
			n := preset(t, name)
			sequences := enginetest.Sequences(uint64(count), count, p.Config.Vocab, 2, 12)
			for _, save := range []bool{false, true} {
				pack := packOf(sequences)
				pass.Begin(weightsOf(p, n), pack, engine.Options{Save: save})
				pass.Forward()
				var got outcome
				got.take(pass, pack, p.Config)
				same(t, name, run(p, n, sequences, 1, engine.Options{}), got)
			}
		}
	}
}
