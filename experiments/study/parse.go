package study

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// planFile is the file of a study: a plan, in which arms are the values of a factor of that name, which varies slowest, and rates those of the
// learning rate.
type planFile struct {
	Plan  `yaml:",inline"`
	Arms  arms  `yaml:"arms"`
	Rates rates `yaml:"rates"`
}

// Parse reads the file of a sweep, as strictly as recipes are read. The error is
// recipe.Faults: everything wrong with it.
func Parse(file string, text []byte) (*Plan, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".yaml"), ".yml")
	f := planFile{Plan: Plan{Name: name, Seeds: seeds{1}}}
	if err := recipe.Decode("sweep", file, text, &f); err != nil {
		return nil, err
	}
	p := &f.Plan
	var faults recipe.Faults
	fault := func(path, format string, args ...any) {
		faults = append(faults, recipe.Fault{Source: file, Path: path, Problem: fmt.Sprintf(format, args...)})
	}
	if len(f.Rates.list) > 0 {
		p.Factors = append([]Factor{{Name: rateField, field: rateField, Values: f.Rates.list}}, p.Factors...)
	}
	if len(f.Arms) > 0 {
		p.Factors = append([]Factor{{Name: ArmFactor, Values: f.Arms}}, p.Factors...)
	}
	if p.Ladder = f.Rates.ladder; p.Ladder != nil {
		p.Factors = append(p.Factors, p.Ladder.factor())
		for i, f := range p.Ladder.Fewer {
			if p.Check(Condition{{p.Within, []string{f.Value}}}) != nil || f.Models < 1 {
				fault(fmt.Sprintf("rates.fewer[%d]", i), "needs a value of the factor that within names and its number of models, such as {value: 13.1M, models: 3}")
			}
		}
	}
	p.Seeds = slices.Clone(p.Seeds)
	for _, more := range []struct {
		name  string
		seeds []uint64
	}{{"confirm", p.Confirm}, {"fresh", p.Fresh}} {
		for _, seed := range more.seeds {
			if slices.Contains(p.Seeds, seed) {
				fault(more.name, "seed %d is among those before: name others", seed)
			}
		}
		if p.Ladder == nil && len(more.seeds) > 0 {
			fault(more.name, "checks what a ladder located: write rates as a ladder, such as {from: 5e-4}")
		}
		p.Seeds = append(p.Seeds, more.seeds...)
	}
	if len(p.Fresh) > 0 && len(p.Confirm) == 0 {
		fault("fresh", "checks what other models judged: name their seeds, such as confirm: {first: 11, count: 10}")
	}
	if p.Within != "" && !slices.ContainsFunc(p.Factors, func(f Factor) bool { return f.Name == p.Within }) {
		fault("within", "%q is no factor of the plan: name one, such as task", p.Within)
	}
	for i, label := range p.Predict {
		if numbers, _ := logarithms(label); p.Ladder == nil || len(numbers) != len(p.Factors)-2 {
			fault(fmt.Sprintf("predict[%d]", i), "%q: with a ladder, write the values of all factors but the rate, the method last and positive numbers before it, such as 13.1M, 16, none", label)
		}
	}
	faults = append(faults, p.wrongArms()...)
	if len(p.Bases) == 0 {
		fault("base", "missing: name a recipe to start from, shipped or a file, such as base: headline")
	}
	for _, problem := range p.problems() {
		fault(fmt.Sprintf("factors[%d]", problem.factor), "%s", problem.text)
	}
	for _, list := range []struct {
		name string
		of   conditions
	}{{"only", p.Only}, {"except", p.Except}} {
		for i, c := range list.of {
			if err := p.Check(c); err != nil {
				fault(fmt.Sprintf("%s[%d]", list.name, i), "%v", err)
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return p, nil
}

// wrongArms are the faults of declared checks whose arms the plan does not have. Arms that only, except or fewer leave out are no fault.
func (p *Plan) wrongArms() (faults recipe.Faults) {
	if len(p.Judge) == 0 || len(p.Bases) == 0 {
		return nil
	}
	x := &Index{Factors: p.indexFactors(), Ladder: p.Ladder}
	rate := x.rateColumn()
	if rate == "" {
		return recipe.Faults{{Source: p.Judge[0].line, Path: "judge", Problem: "compares limits and levels of arms over learning rates: write rates, such as {from: 5e-4}"}}
	}
	factors := slices.DeleteFunc(slices.Clone(p.factors()), func(f Factor) bool { return f.Name == rate })
	var labels []string
	for _, chosen := range product(factors) {
		values, _, _ := p.point(factors, chosen)
		labels = append(labels, x.valuesBut(rate, values))
	}
	for i, check := range p.Judge {
		named := append(slices.Concat(check.Arms, check.Since), check.Over)
		if check.HalfLimit != "" {
			named = append(named, check.HalfLimit)
		}
		for _, label := range named {
			if !slices.Contains(labels, label) {
				problem := "a label is the values of all factors but the rate, in the order of the factors"
				faults = append(faults, recipe.Fault{Source: check.line, Path: fmt.Sprintf("judge[%d]", i), Problem: fmt.Sprintf("no such arm: %v; %s", method.UnknownName(label, labels), problem)})
			}
		}
	}
	return faults
}

// ParseFlags makes a plan of recipes and of texts of --sweep, by the rules of a file.
func ParseFlags(bases, sweeps []string) (*Plan, error) {
	p := &Plan{Bases: bases}
	for _, text := range sweeps {
		f, err := parseFactor(text)
		if err != nil {
			return nil, err
		}
		p.Factors = append(p.Factors, f)
	}
	p.Name = p.nameOfFactors()
	var faults recipe.Faults
	for i, base := range bases {
		if slices.Contains(bases[:i], base) {
			faults = append(faults, recipe.Fault{Source: "sweep", Problem: base + " is given twice"})
		}
	}
	for _, problem := range p.problems() {
		faults = append(faults, recipe.Fault{Source: "--sweep " + sweeps[problem.factor], Problem: problem.text})
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return p, nil
}

// nameOfFactors names a sweep after its recipes, if there are several, and the fields that it varies.
func (p *Plan) nameOfFactors() string {
	names := stats.Map(p.factors(), func(f Factor) string { return fileName(f.Name[strings.LastIndexByte(f.Name, '.')+1:]) })
	return strings.Join(names, "-")
}

// problem is one thing wrong with a factor of a plan, by its place.
type problem struct {
	factor int
	text   string
}

// problems are what is wrong between the parts of a plan: a field is varied once, and a
// name heads one column of a table.
func (p *Plan) problems() []problem {
	var list []problem
	columns := ownColumns()
	if len(p.Bases) > 1 {
		columns = append(columns, recipeFactor)
	}
	column := func(at int, name string) {
		if strings.ContainsAny(name, ",=+\"`\\") {
			list = append(list, problem{at, fmt.Sprintf("%q heads a column: leave commas, quotes, = and + out of it", name)})
		}
		if slices.Contains(columns, name) {
			list = append(list, problem{at, fmt.Sprintf("there is another column named %s: choose another name", name)})
		}
		columns = append(columns, name)
	}
	for i, f := range p.Factors {
		if f.field != "" && slices.ContainsFunc(p.Factors[:i], func(o Factor) bool { return o.field == f.field }) {
			list = append(list, problem{i, fmt.Sprintf("%s is varied twice: put all of its values into one list", f.field)})
			continue
		}
		column(i, f.Name)
		for _, l := range f.labels() {
			column(i, l)
		}
	}
	return list
}

// columnOf is the name of the factor of a field: the field's, unless tables have a
// column of that name anyway, such as the steps that a run made.
func columnOf(field string) string {
	if slices.Contains(ownColumns(), field) {
		return recipeFactor + "." + field
	}
	return field
}

// bases is the field base: one recipe, or a list.
type bases []string

func (b *bases) ReadNode(n recipe.Node) { *b = readOnce[string](n, "%v is given twice") }

// readOnce reads a list, none of which is to be given twice.
func readOnce[T comparable](n recipe.Node, fault string) (list []T) {
	for _, item := range n.Items() {
		var value T
		item.Into(&value)
		if slices.Contains(list, value) {
			item.Fault(fault, value)
		}
		list = append(list, value)
	}
	return list
}

// changes is a mapping of fields of recipes.
type changes []recipe.Change

func (c *changes) ReadNode(n recipe.Node) { *c = n.Changes() }

// seeds is a list, or {first: 101, count: 3}.
type seeds []uint64

func (s *seeds) ReadNode(n recipe.Node) {
	*s = nil
	if n.Scalar() {
		n.Fault("a bare number may mean one seed or so many: write [%[1]s] for seed %[1]s, or {first: 1, count: %[1]s} for %[1]s seeds in a row", n.Text())
		return
	}
	if n.Mapping() {
		row := struct {
			First uint64 `yaml:"first"`
			Count int    `yaml:"count"`
		}{First: 1}
		n.Into(&row)
		const most = 100_000
		if row.Count < 1 || row.Count > most || row.First > math.MaxUint64-uint64(row.Count-1) {
			n.Fault("count must be from 1 to %d, and the last seed at most %d", most, uint64(math.MaxUint64))
			return
		}
		*s = SeedsInRow(row.First, row.Count)
		return
	}
	if *s = readOnce[uint64](n, "seed %v is given twice"); len(*s) == 0 {
		n.Fault("no seed: give a list, or {first: 1, count: 3}")
	}
}

// SeedsInRow are n seeds from the first on.
func SeedsInRow(first uint64, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

// ReadNode reads a factor of a field, or with a name.
func (f *Factor) ReadNode(n recipe.Node) {
	var body struct {
		Field  string `yaml:"field"`
		Name   string `yaml:"name"`
		Values values `yaml:"values"`
	}
	n.Into(&body)
	f.Name = body.Name
	switch {
	case body.Name == "" && body.Field == "":
		n.Fault("needs a field of the recipe, such as field: learner.optimizer.lr, or a name for what its values set")
		return
	case body.Name == "":
		f.Name = columnOf(body.Field)
	}
	f.field = body.Field
	if len(body.Values) == 0 {
		n.Fault("%s has no values", cmp.Or(body.Field, f.Name))
	}
	f.Values = body.Values.read(body.Field)
}

// arms are values with names, rates those of the learning rate or a ladder of them.
type (
	arms  []Value
	rates struct {
		list   []Value
		ladder *Ladder
	}
)

func (a *arms) ReadNode(n recipe.Node) { *a = values(n.Items()).read("") }
func (r *rates) ReadNode(n recipe.Node) {
	if !n.Mapping() {
		r.list = values(n.Items()).read(rateField)
		return
	}
	r.ladder = new(Ladder)
	n.Into(r.ladder)
	if problem := r.ladder.fill(); problem != "" {
		n.Fault("%s", problem)
	}
}

// ReadNode reads the base models of a plan.
func (m *Models) ReadNode(n recipe.Node) {
	type fields Models
	n.Into((*fields)(m))
	if m.Recipe == "" || m.Dir == "" {
		n.Fault("needs the recipe of a warm start and the folder of its models, such as {recipe: chain-base, dir: models/chain}")
	}
}

// ReadNode reads a declared check.
func (c *Declared) ReadNode(n recipe.Node) {
	type fields Declared
	n.Into((*fields)(c))
	c.line = n.Line()
	if known := []string{statisticLimit, statisticLevel, statisticFinal}; !slices.Contains(known, c.Statistic) {
		n.Fault("statistic: %v", method.UnknownName(c.Statistic, known))
	}
	if known := []string{judge.NeedsAbove, judge.NeedsBelow, judge.NeedsWithin}; !slices.Contains(known, c.Needs) {
		n.Fault("needs: %v", method.UnknownName(c.Needs, known))
	}
	isLimit, isFinal := c.Statistic == statisticLimit, c.Statistic == statisticFinal
	switch {
	case len(c.Arms) == 0:
		n.Fault("arms: missing: name the arms that are compared with over")
	case isFinal != (c.At > 0 || c.HalfLimit != "") || c.At != 0 && c.HalfLimit != "":
		n.Fault("statistic final needs one of at (a learning rate) and half limit of (an arm); limit and level have neither")
	case c.Since != nil && (isLimit || len(c.Since) != 2):
		n.Fault("since: names two arms, for a difference of levels or of last pass rates")
	case !(c.Bound > 0) && (isLimit || c.Needs == judge.NeedsWithin) || !(c.Bound > 1) && isLimit && c.Needs == judge.NeedsWithin:
		n.Fault("bound: %v: a ratio of limits needs a bound above 0, within a factor one above 1, and a difference within a bound one above 0", c.Bound)
	}
}

// values are the values of a factor, to be read when its field is known.
type values []recipe.Node

func (v *values) ReadNode(n recipe.Node) { *v = n.Items() }

// read reads the values of a field, or those with names.
func (v values) read(field string) (list []Value) {
	for _, n := range v {
		value := readValue(n, field)
		if slices.ContainsFunc(list, func(o Value) bool { return o.Name == value.Name }) {
			n.Fault("%s is given twice", value.Name)
		}
		list = append(list, value)
	}
	return list
}

// readValue reads a value: what a field is set to or, of a factor with nothing but
// a name, a name with what it sets and with labels of any name.
func readValue(n recipe.Node, field string) (v Value) {
	if field != "" {
		return Value{Name: n.Text(), Set: []recipe.Change{n.Change(field)}}
	}
	for _, x := range n.Fields() {
		switch {
		case x.Name == "name":
			if !x.Scalar() {
				x.Expected("a name")
			}
			v.Name = x.Text()
		case x.Name == "set":
			v.Set = x.Changes()
		case !x.Scalar():
			x.Fault("a label is a text or a number; what the value changes stands under set")
		default:
			v.Labels = append(v.Labels, Label{x.Name, x.Text()})
		}
	}
	if n.Mapping() && v.Name == "" {
		n.Fault("needs a name")
	}
	return v
}

// conditions are the conditions of only and except.
type conditions []Condition

func (c *conditions) ReadNode(n recipe.Node) {
	for _, item := range n.Items() {
		var one Condition
		for _, f := range item.Fields() {
			part := demand{Factor: f.Name}
			for _, v := range f.Items() {
				if !v.Scalar() {
					v.Expected("the name of a value")
				}
				part.Values = append(part.Values, v.Text())
			}
			one = append(one, part)
		}
		*c = append(*c, one)
	}
}
