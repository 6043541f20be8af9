package metrics

import (
	"math"
	"slices"

	"driftlab/trainer/method/batch"
)

// compareRoutes fills the flip rates from RoutesRoll and RoutesOld, if both are
// recorded, and the gap on flipped tokens against the rest.
func (g *Gap) compareRoutes(b *batch.Batch) {
	width := b.Layers * b.TopK
	if width == 0 || len(b.RoutesRoll) != b.Tokens()*width || len(b.Old.Routes) != len(b.RoutesRoll) {
		return
	}
	g.HasRoutes = true
	g.FlipLayer = make([]float64, b.Layers)
	flipped, rest := 0, 0
	for i := range b.Len() {
		any := false
		for n := range b.Where(i, b.Mask) {
			e := b.Old.Logp[n] - b.LogpRoll[n]
			if g.flips(b, n) {
				any = true
				flipped++
				g.FlippedAbsDlogp += math.Abs(e)
				g.FlippedK3 += k3(e)
			} else {
				rest++
				g.RestAbsDlogp += math.Abs(e)
				g.RestK3 += k3(e)
			}
		}
		if any {
			g.FlipSequence++
		}
	}
	for l := range g.FlipLayer {
		g.FlipLayer[l] /= float64(g.Tokens)
		g.FlipRoute += g.FlipLayer[l] / float64(b.Layers)
	}
	g.flipExperts(b)
	g.FlipToken = float64(flipped) / float64(g.Tokens)
	g.FlipSequence /= float64(g.Sequences)
	g.FlippedAbsDlogp /= float64(max(flipped, 1))
	g.FlippedK3 /= float64(max(flipped, 1))
	g.RestAbsDlogp /= float64(max(rest, 1))
	g.RestK3 /= float64(max(rest, 1))
}

// flips counts the layers in which token n went to another set of experts, and
// reports whether there was any.
func (g *Gap) flips(b *batch.Batch, n int) bool {
	any := false
	for l := range b.Layers {
		if Flipped(b, n, l) {
			g.FlipLayer[l]++
			any = true
		}
	}
	return any
}

// Flipped reports whether the two engines chose different experts for a token in a
// layer.
func Flipped(b *batch.Batch, token, layer int) bool {
	at := (token*b.Layers + layer) * b.TopK
	return !sameExperts(b.RoutesRoll[at:at+b.TopK], b.Old.Routes[at:at+b.TopK])
}

// flipExperts finds the expert that most often only one of the engines visits.
func (g *Gap) flipExperts(b *batch.Batch) {
	worst, all := 0, 0
	for l := range b.Layers {
		var visits [256]int // by one engine alone
		for n, counts := range b.Mask {
			if !counts {
				continue
			}
			at := (n*b.Layers + l) * b.TopK
			roll, old := b.RoutesRoll[at:at+b.TopK], b.Old.Routes[at:at+b.TopK]
			for k := range roll {
				if !slices.Contains(old, roll[k]) {
					visits[roll[k]]++
				}
				if !slices.Contains(roll, old[k]) {
					visits[old[k]]++
				}
			}
		}
		for _, n := range visits {
			worst, all = max(worst, n), all+n
		}
	}
	g.FlipExpertMax = float64(worst) / float64(g.Tokens)
	g.FlipExpertWorst = float64(worst) / float64(max(all, 1))
}

// sameExperts reports whether two top-k lists name the same set of experts, in
// any order. The lists hold no expert twice.
func sameExperts(a, b []uint8) bool {
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || x == y
		}
		if !found {
			return false
		}
	}
	return true
}
