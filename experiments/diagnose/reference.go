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
