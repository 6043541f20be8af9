package picture

import (
	"fmt"
	"strconv"

	"driftlab/results/figure"
	"driftlab/results/record"
)

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
	var made []float64
	for k := range u.Updates + 1 {
		made = append(made, float64(k))
	}
	return figure.Figure{When: map[string]string{}, Kind: figure.Lines, Name: "outside", Title: fmt.Sprintf("Tokens whose ratio lies outside [%g, %g], one step of one model", u.Low, u.High),
		X: figure.Axis{Label: "updates made", High: float64(u.Updates)}, Y: figure.Axis{Label: "tokens, %"},
		Series: []figure.Series{{Name: Merged, Method: figure.Uncorrected, X: made, Y: percents(u.OutsideMerged)}, {Name: Decoupled, Method: figure.TokenTIS, X: made, Y: percents(u.OutsideDecoupled)}},
		Note: fmt.Sprintf("Of %d tokens, outside %g to %g before any update: merged %s, decoupled %s; after %d updates %s and %s.", u.Count, u.Low, u.High,
			percent(u.OutsideMerged[0]), percent(u.OutsideDecoupled[0]), u.Updates, percent(u.OutsideMerged[u.Updates]), percent(u.OutsideDecoupled[u.Updates]))}
}

// tables is the tokens after so many updates, once for each cap; without caps there are
// no weights.
func tables(u *record.Update, mode string, made int, caps []float64) []figure.Figure {
	columns := []figure.Column{{Name: "token"}, {Name: "advantage", Align: figure.Right}, {Name: "log mu", Align: figure.Right}, {Name: "log old", Align: figure.Right}, {Name: "log new", Align: figure.Right},
		{Name: "old/mu", Align: figure.Right}, {Name: "new/old", Align: figure.Right}, {Name: "new/mu", Align: figure.Right}, {Name: "weight", Align: figure.Right}, {Name: "clip"}}
	build := func(cap int) figure.Figure {
		p := figure.Figure{When: map[string]string{Mode: mode, Updates: strconv.Itoa(made)}, Kind: figure.Table, Name: "policies",
			Title: fmt.Sprintf("%s, after %d of %d updates", mode, made, u.Updates), Columns: columns}
		if caps != nil {
			p.When[Cap] = short(caps[cap])
		}
		clipped := 0
		for i, t := range u.Tokens {
			weight, branch := "1", t.MergedBranch[made]
			if caps != nil {
				weight, branch = short(t.Weight[cap]), t.DecoupledBranch[made]
			}
			if branch != "kept" {
				clipped++
			}
			p.Rows = append(p.Rows, figure.Words(fmt.Sprintf("%d %s", i+1, t.Token), short(t.Advantage), short(t.LogMu), short(t.LogOld), short(t.LogNow[made]),
				short(t.Engine), short(t.Staleness[made]), short(t.Merged[made]), weight, branch))
		}
		p.Note = fmt.Sprintf("The clip removes the gradient of %d of these %d tokens.", clipped, len(u.Tokens))
		return p
	}
	if caps == nil {
		return []figure.Figure{build(0)}
	}
	var all []figure.Figure
	for i := range caps {
		all = append(all, build(i))
	}
	return all
}

// formulas are the workings of one token.
func formulas(u *record.Update, mode string, made, token int) figure.Figure {
	t := u.Tokens[token]
	lines := t.MergedLines[made]
	if mode == Decoupled {
		lines = t.DecoupledLines[made]
	}
	p := figure.Figure{When: map[string]string{Mode: mode, Updates: strconv.Itoa(made), Which: strconv.Itoa(token + 1)}, Kind: figure.Working, Name: "formulas",
		Title: fmt.Sprintf("Token %d, %s, worked out", token+1, t.Token)}
	for _, line := range lines {
		p.Formulas = append(p.Formulas, figure.Formula{Text: line})
	}
	return p
}

func percents(shares []float64) record.Floats {
	var y record.Floats
	for _, s := range shares {
		y = append(y, 100*s)
	}
	return y
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }

// short shows four digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
