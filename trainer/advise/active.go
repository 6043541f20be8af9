package advise

import (
	"fmt"
	"math"

	"driftlab/trainer/correction"
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
}

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
		a.Why = "not to be told: the dump has no log-probs of both engines"
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
	w, err := t.weights(p)
	if err != nil {
		a.Why = "not to be told: " + err.Error()
		return
	}
	a.Effect, a.Masked = t.effect(w), t.masked(w)
	a.Effective = a.TokensChanged >= idle
	a.Why = fmt.Sprintf("on: changes the weight of %.3g %% of tokens", 100*a.TokensChanged)
	switch {
	case !a.Effective:
		a.Why = fmt.Sprintf("on, but idle: changes the weight of %.2g of tokens by more than 1 %%", a.TokensChanged)
	case a.Masked != nil:
		a.Why += fmt.Sprintf(", masks %.3g %%", 100*a.Masked.Tokens)
	}
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
