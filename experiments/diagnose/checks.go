package diagnose

import (
	"cmp"
	"fmt"
	"math"

	"driftlab/experiments/diagnose/reader"
)

// gauge collects what a check needs, response by response, and judges it.
type gauge interface {
	add(v *view)
	judge(e *evidence) outcome
}

// ofEvidence is a check of what others and the sample have collected.
type ofEvidence func(e *evidence) outcome

func (ofEvidence) add(*view) {}

func (j ofEvidence) judge(e *evidence) outcome { return j(e) }

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

func pass(value float64, why string) outcome { return outcome{value: value, result: Pass, why: why} }

func watch(value float64, why string) outcome { return outcome{value: value, result: Watch, why: why} }

func cannotTell(value float64, why string) outcome {
	return outcome{value: value, result: CannotTell, why: why}
}

func fail(value float64, why, fix string) outcome {
	return outcome{value: value, result: Fail, why: why, fix: fix}
}

func notApplicable(why string) outcome { return outcome{result: NotApplicable, why: why} }

type check struct {
	id string
	// limit is what the value is compared with, as the report shows it.
	limit float64
	// family is the cause that a fault belongs to.
	family string
	// whole says that it needs whole responses, and has nothing to say of a third.
	whole bool
	make  func() gauge
	// unless are checks whose fault leaves this one nothing to say.
	unless []string
}

// sideNames are the two columns of log-probs, as texts name them.
var sideNames = [...]string{"rollout", "learner's"}

// unlessWhy says what the fault of a check leaves of the tokens.
var unlessWhy = map[string]string{"column-not-real": "a column is not real", "sign-units": "a column is of other numbers", "shift": "all tokens are shifted",
	"structured-gap": "the sampling settings differ", "support": "the support explains it"}

// checks come in this order: what is wrong further up explains what is odd further
// down. Their limits were chosen on simulated dumps, and stand with the checks.
var checks = []check{
	{"usable", leastTokens, Bookkeeping, false, func() gauge { return ofEvidence(enoughTokens) }, nil},
	{"column-not-real", notReal, Bookkeeping, false, func() gauge { return &columnNotReal{} }, nil},
	{"non-finite", 0, Bookkeeping, false, func() gauge { return &nonFinite{low: map[float64]int{}} }, nil},
	{"sign-units", mostSigns, Bookkeeping, false, func() gauge { return &signUnits{} }, []string{"column-not-real"}},
	{"impossible-value", 0, Bookkeeping, false, func() gauge { return &impossibleValue{} }, []string{"column-not-real", "sign-units"}},
	{"storage-grid", onGrid, Bookkeeping, false, func() gauge { return &storageGrid{} }, []string{"column-not-real"}},
	{"identical", equalShare, Bookkeeping, false, func() gauge { return &identical{} }, nil},
	{"rows-not-real", rowsNotReal, Bookkeeping, true, func() gauge { return &someNotReal{} }, []string{"column-not-real"}},
	{"padding", rowsNotReal, Bookkeeping, true, func() gauge { return &padding{} }, []string{"column-not-real"}},
	{"floor", 0, Bookkeeping, true, func() gauge { return &floor{} }, []string{"column-not-real", "sign-units"}},
	{"duplicates", 0, Bookkeeping, true, func() gauge { return &duplicates{seen: map[uint64]bool{}} }, nil},
	{"shift", misplaced, Bookkeeping, true, func() gauge { return &shift{} }, []string{"sign-units"}},
	{"same-tokens", misplaced, Bookkeeping, true, func() gauge { return &sameTokens{} }, []string{"sign-units"}},
	{"masked-in", maskedShare, Bookkeeping, false, func() gauge { return &maskedIn{} }, nil},
	{"late-mask", rowsNotReal, Bookkeeping, true, func() gauge { return &lateMask{} }, nil},
	{"retokenised", replacedShare, Bookkeeping, true, func() gauge { return &retokenised{} }, []string{"shift"}},
	{"law-identity", lawFault, Sampler, false, func() gauge { return &lawIdentity{} }, nil},
	{"structured-gap", structured, Sampler, true, func() gauge { return ofEvidence(structuredGap) }, nil},
	{"support", supportShare, Sampler, true, func() gauge { return &support{} }, nil},
	{"temperature", 0, Sampler, true, func() gauge { return ofEvidence(temperature) }, []string{"support"}},
	{"swapped", lawFault, Bookkeeping, true, func() gauge { return &swapped{} }, nil},
	{"penalty", penalised, Penalty, true, func() gauge { return ofEvidence(penaltyOf) }, []string{"structured-gap"}},
	{"version-tag", 0, Bookkeeping, true, func() gauge { return &versionTag{} }, nil},
	{"repeated-routes", 10 * misplaced, Bookkeeping, true, func() gauge { return &repeatedRoutes{} }, nil},
	{"same-prefix", 0, Bookkeeping, true, func() gauge { return ofEvidence(samePrefix) }, nil},
}

// evidence is what the checks of a scope have found so far.
type evidence struct {
	*scoped
	sample   []*kept
	part     []*kept // the responses that have other sampling settings, nil if all have
	measured *deviations
	keptMass float64 // the mean of what is recorded of it, 1 where nothing is
	found    map[string]outcome
	options  Options
}

// deviations are measured once, when a check asks for them.
func (e *evidence) deviations() *deviations {
	if e.measured == nil {
		e.measured = deviationsOf(e.sample)
	}
	return e.measured
}

