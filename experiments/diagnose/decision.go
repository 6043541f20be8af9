package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/correction"
)

// Decision is a row of the decision table, as far as it was evaluated: the first that
// fires decides, and what comes behind it would be its consequence.
type Decision struct {
	Row string `json:"row"`
	// Why are the figures that the row looks at, with their limits.
	Why    string `json:"why"`
	Source string `json:"source"`
	Fired  bool   `json:"fired"`
	// Advice is what to do, of the row that fired.
	Advice string `json:"advice,omitempty"`

	correction *correction.Pipeline // what it recommends; nil is none
}

// The limits of the table, next to those of a healthy gap.
//
// Source: verl's FAQ (difference of probabilities), the survey (Pearson, kl, chi-squared,
// effective sample size, masked share).
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
)

// known are the figures that the table looks at.
type known struct {
	*Gap
	state     State
	causes    []string
	sure      bool // the first of them is named, or likely
	faults    int
	lag       *float64
	median    float64 // length of a response
	low, high float64 // the recommended geometric band
	dropped   float64 // the share of tokens that it masks
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
	return len(k.causes) > 0 && k.named(k.causes[0]) && repairs[k.causes[0]] != ""
}

// row is a row of the table.
type row struct {
	name, source string
	why          func(k *known) string
	fires        func(k *known) bool
	advice       func(k *known) string
	correction   func(k *known) *correction.Pipeline
}

// rows are the table, in the order in which it is evaluated.
var rows = []row{
	{"bookkeeping", "the checks", func(k *known) string { return count(k.faults, "check") + " failed" },
		func(k *known) bool { return k.state == Repair },
		always("repair the data; no correction before that"), none},
	{"agreement", "survey; verl FAQ", func(k *known) string {
		return fmt.Sprintf("Pearson %.4f (%v), |k1| %.2g (%v), perplexity ratio %.4f (1 ± %v), mean |dp| %.2g (%v)",
			k.Pearson, agreePearson, abs(k.K1), agreeKL, k.PPLRatio, agreePPL, k.MeanAbsDp, agreeDp)
	}, func(k *known) bool { return k.state == Healthy }, always("no correction is needed; log the metrics"), none},
	{"alignment", "survey", func(k *known) string {
		return fmt.Sprintf("Pearson %.4f (%v), |k1| %.2g (%v), at equal weights as far as is known", k.Pearson, apartPearson, abs(k.K1), apartKL)
	}, func(k *known) bool {
		return k.equalWeights() && (k.Pearson < apartPearson || abs(k.K1) > apartKL)
	}, apart("align dtype, tensor parallelism and kernels of the two engines; leave corrections off while bisecting"), none},
	{"precision", "verl FAQ", func(k *known) string { return fmt.Sprintf("mean |dp| %.2g (%v)", k.MeanAbsDp, precisionDp) },
		func(k *known) bool { return k.equalWeights() && k.MeanAbsDp > precisionDp },
		apart("raise the precision of the rollout engine, or make both engines compute alike; if it has to stay, truncate the weights"), both},
	{"routing", "Zoey Li; survey", causesOf, func(k *known) bool { return k.named(Routing) },
		always("mask jumps (IcePop, 0.5 to 5); replay the rollout engine's routes where they can be recorded (R3; R2 does for two updates per batch, weights alone for one)"),
		func(*known) *correction.Pipeline { return weighted(&correction.IcePop{Low: 0.5, High: 5}) }},
	{"weight sync", "survey", causesOf, func(k *known) bool { return k.repairable() },
		func(k *known) string { return repairs[k.causes[0]] }, none},
	{"staleness", "survey", func(k *known) string {
		return causesOf(k) + fmt.Sprintf(", ESS %.2g (%v), median length %.0f", k.ESSToken, leastESS, k.median)
	}, func(k *known) bool { return k.named(Staleness) && k.ESSToken >= leastESS },
		always("lower the lag; truncate token weights at 2, or with long responses and queues sequence weights behind a geometric mask"),
		func(k *known) *correction.Pipeline {
			if k.median > longResponse || k.lag != nil && *k.lag > 0 {
				return weighted(&correction.SequenceTIS{Cap: 2}, &correction.Geometric{Low: k.low, High: k.high})
			}
			return weighted(&correction.TokenTIS{Cap: 2})
		}},
	{"asynchrony", "Zoey Li", func(k *known) string {
		if k.lag == nil {
			return "versions inside a response: not recorded"
		}
		return fmt.Sprintf("versions inside a response: %.2g (0)", *k.lag)
	}, func(k *known) bool { return k.lag != nil && *k.lag > 0 },
		always("bound the lag (4 updates for code, 8 for mathematics) and use a decoupled loss"), both},
	{"heavy tail", "survey", func(k *known) string {
		return fmt.Sprintf("chi2 %.3g (%v), ESS %.2g (%v)", k.Chi2Token, heavyChi2, k.ESSToken, leastESS)
	}, func(k *known) bool {
		return k.Chi2Token > heavyChi2 && k.Chi2Token <= explodedChi2 && k.ESSToken >= leastESS
	},
		always("mask responses by their geometric mean"),
		func(k *known) *correction.Pipeline {
			return weighted(nil, &correction.Geometric{Low: k.low, High: k.high})
		}},
	{"exploded weights", "survey; verl", func(k *known) string {
		return fmt.Sprintf("chi2 %.3g (%v), ESS %.2g (%v)", k.Chi2Token, float64(explodedChi2), k.ESSToken, leastESS)
	}, func(k *known) bool { return k.Chi2Token > explodedChi2 || k.ESSToken < leastESS },
		always("mask before weighting: IcePop, 0.5 to 5"),
		func(*known) *correction.Pipeline { return weighted(&correction.IcePop{Low: 0.5, High: 5}) }},
	{"masked share", "survey", func(k *known) string {
		return fmt.Sprintf("a geometric mask of %.4g to %.4g drops %.3g %% of tokens (%v %%)", k.low, k.high, 100*k.dropped, 100*mostMasked)
	}, func(k *known) bool { return k.dropped > mostMasked },
		always("repair the system: a mask that drops a quarter is no correction; until then truncate token weights at 2"),
		func(*known) *correction.Pipeline { return weighted(&correction.TokenTIS{Cap: 2}) }},
	{"none of these", "SkyRL", func(*known) string { return "" }, func(*known) bool { return true },
		func(k *known) string {
			if k.dropped > someMasked {
				return "in this order: token weights truncated at 2, with a geometric mask; then an outlier mask"
			}
			return "in this order: token weights truncated at 2; a geometric mask, or a token mask of 0.5 to 2; an outlier mask of 1e-4 to 100"
		}, both},
}

