package diagnose

import (
	"fmt"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// Active says whether the configured correction does anything: the rule of the
// configuration, computed again on the tokens of the dump.
type Active struct {
	// Framework is whose configuration it is, Recipe what it is in a recipe.
	Framework string `json:"framework"`
	Recipe    string `json:"recipe"`
	// Configured says that it asks for a correction, Effective that these tokens are
	// corrected, Why the one or the other.
	Configured bool   `json:"configured"`
	Effective  bool   `json:"effective"`
	Why        string `json:"why"`
	// Known is false where the configuration, or the dump, does not say enough to judge.
	Known bool `json:"known"`
	// Evaluation is what the loss and the correction do to the tokens, absent where they were not evaluated.
	Evaluation *Evaluation `json:"evaluation,omitempty"`
	// Notes name what a recipe cannot say.
	Notes   []string `json:"notes,omitempty"`
	*Effect `json:",omitempty"`
	Masked  *Masked `json:"masked,omitempty"`
	Placebo *Effect `json:"placebo,omitempty"`
	// Settings are its rules and numbers next to those that are recommended; absent where the table was not evaluated.
	Settings []Setting `json:"settings,omitempty"`
}

// Fix is the configured correction next to those that were tried.
func (a *Active) Fix() Fix {
	return Fix{Name: "configured", Kind: "preset", Recipe: a.Recipe, Effect: a.Effect, Masked: a.Masked, Placebo: a.Placebo}
}

// idle is the share of weights below which a correction that is on does nothing.
const idle = 1e-4

// active tries a configuration on the tokens.
func (t *trial) active(c *foreign.Config, r *Report) (a *Active, run recipe.Recipe) {
	a = &Active{Framework: c.Framework, Recipe: c.Pipeline.Recipe(), Configured: c.Configured(), Notes: c.Notes, Known: true}
	run, refused := recipe.Load("default", c.Assignments()...)
	corrects := refused == nil && weighsByRollout(run)
	a.Configured = a.Configured || corrects
	if c.Off != "" {
		run.Correction = recipe.Correction{Mode: run.Correction.Mode}
	}
	unknown := func(why string) { a.Known, a.Why = false, "not known: "+why }
	switch {
	case refused != nil:
		unknown(refused.Error())
	case c.Unknown != "":
		a.Configured = true
		unknown(c.Unknown)
	case !a.Configured:
		a.Why = "off: nothing is configured"
	case c.Off != "" && !corrects:
		a.Why = "off: " + c.Off
	case r.Gap == nil || t.batch.Tokens() == 0:
		unknown("the dump does not have the log-probs of both engines")
	case failedHere(r, "column-not-real"):
		a.Why = "off: " + whyOf(r, "column-not-real")
	case r.Gap.Unequal <= 1-equalShare:
		a.Why = "off: the log-probs of both engines are equal, so every ratio is 1"
	default:
		t.apply(a, run)
	}
	return a, run
}

// apply says what the configured loss and correction do to the tokens.
func (t *trial) apply(a *Active, run recipe.Recipe) {
	e, w, err := t.evaluate(run)
	if err != nil {
		a.Known, a.Why = false, "not known: "+notEvaluable(err)
		return
	}
	p := run.Correction.Pipeline()
	a.Evaluation, a.Effect, a.Masked = e, t.effect(w, judgedBy(p)), t.masked(w)
	if a.Masked != nil {
		a.Placebo = t.placebo(a.Masked.Tokens, judgedBy(p))
	}
	a.Effective = a.TokensChanged >= idle
	if !a.Effective {
		a.Why = fmt.Sprintf("on, but idle: changes the weight of %.2g of tokens by more than 1 %%", a.TokensChanged)
		return
	}
	a.Why = "on: " + e.String()
}

// harmless reports whether the evaluation is that of a plain policy gradient but for 1 %.
func (e *Evaluation) harmless() bool {
	return e.ESS >= 1-changedBy && abs(e.Update-1) <= changedBy && abs(e.Mean-1) <= changedBy && e.Masked+e.Clipped <= changedBy
}

// String says what the weights come to.
func (e *Evaluation) String() string {
	text := fmt.Sprintf("mean weight %.3g, median %.3g, ESS %.3g", e.Mean, e.Median, e.ESS)
	for _, x := range []struct {
		what  string
		share float64
	}{{"masked", e.Masked}, {"without a gradient in the loss (clip, or its own mask)", e.Clipped}} {
		if x.share > 0 {
			text += fmt.Sprintf(", %.2g %% of the tokens %s", 100*x.share, x.what)
		}
	}
	for _, x := range []struct {
		end string
		*Bound
	}{{"lower", e.Low}, {"upper", e.High}} {
		if x.Bound != nil {
			text += fmt.Sprintf(", %.2g %% at the %s bound %.3g", 100*x.Share, x.end, x.Weight)
		}
	}
	if abs(e.Update-1) > changedBy {
		text += fmt.Sprintf("; %.0f %% of the update is left", 100*e.Update)
	}
	return text
}

// findings are what there is to say of the configured correction, next to what is recommended, which is nil where nothing is.
// Of data to be repaired the figures mean nothing.
func (a *Active) findings(t *trial, r *Report, run recipe.Recipe) (list []Finding) {
	e := a.Evaluation
	say := func(id string, level Level, next, format string, args ...any) {
		list = append(list, Finding{ID: id, Topic: Configuration, Level: level, Text: fmt.Sprintf(format, args...), Next: next})
	}
	if !a.Known {
		say("correction-unknown", Undecided, "", "whether the configured correction acts is %s", a.Why)
	}
	if a.Known && t.inert(run) && (!a.Configured || run.Loss.Name != "ppo_clip") {
		say("clip-inert", Note, "", "the clip of the loss %s cannot act: a batch makes one update, so its ratio to the old policy is 1", run.Loss.Name)
	}
	if e == nil {
		return list
	}
	for _, missing := range e.Missing {
		say("not-evaluable", Undecided, "", "not evaluated: %s", missing)
	}
	if r.Verdict.State == Repair {
		return list
	}
	p := run.Correction.Pipeline()
	weights, masks := p.Rules()
	others := 0.0 // the share that the recommended correction masks
	if r.Recommended != nil && r.Recommended.Masked != nil {
		others = r.Recommended.Masked.Tokens
	}
	switch {
	case e.PerResponse && min(e.ESS, e.Update) < leastESS && r.Gap.ESSToken >= leastESS:
		say("product-collapses", Warning, "weigh every token by its own ratio, or by the mean of the response", "the weight of a whole response is a product of ratios, and it collapses with the length%s: "+
			"mean weight %.2g, median %.1g, and %.0f %% of the update is left, although single tokens agree (ESS %.3g)%s", e.byLength(), e.Mean, e.Median, 100*e.Update, r.Gap.ESSToken, t.perToken())
	case e.Masked > mostMasked && e.Masked > others:
		say("masks-most", Warning, "widen the mask, or close the gap", "the configured correction masks %.3g %% of the tokens, more than %v %%: that is a loss of data (survey)", 100*e.Masked, 100*mostMasked)
	case e.Masked > someMasked && e.Masked > others:
		say("masks-many", Warning, "widen the mask, or leave these tokens to truncated weights", "the configured correction masks %.3g %% of the tokens, more than %v %% (survey)", 100*e.Masked, 100*someMasked)
	case min(e.ESS, e.Update) < leastESS:
		say("few-decide", Warning, "truncate the weights, or mask before weighting", "few tokens decide: ESS %.2g of the weights, %.0f %% of the update is left", e.ESS, 100*e.Update)
	case e.harmless():
		say("correction-harmless", Note, "", "the configured correction is harmless: %s%s", e, t.above(weights))
	default:
		say("correction-acts", Note, "", "the configured loss and correction: %s%s", e, e.byLength())
	}
	if last := r.Decisions[len(r.Decisions)-1]; last.Row == "routing" && last.Measured == measuredRouted && slices.ContainsFunc(masks, func(m correction.Rule) bool { return m.Unit == method.Sequence }) {
		say("sequence-mask-under-routing", Warning, "leave the mask of sequences out", "a mask of sequences is configured under a large routing gap: runs of this program ended there at pass rates of 0.1 to 0.2 with one (OPSM), and at 0.45 to 0.83 without a correction")
	}
	return list
}

// inert reports whether the ratio of a recipe's loss is 1 at every token: that to the old policy, of one update per batch.
func (t *trial) inert(run recipe.Recipe) bool {
	return !t.moved() && run.LossReads(batch.Anchor) && !weighsByRollout(run) && run.Learner.Updates() == 1 && run.Anchored() == recipe.AnchorOld
}

// byLength is the mean weight of short and long responses, empty where they do not differ by a tenth.
func (e *Evaluation) byLength() string {
	first, last := e.Length[0], e.Length[len(e.Length)-1]
	if abs(first.Mean-last.Mean) < someMasked || first.To >= last.From {
		return ""
	}
	return fmt.Sprintf(" (%.2g up to %d tokens, %.2g from %d on)", first.Mean, first.To, last.Mean, last.From)
}

// perToken is what truncated token weights would be here.
func (t *trial) perToken() string {
	w, err := t.weights(tokenTIS(nil))
	if err != nil {
		return ""
	}
	sum, squares := 0.0, 0.0
	for _, x := range w {
		sum, squares = sum+x, squares+float64(x*x)
	}
	n := float64(len(w))
	return fmt.Sprintf("; token_tis (cap 2) has mean weight %.2g and ESS %.2g", sum/n, effective(sum, squares, n))
}

// above is how many ratios lie above the cap of weights, empty where nothing is capped.
func (t *trial) above(weights *correction.Rule) string {
	say := t.weightReason(nil, weights, nil)
	if say == "" {
		return ""
	}
	return "; " + say
}

// moved reports whether the training forward's log-probs are recorded, and others than those before the update.
func (t *trial) moved() bool { return !slices.Equal(t.batch.Now.Logp, t.batch.Old.Logp) }

// failedHere reports whether a check of everything has failed.
func failedHere(r *Report, id string) bool {
	for _, c := range r.Checks {
		if c.ID == id && c.Scope == everything.String() {
			return c.Result == Fail
		}
	}
	return false
}

// given is the verdict on data that need no repair with a correction that does nothing.
func (v Verdict) given(a *Active) Verdict {
	if v.State != Healthy && v.State != Genuine || !a.Configured || a.Effective || !a.Known {
		return v
	}
	v.State = Inactive
	v.Summary = "The configured correction does nothing (" + a.Why + "). " + v.Summary
	return v
}
