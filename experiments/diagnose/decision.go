package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// Decision is a row of the decision table, as far as it was evaluated: the first that
// fires decides, and what comes after it would be its consequence.
type Decision struct {
	Row string `json:"row"`
	// Why are the figures that the row looks at, with their limits.
	Why    string `json:"why"`
	Source string `json:"source"`
	Fired  bool   `json:"fired"`
	// Advice is what to do, of the row that fired, with the correction that is recommended.
	Advice string `json:"advice,omitempty"`
	// Measured is what runs of this program say of such a gap, empty where there are none.
	Measured string `json:"measured,omitempty"`

	correction *correction.Pipeline // what it recommends; nil is none
	problem    string               // of the map of stability
}

// The problems of the map of stability, which says what runs of this program came to under such a gap.
const naturalGap, staleRollouts, routingGap = "natural", "staleness", "routing"

// The limits of the table, next to those of a healthy gap.
//
// Source: verl's FAQ (difference of probabilities), the survey (Pearson, kl, chi-squared,
// effective sample size, masked share, clip fraction, length). The survey has no figure for a
// large total variation: ours is Pinsker's bound √(kl/2) at its kl of 0.05; nor for variance
// that rises with the weights: ours is the variance of weights whose chi-squared is heavy.
const (
	precisionDp   = 0.01
	apartPearson  = 0.95
	apartKL       = 0.05
	heavyChi2     = 0.3
	explodedChi2  = 1
	leastESS      = 0.5
	mostMasked    = 0.25
	someMasked    = 0.1
	longResponse  = 2000
	widestLog     = 3 // of the standard error of a response's mean log-ratio
	narrowestBand = 0.01
	largeTV       = 0.16
	leastBehind   = 0.3
	noisyWeights  = 1 + heavyChi2
	mostClipped   = 0.2
	clipWidth     = 0.2 // PPO's
	surge         = 1.2
	surelyLonger  = 3 // standard errors
)

type known struct {
	*Gap
	state     State
	causes    []string
	sure      bool // the first of them is named, or likely
	faults    int
	following int // failed checks that may be consequences
	lag       *float64
	median    float64 // length of a response
	low, high float64 // the recommended geometric band
	dropped   float64 // the share of tokens that it masks
	behind    float64 // the effective sample size of those that it leaves
	jumps     float64 // the share of tokens that IcePop masks
	product   float64 // the mean weight of responses' products of ratios, truncated at 5
	moved     bool    // the policy has moved between the batch's old policy and its training forward
	// clipped is PPO's clip fraction, noise mean w²A² over mean A² of the configured weights: nil
	// where the dump lacks a column or none are configured.
	clipped, noise *float64
	growth         *Growth
}

// chi2 is chi-squared next to its limit. It cannot be negative, and its estimate is where it is about 0.
func (k *known) chi2(limit float64) string {
	if k.Chi2Token <= 0 {
		return fmt.Sprintf("chi2 about 0 (%v)", limit)
	}
	return fmt.Sprintf("chi2 %.3g (%v)", k.Chi2Token, limit)
}

func (k *known) exploded() bool { return k.Chi2Token > explodedChi2 || k.ESSToken < leastESS }

// tailed reports whether the weights have a heavy tail: a gap of the number formats in use has none.
func (k *known) tailed() bool { return k.Chi2Token > heavyChi2 || k.exploded() }

// saturated reports whether PPO's clip takes the gradient of many tokens.
func (k *known) saturated() bool { return k.clipped != nil && *k.clipped > mostClipped }

func (k *known) longer() bool {
	g := k.growth
	return g != nil && g.After > surge*g.Before && g.After-g.Before > surelyLonger*g.Error
}

// named reports whether that cause is the likeliest, and surely so.
func (k *known) named(cause string) bool {
	return k.sure && len(k.causes) > 0 && k.causes[0] == cause
}

// equalWeights reports whether nothing says that the two engines had different weights or routes.
func (k *known) equalWeights() bool {
	return !k.named(Staleness) && !k.named(Routing) && !k.repairable()
}

