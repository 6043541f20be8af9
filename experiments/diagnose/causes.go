package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/diagnose/reader"
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
		r.Causes = []Cause{{Name: Order, ShareK3: [3]float64{1, 1, 1}, Log10LR: excluded, Confirm: texts.Causes[Order].Confirm}}
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
		r.Causes = append(r.Causes, Cause{Name: name, ShareK3: shares[cause], Log10LR: ratio[cause], Why: why, Confirm: texts.Causes[name].Confirm})
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
	r.Causes = []Cause{{Name: o.cause, ShareK3: whole, Log10LR: excluded, Why: o.why, Confirm: texts.Causes[o.cause].Confirm}}
	names := []string{o.cause}
	if o.other != "" {
		names, word = append(names, o.other), Either
		r.Ambiguous = append(r.Ambiguous, [2]string{o.cause, o.other})
	}
	r.Verdict.because(names, word, map[string][3]float64{o.cause: whole})
	r.Verdict.Summary += " " + capital(o.why) + "."
	r.Verdict.Next = cmp.Or(texts.Causes[o.cause].Repair, sameForm)
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
		v.Next = texts.Causes[names[0]].Confirm
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

// The causes that are classified by where a gap begins, in dumps from the start of a run whose engines are otherwise equal in every bit.
const (
	// StalePrefix is a prefix cache that outlives a weight sync, PartialSync a weight sync that misses tensors, workers or
	// a step, Adapters a LoRA adapter that one engine merges into rounded weights and the other computes as a product of its own.
	StalePrefix = "stale prefix cache"
	PartialSync = "partial weight sync"
	Adapters    = "adapter merged in one engine"
)

const (
	// leastSteps is how many steps an onset needs, leastOfStep how many responses each of them.
	leastSteps, leastOfStep = 3, 8
	// nearlyAll and nearlyNone are shares of responses: nearly all, and nearly none.
	nearlyAll, nearlyNone = 0.9, 0.1
	// flatUpTo and growsFrom bound the slope of log size on the log of the updates since the onset: rounding has none,
	// stale weights move away about in proportion.
	flatUpTo, growsFrom = 0.3, 0.5
)

// onset is where a gap begins, if the first steps of a dump have none. The cause is empty where several explain it.
type onset struct {
	step  int
	cause string
	other string // the cause that the dump cannot tell from it, empty if none
	why   string
}

// stepSizes are the sizes of the gap of a step's responses: the median |u| of each, of prompts that an earlier step had, and of others.
type stepSizes struct {
	step          int
	recur, unique []float64
}

func (s stepSizes) all() []float64 { return slices.Concat(s.recur, s.unique) }

