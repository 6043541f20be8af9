package advise

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/stream"
)

// The causes of a gap. Precision, order, routing and staleness are told by what the gap looks
// like, the other two by the checks.
const (
	// Precision is number formats, Order that of sums: reduction, batch, parallelism.
	Precision = "precision"
	Order     = "order"
	// Routing is tokens that other experts computed, Staleness weights of another age.
	Routing   = "routing"
	Staleness = "staleness"
	// Sampler is a law other than the recorded one, Bookkeeping columns that are not what they seem.
	Sampler = "sampler"
	// Penalty is a repetition, presence or frequency penalty of one engine alone.
	Penalty     = "penalty"
	Bookkeeping = "bookkeeping"
)

// Confidence is how sure a verdict is of its causes.
type Confidence int

// The words, from the weakest.
const (
	Unsaid Confidence = iota
	Either            // one of two
	Likely
	Named
)

// String is the word; empty for Unsaid.
func (c Confidence) String() string { return [...]string{"", "either", "likely", "named"}[c] }

// MarshalText makes documents have the word.
func (c Confidence) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Cause is one that a gap may have.
type Cause struct {
	Name string `json:"name"`
	// ShareK3 is its part of Σk3: the middle, and an interval of 90 % around it.
	ShareK3 [3]float64 `json:"share_k3"`
	// Log10LR is how many times likelier it is than the best of the others, as a power of ten.
	Log10LR float64 `json:"log10_lr"`
	// Confirm is an experiment that decides.
	Confirm string `json:"confirm"`
}

// confirms are the experiments.
var confirms = map[string]string{
	Precision: "score the same file with both engines in fp32 or fp16: a gap of precision is gone",
	Order:     "score one batch twice, at another batch size: a gap of the order of sums is there again",
	Routing:   "record the routes of both engines, or replay the rollout's: the jumps vanish",
	Staleness: "run a step with learning rate 0 and freshly loaded weights: a gap that stays is not lag",
}

const (
	// namedFrom and likelyFrom are log10 likelihood ratios to the runner-up.
	namedFrom, likelyFrom = 2, 1
	// listedShare is the share of Σk3 from which a cause is listed; a verdict has those whose interval begins above it.
	listedShare = 0.1
	// coarse is the size from which rounding cannot be told from mild staleness for certain, in logits.
	coarse = 0.05
	// mostLone is the part of Σk3 in large errors one by one above which rounding cannot be told from routes that
	// change for a token.
	mostLone = 0.3
	// finest is the size below which the engines differ by the last bits of fp32 only.
	finest = 1e-5
	// constant and turning bound the cosine of a direction that stays over the steps, and of one that does not.
	constant, turning = 0.85, 0.7
	// excluded is what a record that speaks against a cause takes off its log10 likelihood.
	excluded = 4
	// tagged is what versions that are old add to staleness.
	tagged = 1
)

// attribute says what has made the gap of a report that has nothing to repair.
func (a *Analysis) attribute(r *Report) {
	rows := a.sample.inOrder()
	f, jumps := featuresOf(rows)
	r.Features = f
	if f == nil || f.T90 == nil {
		return
	}
	if *f.Med < finest {
		r.Causes = []Cause{{Order, [3]float64{1, 1, 1}, excluded, confirms[Order]}}
		r.Ambiguous = [][2]string{{Order, Precision}}
		r.Verdict.because([]string{Order}, Likely, map[string][3]float64{Order: {1, 1, 1}})
		return
	}
	r.Looks, r.Attribution = the.looks(f), the.Accuracy
	families := the.Classes.families(f)
	shares := sharesOf(jumps, f)
	ratio := map[string]float64{}
	for i, e := range families {
		other := families[0]
		if i == 0 {
			other = families[1]
		}
		ratio[e.cause] = (e.log - other.log) / math.Ln10
	}
	first := families[0].cause
	names := []string{first}
	for _, e := range families[1:] {
		if shares[e.cause][0] > listedShare {
			names = append(names, e.cause)
		}
	}
	word, cannot := confidence(f, families)
	r.Ambiguous = append(r.Ambiguous, cannot...)
	switch {
	case word > Unsaid && len(names) > 1 && shares[first][0] > listedShare: // each has a part: the largest first
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(shares[b][1], shares[a][1]) })
		word = min(word, Likely)
	case word == Unsaid:
	case len(names) > 1: // what it looks like and what its parts are do not agree
		word = Either
	case word == Either:
		names = append(names, families[1].cause)
	}
	if first == Staleness && word >= Likely && f.DoseRank != nil && *f.DoseRank <= 0 {
		r.untagged(*f.DoseRank)
		return
	}
	sure := len(names)
	for _, e := range families {
		if !slices.Contains(names, e.cause) && shares[e.cause][1] > listedShare {
			names = append(names, e.cause)
		}
	}
	for _, name := range names {
		r.Causes = append(r.Causes, Cause{name, shares[name], ratio[name], confirms[name]})
	}
	switch names = names[:sure]; {
	case word == Unsaid:
		r.Verdict.Summary += fmt.Sprintf(" It is unlike any gap that was simulated; the nearest is that of %s.", first)
	case r.Verdict.State == Healthy && (word == Either || len(names) > 1 || first != Precision):
		// Nothing needs a cause: what is listed is a guess.
	default:
		r.Verdict.because(names, word, shares)
	}
}

