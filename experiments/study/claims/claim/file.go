package claim

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/results/figure"

	"go.yaml.in/yaml/v4"
)

// file is a claim as data: its prose, what is trained and measured, the checks, picture, table
// and notes. Lists are written out by loops and words stand for texts, see expand; values are
// expressions, see expression.go.
type file struct {
	Claim `yaml:",inline"`
	Words map[string]string
	// Rates are those at which Measure trains, where there is no training.
	Rates []string
	// TrainedAt are learning rates of runs that name none, or more than one.
	TrainedAt []string `yaml:"trained at"`

	// Training and Measure are done in the order in which they stand. Measure is the name of a
	// measurement with Params, or a list of {name: its parameters}.
	Training Training
	Measure  yaml.Node
	Params   yaml.Node
	// Study are runs of a study, in the place of Training and Measure.
	Study studyRuns
	// Figures are what Measure and Study record: names, in which a star stands for any text.
	Figures []string
	Checks  []fileCheck
	Picture filePicture
	Table   *fileTable
	Notes   []fileNote

	lib          *Library
	measurements []Measurement // in their order
}

// Measurement records figures of one replication, until an error stops it: see Env.Do. Its fields are its parameters.
type Measurement interface {
	Measure(e *Env, o *Observation)
}

// Library is what claims name: measurements, and functions of expressions next to those of this
// package.
type Library struct {
	Measurements map[string]func() Measurement
	// Questions are what trained weights can be asked.
	Questions map[string]func() Question
	Lists     map[string]ListFunction
	Units     map[string]UnitFunction
	// Tests are checks of what is no value per unit, of texts; name and level are set for them.
	Tests map[string]func(j *Judge, texts []string) judge.Check
	// Notes are texts that a function makes of the observations, Figures its pictures and tables.
	Notes   map[string]func(j *Judge, texts []string) string
	Figures map[string]func(j *Judge) *figure.Figure
}

func (lib *Library) list(name string) (ListFunction, bool) {
	f, ok := listFunctions[name]
	if !ok {
		f, ok = lib.Lists[name]
	}
	return f, ok
}

// fileCheck is a check: its name is in Primary or in Secondary.
type fileCheck struct {
	Primary, Secondary string
	Level              judge.Level
	// Rate leaves the runs at other learning rates out.
	Rate string
	// When is an expression; a check of value 0 is left out.
	When string
	Test string
	Of   []string
	// Texts are for a test of the library.
	Texts []string
	// Than is the threshold, an expression; Between are the bounds of "within".
	Than    string
	Between []float64
	// ByRate false leaves out what a primary check comes to at each rate alone.
	ByRate *bool `yaml:"by rate"`
	// Arithmetic marks what follows from declared costs.
	Arithmetic bool
}

func (c *fileCheck) name() string { return c.Primary + c.Secondary }

// Read returns the claims of the YAML files of a folder and those below it, by id. A theme is a
// folder's name.
func Read(dir fs.FS, lib *Library) (map[string]Claim, error) {
	all := map[string]Claim{}
	return all, fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Dir(name) == "." || path.Ext(name) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		f, err := readFile(text, lib)
		if err == nil && f.ID != strings.TrimSuffix(path.Base(name), ".yaml") {
			err = fmt.Errorf("its id is %q, not its name", f.ID)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c := f.claim()
		c.Theme = path.Base(path.Dir(name))
		all[f.ID] = c
		return nil
	})
}

