package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/lesson"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method"

	"golang.org/x/term"
)

type lessonCmd struct {
	Name   string   `arg:"" complete:"lessons" optional:"" help:"The lesson; without one, all are listed."`
	With   []string `needs:"<name>" sep:"none" help:"Set one of the lesson's controls; may be repeated." placeholder:"KEY=VALUE"`
	Skip   bool     `needs:"<name>" help:"Do not ask for a guess."`
	Answer bool     `needs:"<name>" help:"Also print the answer of the exercise."`
	Record bool     `needs:"<name>" help:"Write the recording of the lesson, as in results/published/lab, into --out."`
	outFlag
	workFlags
}

func (c *lessonCmd) Run(a *app) error {
	if c.Name == "" {
		t := tableHead("lessons")
		for _, l := range lab.Load().Lessons {
			t.Add(figure.Word(l.Name).As(figure.Strong), figure.Word(fmt.Sprint(l.Minutes)), figure.Word(l.Question))
		}
		a.printTable(t)
		return nil
	}
	if c.Record { // before there is a lesson to show it
		return c.record(a)
	}
	l := lab.Load().Lesson(c.Name)
	if l == nil {
		known := stats.Map(lab.Load().Lessons, func(l lab.Lesson) string { return l.Name })
		return bad("lesson: %w", method.UnknownName(c.Name, known))
	}
	chosen, err := l.Choose(c.With)
	if err != nil {
		return bad("--with %w", err)
	}
	fmt.Fprintf(a.stdout, "%s (%d minutes)\n\n%s\n\n%s\n\n", l.Title, l.Minutes, l.Question, strings.Join(l.Intro, "\n\n"))
	guesses := make([]string, len(l.Guess))
	if !c.Skip && term.IsTerminal(int(os.Stdin.Fd())) { // otherwise no reader can answer
		guesses = readGuesses(bufio.NewReader(os.Stdin), a.stdout, l)
	}
	panels, err := c.run(a, l, chosen)
	if err != nil {
		return err
	}
	for i := range panels {
		if t := panels[i].Tabular(); t != nil {
			a.printTable(t)
		} else {
			fmt.Fprintln(a.stdout, panels[i].Text())
		}
	}
	if err := c.draw(a, l.Name, panels); err != nil {
		return err
	}
	for i, g := range l.Guess {
		if guesses[i] != "" {
			fmt.Fprintf(a.stdout, "You guessed %s. Published: %s\n", guesses[i], g.TruthText)
		}
	}
	fmt.Fprintf(a.stdout, "\n%s\n\n%s\n", l.Aha, strings.Join(l.Why, "\n\n"))
	for _, e := range l.Exercise {
		fmt.Fprintf(a.stdout, "\nExercise: %s\n", e.Ask)
		if c.Answer {
			fmt.Fprintf(a.stdout, "Answer: %s\n", e.Answer)
		}
	}
	fmt.Fprintf(a.stdout, "\nWhere the published figures come from:\n")
	for _, source := range figureSources(l) {
		fmt.Fprintf(a.stdout, "  %s\n", source)
	}
	fmt.Fprintf(a.stdout, "Again: %s\n", l.Command)
	return nil
}

func (c *lessonCmd) run(a *app, l *lab.Lesson, chosen map[string]string) ([]figure.Figure, error) {
	m := &meter{}
	defer func() { m.close() }()
	return lesson.Panels(a.ctx, l, chosen, c.workers(), func(steps int) func(trainer.Progress) {
		m = a.meter(c.Quiet, "lesson "+l.Name, "step", steps)
		return m.run()
	})
}

func (c *lessonCmd) record(a *app) error {
	if err := lesson.CheckRecorded(c.Name); err != nil {
		return badInput{err}
	}
	if c.Out == "" {
		return bad("--record: needs --out, the folder to write to")
	}
	panels, err := lesson.Record(a.ctx, c.Name, lesson.Options{Workers: c.workers, Dir: c.Out})
	if err != nil {
		return err
	}
	text, err := lab.Recording(panels)
	if err == nil {
		err = writeFile(c.Out, c.Name+".json", text)
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "Recording: %s\n", filepath.Join(c.Out, c.Name+".json"))
	}
	return err
}

// figureSources are the files of the figures shown, once each.
func figureSources(l *lab.Lesson) []string {
	var list []string
	for _, s := range l.Shown {
		if s.Source != "" {
			list = append(list, strings.Split(s.Source, ", ")...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (c *lessonCmd) draw(a *app, name string, panels []figure.Figure) error {
	if c.Out == "" {
		return nil
	}
	charts := &figure.Figure{Kind: figure.Multiples, PartColumns: 1,
		Parts: slices.DeleteFunc(slices.Clone(panels), func(p figure.Figure) bool { return p.Kind != figure.Lines })}
	if len(charts.Parts) == 0 {
		fmt.Fprintln(a.stderr, "simulate: note: this lesson has no curves to draw")
		return nil
	}
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return unusable(c.Out, err)
	}
	path := filepath.Join(c.Out, name+".png")
	if err := results.SavePlot(path, charts); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Plot: %s\n", path)
	return nil
}

// readGuesses asks for a guess to each question of a lesson. A guess of another kind than
// asked for is refused with a reason and asked for again; an empty line skips the question,
// the end of the input all that are left.
func readGuesses(in *bufio.Reader, out io.Writer, l *lab.Lesson) []string {
	guesses := make([]string, len(l.Guess))
	for i, g := range l.Guess {
		fmt.Fprintln(out, g.Ask)
		for j, option := range g.Options {
			fmt.Fprintf(out, "  %d. %s\n", j+1, option)
		}
		for {
			fmt.Fprintf(out, "Your guess, %s (Enter to skip): ", g.Expected())
			line, end := in.ReadString('\n')
			line = strings.TrimSpace(line)
			if line != "" {
				guess, err := g.Parse(line)
				if err == nil {
					guesses[i] = guess
					break
				}
				fmt.Fprintf(out, "%q is not a valid guess: %v.\n", line, err)
			}
			if end != nil {
				fmt.Fprintln(out)
				return guesses
			}
			if line == "" {
				break
			}
		}
	}
	fmt.Fprintln(out)
	return guesses
}
