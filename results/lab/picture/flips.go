package picture

import (
	"fmt"
	"math"
	"slices"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// The controls of lesson 4, in addition to Pair.
const (
	Replay = "replay" // None, IDs or IDsGates
	Margin = "margin" // with None: which decisions are shown, All or the lowest part by margin
)

// The values of Replay, what the learner takes over from the rollout engine.
const (
	none     = "none"
	IDs      = "ids"
	IDsGates = "ids and gates"
)

// The values of Margin.
const (
	all         = "all"
	lowestHalf  = "lowest half"
	lowestTenth = "lowest tenth"
)

// Flips are the figures of two engines' routes: the exact KL that each replay leaves, and
// tokens by layers.
func Flips(f *record.Flips) []figure.Figure {
	panels := []figure.Figure{left(f)}
	for _, margin := range []string{all, lowestHalf, lowestTenth} {
		p := routes(f, none, margin)
		p.When[Margin] = margin
		panels = append(panels, p)
	}
	panels = append(panels, routes(f, IDs, all), routes(f, IDsGates, all))
	for i := range panels {
		panels[i].When[Pair] = f.Rollout + "/" + f.Learner
	}
	return panels
}

// left is the exact KL free and replayed.
func left(f *record.Flips) figure.Figure {
	return figure.Figure{When: map[string]string{}, Kind: figure.Bars, Name: "replayed", Title: "Exact KL of the two engines, by what the learner replays",
		Labels: []string{none, IDs, IDsGates}, Y: figure.Axis{Label: "exact KL"},
		Series: []figure.Series{{Name: f.Rollout + " to " + f.Learner, Method: figure.R3, Y: record.Floats{f.KLFree, f.KLIDs, f.KLIDsGates}}},
		Note: fmt.Sprintf("Exact KL of %d tokens: %s with the learner's own routes, %s with the rollout engine's experts, %s with its experts and gates. %s of the tokens have a routing flip.",
			f.Count, short(f.KLFree), short(f.KLIDs), short(f.KLIDsGates), percent(f.FlippedTokens))}
}

// routes is a strip with a line for each response and layer: shaded by what is left of
// the token's gap, crossed where its experts are others.
func routes(f *record.Flips, replay, margin string) figure.Figure {
	p := figure.Figure{When: map[string]string{Replay: replay}, Kind: figure.Strip, Name: "routes",
		Title: "Tokens by layers: a cross marks a routing flip, the shade is |d|", Scale: Scale}
	delta := map[string][]float64{none: f.DeltaFree, IDs: f.DeltaIDs, IDsGates: f.DeltaIDsGates}[replay]
	bound := marginBound(f, margin)
	crosses, shown := 0, 0
	for r, from := range f.Starts {
		to := len(f.Tokens)
		if r+1 < len(f.Starts) {
			to = f.Starts[r+1]
		}
		for l := range f.Layers {
			line := figure.Line{Title: fmt.Sprintf("response %d, layer %d", r+1, l+1)}
			for n := from; n < to; n++ {
				if f.Margin[l][n] > bound {
					line.Tokens = append(line.Tokens, figure.Token{Text: "·", Note: "margin larger than the part shown"})
					continue
				}
				shown++
				cross := f.Flip[l][n] && replay == none
				if cross {
					crosses++
				}
				line.Tokens = append(line.Tokens, figure.Token{Text: f.Tokens[n], Level: Level(delta[n]), Cross: cross,
					Note: fmt.Sprintf("margin %.2g, d %+.2g", f.Margin[l][n], delta[n])})
			}
			p.Lines = append(p.Lines, line)
		}
	}
	p.Note = fmt.Sprintf("%d of the %d decisions shown are routing flips.", crosses, shown)
	if replay != none {
		p.Note = fmt.Sprintf("The learner replays the rollout engine's experts in all of the %d decisions shown.", shown)
	}
	return p
}

// marginBound is the largest margin that is shown.
func marginBound(f *record.Flips, margin string) float64 {
	all := slices.Sorted(slices.Values(slices.Concat(f.Margin...)))
	switch {
	case margin == lowestHalf && len(all) > 0:
		return all[(len(all)-1)/2]
	case margin == lowestTenth && len(all) > 0:
		return all[(len(all)-1)/10]
	}
	return math.Inf(1)
}

// shades are the least |d| of a strip's levels 1 to 4: 1 is any difference at all.
var shades = [...]float64{math.SmallestNonzeroFloat64, 1e-4, 1e-3, 1e-2}

// Scale says what the levels are.
const Scale = "No shade: equal in every bit. Then |d| below 0.0001, below 0.001, below 0.01, and above."

// Level is the shade of a difference of log-probs.
func Level(d float64) int {
	n := 0
	for n < len(shades) && math.Abs(d) >= shades[n] {
		n++
	}
	return n
}