// recordedSupport reports whether a sampling support is recorded, as a kept mass below 1 that the ratios do not speak against.
func (e *evidence) recordedSupport() bool {
	return e.keptMass < 1-supportShare/2 && !e.failed("law-identity")
}

func (e *evidence) failed(id string) bool { return e.found[id].result == Fail }

// share is a part of a whole, 0 of nothing.
func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// entry is the value of a key, made where there is none; nil where there are as many as most others.
func entry[K comparable, V any](m *map[K]*V, key K, most int) *V {
	v := (*m)[key]
	if v == nil && len(*m) < most {
		if *m == nil {
			*m = map[K]*V{}
		}
		v = new(V)
		(*m)[key] = v
	}
	return v
}

// average is of figures as they come.
type average struct {
	sum float64
	n   int
}

func (a *average) add(x float64) { a.sum, a.n = a.sum+x, a.n+1 }

// mean is 0 of no figure, known then nil.
func (a average) mean() float64 { return a.sum / float64(max(a.n, 1)) }

func (a average) known() *float64 {
	if a.n == 0 {
		return nil
	}
	return new(a.mean())
}

// total is the sum of a list.
func total[T int | float64](list []T) (sum T) {
	for _, x := range list {
		sum += x
	}
	return sum
}

// countOf is how many of a list a condition holds for, shareOf their share.
func countOf[T any](list []T, is func(T) bool) (n int) {
	for _, x := range list {
		n += count1(is(x))
	}
	return n
}

func shareOf[T any](list []T, is func(T) bool) float64 { return share(countOf(list, is), len(list)) }

// count1 is 1 of what is true, to be summed.
func count1(is bool) int {
	if is {
		return 1
	}
	return 0
}

// versionTag finds versions that cannot be: newer than the step that trained, or
// falling inside a response.
type versionTag struct{ tagged, newer, falling, lags, impossible int }

func (c *versionTag) add(v *view) {
	r := v.row
	if isFinite(r.Lag) && len(v.at) > 0 {
		c.lags++
		c.impossible += count1(r.Lag < 0 || r.Step != reader.Unknown && r.Learner == 0 && r.Lag > float64(r.Step))
	}
	if r.Tail == reader.Unknown || r.Step == reader.Unknown {
		return
	}
	c.tagged++
	c.newer += count1(r.Tail > cmp.Or(r.Learner, r.Step))
	for n := 1; n < len(v.at) && r.Version != nil; n++ {
		if r.Version[v.at[n]] < r.Version[v.at[n-1]] {
			c.falling++
			break
		}
	}
}

// retag is what to do about versions that cannot be.
const retag = "tag every token with the version whose weights sampled it: lag and staleness limits are meaningless until then"

func (c *versionTag) judge(*evidence) outcome {
	value := share(c.newer+c.falling, c.tagged)
	switch {
	case c.impossible > 0:
		return fail(share(c.impossible, c.lags), fmt.Sprintf("%d of %d responses have a recorded lag that is negative, or of more updates than the run had made", c.impossible, c.lags), retag)
	case c.tagged == 0:
		return notApplicable("no version is recorded")
	case c.newer > 0:
		return fail(value, fmt.Sprintf("%d of %d responses have a version that is newer than their step", c.newer, c.tagged), retag)
	case c.falling > 0:
		return fail(value, fmt.Sprintf("in %d of %d responses the version falls from token to token", c.falling, c.tagged), retag)
	}
	return pass(value, "")
}

const (
	// leastShared is how many tokens after an equal prefix are needed, equalWithin a
	// spread that is none, and anotherContext one that no engine has by itself.
	leastShared    = 20
	equalWithin    = 1e-6
	anotherContext = 0.3
)

// samePrefix compares tokens after the same prompt and the same beginning: an
// engine that scores them differently depends on its batch or its cache.
func samePrefix(e *evidence) outcome {
	type scores struct{ roll, old float64 }
	seen := map[uint64]scores{}
	shared := 0
	var roll, old float64
	for _, k := range e.sample {
		if !k.first || k.id == nil {
			continue
		}
		h := k.prompt
		for i := range k.id {
			h = hashIDs(h, k.id[i:i+1])
			before, known := seen[h]
			if !known {
				seen[h] = scores{k.roll[i], k.old[i]}
				continue
			}
			shared++
			roll += math.Abs(k.roll[i] - before.roll)
			old += math.Abs(k.old[i] - before.old)
		}
	}
	if shared < leastShared {
		return notApplicable("too few responses begin alike")
	}
	roll, old = roll/float64(shared), old/float64(shared)
	value := max(roll, old)
	switch {
	case roll > anotherContext && old > anotherContext:
		return notApplicable("responses with equal tokens had different contexts")
	case roll > equalWithin && old <= equalWithin:
		return watch(value, fmt.Sprintf("the rollout engine scores the same tokens behind the same prefix differently, by %.2g: it depends on its batch or its cache", roll))
	case old > equalWithin && roll <= equalWithin:
		return watch(value, fmt.Sprintf("the learner scores the same tokens behind the same prefix differently, by %.2g: it depends on its batch", old))
	case value > equalWithin:
		return watch(value, fmt.Sprintf("both engines score the same tokens behind the same prefix differently, by %.2g and %.2g", roll, old))
	}
	return pass(value, "")
}
