package main

import (
	"fmt"

	"driftlab/results"
	"driftlab/results/lab"
)

type lessonCmd struct {
	Name   string `arg:"" complete:"lessons" optional:"" help:"The lesson; without one, all are listed."`
	Skip   bool   `help:"Ask for no guess."`
	Record bool   `help:"Make the lesson's recording, as results/published/lab has it, into --out."`
	outFlag
	workFlags

	tiny bool // record little, to test that it can be done
}

// Help is the long help text.
func (*lessonCmd) Help() string {
	return `A lesson in the terminal: the question, your guess, the run, and what it shows beside what was published. The same
lessons, with more to play with, are in the lab's page.

Examples:
  simulate lesson
  simulate lesson gap
  simulate lesson gap --skip --out runs/gap`
}

// Run teaches.
func (c *lessonCmd) Run(a *app) error {
	if c.Name == "" {
		a.listLessons()
		return nil
	}
	if c.Record { // before there is a lesson to show it
		return c.record(a)
	}
	l := lab.Load().Lesson(c.Name)
	if l == nil {
		return bad("lesson %q: unknown; `simulate lesson` lists them", c.Name)
	}
	fmt.Fprintf(a.stdout, "%s\n\n%s\n\nAgain: %s\n", l.Question, l.Aha, l.Command)
	return nil
}

// listLessons prints what there is to learn.
func (a *app) listLessons() {
	t := &results.Table{Title: "Lessons", Columns: []results.TableColumn{{Name: "name"}, {Name: "minutes", Align: results.Right}, {Name: "question"}}}
	for _, l := range lab.Load().Lessons {
		t.Add(results.Word(l.Name).As(results.Strong), results.Word(fmt.Sprint(l.Minutes)), results.Word(l.Question))
	}
	a.printTable(t)
}
