package diagnose

import (
	"fmt"
	"strings"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// recommend tries what the table recommends, nil if that is nothing, and writes it in
// the syntax of verl, SkyRL, TRL, slime and prime-rl. What one of them cannot say
// stands behind a #.
func (t *trial) recommend(walked []Decision) (*Fix, map[string]string) {
	last := walked[len(walked)-1]
	if last.correction == nil {
		return nil, nil
	}
	assignments := []string{strings.Replace(last.correction.Recipe(), ": ", "=", 1)}
	if last.Row == "routing" {
		assignments = append(assignments, "routing.replay=r3")
	}
	r, err := recipe.Load("default", assignments...)
	if err != nil {
		panic("advise: what is recommended is no recipe: " + err.Error())
	}
	config := map[string]string{}
	for _, name := range foreign.Writable() {
		text, notes := foreign.Write(name, r)
		for _, note := range notes {
			text += "# " + note + "\n"
		}
		config[ConfigKey(name)] = text
	}
	f := t.try("recommended", "preset", last.correction, nil)
	return &f, config
}

// Disagreement is a question that sources answer differently, with what each answer
// means for this file.
type Disagreement struct {
	About string   `json:"about"`
	Say   []Saying `json:"say"`
}

// Saying is an answer.
type Saying struct {
	Source string `json:"source"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// disagreements are those on the figures and thresholds that the table uses.
func (t *trial) disagreements(k *known) []Disagreement {
	dropped := func(m correction.Masking) string {
		w, err := t.weights(weighted(nil, m))
		if err != nil {
			return "not to be tried: " + err.Error()
		}
		m1 := t.masked(w)
		if m1 == nil {
			return "drops nothing"
		}
		return fmt.Sprintf("drops %.3g %% of responses, %.3g %% of tokens", 100*m1.Responses, 100*m1.Tokens)
	}
	geometric := func(source string, low, high float64) Saying {
		return Saying{source, fmt.Sprintf("%v to %v", low, high), dropped(&correction.Geometric{Low: low, High: high})}
	}
	opsm := func(source string, delta float64) Saying {
		return Saying{source, fmt.Sprint(delta), dropped(&correction.OPSM{Delta: delta, Signs: correction.Negative})}
	}
	fires := func(source, value string, on bool) Saying {
		if on {
			return Saying{source, value, "fires"}
		}
		return Saying{source, value, "does not"}
	}
	list := []Disagreement{{"the band of a geometric mask: a mean's noise falls with the length, so that a narrow one drops the short", []Saying{
		geometric("SkyRL, survey", 0.99, 1.01), geometric("verl preset", 0.999, 1.001), geometric("NeMo-RL", 0.999, 1.002),
		geometric("slime, a comment", 0.9999, 1.0001), geometric("recommended here", k.low, k.high)}}}
	if t.graded {
		list = append(list, Disagreement{"OPSM's delta", []Saying{opsm("TRL's example", 0.5), opsm("Trinity-RFT, a thread (0.05 to 0.2)", 0.1), opsm("slime's default", 1e-4)}})
	}
	list = append(list,
		Disagreement{"the least effective sample size", []Saying{fires("survey", "0.5", k.ESSToken < 0.5), fires("verl", "0.3", k.ESSToken < 0.3)}},
		Disagreement{"when chi-squared is too large", []Saying{fires("survey, verl", "1", k.Chi2Token > 1), fires("survey, of rejection", "4", k.Chi2Token > 4)}},
		Disagreement{"when k1 is too large", []Saying{fires("survey", "0.02", abs(k.K1) >= agreeKL), fires("survey", "0.05", abs(k.K1) > apartKL), fires("verl", "0.1", abs(k.K1) > 0.1)}},
		Disagreement{"whether there is a gap at all", []Saying{
			fires("survey: no drift", "Pearson 0.99, |k1| 0.02", k.Pearson >= agreePearson && abs(k.K1) < agreeKL),
			fires("verl FAQ: a problem of precision", "mean |dp| 0.01", k.MeanAbsDp > precisionDp)}})
	return append(list, t.order(k))
}

// order is the question whether to weigh or to mask first.
func (t *trial) order(k *known) Disagreement {
	distance := func(p *correction.Pipeline) string {
		w, err := t.weights(p)
		if err != nil {
			return "not to be tried: " + err.Error()
		}
		e := t.effect(w, TokenRatio)
		return fmt.Sprintf("mean |w - token ratio| %.2g, ESS %.2g", e.Distance, e.ESSToken)
	}
	return Disagreement{"what comes first", []Saying{
		{"SkyRL, Zoey Li", "weights: token TIS 2", distance(weighted(&correction.TokenTIS{Cap: 2}))},
		{"survey, verl's workflow", "rejection: a geometric mask", distance(weighted(nil, &correction.Geometric{Low: k.low, High: k.high}))}}}
}