// readFile reads a claim. A test checks in those of package studies all that can be without an observation.
func readFile(text []byte, lib *Library) (*file, error) {
	f, order, err := parseFile(text)
	if err != nil {
		return nil, err
	}
	f.lib = lib
	for _, key := range order {
		switch key {
		case "training":
			f.measurements = append(f.measurements, &f.Training)
			for i := range f.Training.Ask {
				a := &f.Training.Ask[i]
				if a.question, err = named(lib.Questions, "question", a.Question, &a.Params); err != nil {
					return nil, err
				}
			}
		case "study":
			f.measurements = append(f.measurements, &f.Study)
		case "measure":
			if err := f.addMeasurements(); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// parseFile reads a claim with its loops and words written out, and its keys in their order.
func parseFile(text []byte) (f *file, keys []string, err error) {
	var root yaml.Node
	var own struct{ Words map[string]string }
	if err := yaml.Load(text, &root); err != nil {
		return nil, nil, err
	}
	if err := root.Load(&own); err != nil {
		return nil, nil, err
	}
	bound := map[string]string{"pass_rates": strings.TrimSpace(PassRateNote)}
	maps.Copy(bound, own.Words)
	all, err := expand(&root, bound)
	if err != nil {
		return nil, nil, err
	}
	f = new(file)
	if err := Decode(all[0], f); err != nil {
		return nil, nil, err
	}
	entries := all[0].Content[0].Content
	for i := 0; i < len(entries); i += 2 {
		keys = append(keys, entries[i].Value)
	}
	return f, keys, nil
}

// addMeasurements adds those that the file names.
func (f *file) addMeasurements() error {
	list := []*yaml.Node{{Content: []*yaml.Node{&f.Measure, &f.Params}}}
	if f.Measure.Kind == yaml.SequenceNode {
		list = f.Measure.Content
	}
	for _, n := range list {
		if len(n.Content) != 2 {
			return fmt.Errorf("measure: an entry of the list is {name: its parameters}")
		}
		m, err := named(f.lib.Measurements, "measurement", n.Content[0].Value, n.Content[1])
		if err != nil {
			return err
		}
		f.measurements = append(f.measurements, m)
	}
	return nil
}

// named is a measurement or a question of the library, with its parameters.
func named[T any](list map[string]func() T, kind, name string, params *yaml.Node) (T, error) {
	made, ok := list[name]
	if !ok {
		var none T
		return none, fmt.Errorf("no %s %q: there are %s", kind, name, strings.Join(slices.Sorted(maps.Keys(list)), ", "))
	}
	m := made()
	if params.Kind == 0 {
		return m, nil
	}
	if err := Decode(params, m); err != nil {
		return m, fmt.Errorf("params of %s: %w", name, err)
	}
	return m, nil
}

// Decode reads a value of known fields; what is in it already is a default.
func Decode(n *yaml.Node, into any) error { return n.Load(into, yaml.WithKnownFields()) }

// rates are the learning rates over which checks are averaged.
func (f *file) rates() []string {
	if f.Training.Rates != nil {
		return f.Training.Rates
	}
	return f.Rates
}

// claim is the claim of a file.
func (f *file) claim() Claim {
	c := f.Claim
	c.Unit, c.Measure, c.Judge, c.Study = cmp.Or(c.Unit, Run), f.measure, f.judge, f.Study.Name
	all := slices.Concat(f.Rates, f.TrainedAt)
	for i := range f.Training.Arms {
		all = append(all, f.Training.ratesOf(&f.Training.Arms[i])...)
	}
	for _, rate := range all {
		if rate != "" && !slices.Contains(c.Rates, rate) {
			c.Rates = append(c.Rates, rate)
		}
	}
	return c
}

// measure makes the observation of a replication. A figure that the file does not list is a
// programmer's fault, as is one that is missing.
func (f *file) measure(ctx context.Context, e *Env) (*Observation, error) {
	o := new(Observation)
	if err := e.Do(ctx, func() {
		for _, m := range f.measurements {
			m.Measure(e, o)
		}
	}); err != nil {
		return nil, err
	}
	for _, own := range o.figures {
		if !f.records(own.Name) {
			return nil, fmt.Errorf("claim %s: the measurement recorded %q, which its figures do not list", f.ID, own.Name)
		}
	}
	for _, name := range f.Figures {
		if !strings.Contains(name, "*") && !o.Has(name) {
			return nil, fmt.Errorf("claim %s: the measurement did not record %q, which its figures list", f.ID, name)
		}
	}
	return o, nil
}

// judge makes the checks in their order, the picture, the table and the notes.
func (f *file) judge(j *Judge) {
	all := scope{j: j, rates: f.rates(), all: f.rates(), lib: f.lib}
	for _, c := range f.Checks {
		if c.When != "" && all.number(c.When) == 0 {
			continue
		}
		at := all.rates
		if c.Rate != "" {
			at = []string{c.Rate}
		}
		check := func(rates []string) judge.Check {
			s := all
			s.rates = rates
			var made judge.Check
			if own := f.lib.Tests[c.Test]; own != nil {
				made = own(j, c.Texts)
				made.Name, made.Level = c.name(), c.Level
			} else {
				made = tests[c.Test].of(s, &c)
			}
			made.Name = strings.ReplaceAll(made.Name, "$n", strconv.Itoa(len(made.Seeds)))
			if c.Arithmetic {
				made = judge.Arithmetic(made)
			}
			return made
		}
		switch {
		case c.Primary == "":
			j.Secondary(check(at))
		default:
			primary := check(at)
			for _, rate := range at {
				if len(at) > 1 && (c.ByRate == nil || *c.ByRate) {
					one := check([]string{rate})
					primary.ByRate = append(primary.ByRate, judge.RateOutcome{Rate: rate, Value: one.Value, Outcome: one.Outcome})
				}
			}
			j.Primary(primary)
		}
	}
	j.Evidence.Picture = f.Picture.draw(all)
	if f.Table != nil {
		j.Evidence.Table = f.Table.draw(all)
	}
	for _, n := range f.Notes {
		n.add(all)
	}
}

// number is the value of an expression in the first unit.
func (s scope) number(text string) float64 { return s.evaluate(text)[0] }

// test makes a check of a number of values, or of runs of as many arms, and needs one threshold or two to be between.
type test struct {
	operands            int
	than, between, arms bool
	of                  func(s scope, c *fileCheck) judge.Check
}

// ofOne, ofOneThan, ofTwo and ofTwoThan are tests of one value or two, some with a threshold.
func ofOne(of func(judge.Level, string, []float64) judge.Check) test {
	return test{operands: 1, of: func(s scope, c *fileCheck) judge.Check { return of(c.Level, c.name(), s.of(c, 0)) }}
}

func ofOneThan(of func(judge.Level, string, []float64, float64) judge.Check) test {
	return test{operands: 1, than: true, of: func(s scope, c *fileCheck) judge.Check { return of(c.Level, c.name(), s.of(c, 0), s.number(c.Than)) }}
}

func ofTwo(of func(_ judge.Level, _ string, a, b []float64) judge.Check) test {
	return test{operands: 2, of: func(s scope, c *fileCheck) judge.Check { return of(c.Level, c.name(), s.of(c, 0), s.of(c, 1)) }}
}

func ofTwoThan(of func(_ judge.Level, _ string, a, b []float64, than float64) judge.Check) test {
	return test{operands: 2, than: true, of: func(s scope, c *fileCheck) judge.Check {
		return of(c.Level, c.name(), s.of(c, 0), s.of(c, 1), s.number(c.Than))
	}}
}

// tests are the tests of a check by name.
var tests = map[string]test{
	"better": ofOne(judge.Better), "reported": ofOne(judge.Report), "zero": ofOne(judge.Zero),
	"above": ofOneThan(judge.Above), "below": ofOneThan(judge.Below), "at most": ofOneThan(judge.AtMost), "inside": ofOneThan(judge.Inside),
	"reported ratio": ofTwo(judge.ReportRatio), "same": ofTwo(judge.Same), "occurs": ofTwo(judge.Occurs),
	"ratio above": ofTwoThan(judge.Ratio), "ratio below": ofTwoThan(judge.RatioBelow),
	"within": {operands: 1, between: true, of: func(s scope, c *fileCheck) judge.Check {
		return judge.Within(c.Level, c.name(), s.of(c, 0), c.Between[0], c.Between[1])
	}},
	// Of events and how many there could be, and the same of others.
	"more frequent": {operands: 4, than: true, of: func(s scope, c *fileCheck) judge.Check {
		return judge.Rates(c.Level, c.name(), s.of(c, 0), s.of(c, 1), s.of(c, 2), s.of(c, 3), s.number(c.Than))
	}},
	"fewer collapses": {operands: 2, arms: true, of: func(s scope, c *fileCheck) judge.Check {
		return judge.FewerCollapses(c.Level, c.name(), s.collapses(c.Of[0]), s.collapses(c.Of[1]))
	}},
	// Of what is 1 for a run that ends badly, at every learning rate.
	"fewer runs": {operands: 2, of: func(s scope, c *fileCheck) judge.Check {
		return judge.FewerCollapses(c.Level, c.name(), s.shares(c.Of[0]), s.shares(c.Of[1]))
	}},
	// Of an exponent: that its interval holds 1 and lies above 0.7.
	"proportional": ofOne(judge.Proportional),
	// Of deviations in units of their standard error: their sum over the square root of their number.
	"sum of deviations at most": ofOneThan(func(level judge.Level, name string, z []float64, than float64) judge.Check {
		sum := 0.0
		for _, v := range z {
			sum += v / math.Sqrt(float64(len(z)))
		}
		return judge.AtMost(level, name, []float64{math.Abs(sum)}, than)
	}),
}

// of is the value of a check's operand.
func (s scope) of(c *fileCheck, k int) []float64 { return s.evaluate(c.Of[k]) }
