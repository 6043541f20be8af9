package recipe

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"driftlab/trainer/method"
)

// files are the recipes inside the binary.
//
//go:embed shipped/*.yaml
var files embed.FS

// Names lists the shipped recipes in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir("shipped")
	if err != nil {
		panic("recipe: " + err.Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names) // the files have them with the suffix, after which fp8-rl-stale comes before fp8-rl
	return names
}

// Description is the first line of a shipped recipe, a comment that says what
// it is for; empty for an unknown name.
func Description(name string) string {
	text, _ := shippedText(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "#"))
}

func shippedText(name string) ([]byte, bool) {
	if strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	text, err := files.ReadFile(path.Join("shipped", name+".yaml"))
	return text, err == nil
}

// Arm is an ablation of a shipped recipe: what it leaves out or swaps. It is named
// recipe@arm wherever a recipe is named, and its run recipe-arm.
type Arm struct {
	// Name is what comes after the @.
	Name string `json:"name"`
	// Sets are its changes, in the form of --set.
	Sets []string `json:"sets"`
}

// armMark begins a line of a recipe's page that declares an arm: its name, a colon,
// and changes with semicolons between them.
const armMark = "Arm "

// Page is what a shipped recipe says of itself: its first lines, comments, without
// those that declare arms.
func Page(name string) string {
	var page strings.Builder
	for _, line := range commentOf(name) {
		if !strings.HasPrefix(line, armMark) {
			page.WriteString(line + "\n")
		}
	}
	return page.String()
}

// Arms lists the arms of a shipped recipe, in their order.
func Arms(name string) (arms []Arm) {
	for _, line := range commentOf(name) {
		if rest, ok := strings.CutPrefix(line, armMark); ok {
			arm, sets, _ := strings.Cut(rest, ": ")
			arms = append(arms, Arm{arm, strings.Split(sets, "; ")})
		}
	}
	return arms
}

// commentOf are the comment lines at the head of a shipped recipe.
func commentOf(name string) (lines []string) {
	text, _ := shippedText(name)
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSpace(rest))
	}
	return lines
}

// withArm splits recipe@arm, and puts the arm's changes before others. What is no
// shipped recipe's name before the @ is left as it is: a file may have one in its path.
func withArm(nameOrPath string, changes []Change) (string, []Change, error) {
	base, arm, ok := strings.Cut(nameOrPath, "@")
	if _, shipped := shippedText(base); !ok || !shipped {
		return nameOrPath, changes, nil
	}
	var known []string
	for _, a := range Arms(base) {
		known = append(known, a.Name)
		if a.Name != arm {
			continue
		}
		own, err := parseChanges(nameOrPath, append([]string{"name=" + base + "-" + arm}, a.Sets...))
		return base, append(own, changes...), err
	}
	if known == nil {
		return "", nil, Faults{{Source: nameOrPath, Problem: fmt.Sprintf("the recipe %s has no arms: leave @%s out", base, arm)}}
	}
	return "", nil, Faults{{Source: nameOrPath, Problem: fmt.Sprintf("arm: %v", method.UnknownName(arm, known))}}
}
