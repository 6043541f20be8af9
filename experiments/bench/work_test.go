package bench

import (
	"testing"

	"driftlab/engine"
	"driftlab/model"
)

// TestForwardWork counts a batch by hand, key by key: 5 responses of 3+4 tokens in
// groups of 2, the last one alone.
func TestForwardWork(t *testing.T) {
	m := model.Config{Layers: 3, DModel: 8, Heads: 2, Experts: 4, TopK: 2, DFF: 8, Vocab: 11, Context: 7}.WithDefaults()
	c := Step{Model: m, Batch: 5, Group: 2, Prompt: 3, Gen: 4}
	count := func(prompts int) (products float64) {
		row := func(position int) { products += m.LayerProducts() + m.AttentionProducts(position+1) }
		for range prompts {
			row(0)
			row(1)
		}
		for range 5 {
			for position := 2; position < 6; position++ { // the last token of the prompt, three generated
				row(position)
				products += m.HeadProducts()
			}
		}
		return products
	}
	for _, name := range []string{"fp32", "bf16-batch-variant"} {
		n, ok := engine.Preset(name)
		if !ok {
			t.Fatalf("no numerics %s", name)
		}
		want := work{count(3), count(5)}
		if !n.DecodesAsScored() { // whose bits belong to the company
			want.computed = want.unshared
		}
		if got := c.forward(n); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
