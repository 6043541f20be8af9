package judge

import "slices"

// Verdict is what a claim came to. It is computed, never typed.
type Verdict string

// The verdicts.
const (
	// Reproduced: the primary check passes at the natural level.
	Reproduced Verdict = "reproduced"
	// Extrapolates: it grows by a scaling law along the ladder of scale, and the law's
	// interval at the published size holds the published figure.
	Extrapolates Verdict = "extrapolates"
	// OnlyAmplified: it fails or is open at the natural level, and passes at the
	// amplified one.
	OnlyAmplified Verdict = "reproduced only when amplified"
	// NotReproduced: the interval excludes the threshold.
	NotReproduced Verdict = "not reproduced"
	// Refuted: the interval lies on the other side of zero.
	Refuted Verdict = "refuted at this scale"
	// Undecided: none of these.
	Undecided Verdict = "undecided"
)

// Verdicts are all of them, from the best for a claim on.
var Verdicts = []Verdict{Reproduced, Extrapolates, OnlyAmplified, Undecided, NotReproduced, Refuted}

// Confirmed is a verdict that new seeds repeat; where they come to another one, nothing is decided. Without new seeds it stands.
func (v Verdict) Confirmed(fresh Verdict) Verdict {
	if fresh == "" || fresh == v {
		return v
	}
	return Undecided
}

// OverRates is a verdict that its decisive check repeats at every learning rate; where one rate comes to another outcome, nothing is
// decided over rates.
func (v Verdict) OverRates(decisive *Check) Verdict {
	if decisive != nil && slices.ContainsFunc(decisive.ByRate, func(at RateOutcome) bool { return at.Outcome != decisive.Outcome }) {
		return Undecided
	}
	return v
}

// Level says under what provocation a check was made.
type Level string

// The levels.
const (
	// Exact is arithmetic: no provocation is involved.
	Exact Level = "exact"
	// Natural is a gap of the size that real stacks have: warm-started weights and
	// number formats in use.
	Natural Level = "natural"
	// Ladder is a scaling law fitted along rungs of scale.
	Ladder Level = "ladder"
	// Amplified is a gap made larger on purpose: random deep models, rounded
	// accumulators, 4-bit formats.
	Amplified Level = "amplified"
)

// Levels are all of them, in the order in which they decide.
var Levels = []Level{Exact, Natural, Ladder, Amplified}

// Mark is what became of one check.
type Mark string

// The outcomes.
const (
	Passed   Mark = "passed"
	Failed   Mark = "failed"   // the interval excludes the threshold
	Contrary Mark = "contrary" // the interval excludes the claim's direction
	Open     Mark = "open"     // the interval holds both answers
	Reported Mark = "reported" // printed, not tested
)

// Term is the outcome as tables and pages have it.
func (m Mark) Term() string {
	return map[Mark]string{Passed: "met", Failed: "not met", Contrary: "opposite", Open: "inconclusive", Reported: "reported"}[m]
}

// Decide applies the rule to the primary checks of a claim, the first level
// first:
//
//	it passes     reproduced; extrapolates on the ladder, only when amplified at that level
//	it is contrary at the natural level, or at the only one    refuted at this scale
//
// and where none passes, the first level says how it failed: not reproduced, or
// undecided.
func Decide(checks []Check) Verdict {
	c := Decisive(checks)
	switch {
	case c == nil:
		return Undecided
	case c.Outcome == Passed:
		return map[Level]Verdict{Exact: Reproduced, Natural: Reproduced, Ladder: Extrapolates, Amplified: OnlyAmplified}[c.Level]
	case c.Outcome == Contrary:
		return Refuted
	case c.Outcome == Failed:
		return NotReproduced
	}
	return Undecided
}

// primary is the primary check of the first of these levels that has one.
func primary(checks []Check, levels ...Level) *Check {
	for _, d := range levels {
		for i := range checks {
			if c := &checks[i]; c.Primary && c.Level == d {
				return c
			}
		}
	}
	return nil
}

// Decisive is the primary check that the verdict rests on: the one that passed,
// or the first that stands in the way.
func Decisive(checks []Check) *Check {
	first := primary(checks, Levels...)
	if first == nil || first.Outcome == Contrary {
		return first
	}
	for _, level := range Levels {
		if c := primary(checks, level); c != nil && c.Outcome == Passed {
			return c
		}
	}
	return first
}
