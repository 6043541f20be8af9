package engine_test

import (
	"fmt"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/precision/must"
)

// Tensor parallelism in the naive order gives other logits for every number of
// ranks; with the kernels of TBIK 1, 2, 4 and 8 ranks agree in every bit.
// Reference: arXiv 2511.17826.
func TestRanks(t *testing.T) {
	p := wide
	sequences := enginetest.Sequences(5, 6, p.Config.Vocab, 5, 11)
	ordered := func(format, order string) outcome {
		n := preset(t, format)
		must.Do(t, n.Reduction.UnmarshalText([]byte(order)))
		return run(p, n, sequences, 1, engine.Options{})
	}
	for _, format := range []string{"fp32", "bf16"} {
		one := ordered(format, "tree:4")
		naive := []outcome{ordered(format, "canonical")}
		for _, ranks := range []int{2, 4, 8} {
			same(t, fmt.Sprintf("%s, %d ranks", format, ranks), one, ordered(format, fmt.Sprintf("tree:4:%d", ranks)))
			o := ordered(format, fmt.Sprintf("tensor_parallel:%d:ring:%s", ranks, format))
			for i, other := range naive {
				if !differ(o, other) {
					t.Errorf("%s: %d ranks in the naive order agree with the %dth", format, ranks, i)
				}
			}
			naive = append(naive, o)
		}
	}
}

// What decoding does to a row is declared: under flash decoding a sequence that
// is read token by token has other logits than one that is read at once, and
// under every other attention kernel the same.
func TestDecodingDiffersFromPrefill(t *testing.T) {
	p := wide
	sequences := enginetest.Sequences(5, 3, p.Config.Vocab, 9, 12)
	for _, name := range []string{"fp32", "fp32-online", "fp32-flash-decoding", "bf16", "bf16-flash-decoding"} {
		n := preset(t, name)
		if n.DecodesAsScored() == differ(run(p, n, sequences, 1, engine.Options{}), decoded(p, n, sequences, 1, func(int) int { return 1 })) {
			t.Errorf("%s says that it decodes as it scores: %v", name, n.DecodesAsScored())
		}
	}
}
