package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// The causes of a gap. Precision, order, routing and staleness are classified by the statistical
// signature of the gap, the other two by the checks.
const (
	// Precision is number formats, Order that of sums: reduction, batch, parallelism.
	Precision = "precision"
	Order     = "order"
	// Routing is tokens that other experts computed, Staleness weights of another age.
	Routing   = "routing"
	Staleness = "staleness"
	// Unsynced is weights that were never synced: what differs is the same at every step, where old weights turn.
	Unsynced = "unsynced"
	// Sampler is a sampling distribution other than the recorded one, Bookkeeping columns that are not what they seem.
	Sampler = "sampler"
	// Penalty is a repetition, presence or frequency penalty of one engine alone.
	Penalty     = "penalty"
	Bookkeeping = "bookkeeping"
)

// Confidence is how sure a verdict is of its causes.
type Confidence int

// The words, from the weakest.
const (
	Unknown Confidence = iota
	Either             // one of two
	Likely
	Confident
)

// String is the word; empty for Unknown.
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
	// Why is what distinguishes it from a cause with a similar signature, empty where nothing does.
	Why string `json:"why,omitempty"`
	// Confirm is an experiment that decides.
	Confirm string `json:"confirm"`
}

// causes are those that are known, each with the experiment that confirms it, and what to do about it where it is a fault of the stack: a
// correction only hides that.
var causes = map[string]struct{ confirm, repair string }{
	Sampler: {"sample a step with top-p 1 and without top-k: the gap is gone",
		"replay the recorded support in the learner, or sample with top-p 1 and without top-k"},
	Precision: {"score the same file with both engines in fp32 or fp16: a gap of precision is gone", ""},
	Order:     {"score one batch twice, at another batch size: a gap of the order of sums is there again", ""},
	Routing:   {"record the routes of both engines, or replay the rollout's: the jumps vanish", ""},
	StalePrefix: {"run a step without the prefix cache: the gap is gone",
		"flush the prefix cache at every weight sync, or make the version of the weights a part of its keys; a correction only hides the fault"},
	PartialSync: {"compare a checksum of every weight, on every worker, in both engines right after a sync: some differ",
		"repair the weight sync: find the tensors or workers of the rollout engine that differ from the learner's right after a sync; a correction only hides the fault"},
	Adapters: {"score one batch with the adapter merged in both engines: the gap is gone",
		"apply the adapter alike in both engines: merged in both, or unmerged in both; a correction only hides the fault"},
	LinearAttention: {"score one batch in the learner with linear attention computed token by token, as the rollout engine does: the gap is gone", ""},
	Index: {"replay the positions that the rollout engine's index chose in the learner: the gap is gone",
		"replay the positions that the rollout engine's index chose in the learner, or give both indices the same number format; a correction only hides the fault"},
	Unsynced: {"compare a checksum of every weight in both engines right after a sync: some differ",
		"repair the weight sync: reload the weights after the engine wakes up, and compare a checksum of every weight of the two engines right after a sync (all differ where none arrives, some where a part is missed); a correction only hides the fault"},
	Staleness: {"run a step with learning rate 0 and freshly loaded weights: a gap that stays is not lag", ""},
}

