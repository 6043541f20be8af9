package reward

import (
	"encoding/json"
	"fmt"
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// LengthLinear lowers the reward of each response by its generated tokens, its other tokens and its
// turns, each relative to the largest of its group, in proportion to the group's mean reward.
//
// It reads the sum of the parts that stand before it. A group without a reward is not penalised,
// and in one with a negative mean the longest response gains. prime-rl subtracts the group's mean
// afterwards: take the advantage grpo with std: false and singleton: zero.
type LengthLinear struct {
	Ramp `yaml:",inline"`
	// Output weighs the generated tokens.
	Output float64 `yaml:"output" default:"0.25" range:"[0,1e6]"`
	// Input weighs the tokens of the prompt and of tools.
	Input float64 `yaml:"input" default:"0.1" range:"[0,1e6]"`
	// Turns weighs the turns; a batch that records none has one turn a response.
	Turns float64 `yaml:"turns" default:"0.1" range:"[0,1e6]"`

	groups batch.Groups
}

func (*LengthLinear) follows() {}

// Part implements Shaper.
func (l *LengthLinear) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	if err := b.Require(batch.Reward); err != nil {
		return err
	}
	share := l.share(b)
	return eachGroup(&l.groups, b, func(rows []int) {
		mean, most := 0.0, [3]float64{1, 1, 1}
		for _, i := range rows {
			mean += b.Reward[i] / float64(len(rows))
			for j, size := range sizes(b, i) {
				most[j] = max(most[j], size)
			}
		}
		for _, i := range rows {
			size := sizes(b, i)
			relative := float64(l.Output*size[0]/most[0]) + float64(l.Input*size[1]/most[1]) + float64(l.Turns*size[2]/most[2])
			dst[i] = -share * mean * relative
		}
	})
}

// sizes are the generated tokens, the other tokens with the prompt's, and the turns of response i.
func sizes(b *batch.Batch, i int) [3]float64 {
	from, to := b.Span(i)
	generated, input, turns := length(b, i), 0.0, 1.0
	if len(b.Prompt) == b.Len() {
		input = float64(len(b.Prompt[i]))
	}
	if len(b.Turn) == b.Tokens() && to > from {
		turns = float64(b.Turn[to-1]) + 1
	}
	return [3]float64{generated, input + float64(to-from) - generated, turns}
}

// Anchor penalises the length of a response beyond an anchor, in parts of
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
	// anchor shared with easier prompts does not penalise the hard ones.
	OnlySolved bool `yaml:"only_solved"`

	anchors map[int64]float64
	groups  batch.Groups
}

// The values of Anchor.By.
const (
	byPrompt       = "prompt"
	byPromptTokens = "prompt_tokens"
)

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
	if err := requirePrompts(b); err != nil {
		return err
	}
	if a.anchors == nil {
		a.anchors = make(map[int64]float64)
	}
	coef := a.Coef * a.share(b)
	return eachGroup(&a.groups, b, func(rows []int) {
		solved := float64(correctOf(verdicts, rows)) > a.Solved*float64(len(rows))
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
	})
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

// Group compares a response's length with the shortest and the longest of its
// group: short correct ones gain, long ones lose, and a wrong one never gains.
// The reference moves with the policy, so lengths can fall without end.
type Group struct {
	Ramp `yaml:",inline"`
	// Coef is β, the spread of the part over a group.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,1e6]"`

	groups batch.Groups
}

// Part implements Shaper.
func (g *Group) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	coef := g.Coef * g.share(b)
	return eachGroup(&g.groups, b, func(rows []int) {
		shortest, longest := math.Inf(1), 0.0
		for _, i := range rows {
			l := length(b, i)
			shortest, longest = min(shortest, l), max(longest, l)
		}
		for _, i := range rows {
			dst[i] = 0
			if longest == shortest {
				continue
			}
			lambda := 0.5 - (length(b, i)-shortest)/(longest-shortest)
			if !verdicts[i].Correct {
				lambda = min(0, lambda)
			}
			dst[i] = coef * lambda
		}
	})
}

// Relative lowers the reward of correct responses by how long they are among
// the correct responses of their group. Wrong ones lose nothing, and since the
// loss stays below Coef < 1, a correct one is always worth more.
type Relative struct {
	Ramp `yaml:",inline"`
	// Coef is α, the most that is taken from a correct response.
	Coef float64 `yaml:"coef" default:"0.2" range:"[0,1]"`
	// Eps is added to the standard deviation of the lengths, above 0.
	Eps float64 `yaml:"eps" default:"1e-6" range:"(0,1e6]"`

	groups batch.Groups
}

