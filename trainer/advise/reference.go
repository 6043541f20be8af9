package advise

import (
	_ "embed" // of the fitted figures
	"encoding/json"
)

// reference is what attribution compares with, and how it was made.
type reference struct {
	// Made says of what, and by which command.
	Made    string `json:"made"`
	Classes laws   `json:"classes"`
	// Stale predict staleness' part of a gap, the first of them that has all its coordinates, and Error is their
	// standard error, in log-odds, on seeds that the fit has not seen.
	Stale []regression `json:"stale"`
	Error float64      `json:"error"`
	// Looks are where features lie, by cause.
	Looks []Look `json:"looks"`
	// Checks are where the values of checks lie, by name.
	Checks map[string]*Range `json:"checks"`
	// Accuracy is how often the classes are right on what they were not fitted to.
	Accuracy []Accuracy `json:"accuracy"`
}

// Accuracy is that of attribution on simulated dumps of one cause that it was not fitted to.
type Accuracy struct {
	// Test says what was left out of the fit.
	Test string `json:"test"`
	// Of N dumps Right have the likeliest cause right; Unlike are unlike any that was fitted; Named are named,
	// NamedRight of them rightly.
	N          int `json:"n"`
	Right      int `json:"right"`
	Unlike     int `json:"unlike"`
	Named      int `json:"named"`
	NamedRight int `json:"named_right"`
}

//go:embed reference.json
var referenceText []byte

// the is the shipped reference.
var the = func() (r reference) {
	if err := json.Unmarshal(referenceText, &r); err != nil {
		panic("advise: reference.json: " + err.Error())
	}
	return r
}()

// stale is the log-odds of staleness' part, false where it cannot be said.
func (r *reference) stale(f *Features) (float64, bool) {
	if f.onPolicy() {
		return 0, false
	}
	for _, g := range r.Stale {
		if x, ok := g.logit(point(f)); ok {
			return x, true
		}
	}
	return 0, false
}
