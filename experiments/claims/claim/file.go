package claim

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// file is a claim as data: its prose, the arms that are trained, the checks, the picture.
// Lists are written out by loops, see expand; values are expressions, see expression.
type file struct {
	ID, Title, Statement, Source, Figure, Threshold, Setup string
	LeftOut                                                string `yaml:"left out"`
	Commands                                               []string
	Replications, Version                                  int
	Declared                                               Declaration

	Training Training
	Checks   []fileCheck
	Picture  struct {
		Title, Label, Value string
		Arms                []string
	}
	Table *fileTable
}

// fileCheck is a check: its name is that of a primary or of a secondary one. Rate leaves the
// runs at other learning rates out.
type fileCheck struct {
	Primary, Secondary string
	Level              Level
	Rate               string
	Test               string
	Of                 []string
	Than               float64
}

// fileTable is a table of figures, each a mean over replications.
type fileTable struct {
	Title, Note string
	Columns     []string
	Rows        []struct {
		Name  string
		Cells []string
	}
}

// Files returns the claims of YAML files, by id. A text in them that is "$" and the name of
// a note stands for that note. A file that is not a claim is a programmer's fault.
func Files(dir fs.FS, notes map[string]string) map[string]Claim {
	all := map[string]Claim{}
	names, err := fs.Glob(dir, "*.yaml")
	for _, name := range names {
		var text []byte
		if text, err = fs.ReadFile(dir, name); err != nil {
			break
		}
		f, wrong := readFile(text, notes)
		if wrong == nil && f.ID != strings.TrimSuffix(path.Base(name), ".yaml") {
			wrong = fmt.Errorf("its id is %q, not its name", f.ID)
		}
		if wrong != nil {
			panic(fmt.Sprintf("claim: %s: %v", name, wrong))
		}
		all[f.ID] = f.claim()
	}
	if err != nil {
		panic("claim: " + err.Error())
	}
	return all
}

// readFile reads a claim and checks all that can be without an observation.
func readFile(text []byte, notes map[string]string) (*file, error) {
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, err
	}
	bound := map[string]string{"pass_rates": strings.TrimSpace(PassRateNote)}
	for name, note := range notes {
		bound[name] = note
	}
	all, err := expand(&root, bound)
	if err != nil {
		return nil, err
	}
	if text, err = yaml.Dump(all[0]); err != nil {
		return nil, err
	}
	f := new(file)
	if err := yaml.Load(text, f, yaml.WithKnownFields()); err != nil {
		return nil, err
	}
	return f, f.validate()
}