// Part implements Shaper.
func (r *Relative) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	coef := r.Coef * r.share(b)
	return eachGroup(&r.groups, b, func(rows []int) {
		mean, std := correctLengths(b, verdicts, rows)
		for _, i := range rows {
			dst[i] = 0
			if verdicts[i].Correct {
				z := (length(b, i) - mean) / (std + r.Eps)
				dst[i] = -coef / (1 + elementary.Exp(-z))
			}
		}
	})
}

// correctLengths returns the mean and the standard deviation (over n) of the
// lengths of the correct ones of these responses; zeros if there are none.
func correctLengths(b *batch.Batch, verdicts []task.Verdict, rows []int) (mean, std float64) {
	n, sum := 0.0, 0.0
	for _, i := range rows {
		if verdicts[i].Correct {
			n++
			sum += length(b, i)
		}
	}
	if n == 0 {
		return 0, 0
	}
	mean = sum / n
	squares := 0.0
	for _, i := range rows {
		if verdicts[i].Correct {
			d := length(b, i) - mean
			squares += float64(d * d)
		}
	}
	return mean, math.Sqrt(squares / n)
}

// Step pays a correct response for staying within a target length, whatever it
// saves beyond that: a reference that does not move, unlike a group's.
type Step struct {
	Ramp `yaml:",inline"`
	// Coef is α, what a correct response within the target gains.
	Coef float64 `yaml:"coef" default:"0.5" range:"[0,1e6]"`
	// Target is the length in generated tokens, at least 1.
	Target int `yaml:"target" default:"16" range:"[1,inf]"`
	// Explore pays a wrong response as much for going beyond the target.
	Explore bool `yaml:"explore"`
}

// Part implements Shaper.
func (s *Step) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	coef := s.Coef * s.share(b)
	for i := range dst {
		dst[i] = 0
		short := length(b, i) <= float64(s.Target)
		if verdicts[i].Correct == short && (short || s.Explore) {
			dst[i] = coef
		}
	}
	return nil
}

// Uniform takes the same amount for every generated token, whatever the
// prompt and the outcome. Once a group is all right or all wrong, length is
// all that is left to learn from: with too large a coefficient the responses
// end up empty.
type Uniform struct {
	Ramp `yaml:",inline"`
	// Coef is the penalty α per generated token.
	Coef float64 `yaml:"coef" default:"0.005" range:"[0,1e6]"`
}

// Part implements Shaper.
func (u *Uniform) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	coef := u.Coef * u.share(b)
	for i := range dst {
		dst[i] = -coef * length(b, i)
	}
	return nil
}

// Overlong is DAPO's soft overlong punishment: nothing up to MaxLength -
// Buffer tokens, then a line down to -Coef at MaxLength, and -Coef beyond.
type Overlong struct {
	Ramp `yaml:",inline"`
	// MaxLength is L_max in generated tokens: the length limit of the rollout.
	MaxLength int `yaml:"max_length" default:"64" range:"[1,inf]"`
	// Buffer is L_cache, the width of the slope in tokens.
	Buffer int `yaml:"buffer" default:"16" range:"[1,max_length]"`
	// Coef scales the punishment; verl's overlong_buffer.penalty_factor.
	Coef float64 `yaml:"coef" default:"1" range:"[0,1e6]"`
}

// Part implements Shaper.
func (o *Overlong) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	coef := o.Coef * o.share(b)
	for i := range dst {
		slope := (float64(o.MaxLength-o.Buffer) - length(b, i)) / float64(o.Buffer)
		dst[i] = coef * max(-1, min(0, slope))
	}
	return nil
}

// eachGroup calls f with the responses of every group.
func eachGroup(groups *batch.Groups, b *batch.Batch, f func(rows []int)) error {
	if err := b.Require(batch.Group); err != nil {
		return err
	}
	groups.Find(b.Group)
	for rows := range groups.All() {
		f(rows)
	}
	return nil
}

// Ramp is embedded in every penalty on length: it lets the penalty begin late and
// rise slowly. Kimi k1.5 (arXiv:2501.12599) trains without one at first, since it
// slows the start down.
type Ramp struct {
	// From is the training step, counted from 0, at which the part begins to act.
	From int `yaml:"from" range:"[0,1e6]"`
	// Warmup is the number of steps over which it then rises to its full size; 0 is
	// at once.
	Warmup int `yaml:"warmup" range:"[0,1e6]"`
}

// share is how much of the part acts in the batch's step.
func (r Ramp) share(b *batch.Batch) float64 {
	at := b.Step - r.From
	switch {
	case at < 0:
		return 0
	case at < r.Warmup:
		return float64(at+1) / float64(r.Warmup+1)
	}
	return 1
}
