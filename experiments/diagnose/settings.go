package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe/foreign"
)

// Setting is a rule of a correction, or a number of it, as it is configured and as it is recommended.
type Setting struct {
	// Name is the rule, and its number where both have the rule: weights, weights.token_tis.cap, masks.icepop.
	Name string `json:"name"`
	// Configured and Recommended are its values, "none" where one has no such rule.
	Configured  string `json:"configured"`
	Recommended string `json:"recommended"`
	// Why is the reason of the difference, empty where there is none.
	Why string `json:"why,omitempty"`
}

const noRule = "none"

// settings compares what is configured with what the table recommends, in the rules of the framework
// where it can say that.
func (t *trial) settings(c *foreign.Config, r *Report, k *known) []Setting {
	if len(r.Decisions) == 0 {
		return nil
	}
	decided := r.Decisions[len(r.Decisions)-1]
	recommended := decided.correction
	if recommended == nil {
		recommended = &correction.Pipeline{}
	} else if text := r.Config[ConfigKey(c.Framework)]; text != "" {
		if own, err := foreign.Read("recommended", []byte(text)); err == nil {
			recommended = own.Pipeline
		}
	}
	row := "the row " + decided.Row + " decides"
	if decided.Why != "" {
		row += ": " + decided.Why
	}
	weights, masks := c.Pipeline.Rules()
	otherWeights, otherMasks := recommended.Rules()
	var list []Setting
	name := "weights"
	if weights != nil && otherWeights != nil && weights.Name == otherWeights.Name {
		name += "." + weights.Name
	}
	list = append(list, t.compare(name, weights, otherWeights, row, t.weightReason)...)
	find := func(rules []correction.Rule, name string) *correction.Rule {
		if i := slices.IndexFunc(rules, func(m correction.Rule) bool { return m.Name == name }); i >= 0 {
			return &rules[i]
		}
		return nil
	}
	dropped := func(rule *correction.Rule, own, other *correction.Rule) string {
		say := fmt.Sprintf("it masks %.3g %% of these tokens", 100*t.maskedBy(c.Pipeline, recommended, rule.Name, own != nil))
		if own != nil && other != nil {
			say = fmt.Sprintf("%s, the recommended one %.3g %%", say, 100*t.maskedBy(c.Pipeline, recommended, rule.Name, false))
		}
		if rule.Unit == method.Sequence && other != nil {
			say += fmt.Sprintf("; the mean log-ratio of a response of %.0f tokens varies that much by itself (3 sd(d)/√T)", k.median)
		}
		return say
	}
	for _, m := range masks {
		list = append(list, t.compare("masks."+m.Name, &m, find(otherMasks, m.Name), row, dropped)...)
	}
	for _, m := range otherMasks {
		if find(masks, m.Name) == nil {
			list = append(list, t.compare("masks."+m.Name, nil, &m, row, dropped)...)
		}
	}
	return list
}

// ConfigKey is the name of a framework in Report.Config.
func ConfigKey(framework string) string { return strings.TrimSuffix(framework, "-rl") }

// compare lists a rule that only one correction has, or the numbers of one that both have. reason is given
// the rule, and it as each of the two has it.
func (t *trial) compare(name string, own, other *correction.Rule, row string, reason func(rule, own, other *correction.Rule) string) []Setting {
	switch {
	case own == nil && other == nil:
		return nil
	case own == nil || other == nil || own.Name != other.Name:
		s := Setting{Name: name, Configured: written(name, own), Recommended: written(name, other), Why: row}
		rule := own
		if rule == nil {
			rule = other
		}
		if say := reason(rule, own, other); say != "" {
			s.Why = say + "; " + row
		}
		return []Setting{s}
	}
	var list []Setting
	for _, pair := range spans(own.Parameters, other.Parameters) {
		s := Setting{Name: name + "." + pair[0], Configured: pair[1], Recommended: pair[2]}
		if pair[1] != pair[2] {
			s.Why = reason(own, own, other)
		}
		list = append(list, s)
	}
	return list
}

// spans pairs the parameters of two rules of a kind: name, value and value, a low and a high bound in one.
func spans(own, other []correction.Parameter) (list [][3]string) {
	for i := 0; i < len(own); i++ {
		if i+1 < len(own) && own[i].Name == "low" && own[i+1].Name == "high" {
			list = append(list, [3]string{"low to high", own[i].Value + " to " + own[i+1].Value, other[i].Value + " to " + other[i+1].Value})
			i++
			continue
		}
		list = append(list, [3]string{own[i].Name, own[i].Value, other[i].Value})
	}
	return list
}

// written is a rule with its numbers, without its name where the setting has it.
func written(name string, r *correction.Rule) string {
	if r == nil {
		return noRule
	}
	var parts []string
	if !strings.HasSuffix(name, "."+r.Name) {
		parts = append(parts, r.Name)
	}
	for _, p := range spans(r.Parameters, r.Parameters) {
		if p[0] == "low to high" {
			parts = append(parts, p[1])
		} else if p[1] != "0" && p[1] != "false" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	return strings.Join(parts, ", ")
}

// weightReason says how many ratios lie above the caps of weights.
func (t *trial) weightReason(_, own, other *correction.Rule) string {
	above := func(r *correction.Rule) string {
		if r == nil {
			return ""
		}
		for _, p := range r.Parameters {
			if p.Name != "cap" && p.Name != "high" {
				continue
			}
			limit, err := strconv.ParseFloat(strings.TrimPrefix(p.Value, "."), 64)
			if err != nil || math.IsInf(limit, 1) {
				return "nothing bounds the ratios of " + r.Name
			}
			ratios, of := t.rho, "token ratios"
			if r.Unit == method.Sequence {
				ratios, of = t.product, "tokens' response ratios"
			}
			n := 0
			for _, x := range ratios {
				if x > limit {
					n++
				}
			}
			return fmt.Sprintf("%.2g %% of the %s lie above %s", 100*share(n, len(ratios)), of, p.Value)
		}
		return ""
	}
	parts := slices.DeleteFunc([]string{above(own), above(other)}, func(s string) bool { return s == "" })
	return strings.Join(slices.Compact(parts), ", ")
}

// maskedBy is the share of tokens that the rule of that name masks alone, as one pipeline or the other has it.
func (t *trial) maskedBy(own, other *correction.Pipeline, name string, first bool) float64 {
	p := other
	if first {
		p = own
	}
	for _, m := range p.Masks {
		one := weighted(nil, m)
		if _, rules := one.Rules(); len(rules) == 1 && rules[0].Name == name {
			if w, err := t.weights(one); err == nil {
				if masked := t.masked(w); masked != nil {
					return masked.Tokens
				}
			}
		}
	}
	return 0
}
