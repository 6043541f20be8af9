package claim

import "driftlab/experiments/study/judge"

// Declaration says when the primary check of a claim was written, and which verdicts were
// published before it was changed.
type Declaration struct {
	// When is Before or Revised.
	When When `json:"-"`
	// Date, Verdict and Check are those of the first publication, where the primary check was
	// revised after it: Check is what was to be met, and what decided. Again is what became of the
	// same check in later publications; empty where there was none.
	Date    string        `json:"date"`
	Check   string        `json:"check"`
	Verdict judge.Verdict `json:"verdict"`
	Again   string        `json:"again,omitempty"`
	// Corrected says what moved when n became the number of warm starts; empty where nothing did.
	Corrected string `json:"-"`
}

// First is what was published with another check; nil where nothing was revised.
func (d Declaration) First() *Declaration {
	if d.When != Revised {
		return nil
	}
	return &d
}

// When is the time at which a primary check was declared.
type When string

// The times.
const (
	// Before any result was published.
	Before When = "before"
	// Revised after a result was published.
	Revised When = "revised"
)
