// Package page lays a report of diagnose out: tables, and the page with all of them.
//
// What it is not: it measures and decides nothing; the report says all that is shown.
package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/tables"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method/metrics"
)

// Of is the page of a report: the verdict in a sentence, the next line to paste, and
// then the evidence. shown are the responses that are drawn token by token.
func Of(r diagnose.Report, shown []diagnose.Shown) results.Report {
	p := results.Report{Title: title(r), Eyebrow: "simulate diagnose", Lead: "**Log-probs:** " + unmarked(r.Verdict.LogProbs) + " **Learning:** " + unmarked(r.Verdict.Learning), Badges: []results.Badge{{Text: string(r.Verdict.State), Emphasis: stateMarks[r.Verdict.State]}}}
	for _, cause := range r.Verdict.Causes {
		p.Badges = append(p.Badges, results.Badge{Text: strings.TrimPrefix(r.Verdict.Confidence.String()+": "+cause, ": "), Emphasis: figure.Warn})
	}
	if g := r.Gap; g != nil {
		p.Facts = []results.Fact{{Name: "tokens compared", Value: fmt.Sprint(g.Tokens)}, {Name: "responses", Value: fmt.Sprint(g.Sequences)}, {Name: "mean |d|, nats", Value: threeDigits(g.MeanAbsDlogp)},
			{Name: "k3, nats", Value: threeDigits(g.K3)}, {Name: "Pearson", Value: figure.FormatNumber(g.Pearson, 4)}, {Name: "effective sample", Value: threeDigits(g.ESSToken)}, {Name: "mean ratio", Value: figure.FormatNumber(g.MeanRatio, 4)}}
	}
	add := func(heading string, blocks ...results.Block) {
		blocks = slices.DeleteFunc(blocks, nothingIn)
		if len(blocks) > 0 {
			p.Sections = append(p.Sections, results.Section{Heading: heading, Blocks: blocks})
		}
	}
	unchecked := results.Prose("")
	if len(r.Unchecked) > 0 {
		unchecked = results.Prose("Not looked at, because the dump does not have it: " + unmarked(strings.Join(r.Unchecked, ", ")) + ".")
	}
	add("What to do", nextBlocks(r)...)
	add("Findings", tables.Findings(r), unchecked)
	add("Decision table", tables.Decisions(r))
	add("Likely causes", append(causeBlocks(r), tables.Signatures(r))...)
	add("Checks of the data", tables.Checks(r))
	add("Token by token", tokenBlock(shown))
	add("Effect of each correction on these tokens", fixBlocks(r)...)
	add("Early-warning signals", tables.Alarms(r))
	add("Where sources disagree", tables.Disagreements(r))
	add("Files", inputBlocks(r)...)
	for _, t := range metrics.Elsewhere {
		p.Glossary = append(p.Glossary, results.Term(t))
	}
	return p
}

var stateMarks = map[diagnose.State]figure.Emphasis{diagnose.Healthy: figure.Good, diagnose.Genuine: figure.Warn, diagnose.Repair: figure.Bad, diagnose.Inactive: figure.Bad, diagnose.CannotLearn: figure.Bad}

func title(r diagnose.Report) string {
	if len(r.Inputs) == 0 {
		return "Diagnosis"
	}
	name := r.Inputs[0].File
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if n := len(r.Inputs); n > 1 {
		name += fmt.Sprintf(" and %d more", n-1)
	}
	return "Diagnosis of " + name
}

func threeDigits(x float64) string { return figure.FormatNumber(x, 3) }

// unmarked keeps a text from being read as markup.
func unmarked(text string) string { return strings.NewReplacer("`", "'", "**", "∗∗").Replace(text) }

func nothingIn(b results.Block) bool {
	switch b := b.(type) {
	case *figure.Figure:
		return b == nil || len(b.Rows)+len(b.Lines) == 0
	case results.Prose:
		return b == ""
	}
	return b == nil
}

// nextBlocks is what to do now: the advice, the setting, the correction as it was, the toy run.
func nextBlocks(r diagnose.Report) []results.Block {
	var list []results.Block
	if r.Verdict.Next != "" {
		list = append(list, results.Prose("**Next:** "+unmarked(r.Verdict.Next)+"."))
	}
	if a := r.Active; a != nil {
		list = append(list, results.Prose("The correction configured for "+a.Framework+" is "+unmarked(a.Why)+"."))
		for _, f := range r.Findings {
			list = append(list, results.Prose("**"+string(f.Level)+":** "+unmarked(f.Text)+"."))
		}
		list = append(list, tables.Settings(a))
		for _, s := range a.Settings {
			if s.Why != "" {
				list = append(list, results.Prose("`"+unmarked(s.Name)+"`: "+unmarked(s.Why)+"."))
			}
		}
	}
	if p := r.Paste; p != nil {
		whose := cmp.Or(p.Framework, "a recipe")
		if p.Unwritten != "" {
			whose += ", as no setting of " + p.Unwritten + " can be written"
		}
		list = append(list, results.Prose("The recommended setting for "+whose+", to be pasted:"), results.Code(p.Text))
		var others []results.Block
		for _, name := range slices.Sorted(maps.Keys(r.Config)) {
			if name != diagnose.ConfigKey(p.Framework) {
				others = append(others, results.Prose("**"+name+"**"), results.Code(r.Config[name]))
			}
		}
		list = append(list, results.Fold{Summary: "The same for other frameworks", Blocks: others})
	}
	if t := r.Reproduced; t != nil {
		met := "the same cause and size"
		if !t.Met() {
			met = "the same cause, but not the size"
		}
		list = append(list, results.Prose(fmt.Sprintf("A toy run whose mismatch has %s (%s, by `%s`): mean |d| %s, k3 %s; the dump has %s and %s. Try a correction on it:",
			met, t.Cause, unmarked(t.Level), threeDigits(t.MeanAbsDlogp), threeDigits(t.K3), threeDigits(r.Gap.MeanAbsDlogp), threeDigits(r.Gap.K3))), results.Code("simulate train "+t.Recipe+" --set correction=skyrl_token_tis\n"))
	}
	return list
}

