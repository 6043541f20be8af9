package task

import (
	_ "embed"

	"driftlab/trainer/method"
)

// examples are the worked examples of the methods, by name.
//
//go:embed examples.txt
var examples string

// Table lists the tasks a recipe can name. New gives the parameters with
// their defaults; decode the recipe into them and call Validate.
var Table = method.Table[Task]{
	{Spec: chainSpec, New: func() Task { return NewChain() }},
	{Spec: additionSpec, New: func() Task { return NewAddition() }},
	{Spec: searchSpec, New: func() Task { return NewSearch() }},
	{Spec: fillerSpec, New: func() Task { return NewFiller() }},
	{Spec: lookupSpec, New: func() Task { return NewLookup() }},
	{Spec: chaptersSpec, New: func() Task { return NewChapters() }},
	{Spec: taggedSpec, New: func() Task { return NewTagged() }},
}.Filled(method.Spec{Group: "task", Gradient: "none: a task makes prompts and verdicts"}, examples)