// repairable reports whether the cause is a fault of the stack.
func (k *known) repairable() bool {
	if len(k.causes) == 0 || texts.Causes[k.causes[0]].Repair == "" {
		return false
	}
	either := !k.sure && len(k.causes) == 2 && texts.Causes[k.causes[1]].Repair != "" // the first step is the same
	return either || k.named(k.causes[0])
}

// row is one of the table; texts.yaml has its source and its advice.
type row struct {
	name       string
	why        func(k *known) string
	fires      func(k *known) bool
	correction func(k *known) *correction.Pipeline // nil for none
	problem    func(k *known) string               // of the map; nil for none
}

// rows are the table, in the order in which it is evaluated.
var rows = []row{
	{"bookkeeping", func(k *known) string {
		text := count(k.faults, "check") + " failed"
		if k.following > 0 {
			text += fmt.Sprintf(", and %d that may follow from it", k.following)
		}
		return text
	}, func(k *known) bool { return k.state == Repair }, nil, nil},
	{"agreement", func(k *known) string {
		return fmt.Sprintf("Pearson %.4f (%v), |k1| %.2g (%v), perplexity ratio %.4f (1 ± %v), mean |dp| %.2g (%v)",
			k.Pearson, agreePearson, abs(k.K1), agreeKL, k.PPLRatio, agreePPL, k.MeanAbsDp, agreeDp)
	}, func(k *known) bool { return k.state == Healthy && !k.saturated() && !k.longer() }, nil, nil},
	{"alignment", func(k *known) string {
		return fmt.Sprintf("Pearson %.4f (%v), |k1| %.2g (%v), at equal weights as far as is known", k.Pearson, apartPearson, abs(k.K1), apartKL)
	}, func(k *known) bool {
		return k.equalWeights() && (k.Pearson < apartPearson || abs(k.K1) > apartKL)
	}, nil, nil},
	{"precision", func(k *known) string { return fmt.Sprintf("mean |dp| %.2g (%v)", k.MeanAbsDp, precisionDp) },
		func(k *known) bool { return k.equalWeights() && k.MeanAbsDp > precisionDp }, both, untailed},
	{"routing", causesOf, func(k *known) bool { return k.named(Routing) },
		func(k *known) *correction.Pipeline {
			if k.tailed() && k.product >= leastESS {
				return weighted(&correction.SequenceTIS{Cap: 5})
			}
			return icePop(k)
		}, func(k *known) string {
			if k.tailed() {
				return routingGap
			}
			return untailed(k)
		}},
	{"weight sync", causesOf, (*known).repairable, nil, nil},
	{"staleness", func(k *known) string {
		return causesOf(k) + fmt.Sprintf(", ESS %.2g (%v), median length %.0f", k.ESSToken, leastESS, k.median)
	}, func(k *known) bool { return k.named(Staleness) && k.ESSToken >= leastESS },
		func(k *known) *correction.Pipeline {
			if k.median > longResponse || k.lag != nil && *k.lag > 0 {
				return weighted(&correction.SequenceTIS{Cap: 2}, &correction.Geometric{Low: k.low, High: k.high})
			}
			return tokenTIS(k)
		}, always(staleRollouts)},
	{"asynchrony", func(k *known) string {
		if k.lag == nil {
			return "versions inside a response: not recorded"
		}
		return fmt.Sprintf("versions inside a response: %.2g (0)", *k.lag)
	}, func(k *known) bool { return k.state != Healthy && k.lag != nil && *k.lag > 0 }, both, always(staleRollouts)},
	{"bias and variance", func(k *known) string {
		return fmt.Sprintf("total variation %.2g (%v), %s, ESS %.2g (%v)", k.TV, largeTV, k.chi2(explodedChi2), k.ESSToken, leastESS)
	}, func(k *known) bool { return k.TV > largeTV && k.exploded() }, icePop, nil},
	{"limits of rejection", func(k *known) string {
		return fmt.Sprintf("a geometric mask of %.4g to %.4g drops %.3g %% of tokens (%v %%) and leaves an ESS of %.2g (%v), IcePop drops %.3g %% (%[4]v %%)",
			k.low, k.high, 100*k.dropped, 100*mostMasked, k.behind, leastBehind, 100*k.jumps)
	}, func(k *known) bool {
		return k.dropped > mostMasked || k.exploded() && (k.behind < leastBehind || k.jumps > mostMasked)
	}, tokenTIS, nil},
	{"noisy weights", func(k *known) string {
		if k.noise == nil {
			return "no weights are configured, or no advantage is recorded"
		}
		return fmt.Sprintf("the configured correction has mean w²A² %.3g times mean A² (%v)", *k.noise, float64(noisyWeights))
	}, func(k *known) bool { return k.noise != nil && *k.noise > noisyWeights }, icePop, nil},
	{"heavy tail", func(k *known) string {
		return fmt.Sprintf("%s, ESS %.2g (%v)", k.chi2(heavyChi2), k.ESSToken, leastESS)
	}, func(k *known) bool {
		return k.Chi2Token > heavyChi2 && k.Chi2Token <= explodedChi2 && k.ESSToken >= leastESS
	}, func(k *known) *correction.Pipeline {
		if k.dropped > someMasked {
			return both(k)
		}
		return geometric(k)
	}, nil},
	{"exploded weights", func(k *known) string {
		return fmt.Sprintf("%s, ESS %.2g (%v)", k.chi2(explodedChi2), k.ESSToken, leastESS)
	}, (*known).exploded, icePop, nil},
	{"broad shift", func(k *known) string {
		return fmt.Sprintf("total variation %.2g (%v), %s", k.TV, largeTV, k.chi2(heavyChi2))
	}, func(k *known) bool { return k.TV > largeTV && k.Chi2Token <= heavyChi2 }, tokenTIS, nil},
	{"clip saturation", func(k *known) string {
		if k.clipped == nil {
			return "clip fraction: not known without advantages and the log-probs of the training forward"
		}
		return fmt.Sprintf("clip fraction %.2g (%v) at a clip of %v", *k.clipped, mostClipped, clipWidth)
	}, (*known).saturated, nil, nil},
	{"length surge", func(k *known) string {
		if k.growth == nil {
			return "growth of the length: not known within 100 steps"
		}
		return fmt.Sprintf("mean length %.4g at step %d, %.4g at step %d (+%.0f %%, %v standard errors)", k.growth.Before, k.growth.From, k.growth.After, k.growth.To, 100*(surge-1), surelyLonger)
	}, (*known).longer, geometric, nil},
	{"none of these", func(*known) string { return "" }, func(*known) bool { return true }, tokenTIS, untailed},
}

