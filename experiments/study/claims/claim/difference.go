package claim

import "driftlab/experiments/study/judge"

// Difference is the section "Why the toy differs" of a claim's page.
type Difference struct {
	// Published is the paper's figure of the quantity of a check, in the check's unit; Level and
	// Check name that check.
	Published float64
	Level     judge.Level
	Check     string
	// Why is the reason that is suspected, and Experiment what would tell.
	Why, Experiment string
	// Checks are the names of the checks that such an experiment reports, in their order; empty
	// where none was made.
	Checks []string
}

// Find returns the first check of that name, at a level or, with "", at any.
func (e *Evidence) Find(level judge.Level, name string) *judge.Check {
	for i := range e.Checks {
		if c := &e.Checks[i]; c.Name == name && (level == "" || c.Level == level) {
			return c
		}
	}
	return nil
}
