package diagnose

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/stability"
	"driftlab/trainer/method/correction"
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

// measured is the map's answer to a problem, empty where it has none.
func measured(problem string) string {
	if a, ok := stability.Ask(problem); ok {
		return a.Measured()
	}
	return ""
}

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
	if len(k.causes) == 0 || causes[k.causes[0]].repair == "" {
		return false
	}
	either := !k.sure && len(k.causes) == 2 && causes[k.causes[1]].repair != "" // the first step is the same
	return either || k.named(k.causes[0])
}

type row struct {
	name, source string
	why          func(k *known) string
	fires        func(k *known) bool
	advice       func(k *known) string
	correction   func(k *known) *correction.Pipeline
	problem      func(k *known) string // of the map; nil for none
}

// rows are the table, in the order in which it is evaluated.
var rows = []row{
	{"bookkeeping", "the checks", func(k *known) string {
		text := count(k.faults, "check") + " failed"
		if k.following > 0 {
			text += fmt.Sprintf(", and %d that may follow from it", k.following)
		}
		return text
	},
		func(k *known) bool { return k.state == Repair },
		always("repair the data; no correction before that"), none, nil},
	{"agreement", "survey; verl FAQ", func(k *known) string {
		return fmt.Sprintf("Pearson %.4f (%v), |k1| %.2g (%v), perplexity ratio %.4f (1 ± %v), mean |dp| %.2g (%v)",
			k.Pearson, agreePearson, abs(k.K1), agreeKL, k.PPLRatio, agreePPL, k.MeanAbsDp, agreeDp)
	}, func(k *known) bool { return k.state == Healthy && !k.saturated() && !k.longer() }, always("no correction is needed; log the metrics"), none, nil},
	{"alignment", "survey", func(k *known) string {
		return fmt.Sprintf("Pearson %.4f (%v), |k1| %.2g (%v), at equal weights as far as is known", k.Pearson, apartPearson, abs(k.K1), apartKL)
	}, func(k *known) bool {
		return k.equalWeights() && (k.Pearson < apartPearson || abs(k.K1) > apartKL)
	}, apart("align dtype, tensor parallelism and kernels of the two engines; leave corrections off while bisecting"), none, nil},
	{"precision", "verl FAQ", func(k *known) string { return fmt.Sprintf("mean |dp| %.2g (%v)", k.MeanAbsDp, precisionDp) },
		func(k *known) bool { return k.equalWeights() && k.MeanAbsDp > precisionDp },
		apart("raise the precision of the rollout engine, or make both engines compute alike"), both, untailed},
	{"routing", "Zoey Li; survey", causesOf, func(k *known) bool { return k.named(Routing) },
		always("replay the rollout engine's routes where they can be recorded (R3)"),
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
	{"weight sync", "survey", causesOf, func(k *known) bool { return k.repairable() },
		func(k *known) string { return causes[k.causes[0]].repair }, none, nil},
	{"staleness", "survey", func(k *known) string {
		return causesOf(k) + fmt.Sprintf(", ESS %.2g (%v), median length %.0f", k.ESSToken, leastESS, k.median)
	}, func(k *known) bool { return k.named(Staleness) && k.ESSToken >= leastESS },
		always("lower the learning rate or the lag"),
		func(k *known) *correction.Pipeline {
			if k.median > longResponse || k.lag != nil && *k.lag > 0 {
				return weighted(&correction.SequenceTIS{Cap: 2}, &correction.Geometric{Low: k.low, High: k.high})
			}
			return tokenTIS(k)
		}, always(staleRollouts)},
	{"asynchrony", "Zoey Li", func(k *known) string {
		if k.lag == nil {
			return "versions inside a response: not recorded"
		}
		return fmt.Sprintf("versions inside a response: %.2g (0)", *k.lag)
	}, func(k *known) bool { return k.state != Healthy && k.lag != nil && *k.lag > 0 },
		always("bound the lag (4 updates for code, 8 for mathematics) and use a decoupled loss"), both, always(staleRollouts)},
	{"bias and variance", "survey", func(k *known) string {
		return fmt.Sprintf("total variation %.2g (%v), %s, ESS %.2g (%v)", k.TV, largeTV, k.chi2(explodedChi2), k.ESSToken, leastESS)
	}, func(k *known) bool { return k.TV > largeTV && k.exploded() },
		always("synchronise more often: token weights are biased, and exact ones noisy; until then mask jumps"), icePop, nil},
	{"limits of rejection", "survey", func(k *known) string {
		return fmt.Sprintf("a geometric mask of %.4g to %.4g drops %.3g %% of tokens (%v %%) and leaves an ESS of %.2g (%v), IcePop drops %.3g %% (%[4]v %%)",
			k.low, k.high, 100*k.dropped, 100*mostMasked, k.behind, leastBehind, 100*k.jumps)
	}, func(k *known) bool {
		return k.dropped > mostMasked || k.exploded() && (k.behind < leastBehind || k.jumps > mostMasked)
	},
		always("repair the system: a mask that drops a quarter, or leaves few tokens that dominate, is no correction; until then truncate token weights"), tokenTIS, nil},
	{"noisy weights", "survey", func(k *known) string {
		if k.noise == nil {
			return "no weights are configured, or no advantage is recorded"
		}
		return fmt.Sprintf("the configured correction has mean w²A² %.3g times mean A² (%v)", *k.noise, float64(noisyWeights))
	}, func(k *known) bool { return k.noise != nil && *k.noise > noisyWeights },
		always("mask before weighting, or tighten the cap: the configured weights add noise to the gradient"), icePop, nil},
	{"heavy tail", "survey", func(k *known) string {
		return fmt.Sprintf("%s, ESS %.2g (%v)", k.chi2(heavyChi2), k.ESSToken, leastESS)
	}, func(k *known) bool {
		return k.Chi2Token > heavyChi2 && k.Chi2Token <= explodedChi2 && k.ESSToken >= leastESS
	},
		always("mask responses by their geometric mean"),
		func(k *known) *correction.Pipeline {
			if k.dropped > someMasked {
				return both(k)
			}
			return geometric(k)
		}, nil},
	{"exploded weights", "survey; verl", func(k *known) string {
		return fmt.Sprintf("%s, ESS %.2g (%v)", k.chi2(explodedChi2), k.ESSToken, leastESS)
	}, (*known).exploded,
		always("mask before weighting; no weights of whole responses, however exact: few samples would decide"), icePop, nil},
	{"broad shift", "survey; claim quadrants", func(k *known) string {
		return fmt.Sprintf("total variation %.2g (%v), %s", k.TV, largeTV, k.chi2(heavyChi2))
	}, func(k *known) bool { return k.TV > largeTV && k.Chi2Token <= heavyChi2 },
		always("truncate token weights; a mask would drop ordinary tokens"), tokenTIS, nil},
	{"clip saturation", "survey", func(k *known) string {
		if k.clipped == nil {
			return "clip fraction: not known without advantages and the log-probs of the training forward"
		}
		return fmt.Sprintf("clip fraction %.2g (%v) at a clip of %v", *k.clipped, mostClipped, clipWidth)
	}, (*known).saturated,
		always("make one epoch per batch or halve the learning rate; then use a ratio of whole responses (GSPO, GMPO); do not widen the clip"), none, nil},
	{"length surge", "survey", func(k *known) string {
		if k.growth == nil {
			return "growth of the length: not known within 100 steps"
		}
		return fmt.Sprintf("mean length %.4g at step %d, %.4g at step %d (+%.0f %%, %v standard errors)", k.growth.Before, k.growth.From, k.growth.After, k.growth.To, 100*(surge-1), surelyLonger)
	}, (*known).longer,
		always("halve the learning rate and mask responses by their geometric mean; if the length goes on rising, audit the reward and the stop token"), geometric, nil},
	{"none of these", "SkyRL", func(*known) string { return "" }, func(*known) bool { return true },
		always("truncate token weights, and mask only if training is unstable with them"), tokenTIS, untailed},
}

func always(advice string) func(*known) string { return func(*known) string { return advice } }

// apart is advice to be followed once two causes are distinguished, where it is either.
func apart(advice string) func(*known) string {
	return func(k *known) string {
		if k.sure || len(k.causes) < 2 || causes[k.causes[0]].confirm == "" {
			return advice
		}
		return fmt.Sprintf("distinguish %s from %s first (%s); if it is not %[1]s, %[4]s", k.causes[0], k.causes[1], causes[k.causes[0]].confirm, advice)
	}
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

func none(*known) *correction.Pipeline { return nil }

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
	var list []string
	for _, r := range rules {
		list = append(list, fmt.Sprintf("%s (%s)", r.Name, written("."+r.Name, &r)))
	}
	return strings.Join(list, " and ")
}

func decide(k *known) []Decision {
	var evaluated []Decision
	for _, r := range rows {
		d := Decision{Row: r.name, Why: r.why(k), Source: r.source, Fired: r.fires(k)}
		if d.Fired {
			d.Advice, d.correction = r.advice(k), r.correction(k)
			if d.correction != nil {
				d.Advice += "; correct with " + named(d.correction)
			}
			if r.problem != nil {
				d.problem = r.problem(k)
				d.Measured = measured(d.problem)
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
	failed := map[string]bool{} // in whatever scope
	for _, c := range r.Checks {
		if c.Result == Fail && !c.Conditional {
			failed[c.ID] = true
		}
	}
	k.faults = len(failed)
	for _, c := range r.Checks {
		if c.Result == Fail && !failed[c.ID] {
			failed[c.ID] = true
			k.following++
		}
	}
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
	var d []float64
	for i, roll := range t.batch.LogpRoll {
		d = append(d, t.batch.Old.Logp[i]-roll)
	}
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
	Rates *Rates `json:"rates,omitempty"`
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
func alarmsOf(g *Gap, z float64, rates *AlarmRates) []Alarm {
	list := make([]Alarm, 0, len(alarms))
	for _, a := range alarms {
		v := a.value(g, z)
		list = append(list, Alarm{Rule: a.rule, Source: a.source, Value: v, Limit: a.limit, Fired: v > a.limit && !a.below || v < a.limit && a.below}.rated(a, rates))
	}
	return list
}

// alarms are the rules of training that the dump has the columns for. Their rows of the table come
// last: as alarms they fire whichever row decides.
func (k *known) alarms(rates *AlarmRates) (list []Alarm) {
	if k.clipped != nil {
		a := Alarm{Rule: "clip fraction > 0.2", Source: "survey", Value: *k.clipped, Limit: mostClipped, Fired: k.saturated()}
		list = append(list, a.rated(alarm{metric: "actor/pg_clipfrac", limit: mostClipped}, rates))
	}
	if g := k.growth; g != nil {
		list = append(list, Alarm{Rule: "growth of the length within 100 steps > 1.2", Source: "survey", Value: g.After / g.Before, Limit: surge, Fired: k.longer()})
	}
	return list
}

// Rates is how a rule did on simulated runs, of which many collapsed.
type Rates struct {
	// Detected are the collapses before which it exceeded its limit, of all Of; Low and High bound their share, at 95 %.
	Detected int     `json:"detected"`
	Of       int     `json:"of"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	// FalseAlarms is how often it began to ring per 1,000 steps of runs that did not collapse, FlaggedRuns the share of
	// such runs in which it ever did.
	FalseAlarms float64 `json:"false_alarms_per_1000_steps"`
	FlaggedRuns float64 `json:"flagged_runs"`
}

// AlarmRates has the rates of rules that were measured, in the form of the published ones.
type AlarmRates struct {
	Rules []struct {
		Metric   string  `json:"metric"`
		Limit    float64 `json:"limit"`
		Below    bool    `json:"below"`
		Relative bool    `json:"relative"`
		Fitted   bool    `json:"fitted"`
		Rates    Rates   `json:"rates"`
	} `json:"rules"`
}

// ParseAlarmRates reads them.
func ParseAlarmRates(text []byte) (*AlarmRates, error) {
	m := new(AlarmRates)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("advise: the rates of alarms: %w", err)
	}
	return m, nil
}

// rated is an alarm with the rates of the same rule, if they were measured.
func (a Alarm) rated(of alarm, m *AlarmRates) Alarm {
	if m == nil {
		return a
	}
	for _, r := range m.Rules {
		if of.metric != "" && r.Metric == of.metric && r.Limit == of.limit && r.Below == of.below && !r.Relative && !r.Fitted && r.Rates.Of > 0 {
			rates := r.Rates
			a.Rates = &rates
			a.Detection, a.FalseAlarm = new(share(rates.Detected, rates.Of)), new(rates.FlaggedRuns)
		}
	}
	return a
}