// causeBlocks are what may have made the gap, with their parts and what would confirm them.
func causeBlocks(r diagnose.Report) []results.Block {
	t := tables.Causes(r)
	list := []results.Block{t}
	for _, pair := range r.Ambiguous {
		list = append(list, results.Prose("This data cannot distinguish "+pair[0]+" from "+pair[1]+"."))
	}
	if len(t.Rows) > 0 {
		list = append(list, results.Prose("Equal log-probs of the sampled tokens do not prove equal distributions."))
	}
	return list
}

func tokenBlock(shown []diagnose.Shown) *figure.Figure {
	b := &figure.Figure{Kind: figure.Strip, Note: "The stretches where the engines differ most. Each box is a token, with its number in the vocabulary where the dump has one; its colour is the ratio of the learner's probability to the rollout engine's. Point at a box for its log-probs."}
	for _, s := range shown {
		line := figure.Line{Title: unmarked(s.Title)}
		for _, x := range s.Tokens {
			text := fmt.Sprint(x.ID)
			if x.ID < 0 {
				text = "·"
			}
			line.Tokens = append(line.Tokens, figure.Token{Text: text, Level: results.RatioLevel(x.Difference),
				Note: fmt.Sprintf("token %d: rollout %.4g, learner %.4g, d %+.3g", x.Place+1, x.Roll, x.Old, x.Difference)})
		}
		b.Lines = append(b.Lines, line)
	}
	return b
}

// fixBlocks are the corrections with what they do, the configured and the recommended one first, and whom that masks.
func fixBlocks(r diagnose.Report) []results.Block {
	if len(r.Fixes) == 0 {
		return nil
	}
	t := tables.Fixes(r, func(string) bool { return true })
	t.Note = "Nothing is trained. The exact ratio corrects without bias: that of the token or, for a rule on sequences, the product over the response; " +
		"mean |w − ratio| is the distance of the weights from the exact ratio, and is comparable between rules of the same ratio. Placebo: a random mask at the same rate. Variance: mean w²A² over mean A²."
	return []results.Block{t, maskedFold(r.Recommended)}
}

// maskedFold is masked by what is recommended.
func maskedFold(f *diagnose.Fix) results.Block {
	if f == nil || f.Masked == nil {
		return results.Prose("")
	}
	t := tables.Head("masked")
	shares := func(what string, list []float64) {
		words := stats.Map(list, func(x float64) string { return figure.Percent(x, 1).Text })
		if len(words) > 0 {
			t.Add(figure.Word(what), figure.Word(strings.Join(words, "  ")))
		}
	}
	shares("by length, the shortest quarter first", f.Masked.Length)
	shares("by probability, the least tenth first", f.Masked.Probability)
	shares("by turn", f.Masked.Turn)
	if f.Masked.Negative != nil && f.Masked.Positive != nil {
		shares("advantage below and above 0", []float64{*f.Masked.Negative, *f.Masked.Positive})
	}
	for _, e := range f.Masked.Env {
		shares(e.Name, []float64{e.Share})
	}
	return results.Fold{Summary: "Tokens that the recommended setting masks", Blocks: []results.Block{t}}
}

func inputBlocks(r diagnose.Report) []results.Block {
	t := tables.Head("files")
	var notes []results.Block
	for _, in := range r.Inputs {
		step := figure.Word("")
		if in.Step != nil {
			step = figure.Word(fmt.Sprint(*in.Step))
		}
		whole := func(n int) figure.Cell { return figure.Word(fmt.Sprint(n)) }
		t.Add(figure.Word(in.File), figure.Word(in.Format), step, whole(in.Rows), whole(in.RowsUsed), whole(in.Tokens), whole(in.Damaged), figure.Word(strings.Join(in.Missing, ", ")).As(figure.Muted))
		for _, n := range in.Notes {
			notes = append(notes, results.Prose(unmarked(in.File+": "+n)))
		}
		for _, d := range in.Damage[:min(len(in.Damage), 5)] {
			notes = append(notes, results.Prose(unmarked(fmt.Sprintf("%s:%d, byte %d: %s", in.File, d.Line, d.Byte, d.Reason))))
		}
	}
	return append([]results.Block{t}, notes...)
}