// untagged makes the versions a fault: what is older should differ more where age is what makes the gap.
func (r *Report) untagged(rank float64) {
	for i := range r.Checks {
		if c := &r.Checks[i]; c.ID == "version-tag" && c.scope == everything {
			c.Value, c.Result, c.remedy = rank, Fail, retag
			c.Why = fmt.Sprintf("the gap looks like old weights, and responses with an older version do not differ more (Spearman %.2f)", rank)
			r.Verdict = repair([]Check{*c})
		}
	}
}

// confidence is the word for the first of the causes, and the pairs that this data cannot tell apart.
func confidence(f *Features, families []evidenceFor) (word Confidence, pairs [][2]string) {
	first, second := families[0].cause, families[1].cause
	ratio := (families[0].log - families[1].log) / math.Ln10
	word = Either
	switch {
	case families[0].distance > 1:
		word = Unsaid
	case ratio >= namedFrom:
		word = Named
	case ratio >= likelyFrom:
		word = Likely
	}
	if slices.ContainsFunc(families, func(e evidenceFor) bool { return e.look > families[0].look }) {
		word = min(word, Either) // it looks like what versions speak against: they may be wrong, and weights that were never synced have new ones
	}
	cannot := func(one, other string) { pairs = append(pairs, [2]string{one, other}) }
	switch {
	case word <= Either:
		cannot(first, second)
	case first == Precision && !f.onPolicy() && *f.Med > coarse, first == Staleness && f.Dose == nil:
		cannot(Precision, Staleness)
		word = Likely
	}
	if first == Precision && f.Lone != nil && *f.Lone > mostLone {
		cannot(Precision, Routing)
		word = min(word, Likely)
	}
	if first == Precision {
		cannot(Precision, Order)
	}
	if first == Routing && f.FlipPart == nil {
		cannot("routes", "weights of experts")
	}
	if first == Staleness && f.Dose == nil && (f.Turn == nil || *f.Turn > turning && *f.Turn < constant) {
		cannot("lag", "unsynced")
	}
	return word, pairs
}

// because adds the causes to a verdict, and where there is something to do, how to confirm the first.
func (v *Verdict) because(names []string, word Confidence, shares map[string][3]float64) {
	v.Causes = append(v.Causes, names...)
	v.Confidence = word
	v.Summary += describe(names, word, shares)
	if v.State == Genuine {
		v.Next = confirms[names[0]]
	}
}

// describe is the sentence about causes.
func describe(names []string, confidence Confidence, shares map[string][3]float64) string {
	part := func(name string) string {
		s := shares[name]
		return fmt.Sprintf("%s (%.0f %% of it, %.0f to %.0f)", name, 100*s[1], 100*s[0], 100*s[2])
	}
	text := " The cause is " + part(names[0])
	switch confidence {
	case Likely:
		text = " The likely cause is " + part(names[0])
	case Either:
		return fmt.Sprintf(" The cause is either %s or %s.", names[0], names[1])
	}
	for _, name := range names[1:] {
		text += " with " + part(name)
	}
	return text + "."
}

// sharesOf splits Σk3 among the causes: jumps are routing; of the rest a regression on the features says what is
// staleness, and what remains is precision. The intervals are of draws of the responses and of
// the regression's own error.
func sharesOf(part jumped, f *Features) map[string][3]float64 {
	logit, known := the.stale(f)
	r := rand.New(rand.NewPCG(6, 16))
	var parts [3][]float64
	for n := range bootstraps + 1 {
		total, jumps, off := 0.0, 0.0, 0.0
		for i := range part.all {
			if n > 0 {
				i = r.IntN(len(part.all))
			}
			total, jumps = total+part.all[i], jumps+part.jumps[i]
		}
		if n > 0 {
			off = the.Error * stream.Normal(r)
		}
		routing, old := 0.0, 0.0
		if total > 0 {
			routing = jumps / total
		}
		if known {
			old = unbounded(1 / (1 + elementary.Exp(-logit-off)))
		}
		for i, x := range []float64{(1 - routing) * (1 - old), routing, (1 - routing) * old} {
			parts[i] = append(parts[i], x)
		}
	}
	shares := map[string][3]float64{}
	for i, name := range []string{Precision, Routing, Staleness} {
		x := parts[i]
		middle := x[0]
		interval := ninety(x[1:])
		shares[name] = [3]float64{min(interval[0], middle), middle, max(interval[1], middle)}
	}
	return shares
}
