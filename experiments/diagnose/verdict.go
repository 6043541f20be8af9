package diagnose

import (
	"fmt"
	"slices"
	"strings"
)

// Within these a gap is that of two engines which agree.
//
// Source: the survey's "no drift" (Pearson, |kl|, perplexity ratio) and verl's FAQ
// (difference of probabilities), NeMo-RL's guide (k3); the width of the perplexity
// ratio is ours.
const (
	agreePearson = 0.99
	agreeKL      = 0.02
	agreePPL     = 0.01
	agreeDp      = 0.005
	agreeK3      = 1e-3
)

// verdict is the first row of the decision table that fires: what cannot be judged,
// what is to be repaired, what needs nothing, and what is a genuine gap.
func (a *Analysis) verdict(r *Report, missing string) Verdict {
	if missing != "" {
		return Verdict{State: Unusable, Causes: []string{}, Summary: "There is no gap to measure: " + missing + ".", Next: remedyFor(missing)}
	}
	if first := r.Checks[0]; first.Result != Pass {
		return Verdict{State: Insufficient, Causes: []string{}, Summary: capital(first.Why) + ".", Next: "give several steps, or a larger batch"}
	}
	if faults := slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Result != Fail }); len(faults) > 0 {
		return repair(faults)
	}
	g := r.Gap
	size := fmt.Sprintf("mean |d| %.2g, k3 %.2g, Pearson %.4f on %s", g.MeanAbsDlogp, g.K3, g.Pearson, count(g.Tokens, "token"))
	switch {
	case g.Unequal <= 1-equalShare && whyOf(r, "identical") == unknownCopy:
		return Verdict{State: Inactive, Causes: []string{}, Summary: capital(unknownCopy) + ": every weight is 1, and every correction does nothing.",
			Next: "record both engines' log-probs on the prompt as well, which a rollout engine does not score by itself, or compare a step of the two engines directly"}
	case g.Unequal <= 1-equalShare:
		return Verdict{State: Healthy, Causes: []string{}, Summary: capital(whyOf(r, "identical")) +
			". Agreement on sampled tokens does not prove equal distributions, and a copied column looks the same.", Next: "no correction; see that both columns are recorded, each by its own engine"}
	case g.Pearson >= agreePearson && abs(g.K1) < agreeKL && abs(g.PPLRatio-1) <= agreePPL && g.MeanAbsDp < agreeDp && g.K3 < agreeK3:
		return Verdict{State: Healthy, Causes: []string{}, Summary: "The engines agree as well as engines do (" + size + "). Agreement on sampled tokens does not prove equal distributions.", Next: "no correction is needed; log the metrics"}
	}
	return Verdict{State: Genuine, Causes: []string{}, Summary: "The bookkeeping is in order and the gap is genuine (" + size + ").",
		Next: "look for the cause: precision, order of sums, routing, or old weights"}
}

// rowChecks are those whose values are shares of the responses. What has happened to most of them decides: columns that
// do not belong together fit by accident in a few.
var rowChecks = []string{"rows-not-real", "shift", "same-tokens"}

// repair is the verdict on faults, of which the first decides; of the sampler's that
// which says what law it was, over everything if it is found there.
func repair(faults []Check) Verdict {
	first := slices.MinFunc(faults, func(a, b Check) int { return a.at - b.at })
	if first.family == Sampler {
		for _, c := range faults { // everything first, then the other scopes
			if c.ID == "support" || c.ID == "temperature" || c.ID == "swapped" {
				first = c
				break
			}
		}
	}
	if slices.Contains(rowChecks, first.ID) {
		for _, c := range faults {
			if slices.Contains(rowChecks, c.ID) && c.scope == first.scope && c.Value > first.Value {
				first = c
			}
		}
	}
	where := ""
	if first.scope != everything {
		where = " (in " + first.Scope + ")"
	} else if only := narrower(faults, first); only != "" {
		where = " (all of them in " + only + ")"
	}
	return Verdict{State: Repair, Causes: []string{first.family}, Confidence: Named,
		Summary: "Repair the data first: " + first.Why + where + ".", Next: first.remedy + "; no importance correction before that"}
}

// narrower is the only environment, or file, that has a fault of some responses, empty if several have it, or all responses.
func narrower(faults []Check, of Check) (only string) {
	for _, kind := range []string{"env", "file"} {
		var in []Check
		for _, c := range faults {
			if c.ID == of.ID && c.scope.kind == kind {
				in = append(in, c)
			}
		}
		if slices.Contains(rowChecks, of.ID) && len(in) == 1 && in[0].Value > of.Value {
			return in[0].Scope
		}
	}
	return ""
}

// whyOf is the reason of a check of everything.
func whyOf(r *Report, id string) string {
	for _, c := range r.Checks {
		if c.ID == id && c.Scope == everything.String() {
			return c.Why
		}
	}
	return ""
}

// remedyFor says what to do about a column that nobody recorded.
func remedyFor(missing string) string {
	switch {
	case strings.Contains(missing, "learner"):
		return "give the file that has the learner's log-probs, too: for slime that is train_data beside rollout_data"
	case strings.Contains(missing, "row"):
		return "see what is wrong with the files, and dump once more"
	case strings.Contains(missing, "trained"):
		return "look at the loss mask: it is empty"
	}
	return "dump log-probs of both engines, in a format with tokens or in the neutral one"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func abs(x float64) float64 { return max(x, -x) }