// onsetOf looks for it; nil where there is none.
func onsetOf(rows []*kept) *onset {
	steps := sizesByStep(rows)
	if len(steps) < leastSteps {
		return nil
	}
	var all, recur, unique []float64 // shares of responses with a gap, by step; their sizes after the first step
	for i, s := range steps {
		if len(s.recur)+len(s.unique) < leastOfStep {
			return nil
		}
		all = append(all, gapShare(s.all()))
		if i > 0 {
			recur, unique = append(recur, s.recur...), append(unique, s.unique...)
		}
	}
	if all[0] > 0 {
		return onsetAboveFloor(steps, rows)
	}
	from := slices.IndexFunc(all, func(x float64) bool { return x > 0 })
	if from < 0 {
		return nil
	}
	o := &onset{step: steps[from].step}
	if lag := meanLag(rows); lag == nil || *lag > 0 {
		// Stale rollouts begin to differ with the first update, too.
		if !separated(all) {
			return nil
		}
		o.why = fmt.Sprintf("the engines are equal to the last bit before step %d", o.step)
		return o
	}
	again, first := gapShare(recur), gapShare(unique)
	to := from // the first step without a gap after it
	for to < len(all) && all[to] >= nearlyAll {
		to++
	}
	switch {
	case len(recur) >= leastOfStep && len(unique) >= leastOfStep && again >= nearlyAll && first <= 0.5 && !separated(all):
		o.cause = StalePrefix
		o.why = fmt.Sprintf("%.0f %% of the responses to prompts of earlier steps differ, and %.0f %% of those to new prompts, although all have the current weights", 100*again, 100*first)
	case separated(all) && len(recur) >= leastOfStep && len(unique) >= leastOfStep && again >= nearlyAll && first <= nearlyNone:
		o.cause, o.other = StalePrefix, PartialSync
		o.why = fmt.Sprintf("the engines are equal to the last bit before step %d, the first whose prompts occurred before", o.step)
	case separated(all) && to < len(all):
		o.cause = PartialSync
		o.why = fmt.Sprintf("the engines are equal to the last bit except at step %s: a weight sync was missed, as at a resume", span(steps[from].step, steps[to-1].step))
	case separated(all) && to-from >= leastSteps:
		switch slope := growth(steps[from:], o.step-1, 0); {
		case slope >= growsFrom:
			o.cause, o.other = Unsynced, PartialSync
			o.why = fmt.Sprintf("the engines are equal to the last bit before step %d, and differ the more the more updates follow (exponent %.2f), although every version is the current one: %s", o.step, slope, stays(o.step))
		case slope <= flatUpTo:
			o.cause = Adapters
			o.why = fmt.Sprintf("the engines are equal to the last bit before step %d, and differ by as much at every step after it (exponent %.2f): they are equal until an adapter is not zero", o.step, slope)
		default:
			o.why = fmt.Sprintf("the engines are equal to the last bit before step %d", o.step)
		}
	case len(all)-from >= leastSteps-1 && within(all[from:], 0.02, nearlyAll) && (len(recur) < leastOfStep || len(unique) < leastOfStep || math.Abs(again-first) < 0.3):
		o.cause = PartialSync
		o.why = fmt.Sprintf("from step %d on %.0f %% of the responses differ and the others are equal to the last bit, whatever their prompt: some workers keep old weights", o.step, 100*gapShare(slices.Concat(recur, unique)))
	default:
		return nil
	}
	return o
}

func stays(step int) string {
	return fmt.Sprintf("from step %d on the rollout engine has the weights of before step %d, as where no sync reaches it (reload them after every wake-up), or every sync misses a part of them", step, step)
}

// sizesByStep groups responses by step, in the order of steps; nil where a step or a prompt is unknown.
func sizesByStep(rows []*kept) (steps []stepSizes) {
	order := slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b *kept) int { return a.step - b.step })
	seen := map[uint64]int{} // the first step of a prompt
	for _, k := range order {
		if k.step < 0 || !k.prompted {
			return nil
		}
		if n := len(steps); n == 0 || steps[n-1].step != k.step {
			steps = append(steps, stepSizes{step: k.step})
		}
		size, ok := sizeOf(k)
		if !ok {
			continue
		}
		s := &steps[len(steps)-1]
		if at, known := seen[k.prompt]; known && at < k.step {
			s.recur = append(s.recur, size)
		} else {
			seen[k.prompt], s.unique = k.step, append(s.unique, size)
		}
	}
	return steps
}

// sizeOf is the median |u| of a response with at least some tokens in doubt, in logits.
func sizeOf(k *kept) (float64, bool) {
	s := deviationsOf([]*kept{k})
	return s.med, len(s.all) > 0
}

// gapShare is the share of sizes that are more than the last bits of fp32.
func gapShare(sizes []float64) float64 {
	return shareOf(sizes, func(x float64) bool { return x >= finest })
}

// separated reports whether in every step nearly all responses have a gap, or nearly none.
func separated(shares []float64) bool {
	return !slices.ContainsFunc(shares, func(x float64) bool { return x > nearlyNone && x < nearlyAll })
}

// within reports whether all numbers are in a range.
func within(list []float64, low, high float64) bool {
	return !slices.ContainsFunc(list, func(x float64) bool { return x < low || x > high })
}

