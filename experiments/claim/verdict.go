package claim

import "driftlab/experiments/stats"

// Verdict is what a claim came to. It is computed, never typed.
type Verdict string

// The verdicts.
const (
	// Reproduced: every check of the natural dose, and every exact one, holds.
	Reproduced Verdict = "reproduced"
	// OnlyAmplified: the natural dose does not show it, the amplified one does.
	OnlyAmplified Verdict = "reproduced only when amplified"
	// NotReproduced: the effect is absent, or smaller than its threshold.
	NotReproduced Verdict = "not reproduced"
	// Refuted: the interval lies on the other side.
	Refuted Verdict = "refuted at this scale"
	// Undecided: the interval holds both answers.
	Undecided Verdict = "undecided"
)

// Dose says under what provocation a check was made.
type Dose string

// The doses.
const (
	// Exact is arithmetic: no provocation is involved.
	Exact Dose = "exact"
	// Natural is a gap of the size that real stacks have: shipped or warm-started
	// weights and number formats in use.
	Natural Dose = "natural"
	// Amplified is a gap made larger on purpose: random deep models, rounded
	// accumulators, 4-bit formats.
	Amplified Dose = "amplified"
)

// Mark is what became of one check.
type Mark string

// The outcomes.
const (
	Passed   Mark = "passed"
	Failed   Mark = "failed"   // the effect is there but too small, or inconsistent
	Contrary Mark = "contrary" // the interval excludes the claim's direction
	Open     Mark = "open"     // the interval holds both directions
	Reported Mark = "reported" // printed, not judged
)

// Check is one comparison with a threshold that stands in the claim's file.
type Check struct {
	// Name says what is compared.
	Name string `json:"name"`
	// Dose is the provocation.
	Dose Dose `json:"dose"`
	// Needs is the threshold in words.
	Needs string `json:"needs"`
	// Value is the statistic with its 95 % interval.
	Value stats.Interval `json:"value"`
	// Seeds are the statistic's values, one per seed.
	Seeds []float64 `json:"seeds"`
	// Outcome is what became of it.
	Outcome Mark `json:"outcome"`
}

// LeastSeeds is the number of paired seeds below which a verdict is
// provisional: it is computed from the same rules, on points or on intervals
// that are too narrow.
const LeastSeeds = 5

// Decide applies the rule to the checks of a claim:
//
//	an exact check fails                        not reproduced
//	all natural checks pass                     reproduced
//	all amplified checks pass                   reproduced only when amplified
//	else, by the strongest dose there is:
//	  one is contrary, over five seeds or more  refuted at this scale
//	  one failed                                not reproduced
//	  else                                      undecided
//
// A claim with exact checks only is reproduced when they pass.
func Decide(checks []Check, seeds int) Verdict {
	exact, natural, stronger := tally(checks, Exact), tally(checks, Natural), tally(checks, Amplified)
	switch {
	case exact.all > exact.passed:
		return NotReproduced
	case natural.all > 0 && natural.passed == natural.all:
		return Reproduced
	case stronger.all > 0 && stronger.passed == stronger.all:
		return OnlyAmplified
	case natural.all == 0 && stronger.all == 0:
		if exact.all == 0 {
			return Undecided
		}
		return Reproduced
	}
	last := tally(checks, strongest(checks))
	switch {
	case last.contrary > 0 && seeds >= LeastSeeds:
		return Refuted
	case last.failed+last.contrary > 0:
		return NotReproduced
	}
	return Undecided
}

// strongest is the amplified dose where one was judged, else the natural one.
func strongest(checks []Check) Dose {
	if tally(checks, Amplified).all > 0 {
		return Amplified
	}
	return Natural
}

// Decisive is the check that a verdict other than reproduced rests on: the
// first that stands in the way. nil where all hold.
func (v Verdict) Decisive(checks []Check) *Check {
	dose, mark := Exact, map[Mark]bool{Failed: true, Contrary: true, Open: true}
	switch v {
	case Reproduced:
		return nil
	case OnlyAmplified:
		dose = Natural
	default:
		if c := tally(checks, Exact); c.passed == c.all {
			dose = strongest(checks)
			switch v {
			case Refuted:
				mark = map[Mark]bool{Contrary: true}
			case NotReproduced:
				mark = map[Mark]bool{Failed: true, Contrary: true}
			}
		}
	}
	for i := range checks {
		if c := &checks[i]; c.Dose == dose && mark[c.Outcome] {
			return c
		}
	}
	return nil
}

// Label is the check's name with its dose.
func (c *Check) Label() string {
	if c.Dose == Exact {
		return c.Name
	}
	return string(c.Dose) + ", " + c.Name
}

type counts struct{ all, passed, failed, contrary int }

// tally counts the judged checks of a dose.
func tally(checks []Check, d Dose) (c counts) {
	for _, k := range checks {
		if k.Dose != d || k.Outcome == Reported {
			continue
		}
		c.all++
		switch k.Outcome {
		case Passed:
			c.passed++
		case Failed:
			c.failed++
		case Contrary:
			c.contrary++
		}
	}
	return c
}
