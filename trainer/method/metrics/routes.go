package metrics

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
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
			e, differs := b.Old.Logp[n]-b.LogpRoll[n], false
			for l := range b.Layers {
				if Flipped(b, n, l) {
					g.FlipLayer[l]++
					differs = true
				}
			}
			if differs {
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
		for n := range masked.Kept(b.Mask) {
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
	return !slices.ContainsFunc(a, func(x uint8) bool { return !slices.Contains(b, x) })
}

// Replayed appends what replay adds to a batch: the responses from first on were
// trained before. The effective sample size of their ratios of pi_old to mu falls
// with age as the priorities suppose, exp(-age/tau), if tau is well chosen: the tau
// that it would have is reported next to it.
func Replayed(dst []batch.Metric, b *batch.Batch, first int, weights []float64) []batch.Metric {
	add := func(name string, value float64) { dst = append(dst, batch.Metric{Name: name, Value: value}) }
	tokens, again, age := 0, 0, 0.0
	ratio, square, weight := 0.0, 0.0, 0.0
	for i := range b.Len() {
		sum := 0.0
		for n := range b.Where(i, b.Mask) {
			tokens++
			if i >= first {
				again++
				age += float64(b.LearnerVersion - int(b.Version[n]))
				sum += b.Old.Logp[n] - b.LogpRoll[n]
			}
		}
		if i >= first {
			w := elementary.Exp(min(max(sum, -20), 20))
			ratio, square, weight = ratio+w, square+float64(w*w), weight+weights[i]
		}
	}
	add("replay/share", float64(again)/float64(max(tokens, 1)))
	if again == 0 {
		return dst
	}
	n := float64(b.Len() - first)
	age /= float64(again)
	ess := float64(ratio*ratio) / square / n
	add("replay/age", age)
	add("replay/weight", weight/n)
	add("replay/ess", ess)
	if ess < 1 && age > 0 {
		add("replay/tau_of_ess", -age/elementary.Log(ess))
	}
	return dst
}

// Ages appends how old a batch of several versions is, in updates: its generated
// tokens, its groups by their oldest token, and the shares of its responses with
// tokens of several versions and of its tokens that saw keys of older ones.
func Ages(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	tokens, sum, most, mixed, stale := 0, 0, 0, 0, 0
	oldest := map[int]int{} // by group
	for i := range b.Len() {
		first, several := -1, false
		for n := range b.Where(i, b.Mask) {
			age := b.LearnerVersion - int(b.Version[n])
			tokens, sum, most = tokens+1, sum+age, max(most, age)
			if b.Stale != nil && b.Stale[n] {
				stale++
			}
			if first < 0 {
				first = age
			}
			several = several || age != first
			oldest[b.Group[i]] = max(oldest[b.Group[i]], age)
		}
		if several {
			mixed++
		}
	}
	groups := 0
	for _, age := range oldest {
		groups += age // integers: in any order
	}
	return append(dst,
		batch.Metric{Name: "staleness/tokens/mean", Value: float64(sum) / float64(max(tokens, 1))},
		batch.Metric{Name: "staleness/tokens/max", Value: float64(most)},
		batch.Metric{Name: "staleness/samples/mean", Value: float64(groups) / float64(max(len(oldest), 1))},
		batch.Metric{Name: "staleness/mixed_responses", Value: float64(mixed) / float64(max(b.Len(), 1))},
		batch.Metric{Name: "staleness/stale_keys", Value: float64(stale) / float64(max(tokens, 1))})
}
