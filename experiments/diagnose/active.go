package diagnose

import (
	"fmt"
	"math"

	"driftlab/trainer/method/correction"
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
	// Notes name what a recipe cannot say.
	Notes   []string `json:"notes,omitempty"`
	*Effect `json:",omitempty"`
	Masked  *Masked `json:"masked,omitempty"`
	Placebo *Effect `json:"placebo,omitempty"`
	// Warnings say where it masks or changes more tokens than a correction should.
	Warnings []string `json:"warnings,omitempty"`
	// Settings are its rules and numbers next to those that are recommended; absent where the table was not evaluated.
	Settings []Setting `json:"settings,omitempty"`
}

// Fix is the configured correction next to those that were tried.
func (a *Active) Fix() Fix {
	return Fix{Name: "configured", Kind: "preset", Recipe: a.Recipe, Effect: a.Effect, Masked: a.Masked, Placebo: a.Placebo}
}

// mostChanged is the greatest share of tokens that a correction should reweigh, by more than 1 % each. No source
// names one: a correction of most tokens hides a gap that the system should close.
const mostChanged = 0.5

// idle is the share of weights below which a correction that is on does nothing.
const idle = 1e-4

// active tries a configuration on the tokens.
func (t *trial) active(c *foreign.Config, r *Report) *Active {
	a := &Active{Framework: c.Framework, Recipe: c.Pipeline.Recipe(), Configured: c.Configured(), Notes: c.Notes}
	switch {
	case !a.Configured:
		a.Why = "off: nothing is configured"
	case c.Off != "":
		a.Why = "off: " + c.Off
	case r.Gap == nil || t.batch.Tokens() == 0:
		a.Why = "not known: the dump does not have the log-probs of both engines"
	case failedHere(r, "column-not-real"):
		a.Why = "off: " + whyOf(r, "column-not-real")
	case r.Gap.Unequal <= 1-equalShare:
		a.Why = "off: the log-probs of both engines are equal, so every ratio is 1"
	default:
		t.apply(a, c.Pipeline)
	}
	return a
}

// apply says what the configured pipeline changes.
func (t *trial) apply(a *Active, p *correction.Pipeline) {
	if p.Weights == nil && len(p.Masks) == 0 { // the loss itself weighs by the ratio
		p = &correction.Pipeline{Weights: &correction.TokenTIS{Cap: math.Inf(1)}}
	}
	f := t.try("configured", "preset", p, nil)
	if f.NotTried != "" {
		a.Why = "not known: " + f.NotTried
		return
	}
	a.Effect, a.Masked, a.Placebo = f.Effect, f.Masked, f.Placebo
	a.Effective = a.TokensChanged >= idle
	a.Why = fmt.Sprintf("on: changes the weight of %.3g %% of tokens", 100*a.TokensChanged)
	switch {
	case !a.Effective:
		a.Why = fmt.Sprintf("on, but idle: changes the weight of %.2g of tokens by more than 1 %%", a.TokensChanged)
	case a.Masked != nil:
		a.Why += fmt.Sprintf(", masks %.3g %%", 100*a.Masked.Tokens)
	}
}

// warn says where the configured correction masks or changes more than a correction should, and more
// than what is recommended does; that is nil where nothing is. Of data to be repaired the shares mean nothing.
func (a *Active) warn(state State, recommended *Fix) {
	if a.Effect == nil || state == Repair {
		return
	}
	shares := func(e *Effect, m *Masked) (masked, changed float64) {
		if m != nil {
			masked = m.Tokens
		}
		if e != nil {
			changed = e.TokensChanged - masked
		}
		return masked, changed
	}
	masked, changed := shares(a.Effect, a.Masked)
	otherMasked, otherChanged, other := 0.0, 0.0, ""
	if recommended != nil {
		otherMasked, otherChanged = shares(recommended.Effect, recommended.Masked)
		other = "; what is recommended below %s %.3g %%"
	}
	say := func(verb string, share, limit, others float64, advice string) {
		if share <= limit || share <= others {
			return
		}
		text := fmt.Sprintf("it %s %.3g %% of the tokens, more than %v %%: %s", verb, 100*share, 100*limit, advice)
		if other != "" {
			text += fmt.Sprintf(other, verb, 100*others)
		}
		a.Warnings = append(a.Warnings, text)
	}
	if masked > mostMasked {
		say("masks", masked, mostMasked, otherMasked, "that is a loss of data and no correction: widen the rule or close the gap (survey)")
	} else {
		say("masks", masked, someMasked, otherMasked, "widen the rule, or leave these tokens to truncated weights (survey)")
	}
	say("reweighs", changed, mostChanged, otherChanged, "it hides a gap that the system should close")
}

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
	if v.State != Healthy && v.State != Genuine || !a.Configured || a.Effective {
		return v
	}
	v.State = Inactive
	v.Summary = "The configured correction does nothing (" + a.Why + "). " + v.Summary
	return v
}
