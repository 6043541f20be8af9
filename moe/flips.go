package moe

import (
	"fmt"
	"slices"
)

// Flips counts the routing decisions that differ between two recordings of the
// same tokens. A decision is the unordered set of experts of one token in one
// layer; a token or a sequence is flipped if any of its decisions is.
type Flips struct {
	// Tokens and Sequences are the numbers compared; tokens that were masked
	// out or not recorded on both sides are not among them, nor are sequences
	// without a compared token.
	Tokens, Sequences int
	// Layer is the number of flipped decisions per layer.
	Layer []int
	// Replaced is the number of experts that differ, over all decisions: TopK
	// of a decision if the sets are disjoint.
	Replaced int
	// FlippedTokens and FlippedSequences are the numbers with any flip.
	FlippedTokens, FlippedSequences int
}

// TokenLayerRate is the share of flipped decisions; 0 if nothing was compared.
func (f Flips) TokenLayerRate() float64 {
	n := 0
	for _, c := range f.Layer {
		n += c
	}
	return share(n, f.Tokens*len(f.Layer))
}

// LayerRate is the share of tokens flipped in one layer.
func (f Flips) LayerRate(layer int) float64 { return share(f.Layer[layer], f.Tokens) }

// TokenRate is the share of tokens with any flip.
func (f Flips) TokenRate() float64 { return share(f.FlippedTokens, f.Tokens) }

// SequenceRate is the share of sequences with any flip.
func (f Flips) SequenceRate() float64 { return share(f.FlippedSequences, f.Sequences) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Compare counts the flips between a and b. Sequence i owns the tokens
// offsets[i]..offsets[i+1]; nil offsets are one sequence. mask, if not nil,
// says which tokens count. flipped, if not nil, receives for each token
// whether it is flipped (false for those left out), so that a caller can
// measure the gap on flipped tokens against the rest. It panics if the shapes
// of a and b differ.
func Compare(a, b Routes, offsets []int, mask, flipped []bool) Flips {
	n := a.Tokens()
	if a.Layers != b.Layers || a.TopK != b.TopK || n != b.Tokens() || (mask != nil && len(mask) != n) || (flipped != nil && len(flipped) != n) {
		panic(fmt.Sprintf("moe: Compare of routes [%d, %d, %d] and [%d, %d, %d], mask %d, flipped %d",
			n, a.Layers, a.TopK, b.Tokens(), b.Layers, b.TopK, len(mask), len(flipped)))
	}
	f := Flips{Layer: make([]int, a.Layers)}
	clear(flipped)
	if offsets == nil {
		offsets = []int{0, n}
	}
	for s := range len(offsets) - 1 {
		compared, hit := false, false
		for token := offsets[s]; token < offsets[s+1]; token++ {
			if mask != nil && !mask[token] || !recorded(&a, token) || !recorded(&b, token) {
				continue
			}
			compared = true
			f.Tokens++
			if f.compareToken(&a, &b, token) {
				hit = true
				f.FlippedTokens++
				if flipped != nil {
					flipped[token] = true
				}
			}
		}
		if compared {
			f.Sequences++
		}
		if hit {
			f.FlippedSequences++
		}
	}
	return f
}

// recorded reports whether every decision of a token was recorded.
func recorded(r *Routes, token int) bool {
	from := token * r.Layers * r.TopK
	return !slices.Contains(r.IDs[from:from+r.Layers*r.TopK], NoRoute)
}

// compareToken adds the flips of one token and reports whether there was any.
func (f *Flips) compareToken(a, b *Routes, token int) bool {
	hit := false
	for layer := range a.Layers {
		replaced := 0
		other := b.At(token, layer)
		for _, id := range a.At(token, layer) {
			if !slices.Contains(other, id) {
				replaced++
			}
		}
		if replaced > 0 {
			hit = true
			f.Layer[layer]++
			f.Replaced += replaced
		}
	}
	return hit
}