func always(problem string) func(*known) string { return func(*known) string { return problem } }

// advice is what a row says to do: to be followed, in some rows, once two causes are distinguished where it is either. A row without
// an advice of its own has the repair of the cause.
func (k *known) advice(row rowTexts) string {
	switch {
	case row.Advice == "":
		return texts.Causes[k.causes[0]].Repair
	case !row.Apart || k.sure || len(k.causes) < 2 || texts.Causes[k.causes[0]].Confirm == "":
		return row.Advice
	}
	return fmt.Sprintf("distinguish %s from %s first (%s); if it is not %[1]s, %[4]s", k.causes[0], k.causes[1], texts.Causes[k.causes[0]].Confirm, row.Advice)
}

// untailed is the problem of a gap without a heavy tail; of one that is much larger than that of the map nothing was measured.
func untailed(k *known) string {
	const comparable = 3 // times the k3 of the map
	a, ok := stability.Ask(naturalGap)
	if !ok || k.tailed() || k.K3 > comparable*float64(a.None.K3) {
		return ""
	}
	return naturalGap
}

func tokenTIS(*known) *correction.Pipeline { return weighted(&correction.TokenTIS{Cap: 2}) }

func icePop(*known) *correction.Pipeline { return weighted(&correction.IcePop{Low: 0.5, High: 5}) }

func geometric(k *known) *correction.Pipeline {
	return weighted(nil, &correction.Geometric{Low: k.low, High: k.high})
}

// both are truncated token weights and the geometric mask.
func both(k *known) *correction.Pipeline {
	return weighted(&correction.TokenTIS{Cap: 2}, &correction.Geometric{Low: k.low, High: k.high})
}

func weighted(w correction.Weighting, masks ...correction.Masking) *correction.Pipeline {
	return &correction.Pipeline{Weights: w, Masks: masks}
}

func causesOf(k *known) string {
	if len(k.causes) == 0 {
		return "no cause is named"
	}
	return "causes: " + strings.Join(k.causes, ", ")
}