// validate checks names of arms, columns, levels and tests, and that expressions can be read.
func (f *file) validate() error {
	t := &f.Training
	if len(t.Steps) != int(Tiny)+1 || len(t.Rates) == 0 || len(t.Arms) == 0 {
		return fmt.Errorf("training needs three steps, rates and arms")
	}
	for i := range f.Checks {
		c := &f.Checks[i]
		kind, known := tests[c.Test]
		switch name := c.Primary + c.Secondary; {
		case (c.Primary == "") == (c.Secondary == ""):
			return fmt.Errorf("check %d: one of primary and secondary is its name", i+1)
		case !slices.Contains(Levels, c.Level):
			return fmt.Errorf("check %q: no level %q", name, c.Level)
		case !known || len(c.Of) != kind.operands:
			return fmt.Errorf("check %q: no test %q of %d values", name, c.Test, len(c.Of))
		case c.Rate != "" && !slices.Contains(t.Rates, c.Rate):
			return fmt.Errorf("check %q: no learning rate %q", name, c.Rate)
		}
		if kind.arms {
			if i := slices.IndexFunc(c.Of, func(arm string) bool { return t.arm(arm) == nil }); i >= 0 {
				return fmt.Errorf("check %q: no arm %q", c.Primary+c.Secondary, c.Of[i])
			}
			continue
		}
		for _, text := range c.Of {
			if err := t.checkExpression(text); err != nil {
				return fmt.Errorf("check %q: %w", c.Primary+c.Secondary, err)
			}
		}
	}
	for _, arm := range f.Picture.Arms {
		if err := t.checkExpression(pictured(f.Picture.Value, arm)); err != nil {
			return fmt.Errorf("picture: %w", err)
		}
	}
	if f.Table != nil {
		for _, r := range f.Table.Rows {
			for _, text := range r.Cells {
				if err := t.checkExpression(text); err != nil {
					return fmt.Errorf("table: %w", err)
				}
			}
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

// pictured is the value of a picture's bar.
func pictured(value, arm string) string { return strings.ReplaceAll(value, "$arm", arm) }

// claim is the claim of a file.
func (f *file) claim() Claim {
	return Claim{ID: f.ID, Title: f.Title, Statement: f.Statement, Source: f.Source, Figure: f.Figure, Threshold: f.Threshold, Setup: f.Setup,
		LeftOut: f.LeftOut, Commands: f.Commands, Declared: f.Declared, Unit: Run, Replications: f.Replications, Version: f.Version,
		Measure: func(ctx context.Context, e *Env) (*Observation, error) {
			o := new(Observation)
			return o, e.TrainArms(ctx, o, f.Training)
		},
		Judge: f.judge,
	}
}

// judge makes the checks in their order, the picture and the table.
func (f *file) judge(j *Judge) {
	rates := f.Training.Rates
	for _, c := range f.Checks {
		at := rates
		if c.Rate != "" {
			at = []string{c.Rate}
		}
		check := func(rates []string) Check { return tests[c.Test].of(j, rates, c) }
		if c.Primary != "" {
			j.PrimaryOver(at, check)
		} else {
			j.Secondary(check(at))
		}
	}
	var groups []Group
	for _, rate := range rates {
		groups = append(groups, Group{Name: "lr " + rate, Values: func(k int) []float64 {
			return j.evaluate([]string{rate}, pictured(f.Picture.Value, f.Picture.Arms[k]))
		}})
	}
	j.Evidence.Picture = j.Bars(f.Picture.Title, f.Picture.Label, false, f.Picture.Arms, groups...)
	if f.Table == nil {
		return
	}
	t := &figure.Figure{Kind: figure.Table, Title: f.Table.Title, Note: f.Table.Note}
	for i, name := range f.Table.Columns {
		column := figure.Column{Name: name, Align: figure.Right}
		if i == 0 {
			column.Align = figure.Left
		}
		t.Columns = append(t.Columns, column)
	}
	for _, r := range f.Table.Rows {
		row := []figure.Cell{figure.Word(r.Name)}
		for _, text := range r.Cells {
			row = append(row, figure.Number(stats.Average(j.evaluate(rates, text)), 3))
		}
		t.Add(row...)
	}
	j.Evidence.Table = t
}

// tests are the tests of a check by name: of how many values, or of runs of how many arms.
var tests = map[string]struct {
	operands int
	arms     bool
	of       func(j *Judge, rates []string, c fileCheck) Check
}{
	"better": {1, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Better(c.Level, c.name(), j.evaluate(rates, c.Of[0]))
	}},
	"reported": {1, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Report(c.Level, c.name(), j.evaluate(rates, c.Of[0]))
	}},
	"reported ratio": {2, false, func(j *Judge, rates []string, c fileCheck) Check {
		return ReportRatio(c.Level, c.name(), j.evaluate(rates, c.Of[0]), j.evaluate(rates, c.Of[1]))
	}},
	"above": {1, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Above(c.Level, c.name(), j.evaluate(rates, c.Of[0]), c.Than)
	}},
	"below": {1, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Below(c.Level, c.name(), j.evaluate(rates, c.Of[0]), c.Than)
	}},
	"inside": {1, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Inside(c.Level, c.name(), j.evaluate(rates, c.Of[0]), c.Than)
	}},
	"ratio above": {2, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Ratio(c.Level, c.name(), j.evaluate(rates, c.Of[0]), j.evaluate(rates, c.Of[1]), c.Than)
	}},
	"ratio below": {2, false, func(j *Judge, rates []string, c fileCheck) Check {
		return RatioBelow(c.Level, c.name(), j.evaluate(rates, c.Of[0]), j.evaluate(rates, c.Of[1]), c.Than)
	}},
	"zero": {1, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Zero(c.Level, c.name(), j.evaluate(rates, c.Of[0]))
	}},
	"same": {2, false, func(j *Judge, rates []string, c fileCheck) Check {
		return Same(c.Level, c.name(), j.evaluate(rates, c.Of[0]), j.evaluate(rates, c.Of[1]))
	}},
	// Of events and of other events, and how many there could be.
	"more frequent": {3, false, func(j *Judge, rates []string, c fileCheck) Check {
		all := j.evaluate(rates, c.Of[2])
		return Rates(c.Level, c.name(), j.evaluate(rates, c.Of[0]), all, j.evaluate(rates, c.Of[1]), all, c.Than)
	}},
	"fewer collapses": {2, true, func(j *Judge, rates []string, c fileCheck) Check {
		return FewerCollapses(c.Level, c.name(), j.Collapses(rates, c.Of[0]), j.Collapses(rates, c.Of[1]))
	}},
}

func (c *fileCheck) name() string { return c.Primary + c.Secondary }
