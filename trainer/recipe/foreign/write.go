package foreign

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// Write is a recipe's correction, with the loss and the routing where they are part of
// it, in a framework's own syntax. The notes name what the framework cannot say, which
// is left out, and what differs by a hair.
func Write(name string, r recipe.Recipe) (text string, notes []string) {
	for _, f := range frameworks {
		if f.name == name && f.write != nil {
			return f.write(r)
		}
	}
	return "", []string{"nothing is written for " + name}
}

// Writable lists the frameworks that Write knows.
func Writable() []string {
	var list []string
	for _, f := range frameworks {
		if f.write != nil {
			list = append(list, f.name)
		}
	}
	return list
}

// writing collects what cannot be said.
type writing struct {
	framework string
	notes     []string
}

func (w *writing) cannot(what string) { w.notes = append(w.notes, w.framework+" has no "+what) }

func (w *writing) unless(ok bool, what string) {
	if !ok {
		w.cannot(what)
	}
}

// minibatches are the prompts of a batch and of each of its updates, for a framework that states
// both; zero for one update per batch, and where the parts would not be equal.
func (w *writing) minibatches(r recipe.Recipe) (whole, part int) {
	n := r.Learner.Minibatches
	switch whole = r.Rollout.Prompts; {
	case n <= 1:
		return 0, 0
	case whole%n != 0:
		w.cannot(fmt.Sprintf("%d updates of equal size for %d prompts", n, whole))
		return 0, 0
	}
	return whole, whole / n
}

// inverse is a band of ρ as verl's k1 modes have it, as one of 1/ρ. A band that is its
// own inverse but for a thousandth is written as it is, as verl's documents have it, and
// others to six digits.
func (w *writing) inverse(low, high float64) string {
	if math.Abs(float64(low*high)-1) < 1e-3 {
		if low*high != 1 {
			w.notes = append(w.notes, fmt.Sprintf("%s bounds the inverse ratio: %s there is %.4f to %.4f of the ratio", w.framework, band(low, high), 1/high, 1/low))
		}
		return band(low, high)
	}
	return strconv.FormatFloat(1/high, 'g', 6, 64) + "_" + strconv.FormatFloat(1/low, 'g', 6, 64)
}

// number is the shortest text that reads back, with a point.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if x == math.Trunc(x) && math.Abs(x) < 1e6 {
		text = strconv.FormatFloat(x, 'f', 1, 64)
	}
	return text
}

// band is verl's spelling of two bounds.
func band(low, high float64) string { return number(low) + "_" + number(high) }

// verlPolicyLoss is a loss in verl's words, with the keys and names that verlLoss reads; empty
// for PPO's, which is verl's without a word, and for what it has not.
func verlPolicyLoss(r recipe.Recipe) string {
	mode := ""
	var fields []string
	bounds := func(low, high float64) {
		fields = append(fields, "clip_ratio_low: "+decimal(low), "clip_ratio_high: "+decimal(high))
	}
	switch l := r.Loss.Params.(type) {
	case *loss.GSPO:
		mode = "gspo"
		bounds(l.EpsLow, l.EpsHigh)
	case *loss.CISPO:
		mode = "cispo"
		bounds(l.EpsLow, l.EpsHigh)
	case *loss.SAPO:
		mode = "sapo"
		fields = append(fields, "tau_pos: "+decimal(l.TauPos), "tau_neg: "+decimal(l.TauNeg))
	case *loss.GMPO:
		mode = "geo_mean"
		bounds(l.EpsLow, l.EpsHigh)
	case *loss.KLCov:
		return fmt.Sprintf("policy_loss: {loss_mode: kl_cov, kl_cov_ratio: %s, ppo_kl_coef: %s}", decimal(l.Share), decimal(l.Beta))
	default:
		return ""
	}
	return "policy_loss: {loss_mode: " + mode + "}, " + strings.Join(fields, ", ")
}

// trlPolicyLoss is a loss as arguments of TRL's configuration, with the names that trlLoss reads.
func trlPolicyLoss(r recipe.Recipe) []string {
	switch l := r.Loss.Params.(type) {
	case *loss.GSPO:
		return []string{`importance_sampling_level="sequence"`, "epsilon=" + decimal(l.EpsLow), "epsilon_high=" + decimal(l.EpsHigh)}
	case *loss.CISPO:
		return []string{`loss_type="cispo"`, "epsilon_high=" + decimal(1+l.EpsHigh)}
	case *loss.SAPO:
		return []string{`loss_type="sapo"`, "sapo_temperature_pos=" + decimal(l.TauPos), "sapo_temperature_neg=" + decimal(l.TauNeg)}
	}
	return nil
}