const (
	// namedFrom and likelyFrom are log10 likelihood ratios to the runner-up.
	namedFrom, likelyFrom = 2, 1
	// listedShare is the share of Σk3 from which a cause is listed. A verdict has those of secondShare, and those whose interval
	// begins above surelyShare: of fresh mixtures with a second cause of 20 % that names it in two of three.
	listedShare, secondShare, surelyShare = 0.05, 0.15, 0.1
	// coarse is the size from which rounding cannot be distinguished from mild staleness for certain, in logits.
	coarse = 0.05
	// mostLone is the part of Σk3 in large errors one by one above which rounding cannot be distinguished from routes that
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
func (a *Analysis) attribute(r *Report, rows []*kept) {
	f := featuresOf(rows)
	r.Features = f
	if c := r.check("support"); c.Result == Watch {
		r.begins(&onset{cause: Sampler, why: c.Why}, Confident)
		return
	}
	if o := onsetOf(rows); o != nil && o.cause != "" {
		r.begins(o, Confident)
		return
	}
	if o, word := controlled(rows); o != nil {
		r.begins(o, word)
		return
	}
	if f == nil || f.T90 == nil {
		return
	}
	if *f.Med < finest {
		r.Causes = []Cause{{Name: Order, ShareK3: [3]float64{1, 1, 1}, Log10LR: excluded, Confirm: causes[Order].confirm}}
		r.Ambiguous = [][2]string{{Order, Precision}}
		r.Verdict.because([]string{Order}, Likely, map[string][3]float64{Order: {1, 1, 1}})
		return
	}
	r.Signatures, r.Attribution = the.signatures(f), the.Accuracy
	dense := a.options.Experts == 1
	families := the.Classes.families(f)
	if dense {
		families = slices.DeleteFunc(families, func(e evidenceFor) bool { return e.cause == Routing })
	}
	shares := the.shares(f, dense)
	first := families[0].cause
	word, cannot := confidence(f, families)
	if first == Routing && f.FlipPart == nil && a.options.Experts < 2 { // nothing says that the model has experts
		word = min(word, Likely)
		cannot = append(cannot, [2]string{Routing, "jumps of a dense model"})
	}
	r.Ambiguous = append(r.Ambiguous, cannot...)
	names, word := partners(families, word, shares)
	if first == Staleness && word >= Likely && f.LagRank != nil && *f.LagRank <= 0 {
		r.untagged(*f.LagRank)
		return
	}
	sure := len(names)
	for _, e := range families {
		if !slices.Contains(names, e.cause) && shares[e.cause][1] > listedShare {
			names = append(names, e.cause)
		}
	}
	ratio := map[string]float64{}
	for i, e := range families {
		other := families[0]
		if i == 0 {
			other = families[1]
		}
		ratio[e.cause] = (e.log - other.log) / math.Ln10
	}
	for i, cause := range names {
		name, why := f.called(cause)
		names[i], shares[name] = name, shares[cause]
		r.Causes = append(r.Causes, Cause{Name: name, ShareK3: shares[cause], Log10LR: ratio[cause], Why: why, Confirm: causes[name].confirm})
	}
	switch names = names[:sure]; {
	case word == Unknown:
		r.Verdict.Summary += fmt.Sprintf(" It resembles none of the simulated dumps; the nearest have the cause %s.", first)
	case r.Verdict.State == Healthy && (word == Either || len(names) > 1 || first != Precision):
		// Nothing needs a cause: what is listed is a guess.
	default:
		r.Verdict.because(names, word, shares)
		if why := r.Causes[0].Why; why != "" && word > Either {
			r.Verdict.Summary += " " + capital(why) + "."
		}
		if slices.Contains(names, Routing) && f.FlipPart == nil && a.options.Experts < 2 {
			r.Verdict.Summary += " Routing is possible only if the model has experts, which the dump does not say (--experts N)."
		}
	}
}

// begins makes a verdict of where the gap begins, or of a control that takes it away. A fault of the stack is to be repaired however small the gap still is.
func (r *Report) begins(o *onset, word Confidence) {
	whole := [3]float64{1, 1, 1}
	r.Causes = []Cause{{Name: o.cause, ShareK3: whole, Log10LR: excluded, Why: o.why, Confirm: causes[o.cause].confirm}}
	names := []string{o.cause}
	if o.other != "" {
		names, word = append(names, o.other), Either
		r.Ambiguous = append(r.Ambiguous, [2]string{o.cause, o.other})
	}
	r.Verdict.because(names, word, map[string][3]float64{o.cause: whole})
	r.Verdict.Summary += " " + capital(o.why) + "."
	r.Verdict.Next = cmp.Or(causes[o.cause].repair, sameForm)
}

// partners are the causes that a verdict names: what the gap looks like, and what else has a part of it. Where the look is
// clear only a part that is sure counts; where the look and the parts do not agree it is one of two.
func partners(families []evidenceFor, word Confidence, shares map[string][3]float64) ([]string, Confidence) {
	first := families[0].cause
	if word == Unknown {
		return []string{first}, word
	}
	var names []string
	weight := map[string]float64{} // the look, and the part that a cause has
	for _, e := range families {
		s := shares[e.cause]
		weight[e.cause] = e.log + elementary.Log(max(s[1], 1e-6))
		if s[0] > surelyShare || s[1] >= secondShare && word < Confident || s[1] >= 0.5 {
			names = append(names, e.cause)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(weight[b], weight[a]) })
	switch {
	case len(names) > 1: // each has a part
		return names, Likely
	case len(names) == 0 || names[0] == first && word > Either:
		return []string{first}, word
	case names[0] != first:
		return []string{names[0], first}, Either
	}
	return []string{first, families[1].cause}, word
}

// called is the name of a cause, and why it is that: what looks like old weights is weights that were never synced where every
// token id is off in the same direction at every step.
func (f *Features) called(cause string) (name, why string) {
	switch {
	case cause != Staleness || f.Turn == nil || f.LagSlope != nil:
	case *f.Turn >= constant:
		return Unsynced, fmt.Sprintf("the error of a token id has the same direction at every step (cosine %.2f, from %.2f on): some weights were never synchronised; with staleness the direction changes", *f.Turn, constant)
	case *f.Turn <= turning:
		return cause, fmt.Sprintf("the error of a token id turns from step to step (cosine %.2f, up to %.2f): the weights are stale; weights that were never synchronised have the same error at every step", *f.Turn, turning)
	}
	return cause, ""
}

// untagged makes the versions a fault: what is older should differ more where age is what makes the gap.
func (r *Report) untagged(rank float64) {
	for i := range r.Checks {
		if c := &r.Checks[i]; c.ID == "version-tag" && c.scope == everything {
			c.Value, c.Result, c.fix = rank, Fail, retag
			c.Why = fmt.Sprintf("the statistical signature is that of staleness, but responses with an older version do not differ more (Spearman %.2f)", rank)
			r.Verdict = repair([]Check{*c})
		}
	}
}

// confidence is the word for the first of the causes, and the pairs that this data cannot distinguish.
func confidence(f *Features, families []evidenceFor) (word Confidence, pairs [][2]string) {
	first, second := families[0].cause, families[1].cause
	ratio := (families[0].log - families[1].log) / math.Ln10
	word = Either
	switch {
	case families[0].distance > 1:
		word = Unknown
	case ratio >= namedFrom:
		word = Confident
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
	case first == Precision && !f.onPolicy() && *f.Med > coarse, first == Staleness && f.LagSlope == nil:
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
	if first == Staleness && f.LagSlope == nil && (f.Turn == nil || *f.Turn > turning && *f.Turn < constant) {
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
		v.Next = causes[names[0]].confirm
	}
}

func describe(names []string, confidence Confidence, shares map[string][3]float64) string {
	part := func(name string) string {
		s := shares[name]
		if name == Unsynced {
			name += " weights"
		}
		if s[0] == s[2] { // it is not measured as a part
			return name
		}
		return fmt.Sprintf("%s (%s)", name, shareText(s, "of it", ""))
	}
	text := " The cause is " + part(names[0])
	switch confidence {
	case Likely:
		text = " The likely cause is " + part(names[0])
	case Either:
		return fmt.Sprintf(" The cause is either %s or %s.", names[0], names[1])
	}
	if len(names) > 1 { // the larger share first
		names = slices.Clone(names)
		slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(shares[y][1], shares[x][1]) })
		text = " The likely causes are " + part(names[0])
	}
	for _, name := range names[1:] {
		text += " and " + part(name)
	}
	return text + "."
}

// shareText is a share with its interval, which is left out where it has no width.
func shareText(s [3]float64, of, interval string) string {
	text := fmt.Sprintf("%.0f %% %s", 100*s[1], of)
	if low, high := fmt.Sprintf("%.0f", 100*s[0]), fmt.Sprintf("%.0f", 100*s[2]); low != high {
		text += fmt.Sprintf(", %s%s to %s", interval, low, high)
	}
	return text
}

// Part is the cause's share of k3, with its interval.
func (c Cause) Part() string { return shareText(c.ShareK3, "of k3", "90 % interval ") }
