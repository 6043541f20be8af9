package diagnose

import (
	_ "embed" // of the fitted figures
	"encoding/json"
)

// reference is what attribution compares with, and how it was made.
type reference struct {
	// Made says of what, and by which command.
	Made    string `json:"made"`
	Classes laws   `json:"classes"`
	// Split predicts the parts that causes have, and Accepted is where it lies for shares that are known, by cause.
	Split    splitters               `json:"split"`
	Accepted map[string][]acceptance `json:"accepted"`
	// Signatures are where features lie, by cause.
	Signatures []Signature `json:"looks"`
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

// Signature is a feature of a gap next to what it is in simulated gaps of each cause.
type Signature struct {
	// Feature is its name among the features, About what it is.
	Feature string  `json:"feature"`
	About   string  `json:"about"`
	Value   float64 `json:"value"`
	// Ranges are of the reference set.
	Ranges []Range `json:"ranges"`
}

// Range is where a figure lies in N simulated dumps: a feature in those of a cause, the
// value of a check in all, none of which has anything to repair.
type Range struct {
	Cause string `json:"cause,omitempty"`
	N     int    `json:"n"`
	// Quantiles are those of 5, 25, 50, 75 and 95 %.
	Quantiles [5]float64 `json:"quantiles"`
}

// signatureFeatures are the features that are shown.
var signatureFeatures = []struct {
	name, about string
	of          func(f *Features) *float64
}{
	{"med", "median error, in logits", func(f *Features) *float64 { return f.Med }},
	{"t99", "99 % quantile of errors, in medians", func(f *Features) *float64 { return f.T99 }},
	{"lift", "large errors side by side, over chance", func(f *Features) *float64 { return f.Lift }},
	{"jumps", "part of k3 in short runs of large errors", func(f *Features) *float64 { return f.Jumps }},
	{"eta2", "part of the squares that goes by the log-odds", func(f *Features) *float64 { return f.Eta2 }},
	{"icc", "correlation of errors of one token id", func(f *Features) *float64 { return f.ICC }},
	{"disp", "scatter from response to response, over chance", func(f *Features) *float64 { return f.Disp }},
	{"flip_part", "part of k3 where other experts computed a token", func(f *Features) *float64 { return f.FlipPart }},
}

// signatures puts the features that were measured next to the reference's.
func (r *reference) signatures(f *Features) []Signature {
	var list []Signature
	for i, l := range signatureFeatures {
		if x := l.of(f); x != nil {
			s := r.Signatures[i]
			s.Value = *x
			list = append(list, s)
		}
	}
	return list
}
