package reward

import (
	"encoding/json"
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Anchor takes from a response what it is longer than an anchor, in parts of
// the anchor. The anchor is the length at which the prompt was first solved
// reliably, and stays where it is: growth beyond it costs, brevity below it
// pays nothing, and what is not solved yet is free to grow.
//
// Anchor remembers its anchors; AppendState and SetState carry them over an
// interruption of the run.
type Anchor struct {
	Ramp `yaml:",inline"`
	// Coef is γ.
	Coef float64 `yaml:"coef" default:"0.01" range:"[0,1e6]"`
	// Solved is the share of correct responses in a group above which the
	// prompt counts as solved.
	Solved float64 `yaml:"solved" default:"0.9" range:"[0,1)"`
	// By says which prompts share an anchor: "prompt_tokens", those of equal length,
	// for tasks that never ask the same question twice; or "prompt", each has its
	// own, for a fixed set of prompts (rollout.pool). A prompt that is drawn afresh meets
	// no anchor of its own again: without a pool recipes refuse "prompt".
	By string `yaml:"by" default:"prompt_tokens" oneof:"prompt prompt_tokens"`
	// OnlySolved restricts the penalty to groups that are solved now, so that an
	// anchor shared with easier prompts does not tax the hard ones.
	OnlySolved bool `yaml:"only_solved"`

	anchors map[int64]float64
	groups  batch.Groups
}

// The values of Anchor.By.
const (
	byPrompt       = "prompt"
	byPromptTokens = "prompt_tokens"
)

var anchorSpec = method.Spec{
	Name: "length_anchor", Aliases: []string{"anchor"}, Unit: method.Sequence,
	Does:   "Penalises length beyond an anchor, which is the length at which a prompt was first solved reliably.",
	When:   "Use it to stop the growth of solved prompts, while unsolved prompts may use more tokens.",
	Source: "the anchor penalty of a length study by this project's survey (γ = 0.01, solved above 90 %)",
	Formula: "R = −γ · max(0, (L − anchor)/anchor), 0 before there is an anchor\n" +
		"anchor = mean L of the correct responses in the first group of the key with pass rate > solved",
	Needs: batch.Columns{batch.Group, batch.PromptID},
	Example: "γ = 0.1, anchor 10\n" +
		"15 tokens: −0.05\n" +
		"10 tokens or fewer: 0",
	Reconstruction: "published is that the anchor is set when pass@1 first exceeds 90 %; that its length is the mean over " +
		"the correct responses of that group is ours, as are by: prompt_tokens, the default, and only_solved for fresh prompts",
}

// Fresh returns an error if the anchors are of no use to prompts that never repeat.
func (a *Anchor) Fresh() error {
	if a.By == byPrompt {
		return fmt.Errorf("%s: without rollout.pool every prompt is a fresh one, which meets no anchor of its own again: use %s, or a pool", byPrompt, byPromptTokens)
	}
	return nil
}

// Part implements Shaper. Anchors are set in the order of the groups, before
// the group's own penalty.
func (a *Anchor) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	if err := b.Require(batch.Group); err != nil {
		return err
	}
	if err := requirePrompts(b); err != nil {
		return err
	}
	if a.anchors == nil {
		a.anchors = make(map[int64]float64)
	}
	coef := a.Coef * a.share(b)
	a.groups.Find(b.Group)
	for k := range a.groups.Len() {
		rows := a.groups.Rows(k)
		correct := 0
		for _, i := range rows {
			if verdicts[i].Correct {
				correct++
			}
		}
		solved := float64(correct) > a.Solved*float64(len(rows))
		key := b.PromptID[rows[0]]
		if a.By == byPromptTokens {
			key = int64(len(b.Prompt[rows[0]]))
		}
		anchor, known := a.anchors[key]
		if solved && !known {
			anchor, _ = correctLengths(b, verdicts, rows)
			a.anchors[key], known = anchor, true
		}
		for _, i := range rows {
			dst[i] = 0
			if known && (solved || !a.OnlySolved) {
				dst[i] = -coef * max(0, (length(b, i)-anchor)/anchor)
			}
		}
	}
	return nil
}

// requirePrompts returns an error unless the batch names the prompts.
func requirePrompts(b *batch.Batch) error {
	if len(b.PromptID) != b.Len() || len(b.Prompt) != b.Len() {
		return fmt.Errorf("reward: %d prompt ids and %d prompts for %d responses: record them before this stage",
			len(b.PromptID), len(b.Prompt), b.Len())
	}
	return nil
}

// AppendState appends the anchors, sorted by key.
func (a *Anchor) AppendState(dst []byte) []byte {
	text, err := json.Marshal(a.anchors)
	if err != nil { // lengths are finite
		panic(err)
	}
	return append(dst, text...)
}

// SetState replaces the anchors by those of AppendState.
func (a *Anchor) SetState(state []byte) error {
	anchors := make(map[int64]float64)
	if err := json.Unmarshal(state, &anchors); err != nil {
		return fmt.Errorf("reward: length_anchor state: %w", err)
	}
	for key, length := range anchors {
		if !(length > 0) {
			return fmt.Errorf("reward: length_anchor state: anchor %v of key %d is not positive", length, key)
		}
	}
	a.anchors = anchors
	return nil
}