func always(advice string) func(*known) string { return func(*known) string { return advice } }

// apart is advice that comes behind telling two causes apart, where it is either.
func apart(advice string) func(*known) string {
	return func(k *known) string {
		if k.sure || len(k.causes) < 2 || confirms[k.causes[0]] == "" {
			return advice
		}
		return fmt.Sprintf("distinguish %s from %s first (%s); if it is not %[1]s, %[4]s", k.causes[0], k.causes[1], confirms[k.causes[0]], advice)
	}
}

func none(*known) *correction.Pipeline { return nil }

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

// decide walks the table.
func decide(k *known) []Decision {
	var evaluated []Decision
	for _, r := range rows {
		d := Decision{Row: r.name, Why: r.why(k), Source: r.source, Fired: r.fires(k)}
		if d.Fired {
			d.Advice, d.correction = r.advice(k), r.correction(k)
		}
		if evaluated = append(evaluated, d); d.Fired {
			break
		}
	}
	return evaluated
}

// facts gathers what the table looks at.
func (t *trial) facts(r *Report) *known {
	k := &known{Gap: r.Gap, state: r.Verdict.State, causes: r.Verdict.Causes, sure: r.Verdict.Confidence != Either, lag: r.Responses.Lag}
	if len(k.causes) > 1 && r.Causes[0].ShareK3[0] <= surelyShare {
		k.sure = false // of two that are likely, the first may have no part
	}
	for _, c := range r.Checks {
		if c.Result == Fail && !c.Conditional {
			k.faults++
		}
	}
	k.median, k.low, k.high = t.band()
	if w, err := t.weights(weighted(nil, &correction.Geometric{Low: k.low, High: k.high})); err == nil {
		if m := t.masked(w); m != nil {
			k.dropped = m.Tokens
		}
	}
	return k
}

// band is the geometric band that the noise of a response's mean leaves alone:
// 1 ± max(0.01, 3·sd(d)/√median T), to a thousandth.
func (t *trial) band() (median, low, high float64) {
	var lengths []float64
	for i := range t.batch.Len() {
		from, to := t.batch.Span(i)
		lengths = append(lengths, float64(to-from))
	}
	slices.Sort(lengths)
	sum, squares, n := 0.0, 0.0, float64(max(t.batch.Tokens(), 1))
	for i, roll := range t.batch.LogpRoll {
		d := t.batch.Old.Logp[i] - roll
		sum += d
		squares += float64(d * d)
	}
	mean := sum / n
	median = max(1, quantile(lengths, 0.5))
	wide := max(narrowestBand, widestLog*math.Sqrt(max(0, squares/n-float64(mean*mean))/median))
	thousandths := min(math.Ceil(float64(wide*1000)-1e-9), 900)
	return median, (1000 - thousandths) / 1000, (1000 + thousandths) / 1000
}
