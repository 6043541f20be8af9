package claim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/judge"
)

// Checked reads a claim and checks all that can be without an observation.
func Checked(text []byte, lib *Library) error {
	f, err := readFile(text, lib)
	if err != nil {
		return err
	}
	return f.validate()
}

// validate checks names of arms, figures, levels and tests, and that expressions can be read.
func (f *file) validate() error {
	t := &f.Training
	if len(f.measurements) == 0 {
		return errors.New("it has neither training, study nor measure")
	}
	if slices.Contains(f.measurements, Measurement(t)) && (len(t.Steps) != int(Tiny)+1 || len(t.Rates) == 0 && t.Record == nil || len(t.Arms) == 0) {
		return fmt.Errorf("training needs three steps, rates or what it records, and arms")
	}
	for _, r := range slices.Concat(t.Record, f.Study.Record) {
		quantity, of, _ := strings.Cut(r.Of, " of ")
		if columnQuantities[quantity] == nil && !slices.ContainsFunc(t.Ask, func(a asked) bool { return strings.HasSuffix(of, a.Name) }) {
			return fmt.Errorf("record: no quantity %q", r.Of)
		}
	}
	for i := range f.Checks {
		if err := f.validateCheck(&f.Checks[i], i); err != nil {
			return err
		}
	}
	for _, e := range f.expressions() {
		if _, err := (&compiler{f.lib, f.checkFigure}).compile(e.text); err != nil {
			return fmt.Errorf("%s: %w", e.at, err)
		}
	}
	if f.Table != nil {
		for _, r := range f.Table.Rows {
			if len(r.Cells)+1 != len(f.Table.Columns) {
				return fmt.Errorf("table: row %q has %d cells for %d columns", r.Name, len(r.Cells)+1, len(f.Table.Columns))
			}
		}
	}
	functions := []string{f.Picture.Function}
	if f.Table != nil {
		functions = append(functions, f.Table.Function)
	}
	for _, name := range functions {
		if name != "" && f.lib.Figures[name] == nil {
			return fmt.Errorf("picture and table: no function %q", name)
		}
	}
	for _, n := range f.Notes {
		if n.Function != "" && f.lib.Notes[n.Function] == nil {
			return fmt.Errorf("notes: no function %q", n.Function)
		}
	}
	return f.Picture.validate()
}

func (f *file) validateCheck(c *fileCheck, i int) error {
	kind, known := tests[c.Test]
	own := f.lib.Tests[c.Test] != nil
	switch name := c.name(); {
	case (c.Primary == "") == (c.Secondary == ""):
		return fmt.Errorf("check %d: one of primary and secondary is its name", i+1)
	case !slices.Contains(judge.Levels, c.Level):
		return fmt.Errorf("check %q: no level %q", name, c.Level)
	case own:
		return nil
	case !known || len(c.Of) != kind.operands:
		return fmt.Errorf("check %q: no test %q of %d values", name, c.Test, len(c.Of))
	case c.Rate != "" && !slices.Contains(f.rates(), c.Rate):
		return fmt.Errorf("check %q: no learning rate %q", name, c.Rate)
	case (c.Than == "") == kind.than || (len(c.Between) == 2) != kind.between:
		return fmt.Errorf("check %q: than is the threshold of a test that has one, between those of within", name)
	}
	texts := []string{c.Than, c.When}
	if kind.arms {
		if i := slices.IndexFunc(c.Of, func(arm string) bool { return f.Training.arm(arm) == nil }); i >= 0 {
			return fmt.Errorf("check %q: no arm %q", c.name(), c.Of[i])
		}
	} else {
		texts = append(texts, c.Of...)
	}
	for _, text := range texts {
		if text == "" {
			continue
		}
		if _, err := (&compiler{f.lib, f.checkFigure}).compile(text); err != nil {
			return fmt.Errorf("check %q: %w", c.name(), err)
		}
	}
	return nil
}

// arm is the arm of that name; nil for none.
func (t *Training) arm(name string) *Arm {
	i := slices.IndexFunc(t.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Arms[i]
}

// validate checks that it is one kind of picture.
func (p *filePicture) validate() error {
	kinds := 0
	for _, has := range []bool{len(p.Bars) > 0, len(p.Arms) > 0, len(p.Lines) > 0, p.Function != ""} {
		if has {
			kinds++
		}
	}
	if slices.ContainsFunc(p.Groups, func(g barGroup) bool { return len(g.Values) > 0 && len(g.Values) != len(p.Bars) }) {
		return fmt.Errorf("picture: a group has a value for each of the bars")
	}
	if kinds != 1 || (len(p.Bars) > 0) != (len(p.Groups) > 0) {
		return fmt.Errorf("picture: it has bars and groups of them, or arms, or lines, or a function")
	}
	return nil
}

// expressions are the texts of the picture, the table and the notes, and where they stand.
func (f *file) expressions() (all []struct{ at, text string }) {
	add := func(at string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				all = append(all, struct{ at, text string }{at, text})
			}
		}
	}
	p := &f.Picture
	for k, bar := range p.Bars {
		for _, g := range p.Groups {
			if len(g.Values) == 0 || k < len(g.Values) {
				add("picture", g.of(bar, k))
			}
		}
	}
	for k, arm := range p.Arms {
		add("picture", (&barGroup{Value: p.Value}).of(arm, k))
	}
	add("picture", p.Over)
	for _, l := range p.Lines {
		add("picture", l.X, l.Y)
	}
	for _, m := range p.Marks {
		add("picture", m.At)
	}
	if t := f.Table; t != nil {
		add("table", t.Over)
		for _, name := range t.Figures {
			add("table", strconv.Quote(name))
		}
		for _, r := range t.Rows {
			for _, cell := range r.Cells {
				if !strings.HasPrefix(cell, "=") {
					add("table", cell)
				}
			}
		}
	}
	for _, n := range f.Notes {
		add("notes", append(n.Of, n.When)...)
	}
	return all
}

// checkFigure checks that a figure, at one of the learning rates at least, is one that the claim records.
func (f *file) checkFigure(name string) error {
	names := []string{name}
	if strings.Contains(name, "$rate") {
		names = nil
		for _, rate := range f.rates() {
			names = append(names, strings.ReplaceAll(name, "$rate", rate))
		}
	}
	if slices.ContainsFunc(names, func(name string) bool {
		return f.records(name) || strings.Contains(name, "*") && slices.Contains(f.Figures, name)
	}) {
		return nil
	}
	return fmt.Errorf("no figure %q: an arm has its pass rates and columns at each learning rate, figures lists what a measurement records", append(names, name)[0])
}