// growth is the slope of the log of what the steps' median sizes have above a level on the log of the updates since a step before them.
func growth(steps []stepSizes, before int, level float64) float64 {
	var m moments
	for _, s := range steps {
		if x := medianOf(s.all()); x > level {
			m.add(elementary.Log(float64(s.step-before)), elementary.Log(math.Sqrt(float64(x*x)-float64(level*level))))
		}
	}
	if xx, _, xy := m.centred(); xx > 0 && m.n >= leastSteps {
		return xy / xx
	}
	return 0
}

// span is a step, or the first and the last of several.
func span(from, to int) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, to)
}

const (
	// risesBy is the ratio of a step's median size to the first step's from which it is above the floor, staysWithin up to
	// which it is on it. With eight bits the medians of 128 responses scatter by a fifth.
	risesBy, staysWithin = 2, 1.5
	// jumpsBy is the ratio to the largest step before from which a gap begins with the prompts that occurred before.
	jumpsBy = 1.25
	// aboveFloor is a response's size, in upper deciles of the first step's, that the floor does not reach.
	aboveFloor = 2
	// leastAside is how many responses to prompts of earlier steps are compared with as many others of the same steps.
	leastAside = 32
	// leastAimed is how much of the squares has a direction where weights are old, undirected and a margin: rounding has less.
	leastAimed = 0.1
)

// onsetAboveFloor looks for a fault that begins above a floor: engines whose number formats differ, so that the first step has a
// gap already, and versions that are all the current ones. Sizes are compared with those of the first step, as steps, as
// responses within a step, and where some prompts occurred before. What stands out must have the direction of old weights,
// unless it is the prompts that say so: a gap of number formats that grows with the weights has none. An adapter that one engine
// merges adds no more than the floor, and is not found.
func onsetAboveFloor(steps []stepSizes, rows []*kept) *onset {
	lag := meanLag(rows)
	if lag == nil || *lag > 0 {
		return nil
	}
	first := steps[0].all()
	level := medianOf(first)
	top := quantile(first, 0.9)
	if level < finest {
		return nil
	}
	var ratio, high []float64
	var recur, unique []float64
	for _, s := range steps {
		all := s.all()
		high = append(high, shareOf(all, func(x float64) bool { return x > aboveFloor*top }))
		ratio = append(ratio, medianOf(all)/level)
		if len(s.recur) > 0 && len(s.unique) > 0 { // side by side
			recur, unique = append(recur, s.recur...), append(unique, s.unique...)
		}
	}
	if again, fresh := medianOf(recur)/level, medianOf(unique)/level; min(len(recur), len(unique)) >= leastAside && again >= risesBy*fresh && fresh <= staysWithin {
		return &onset{step: steps[0].step, cause: StalePrefix,
			why: fmt.Sprintf("in the same steps the gap of responses to prompts of earlier steps is %.1f times that of the others, which is that of the first step, although all have the current weights", again/fresh)}
	}
	if b := slices.IndexFunc(steps, func(s stepSizes) bool { return len(s.recur) > 0 }); b >= 2 && b+1 < len(steps) && len(steps[b].unique) == 0 {
		if before := slices.Max(ratio[:b]); before <= staysWithin && slices.Min(ratio[b:]) >= jumpsBy*before {
			return &onset{step: steps[b].step, cause: StalePrefix, other: PartialSync,
				why: fmt.Sprintf("the gap is that of the first step before step %d, the first whose prompts occurred before, and %.1f times as large from then on", steps[b].step, medianOf(slices.Clone(ratio[b:])))}
		}
	}
	late := high[len(high)/2:] // in most of the later steps some responses, and not most, are above the floor
	rises := func(x float64) bool { return x >= risesBy }
	from := slices.IndexFunc(ratio, rises)
	switch {
	case from > 0:
		to := from + 1
		for to < len(ratio) && rises(ratio[to]) {
			to++
		}
		o := &onset{step: steps[from].step}
		switch {
		case to < len(ratio) && within(ratio[:from], 0, staysWithin) && within(ratio[to:], 0, staysWithin):
			if !aimedAt(rows, steps[from].step, steps[to-1].step, 0) {
				return nil
			}
			o.cause = PartialSync
			o.why = fmt.Sprintf("the gap is %.1f times that of the first step at step %s, and that of the first step before and after: a weight sync was missed, as at a resume", slices.Max(ratio), span(steps[from].step, steps[to-1].step))
		case to < len(ratio):
			return nil
		case len(ratio)-from >= leastSteps && growth(steps[1:], steps[0].step, level) >= growsFrom && aimedAt(rows, steps[from].step, math.MaxInt, 0):
			o.cause, o.other = Unsynced, PartialSync
			o.why = fmt.Sprintf("the gap grows with the updates, to %.1f times that of the first step, in the direction of old weights, although every version is the current one: %s", ratio[len(ratio)-1], stays(steps[from].step))
		default:
			return nil
		}
		return o
	case high[0] == 0 && len(late) >= leastSteps && within(late, 0.02, 0.6) && aimedAt(rows, steps[1].step, math.MaxInt, aboveFloor*top):
		return &onset{step: steps[1].step, cause: PartialSync,
			why: fmt.Sprintf("of the last step's responses %.0f %% have a gap that none has in the first, and the others that of the first step, although every version is the current one: some workers keep old weights", 100*high[len(high)-1])}
	}
	return nil
}

