package claim

// Verdict is what a claim came to. It is computed, never typed.
type Verdict string

// The verdicts.
const (
	// Reproduced: the primary check passes at the natural dose.
	Reproduced Verdict = "reproduced"
	// Extrapolates: it grows by a law along the ladder of scale, and the law's
	// interval at the published size holds the published figure.
	Extrapolates Verdict = "extrapolates"
	// OnlyAmplified: it fails or is open at the natural dose, and passes at the
	// amplified one.
	OnlyAmplified Verdict = "reproduced only when amplified"
	// NotReproduced: the interval excludes the threshold.
	NotReproduced Verdict = "not reproduced"
	// Refuted: the interval lies on the other side of zero.
	Refuted Verdict = "refuted at this scale"
	// Undecided: none of these.
	Undecided Verdict = "undecided"
)

// Dose says under what provocation a check was made.
type Dose string

// The doses.
const (
	// Exact is arithmetic: no provocation is involved.
	Exact Dose = "exact"
	// Natural is a gap of the size that real stacks have: warm-started weights and
	// number formats in use.
	Natural Dose = "natural"
	// Ladder is a law fitted along rungs of scale.
	Ladder Dose = "ladder"
	// Amplified is a gap made larger on purpose: random deep models, rounded
	// accumulators, 4-bit formats.
	Amplified Dose = "amplified"
)

// Doses are all of them, in the order in which they decide.
var Doses = []Dose{Exact, Natural, Ladder, Amplified}

// Mark is what became of one check.
type Mark string

// The outcomes.
const (
	Passed   Mark = "passed"
	Failed   Mark = "failed"   // the interval excludes the threshold
	Contrary Mark = "contrary" // the interval excludes the claim's direction
	Open     Mark = "open"     // the interval holds both answers
	Reported Mark = "reported" // printed, held against nothing
)

// Decide applies the rule to the primary checks of a claim, the first dose
// first:
//
//	it passes     reproduced; extrapolates on the ladder, only when amplified at that dose
//	it is contrary at the natural dose, or at the only one    refuted at this scale
//
// and where none passes, the first dose says how it failed: not reproduced, or
// undecided.
func Decide(checks []Check) Verdict {
	first := primary(checks, Doses...)
	if first == nil {
		return Undecided
	}
	if first.Outcome == Contrary {
		return Refuted
	}
	for dose, verdict := range passes {
		if c := primary(checks, Doses[dose]); c != nil && c.Outcome == Passed {
			return verdict
		}
	}
	if first.Outcome == Failed {
		return NotReproduced
	}
	return Undecided
}

// passes is the verdict of a primary check that passes, by place in Doses.
var passes = [...]Verdict{Reproduced, Reproduced, Extrapolates, OnlyAmplified}

// primary is the primary check of the first of these doses that has one.
func primary(checks []Check, doses ...Dose) *Check {
	for _, d := range doses {
		for i := range checks {
			if c := &checks[i]; c.Primary && c.Dose == d {
				return c
			}
		}
	}
	return nil
}

// Decisive is the primary check that a verdict rests on: the one that passed,
// or the first that stands in the way.
func (v Verdict) Decisive(checks []Check) *Check {
	for i, verdict := range passes {
		if c := primary(checks, Doses[i]); verdict == v && c != nil && c.Outcome == Passed {
			return c
		}
	}
	return primary(checks, Doses...)
}
