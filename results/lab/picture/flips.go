package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
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

// The controls of lesson 3, by the keys of a figure's When.
const (
	Pair    = "pair"   // rollout/learner
	Mode    = "mode"   // Merged or Decoupled
	Updates = "update" // how many have been made: 0, 1, ...
	Cap     = "cap"    // of token TIS
	Which   = "token"  // the row of the table, from 1
)

// The values of Mode.
const (
	Merged    = "merged"
	Decoupled = "decoupled"
)

// Policies are the figures of tokens that three policies score: how many tokens lie outside
// the band of either mode's clip, the table at each update, and each token's formulas.
func Policies(u *record.Update) []figure.Figure {
	panels := []figure.Figure{outside(u)}
	for k := range u.Updates + 1 {
		for _, mode := range []string{Merged, Decoupled} {
			caps := u.Caps
			if mode == Merged {
				caps = nil
			}
			panels = append(panels, tables(u, mode, k, caps)...)
			for i := range u.Tokens {
				panels = append(panels, formulas(u, mode, k, i))
			}
		}
	}
	for i := range panels {
		panels[i].When[Pair] = u.Rollout + "/" + u.Learner
	}
	return panels
}

// outside is the share of the batch's tokens outside the band, by the number of updates.
func outside(u *record.Update) figure.Figure {
	inPercent := func(share float64) float64 { return 100 * share }
	var made []float64
	for k := range u.Updates + 1 {
		made = append(made, float64(k))
	}
	return figure.Figure{When: map[string]string{}, Kind: figure.Lines, Name: "outside", Title: fmt.Sprintf("Tokens whose ratio lies outside [%g, %g], one step of one model", u.Low, u.High),
		X: figure.Axis{Label: "updates made", High: float64(u.Updates)}, Y: figure.Axis{Label: "tokens, %"},
		Series: []figure.Series{{Name: Merged, Method: figure.Uncorrected, X: made, Y: stats.Each(u.OutsideMerged, inPercent)}, {Name: Decoupled, Method: figure.TokenTIS, X: made, Y: stats.Each(u.OutsideDecoupled, inPercent)}},
		Note: fmt.Sprintf("Of %d tokens, outside %g to %g before any update: merged %s, decoupled %s; after %d updates %s and %s.", u.Count, u.Low, u.High,
			percent(u.OutsideMerged[0]), percent(u.OutsideDecoupled[0]), u.Updates, percent(u.OutsideMerged[u.Updates]), percent(u.OutsideDecoupled[u.Updates]))}
}

// tables shows the tokens after that many updates, once for each cap; without caps there are
// no weights.
func tables(u *record.Update, mode string, made int, caps []float64) []figure.Figure {
	columns := []figure.Column{{Name: "token"}, {Name: "advantage", Align: figure.Right}, {Name: "log mu", Align: figure.Right}, {Name: "log old", Align: figure.Right}, {Name: "log new", Align: figure.Right},
		{Name: "old/mu", Align: figure.Right}, {Name: "new/old", Align: figure.Right}, {Name: "new/mu", Align: figure.Right}, {Name: "weight", Align: figure.Right}, {Name: "clip"}}
	var all []figure.Figure
	for k := range max(len(caps), 1) {
		p := figure.Figure{When: map[string]string{Mode: mode, Updates: strconv.Itoa(made)}, Kind: figure.Table, Name: "policies",
			Title: fmt.Sprintf("%s, after %d of %d updates", mode, made, u.Updates), Columns: columns}
		if caps != nil {
			p.When[Cap] = short(caps[k])
		}
		clipped := 0
		for i, t := range u.Tokens {
			weight, branch := "1", t.MergedBranch[made]
			if caps != nil {
				weight, branch = short(t.Weight[k]), t.DecoupledBranch[made]
			}
			if branch != "kept" {
				clipped++
			}
			p.Rows = append(p.Rows, figure.Words(fmt.Sprintf("%d %s", i+1, t.Token), short(t.Advantage), short(t.LogMu), short(t.LogOld), short(t.LogNow[made]),
				short(t.Engine), short(t.Staleness[made]), short(t.Merged[made]), weight, branch))
		}
		p.Note = fmt.Sprintf("The clip removes the gradient of %d of these %d tokens.", clipped, len(u.Tokens))
		all = append(all, p)
	}
	return all
}

// meanings are what the symbols of a token's workings stand for; that of r depends on the mode.
var meanings = map[string]string{
	"logp": "log new", "old": "log old", "roll": "log mu", "e": "log old − log mu", "ρ": "exp(e)", "low": "lower bound", "high": "upper bound", "w": "ρ within its bounds",
	"A": "advantage", "L": "max(−r·A, −clip(r, low, high)·A)", "dL": "derivative of L by logp", "weight": "w, without weights 1",
	"loss": "weight · L", "grad": "weight · dL", "difference": "grad, by differences of the loss",
}

func formulas(u *record.Update, mode string, made, token int) figure.Figure {
	t := u.Tokens[token]
	lines, ratio := t.MergedLines[made], "exp(logp − roll)"
	if mode == Decoupled {
		lines, ratio = t.DecoupledLines[made], "exp(logp − old)"
	}
	p := figure.Figure{When: map[string]string{Mode: mode, Updates: strconv.Itoa(made), Which: strconv.Itoa(token + 1)}, Kind: figure.Working, Name: "formulas",
		Title: fmt.Sprintf("Token %d, %s, worked out", token+1, t.Token)}
	for _, line := range lines {
		symbol, _, _ := strings.Cut(line, " = ")
		p.Formulas = append(p.Formulas, figure.Formula{Name: cmp.Or(meanings[symbol], ratio), Text: line})
	}
	return p
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// short shows four digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