// aimedAt reports whether the errors of the responses of these steps, of those above a size, have the direction of old weights.
func aimedAt(rows []*kept, from, to int, above float64) bool {
	var part []*kept
	for _, k := range rows {
		if size, ok := sizeOf(k); ok && k.step >= from && k.step <= to && size > above {
			part = append(part, k)
		}
	}
	f := featuresOf(part)
	if f == nil {
		return false
	}
	x := f.aimed()
	return x != nil && *x >= leastAimed
}

// The causes that a further column of log-probs decides: the two columns alone cannot tell them from number formats, and
// an index from other routes.
const (
	// LinearAttention is a gated delta rule that one engine computes token by token and the other in chunks, Index an index of
	// sparse attention that chooses other positions in one engine than in the other.
	LinearAttention = "linear attention in two forms"
	Index           = "index of sparse attention"
)

// controls are the columns: the learner's log-probs once more, with one thing as it is in the rollout engine.
var controls = [...]struct {
	cause, how string
	of         func(*reader.Row) []float64
}{
	{LinearAttention, "computes linear attention token by token", func(r *reader.Row) []float64 { return r.Recurrent }},
	{Index, "attends to the positions that the rollout engine's index chose", func(r *reader.Row) []float64 { return r.Indexed }},
}

// sameForm is what to do about linear attention in two forms, which a learner may need and a correction may bear.
const sameForm = "give both engines the same form of linear attention and the same format of its state; where that is too slow, correct for the gap as for one of number formats"

const (
	// mostLeft and halfLeft are the parts of Σk3 that a control may leave for a cause that is named, and for a likely one.
	mostLeft, halfLeft = 0.2, 0.5
)

// controlled is the cause whose control takes most of the gap away, as an onset without a step; nil where none does. What a
// control leaves may be another cause's, and a control that leaves all decides nothing: the learner's form of token by token
// may differ from the rollout engine's.
func controlled(rows []*kept) (o *onset, word Confidence) {
	best := halfLeft
	for i, c := range controls {
		tokens, before, after := 0, 0.0, 0.0
		for _, k := range rows {
			if k.control[i] == nil {
				continue
			}
			for n, roll := range k.roll {
				if x := k.control[i][n]; isLogp(x) {
					tokens++
					before += k3Of(k.old[n] - roll)
					after += k3Of(x - roll)
				}
			}
		}
		if tokens < leastTokens || before == 0 || after/before > best {
			continue
		}
		best = after / before
		o = &onset{cause: c.cause, why: fmt.Sprintf("of k3 %.0f %% is left where the learner %s", 100*best, c.how)}
	}
	if word = Likely; best <= mostLeft {
		word = Confident
	}
	return o, word
}

// k3Of is exp(d) - 1 - d, of a difference as far as the overflow.
func k3Of(d float64) float64 {
	d = max(-overflow, min(overflow, d))
	return elementary.Expm1(d) - d
}
