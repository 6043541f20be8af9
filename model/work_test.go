package model

import "testing"

// TestWork counts the products of a small model by hand: width 4, keys and values
// of one head of two, 3 experts of width 5 of which 2 are visited, 7 tokens.
func TestWork(t *testing.T) {
	c := Config{Layers: 3, DModel: 4, Heads: 2, KVHeads: 1, Experts: 3, TopK: 2, DFF: 5, Vocab: 7}.WithDefaults()
	const layer = 4*4 + 4*4 + 2*4*2 + 4*3 + 2*(3*4*5) // queries, output, keys and values, router, experts
	if got := c.LayerProducts(); got != 3*layer {
		t.Errorf("layers: %v products, want %d", got, 3*layer)
	}
	if got := c.HeadProducts(); got != 28 {
		t.Errorf("head: %v products, want 28", got)
	}
	if got := c.AttentionProducts(6); got != 3*2*6*4 { // 2 heads of 2: queries by keys, weights by values
		t.Errorf("attention: %v products, want 144", got)
	}
	// Every weight of a dense layer takes part once in a position.
	dense := Config{Layers: 2, DModel: 8, Vocab: 7}.WithDefaults()
	if got, want := dense.LayerProducts(), float64(dense.Params()-2*7*8-8-2*2*8); got != want {
		t.Errorf("dense: %v products, %v weights", got, want)
	}
}