// named are the rules of a correction with their numbers, under names that simulate methods knows.
func named(p *correction.Pipeline) string {
	weights, rules := p.Rules()
	if weights != nil {
		rules = slices.Insert(rules, 0, *weights)
	}
	list := stats.Map(rules, func(r correction.Rule) string { return fmt.Sprintf("%s (%s)", r.Name, written("."+r.Name, &r)) })
	return strings.Join(list, " and ")
}

func decide(k *known) []Decision {
	var evaluated []Decision
	for _, r := range rows {
		text := texts.Rows[r.name]
		d := Decision{Row: r.name, Why: r.why(k), Source: text.Source, Fired: r.fires(k)}
		if d.Fired {
			d.Advice = k.advice(text)
			if r.correction != nil {
				d.correction = r.correction(k)
				d.Advice += "; correct with " + named(d.correction)
			}
			if r.problem != nil {
				d.problem = r.problem(k)
				if a, ok := stability.Ask(d.problem); ok {
					d.Measured = a.Measured()
				}
			}
		}
		if evaluated = append(evaluated, d); d.Fired {
			break
		}
	}
	return evaluated
}

func (t *trial) facts(r *Report, c *foreign.Config) *known {
	k := &known{Gap: r.Gap, state: r.Verdict.State, causes: r.Verdict.Causes, sure: r.Verdict.Confidence != Either, lag: r.Responses.Span, growth: r.Responses.Growth}
	if k.state == Healthy {
		k.causes = nil // none makes a gap that matters
	} else if len(k.causes) > 1 && r.Causes[0].ShareK3[0] <= surelyShare {
		k.sure = false // of two that are likely, the first may have no part
	}
	failed := map[string]bool{} // in whatever scope, and whether that is no consequence in any
	for _, c := range r.Checks {
		if c.Result == Fail {
			failed[c.ID] = failed[c.ID] || !c.Conditional
		}
	}
	for _, first := range failed { // counted, in any order
		k.faults += count1(first)
	}
	k.following = len(failed) - k.faults
	k.median, k.low, k.high = t.band()
	k.dropped, k.behind = t.left(geometric(k))
	k.jumps, _ = t.left(icePop(k))
	if w, err := t.weights(weighted(&correction.SequenceTIS{Cap: 5})); err == nil {
		k.product = momentsOf(w).mean
	}
	k.clipped = t.clipFraction()
	k.moved = t.moved()
	if c != nil && c.Off == "" && c.Pipeline.Weights != nil {
		if w, err := t.weights(c.Pipeline); err == nil {
			k.noise = t.noise(w)
		}
	}
	return k
}

// left is the share of tokens that a correction masks, and the effective sample size of the
// ratios of the others.
func (t *trial) left(p *correction.Pipeline) (dropped, ess float64) {
	w, err := t.weights(p)
	if err != nil {
		return 0, 1
	}
	sum, squares, n := 0.0, 0.0, 0.0
	for i, rho := range t.rho {
		if w[i] > 0 {
			sum, squares, n = sum+rho, squares+float64(rho*rho), n+1
		}
	}
	return 1 - n/float64(max(len(w), 1)), effective(sum, squares, max(n, 1))
}

// clipFraction is the share of tokens whose gradient PPO clips, nil where a column lacks.
func (t *trial) clipFraction() *float64 {
	if !t.graded || !t.updated {
		return nil
	}
	n := 0
	for i, a := range t.batch.Advantage {
		ratio := ratioOf(t.batch.Now.Logp[i] - t.batch.Old.Logp[i])
		n += count1(a > 0 && ratio > 1+clipWidth || a < 0 && ratio < 1-clipWidth)
	}
	return new(share(n, len(t.batch.Advantage)))
}

// noise is mean(w²A²)/mean(A²), nil where no advantage is recorded, or all are 0.
func (t *trial) noise(w []float64) *float64 {
	weighed, plain := 0.0, 0.0
	for n, a := range t.batch.Advantage {
		weighed, plain = weighed+float64(w[n]*w[n]*a*a), plain+float64(a*a)
	}
	if plain == 0 {
		return nil
	}
	return new(weighed / plain)
}

