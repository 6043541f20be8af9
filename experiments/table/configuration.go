package table

import (
	"slices"
	"strings"

	"driftlab/trainer/recipe/foreign"
)

// configurations are the frameworks of each column: the first that has the setting is shown.
var configurations = []struct {
	head       string
	frameworks []string
}{{"verl", []string{"verl"}}, {"TRL, SkyRL or prime-rl", []string{"trl", "skyrl", "prime-rl"}}}

// configuration is the setting in the first of the frameworks that has all of it.
func (s Setting) configuration(frameworks []string) (string, error) {
	for _, name := range frameworks {
		text, _, err := foreign.WriteChanged(name, "headline", s.Recipe)
		if err != nil {
			return "", err
		}
		var lines []string
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			if line != "" && !slices.Contains(logging, line) {
				lines = append(lines, "`"+line+"`")
			}
		}
		if len(lines) > 0 {
			return strings.Join(lines, " "), nil
		}
	}
	return foreign.NotWritten, nil
}

// logging are the lines that every correction needs in a framework; the note has them once.
var logging = []string{"actor_rollout_ref: {rollout: {calculate_log_probs: true}}", "generator: {sampling_params: {logprobs: 1}}"}
