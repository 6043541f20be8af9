package foreign

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"driftlab/trainer/recipe"
)

// NotWritten is shown where WriteChanged has no text for a framework.
const NotWritten = "not written here"

// WriteChanged is what to set in a framework for what assignments, as --set takes them,
// change of a recipe: the text of Write, empty where it has not all of them. The notes name
// what the framework cannot say: each changed section that its own reader does not get back
// from the text, next to those of Write.
func WriteChanged(framework, base string, assignments []string) (text string, notes []string, err error) {
	old, err := recipe.Load(base)
	if err != nil {
		return "", nil, err
	}
	want, err := recipe.Load(base, assignments...)
	if err != nil {
		return "", nil, err
	}
	text, notes = write(framework, old, want)
	lost, err := lost(framework, base, text, assignments)
	if err != nil {
		return "", nil, err
	}
	written, partly := false, false
	for _, section := range differing(old, want) {
		switch {
		case section == "correction": // pipelines differ in what frameworks have no word for; Write's notes name what is lost
			written = written || len(notes) == 0
		case slices.Contains(lost, section):
			partly = true // and the rest is another setting
			if section == "routing" && slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, section) }) {
				break
			}
			notes = append(notes, framework+"'s setting for "+section+" is "+NotWritten)
		default:
			written = true
		}
	}
	if !written || partly {
		text = ""
	}
	return text, notes, nil
}

// lost are the sections that the assignments still change of what the framework's reader
// gets from a text.
func lost(framework, base, text string, assignments []string) ([]string, error) {
	var own []string
	if c, err := ReadAs(framework, framework, []byte(text)); err == nil && c.Framework == framework {
		own = c.Assignments()
	} // else the text has nothing that is the framework's alone
	back, err := recipe.Load(base, own...)
	if err != nil {
		return nil, err
	}
	want, err := recipe.Load(base, slices.Concat(own, assignments)...)
	if err != nil { // they do not go with what the framework always has
		if want, err = recipe.Load(base, assignments...); err != nil {
			return nil, err
		}
	}
	return differing(back, want), nil
}

// differing are the sections in which two recipes differ.
func differing(a, b recipe.Recipe) (sections []string) {
	var own, other map[string]json.RawMessage
	if json.Unmarshal(a.JSON(), &own) != nil || json.Unmarshal(b.JSON(), &other) != nil {
		panic("foreign: a recipe is written as JSON")
	}
	for name := range other { // sorted below
		if !bytes.Equal(own[name], other[name]) {
			sections = append(sections, name)
		}
	}
	for name := range own {
		if _, ok := other[name]; !ok {
			sections = append(sections, name)
		}
	}
	slices.Sort(sections)
	return sections
}