// band is the geometric band that the noise of a response's mean leaves alone:
// max(0.01, 3·sd(d)/√median T) below 1 and its inverse, to a thousandth: verl's bounds are of the inverse ratio, and are then the same.
func (t *trial) band() (median, low, high float64) {
	var lengths []float64
	for i := range t.batch.Len() {
		from, to := t.batch.Span(i)
		lengths = append(lengths, float64(to-from))
	}
	d := stats.Differences(t.batch.Old.Logp, t.batch.LogpRoll)
	median = max(1, medianOf(lengths))
	wide := max(narrowestBand, widestLog*momentsOf(d).deviation/math.Sqrt(median))
	low = (1000 - min(math.Ceil(float64(wide*1000)-1e-9), 900)) / 1000
	return median, low, math.Round(1000/low) / 1000
}

// Alarm is a published rule of thumb, or one of ours, on these tokens.
type Alarm struct {
	// Rule names the figure and the side that is bad, Source who has it.
	Rule   string  `json:"rule"`
	Source string  `json:"source"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Fired  bool    `json:"fired"`
	// Detection is the share of simulated collapses before which the signal exceeded its limit, FalseAlarm that of the runs without
	// a collapse in which it ever did; null where that has not been measured.
	Detection  *float64 `json:"detection"`
	FalseAlarm *float64 `json:"false_alarm"`
	// Rates are what they come from.
	Rates *stability.AlarmRates `json:"rates,omitempty"`
}

// alarm is a rule: it fires above its limit, or below.
type alarm struct {
	rule, source string
	metric       string // under which its rates were measured, empty if they never are
	limit        float64
	below        bool
	value        func(g *Gap, z float64) float64
}

// alarms are in the order of their figures.
var alarms = []alarm{
	{"|k1| > 0.1", "verl", "gap/k1", 0.1, false, func(g *Gap, _ float64) float64 { return math.Abs(g.K1) }},
	{"chi2_token > 1", "verl", "rollout_corr/chi2_token", 1, false, func(g *Gap, _ float64) float64 { return max(g.Chi2Token, 0) }},
	{"chi2_token > 0.3", "survey", "rollout_corr/chi2_token", 0.3, false, func(g *Gap, _ float64) float64 { return max(g.Chi2Token, 0) }},
	{"ess_token < 0.5", "survey", "gap/ess_token", 0.5, true, func(g *Gap, _ float64) float64 { return g.ESSToken }},
	{"ess_token < 0.3", "verl", "gap/ess_token", 0.3, true, func(g *Gap, _ float64) float64 { return g.ESSToken }},
	{"pearson < 0.95", "survey", "training/rollout_actor_probs_pearson_corr", 0.95, true, func(g *Gap, _ float64) float64 { return g.Pearson }},
	{"pearson < 0.99", "survey", "training/rollout_actor_probs_pearson_corr", 0.99, true, func(g *Gap, _ float64) float64 { return g.Pearson }},
	{"mean |dp| > 0.01", "verl FAQ", "gap/dp_mean", 0.01, false, func(g *Gap, _ float64) float64 { return g.MeanAbsDp }},
	{"mean |d| > 0.1", "slime CI", "gap/dlogp_mean", 0.1, false, func(g *Gap, _ float64) float64 { return g.MeanAbsDlogp }},
	{"mean exp|d| > 1.05", "NeMo-RL token_mult_prob_error", "", 1.05, false, func(g *Gap, _ float64) float64 { return g.MeanExpAbs }},
	{"k3 > 0.001", "NeMo-RL guide", "gap/k3", 1e-3, false, func(g *Gap, _ float64) float64 { return g.K3 }},
	{"|z| of the mean ratio > 4", "law-identity", "", 4, false, func(_ *Gap, z float64) float64 { return math.Abs(z) }},
}

// alarmsOf are all rules on a gap whose mean ratio is z standard errors off.
func alarmsOf(g *Gap, z float64, rates *stability.Alarms) []Alarm {
	return stats.Map(alarms, func(a alarm) Alarm {
		v := a.value(g, z)
		return Alarm{Rule: a.rule, Source: a.source, Value: v, Limit: a.limit, Fired: fires(v, a.limit, a.below)}.rated(a, rates)
	})
}

// alarms are the rules of training that the dump has the columns for. Their rows of the table come
// last: as alarms they fire whichever row decides.
func (k *known) alarms(rates *stability.Alarms) (list []Alarm) {
	if k.clipped != nil {
		a := Alarm{Rule: "clip fraction > 0.2", Source: "survey", Value: *k.clipped, Limit: mostClipped, Fired: k.saturated()}
		list = append(list, a.rated(alarm{metric: "actor/pg_clipfrac", limit: mostClipped}, rates))
	}
	if g := k.growth; g != nil {
		list = append(list, Alarm{Rule: "growth of the length within 100 steps > 1.2", Source: "survey", Value: g.After / g.Before, Limit: surge, Fired: k.longer()})
	}
	return list
}

// rated is an alarm with the rates of the same rule, if they were measured.
func (a Alarm) rated(of alarm, m *stability.Alarms) Alarm {
	if m == nil {
		return a
	}
	for _, r := range m.Rules {
		if of.metric != "" && r.Metric == of.metric && r.Limit == of.limit && r.Below == of.below && !r.Relative && !r.Fitted && r.Rates.Of > 0 {
			a = a.withRates(r.Rates)
		}
	}
	return a
}

func (a Alarm) withRates(r stability.AlarmRates) Alarm {
	a.Rates, a.Detection, a.FalseAlarm = &r, new(share(r.Detected, r.Of)), new(r.FlaggedRuns)
	return a
}

// fires reports whether a value is above a rule's limit, or below.
func fires(value, limit float64, below bool) bool {
	return value > limit && !below || value < limit && below
}

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
		if own, err := foreign.ReadAs(c.Framework, "recommended", []byte(text)); err == nil {
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
		pipeline := recommended
		if own != nil {
			pipeline = c.Pipeline
		}
		say := fmt.Sprintf("it masks %.3g %% of these tokens", 100*t.maskedBy(pipeline, rule.Name))
		if own != nil && other != nil {
			say = fmt.Sprintf("%s, the recommended one %.3g %%", say, 100*t.maskedBy(recommended, rule.Name))
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
			above := shareOf(ratios, func(x float64) bool { return x > limit })
			if above == 0 {
				return fmt.Sprintf("none of the %s lies above %s", of, p.Value)
			}
			return fmt.Sprintf("%.2g %% of the %s lie above %s", 100*above, of, p.Value)
		}
		return ""
	}
	parts := slices.DeleteFunc([]string{above(own), above(other)}, func(s string) bool { return s == "" })
	return strings.Join(slices.Compact(parts), ", ")
}

// maskedBy is the share of tokens that a pipeline's rule of that name masks alone.
func (t *trial) maskedBy(p *correction.Pipeline, name string) float64 {
	for _, m := range p.Masks {
		one := weighted(nil, m)
		if _, rules := one.Rules(); len(rules) == 1 && rules[0].Name == name {
			if w, err := t.weights(one); err == nil {
				return shareOf(w, func(x float64) bool { return x == 0 })
			}
		}
	}
	return 0
}

// recommend tries what the table recommends, nil if that is nothing, and writes it in the syntax of each framework. What one of them
// cannot say stands after a #.
func (t *trial) recommend(evaluated []Decision) (*Fix, map[string]string) {
	last := evaluated[len(evaluated)-1]
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

// Paste is a setting to be pasted.
type Paste struct {
	// Framework is whose syntax it is; empty for a recipe of this program.
	Framework string `json:"framework,omitempty"`
	// Unwritten is the framework whose setting cannot be written, in the place of which there is a recipe.
	Unwritten string `json:"unwritten,omitempty"`
	Text      string `json:"text"`
}

// paste is the recommended setting for the framework that was asked for, else of the configuration, else of the dump's format; as a recipe
// where none of them says whose the run is, and for a framework whose settings are not written.
func (a *Analysis) paste(r *Report) *Paste {
	if r.Recommended == nil {
		return nil
	}
	named := a.options.Framework
	if c := a.options.Config; c != nil {
		named = cmp.Or(named, c.Framework)
	}
	names := []string{named}
	for _, in := range r.Inputs {
		if named == "" {
			names = append(names, in.Format)
		}
	}
	for _, name := range names {
		if name == "miles" {
			name = "slime" // whose keys it has
		}
		if text := r.Config[ConfigKey(strings.TrimSuffix(name, "-transport"))]; text != "" {
			return &Paste{Framework: name, Text: text}
		}
	}
	last := r.Decisions[len(r.Decisions)-1]
	text := briefly(last.correction) + "\n"
	if last.Row == "routing" {
		text += "routing: {replay: r3, gates: recorded}\n"
	}
	return &Paste{Unwritten: named, Text: text}
}

// briefly is a correction as a recipe has it, without the parameters that are off by default.
func briefly(p *correction.Pipeline) string {
	rule := func(r correction.Rule, defaults *correction.Pipeline) string {
		of, masks := defaults.Rules()
		if of == nil {
			of = &masks[0]
		}
		text := "{name: " + r.Name
		for i, parameter := range r.Parameters {
			if parameter != of.Parameters[i] || parameter.Value != "0" && parameter.Value != "false" {
				text += ", " + parameter.Name + ": " + parameter.Value
			}
		}
		return text + "}"
	}
	weights, masks := p.Rules()
	var parts, list []string
	if weights != nil {
		e, _ := correction.Weightings.Lookup(weights.Name)
		parts = append(parts, "weights: "+rule(*weights, weighted(e.New())))
	}
	for _, m := range masks {
		e, _ := correction.Masks.Lookup(m.Name)
		list = append(list, rule(m, weighted(nil, e.New())))
	}
	if list != nil {
		parts = append(parts, "masks: ["+strings.Join(list, ", ")+"]")
	}
	return "correction: {" + strings.Join(parts, ", ") + "}"
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
		return Saying{source, value, map[bool]string{true: "fires", false: "does not"}[on]}
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
	return append(list, t.order(k), k.mode())
}

// mode is the question whether the old policy is scored separately from the rollout engine.
func (k *known) mode() Disagreement {
	value, effect := "bypass", "the gap is small, and nothing says that the weights differ: a scoring pass is saved"
	switch {
	case k.named(Staleness) || k.lag != nil && *k.lag > 0:
		value, effect = "decoupled", "staleness has to be distinguished from the gap of the engines"
	case k.moved:
		value, effect = "decoupled", "several updates per batch: the clip is to see them alone"
	case k.Chi2Token > heavyChi2 || abs(k.K1) > apartKL:
		value, effect = "decoupled", "the gap would take the place of the update in the clip"
	}
	return Disagreement{"bypass (the clip's ratio is to the rollout engine) or decoupled (to the learner's old policy)", []Saying{
		{"verl's workflow", "bypass", "at first"}, {"survey", value, effect}}}
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

// Active says whether the configured correction does anything: the rule of the
// configuration, computed again on the tokens of the dump.
type Active struct {
	// Framework is the framework of the configuration, Fix the correction in a recipe, with its effect.
	Framework string `json:"framework"`
	Fix
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
	Notes []string `json:"notes,omitempty"`
	// Settings are its rules and numbers next to those that are recommended; absent where the table was not evaluated.
	Settings []Setting `json:"settings,omitempty"`
}

// idle is the share of weights below which a correction that is on does nothing.
const idle = 1e-4

func (t *trial) active(c *foreign.Config, r *Report) (a *Active, run recipe.Recipe) {
	a = &Active{Framework: c.Framework, Fix: Fix{Name: "configured", Kind: "preset", Recipe: c.Pipeline.Recipe()}, Configured: c.Configured(), Notes: c.Notes, Known: true}
	run, refused := c.Recipe()
	corrects := refused == nil && weighsByRollout(run)
	a.Configured = a.Configured || corrects
	if c.Off != "" {
		none := recipe.Default().Correction
		none.Mode = run.Correction.Mode
		run.Correction = none
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
	case r.check("column-not-real").Result == Fail:
		a.Why = "off: " + r.check("column-not-real").Why
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
	a.Evaluation = e
	t.measure(&a.Fix, w, judgedBy(run.Correction.Pipeline()))
	a.Effective = a.TokensChanged >= idle
	if !a.Effective {
		a.Why = fmt.Sprintf("on, but idle: changes the weight of %.2g of tokens by more than 1 %%", a.TokensChanged)
		return
	}
	a.Why = "on: " + e.String()
}

// harmless reports whether the loss and the correction are a plain policy gradient but for 1 %.
func (e *Evaluation) harmless() bool {
	return e.ESS >= 1-changedBy && abs(e.Update-1) <= changedBy && abs(e.Mean-1) <= changedBy && e.Masked+e.Clipped <= changedBy
}

// String says what the weights come to.
func (e *Evaluation) String() string {
	text := fmt.Sprintf("mean weight %.3g, median %.3g, ESS %.3g", e.Mean, e.Median, e.ESS)
	if e.Masked > 0 {
		text += fmt.Sprintf(", %.2g %% of the tokens masked", 100*e.Masked)
	}
	if e.Clipped > 0 {
		text += fmt.Sprintf(", %.2g %% of the tokens without a gradient in the loss (clip, or its own mask)", 100*e.Clipped)
	}
	if e.Low != nil {
		text += fmt.Sprintf(", %.2g %% at the lower bound %.3g", 100*e.Low.Share, e.Low.Weight)
	}
	if e.High != nil {
		text += fmt.Sprintf(", %.2g %% at the upper bound %.3g", 100*e.High.Share, e.High.Weight)
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
		single := ""
		if w, err := t.weights(tokenTIS(nil)); err == nil {
			m := momentsOf(w)
			single = fmt.Sprintf("; token_tis (cap 2) has mean weight %.2g and ESS %.2g", m.mean, 1/(1+float64(m.deviation/m.mean*m.deviation/m.mean)))
		}
		say("product-collapses", Warning, "weigh every token by its own ratio, or by the mean of the response", "the weight of a whole response is a product of ratios, and it collapses with the length%s: "+
			"mean weight %.2g, median %.1g, and %.0f %% of the update is left, although single tokens agree (ESS %.3g)%s", e.byLength(), e.Mean, e.Median, 100*e.Update, r.Gap.ESSToken, single)
	case e.Masked > mostMasked && e.Masked > others:
		say("masks-most", Warning, "widen the mask, or close the gap", "the configured correction masks %.3g %% of the tokens, more than %v %%: that is a loss of data (survey)", 100*e.Masked, 100*mostMasked)
	case e.Masked > someMasked && e.Masked > others:
		say("masks-many", Warning, "widen the mask, or leave these tokens to truncated weights", "the configured correction masks %.3g %% of the tokens, more than %v %% (survey)", 100*e.Masked, 100*someMasked)
	case min(e.ESS, e.Update) < leastESS:
		say("few-decide", Warning, "truncate the weights, or mask before weighting", "few tokens decide: ESS %.2g of the weights, %.0f %% of the update is left", e.ESS, 100*e.Update)
	case e.harmless():
		above := t.weightReason(nil, weights, nil) // empty where nothing is capped
		if above != "" {
			above = "; " + above
		}
		say("correction-harmless", Note, "", "the configured correction is harmless: %s%s", e, above)
	default:
		say("correction-acts", Note, "", "the configured loss and correction: %s%s", e, e.byLength())
	}
	if r.Decisions[len(r.Decisions)-1].problem == routingGap && slices.ContainsFunc(masks, func(m correction.Rule) bool { return m.Unit == method.Sequence }) {
		if a, ok := stability.Ask(routingGap); ok && len(a.Harmful) > 0 {
			worst := a.Harmful[0]
			say("sequence-mask-under-routing", Warning, "leave the mask of sequences out", "a mask of sequences is configured under a large routing gap: runs of this program ended there at %s with one (%s), and at %s without a correction",
				worst.Level.Text(false), worst.Method, a.None.Level.Text(false))
		}
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

// moved reports whether the training forward's log-probs are recorded, and others than those before the update.
func (t *trial) moved() bool { return !slices.Equal(t.batch.Now.Logp, t.batch.Old.Logp) }

// given is the verdict on data that need no repair with a correction that does nothing.
func (v Verdict) given(a *Active) Verdict {
	if v.State != Healthy && v.State != Genuine || !a.Configured || a.Effective || !a.Known {
		return v
	}
	v.State = Inactive
	v.Summary = "The configured correction does nothing (" + a.Why + "). " + v.Summary
	return v
}
