package diagnose

// gauge collects what a check needs, response by response, and judges it.
type gauge interface {
	add(v *view)
	judge(e *evidence) outcome
}

// outcome is what a check says of a scope.
type outcome struct {
	value  float64
	result Result
	why    string
	// fix is what to do about a fault.
	fix string
}

// Result is how a check ends.
type Result string

// The results.
const (
	Pass  Result = "pass"
	Watch Result = "watch"
	// CannotTell is a check whose tokens are too few, or too unlike each other, to find a fault of the size that matters.
	CannotTell    Result = "cannot tell"
	Fail          Result = "fail"
	NotApplicable Result = "n/a"
)

// pass and its like make outcomes.
func pass(value float64, why string) outcome { return outcome{value: value, result: Pass, why: why} }

func watch(value float64, why string) outcome { return outcome{value: value, result: Watch, why: why} }

func cannotTell(value float64, why string) outcome {
	return outcome{value: value, result: CannotTell, why: why}
}

func fail(value float64, why, fix string) outcome {
	return outcome{value: value, result: Fail, why: why, fix: fix}
}

func notApplicable(why string) outcome { return outcome{result: NotApplicable, why: why} }

// check is one of the checks.
type check struct {
	id string
	// limit is what the value is compared with, as the report shows it.
	limit float64
	// family is the cause that a fault belongs to.
	family string
	// whole says that it needs whole responses, and has nothing to say of a third.
	whole bool
	make  func() gauge
}

// checks come in this order: what is wrong further up explains what is odd further
// down. Their limits were chosen on simulated dumps, and stand with the checks.
var checks = []check{
	{"usable", leastTokens, Bookkeeping, false, func() gauge { return &usable{} }},
	{"column-not-real", notReal, Bookkeeping, false, func() gauge { return &columnNotReal{} }},
	{"non-finite", 0, Bookkeeping, false, func() gauge { return &nonFinite{} }},
	{"sign-units", mostSigns, Bookkeeping, false, func() gauge { return &signUnits{} }},
	{"impossible-value", 0, Bookkeeping, false, func() gauge { return &impossibleValue{} }},
	{"storage-grid", onGrid, Bookkeeping, false, func() gauge { return &storageGrid{} }},
	{"identical", equalShare, Bookkeeping, false, func() gauge { return &identical{} }},
	{"rows-not-real", rowsNotReal, Bookkeeping, true, func() gauge { return newRowsNotReal() }},
	{"padding", rowsNotReal, Bookkeeping, true, func() gauge { return &padding{} }},
	{"floor", 0, Bookkeeping, true, func() gauge { return &floor{} }},
	{"duplicates", 0, Bookkeeping, true, func() gauge { return newDuplicates() }},
	{"shift", misplaced, Bookkeeping, true, func() gauge { return &shift{} }},
	{"same-tokens", misplaced, Bookkeeping, true, func() gauge { return &sameTokens{} }},
	{"masked-in", maskedShare, Bookkeeping, false, func() gauge { return &maskedIn{} }},
	{"late-mask", rowsNotReal, Bookkeeping, true, func() gauge { return &lateMask{} }},
	{"retokenised", replacedShare, Bookkeeping, true, func() gauge { return &retokenised{} }},
	{"law-identity", lawFault, Sampler, false, func() gauge { return &lawIdentity{} }},
	{"structured-gap", structured, Sampler, true, func() gauge { return structuredGap{} }},
	{"support", supportShare, Sampler, true, func() gauge { return &support{} }},
	{"temperature", 0, Sampler, true, func() gauge { return temperature{} }},
	{"swapped", lawFault, Bookkeeping, true, func() gauge { return &swapped{} }},
	{"penalty", penalised, Penalty, true, func() gauge { return penalty{} }},
	{"version-tag", 0, Bookkeeping, true, func() gauge { return &versionTag{} }},
	{"repeated-routes", 10 * misplaced, Bookkeeping, true, func() gauge { return &repeatedRoutes{} }},
	{"same-prefix", 0, Bookkeeping, true, func() gauge { return samePrefix{} }},
}

// evidence is what the checks of a scope have found so far.
type evidence struct {
	scope    scope
	tokens   int // trained, with finite log-probs
	trained  int
	answers  int // responses with such a token
	sample   []*kept
	part     []*kept // the responses that have other sampling settings, nil if all have
	measured *logits
	keptMass float64 // the mean of what is recorded of it, 1 where nothing is
	found    map[string]outcome
	options  Options
}

// logits are measured once, when a check asks for them.
func (e *evidence) logits() *logits {
	if e.measured == nil {
		l := logitsOf(e.sample)
		e.measured = &l
	}
	return e.measured
}

// recordedSupport reports whether a sampling support is recorded, as a kept mass below 1 that the ratios do not speak against.
func (e *evidence) recordedSupport() bool {
	return e.keptMass < 1-supportShare/2 && !e.failed("law-identity")
}

// failed reports whether an earlier check has found a fault.
func (e *evidence) failed(id string) bool { return e.found[id].result == Fail }

// share is a part of a whole, 0 of nothing.
func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// count1 is 1 of what is true, to be summed.
func count1(is bool) int {
	if is {
		return 1
	}
	return 0
}
