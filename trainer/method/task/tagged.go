package task

import (
	"math/rand/v2"
	"slices"

	"driftlab/trainer/method"
)

// Tagged is the chain task in another template: the working stands between two tags,
// as between <think> and </think>. Prompts and answers are those of Chain, and so are
// the tokens; a response without tags is as right.
//
// A model that was trained on one template reads the other as off its distribution:
// a shared vocabulary is not a shared form.
type Tagged struct {
	Chain `yaml:",inline"`
}

var taggedSpec = method.Spec{
	Name: "tagged", Unit: method.Sequence,
	Does:    "Is the chain task with the working between two tags, as between <think> and </think>; responses without tags also count.",
	When:    "Use it for distillation where teacher and student were trained on different templates.",
	Source:  "this project; chain in another template (teacher and student of unlike chat templates)",
	Formula: "chain, the working between two tags",
}

// NewTagged returns the default chain task in this template.
func NewTagged() *Tagged { return &Tagged{*NewChain()} }

// Verify implements Task.
func (k *Tagged) Verify(p Prompt, response []int32) Verdict {
	if len(response) == 0 || response[0] != equals {
		v := k.Chain.Verify(p, response)
		v.Format = false
		return v
	}
	var v Verdict
	g, start, ok := parsePrompt(p.Tokens, colon)
	if !ok {
		return v
	}
	work := working(response[1:])
	read, complete := g.readRun(&v, work, start, 1)
	answer, ended := splitAnswer(response)
	if !ended {
		return v
	}
	v.Correct = slices.Equal(answer, p.Answer)
	closed := len(work) == read+1 && work[read] == equals
	v.Format = (complete || k.Direct > 0 && read == 0) && closed && isDigit(answer)
	return v
}

// Demonstration implements Task.
func (k *Tagged) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	from := len(dst)
	return closeTag(k.Chain.Demonstration(append(dst, equals), p, rng), from)
}

// Template implements Templater.
func (k *Tagged) Template(dst, response []int32) []int32 {
	if len(response) > 0 && response[0] == equals {
		return append(dst, response...)
	}
	return closeTag(append(append(dst, equals), response...), len(dst))
}

// closeTag puts the second tag before the mark of the response that begins at from.
func closeTag(dst []int32, from int) []int32 {
	return slices.Insert(dst, from+len(working(dst[from:])), equals)
}

// MaxResponse implements Task.
func (k *Tagged) MaxResponse() int { return k.Chain.MaxResponse() + 2 }

// Templater is a task whose responses have a form that others can be put into.
type Templater interface {
	// Template appends a response in the task's form to dst.
	Template(dst, response []int32) []int32
}
