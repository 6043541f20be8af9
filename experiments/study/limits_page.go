package study

import (
	"bytes"
	"cmp"
	_ "embed" // of the heads of tables
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/results/stats"
)

//go:embed heads.yaml
var headsText []byte

// head is a table of this package without its rows.
var head = figure.Heads(headsText)

// headOf is a table of a study, which names what its stressors differ by and what its methods are compared with.
func headOf(s *stability.Study, name string) *figure.Figure {
	t := head(name)
	t.Note = s.Baseline(t.Note)
	for i := range t.Columns {
		t.Columns[i].Name = s.Baseline(t.Columns[i].Name)
	}
	t.Columns[0].Name = cmp.Or(s.Factor, t.Columns[0].Name)
	return t
}

// uncorrected are the arms without a correction.
func uncorrected(s *stability.Study) []stability.Arm {
	return slices.DeleteFunc(slices.Clone(s.Arms), func(a stability.Arm) bool { return a.Method != s.None })
}

// limitTable has a row for each stressor and correction.
func limitTable(s *stability.Study) *figure.Figure {
	t := headOf(s, "limits")
	t.Sortable = true
	for _, a := range s.Arms {
		speed := ""
		switch v := float64(a.Speed); {
		case math.IsInf(v, 1):
			speed = "not reached"
		case v >= 0:
			speed = fmt.Sprintf("%.0f", v)
		}
		gain := figure.Word(a.GainNone.Text(true))
		if a.GainNone.N > 1 && a.GainNone.Low > 0 {
			gain = gain.As(figure.Good)
		} else if a.GainNone.N > 1 && a.GainNone.High < 0 {
			gain = gain.As(figure.Bad)
		}
		rate := a.LevelRate
		if a.Edge {
			rate += " (edge)"
		}
		limit := a.Limit.Text(stability.RateText)
		if a.Low > 0 {
			limit += fmt.Sprintf(" (low: %d)", a.Low)
		}
		t.Add(figure.Word(a.Stressor), figure.Word(a.Method).As(figure.Strong), figure.Word(limit), figure.Word(a.OverNone.Text(stability.FactorText)), figure.Word(a.OverEqual.Text(stability.FactorText)),
			figure.Word(a.Level.Text(false)), figure.Number(float64(a.HeldOut), 2), figure.Word(rate), gain, figure.Word(speed), figure.Number(float64(a.K3), 2), figure.Word(fmt.Sprint(a.Level.N)))
	}
	return t
}

// limitsFinding says up to which learning rate the runs of each arm are stable and where they end or, of a ladder, the limits without a
// correction and which of its declared checks are met.
func limitsFinding(s *stability.Study, ladder bool) string {
	if !ladder {
		return stableFinding(s)
	}
	limits := stats.Map(uncorrected(s), func(a stability.Arm) string {
		return fmt.Sprintf("%s: %s", a.Stressor, a.Limit.Text(stability.RateText))
	})
	if len(limits) == 0 {
		return ""
	}
	text := fmt.Sprintf(s.Baseline("Largest stable learning rate without a correction, by %s: %s."), cmp.Or(s.Factor, "stressor"), strings.Join(limits, "; "))
	met := 0
	for _, c := range s.Checks {
		if c.Outcome == judge.Passed.Term() {
			met++
		}
	}
	if len(s.Checks) > 0 {
		text += fmt.Sprintf(" Declared checks that are met: %d of %d.", met, len(s.Checks))
	}
	return text
}

// stableFinding is a sentence for each stressor, of few runs: what they came to, and no advice.
func stableFinding(s *stability.Study) string {
	var sentences []string
	for _, stressor := range s.Stressors() {
		var arms []string
		for i := range s.Arms {
			a := &s.Arms[i]
			if a.Stressor != stressor {
				continue
			}
			name := "with " + a.Method
			if a.Method == s.None {
				name = s.Baseline("without a correction")
			}
			arms = append(arms, fmt.Sprintf("%s %s (ends at %.2f)", name, stableUpTo(a), float64(a.Level.Estimate)))
		}
		if stressor == s.Equal && len(arms) == 1 {
			a := s.Arm(stressor, s.None)
			sentences = append(sentences, fmt.Sprintf("With %s training is stable %s, and ends at a pass rate of %.2f at its best rate.", stressor, strings.Replace(stableUpTo(a), "to ", "to a learning rate of ", 1), float64(a.Level.Estimate)))
			continue
		}
		sentences = append(sentences, fmt.Sprintf("With %s it is stable %s.", stressor, strings.Join(arms, "; ")))
	}
	return strings.Join(sentences, " ")
}

// stableUpTo is the largest rate at which at least half of an arm's runs are stable.
func stableUpTo(a *stability.Arm) string {
	for i, r := range slices.Backward(a.Rates) {
		if 2*r.Stable >= r.Runs {
			if i == len(a.Rates)-1 {
				return "up to " + stability.RateName(r.Rate) + " or more"
			}
			return "up to " + stability.RateName(r.Rate)
		}
	}
	return "at no rate"
}

// checkTable has the declared checks.
func checkTable(s *stability.Study) *figure.Figure {
	t := head("declared")
	for _, c := range s.Checks {
		smallest := figure.Cell{}
		if c.Smallest > 0 {
			smallest = figure.Number(float64(c.Smallest), 2)
		}
		t.Add(figure.Word(c.Name), figure.Word(c.Arm), figure.Word(c.Over), figure.Word(c.Value), figure.Word(c.Needs), figure.Word(c.Outcome).As(figure.Strong), figure.Word(c.HeldOut), smallest, figure.Word(c.Alternative))
	}
	return t
}

// rateTable has the share of runs that collapsed, and the pass rate at the end, for each arm and rate.
func rateTable(s *stability.Study) *figure.Figure {
	rates := stability.Rates(s.Arms)
	t := headOf(s, "rates")
	t.Note += " " + record.CollapseRule()
	t.Columns = append(t.Columns, stats.Map(rates, func(rate float64) figure.Column { return figure.Column{Name: stability.RateName(rate)} })...)
	for _, a := range s.Arms {
		row := []figure.Cell{figure.Word(a.Stressor), figure.Word(a.Method)}
		for _, rate := range rates {
			r := a.At(rate)
			if r == nil {
				row = append(row, figure.Cell{})
				continue
			}
			cell := figure.Word(fmt.Sprintf("%.2f; %d/%d (%.2f to %.2f)", stats.Average(r.Finals), r.Collapsed, r.Runs, float64(r.CollapsedLow), float64(r.CollapsedHigh)))
			if 2*r.Stable < r.Runs {
				cell = cell.As(figure.Warn)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

// limitFigure draws the limit of each correction by stressor, with its interval: the boundary of what is stable. Limits beyond the
// rates that were run stand at their end.
func limitFigure(s *stability.Study) *figure.Figure {
	c := &figure.Figure{Kind: figure.Bars, Title: "Largest stable learning rate by " + cmp.Or(s.Factor, "stressor") + ": " + s.Name, Labels: s.Stressors(), Y: figure.Axis{Label: "learning rate; a limit beyond the rates that were run stands at their end, without an interval", Log: true}}
	var methods []string
	for _, a := range s.Arms {
		if !slices.Contains(methods, a.Method) {
			methods = append(methods, a.Method)
		}
	}
	for _, method := range methods {
		line := figure.Series{Name: method}
		for _, stressor := range c.Labels {
			at, low, high := math.NaN(), math.NaN(), math.NaN()
			if a := s.Arm(stressor, method); a != nil {
				at, low, high = float64(cmp.Or(a.Limit.From, a.Limit.To)), float64(a.Limit.Low), float64(a.Limit.High)
				top := a.Rates[len(a.Rates)-1].Rate
				low, high = max(low, a.Rates[0].Rate), min(high, top)
				if math.IsInf(at, 1) {
					at = math.NaN()
				}
			}
			line.Y, line.Low, line.High = append(line.Y, at), append(line.Low, low), append(line.High, high)
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// stableFigure maps the share of stable runs without a correction, rate by stressor.
func stableFigure(s *stability.Study) *figure.Figure {
	h := &figure.Figure{Kind: figure.Heat, Title: s.Baseline("Share of stable runs without a correction: ") + s.Name, Full: 1, Y: figure.Axis{Label: "Runs that end within 0.1 of their own best; empty: not run."}}
	none := uncorrected(s)
	rates := stability.Rates(none)
	h.Labels = stats.Map(rates, stability.RateName)
	for _, a := range none {
		row := figure.Series{Name: a.Stressor}
		for _, rate := range rates {
			v := math.NaN()
			if r := a.At(rate); r != nil {
				v = float64(r.Stable) / float64(r.Runs)
			}
			row.Y = append(row.Y, v)
		}
		h.Series = append(h.Series, row)
	}
	return h
}

// panel draws the pass rate at the end against the learning rate under a stressor, a line for each correction and one for equal engines,
// with their limits marked.
func panel(s *stability.Study, title, stressor string, slots *[]string) figure.Figure {
	c := figure.Figure{Kind: figure.Lines, Title: title, MeanOnly: true, X: figure.Axis{Label: "learning rate", Log: true}, Y: figure.Axis{Label: "pass rate at the end", High: 1}}
	equal := s.Equal
	if none := s.Arm(stressor, s.None); none != nil {
		equal = cmp.Or(none.Equal, equal)
	}
	for _, a := range s.Arms {
		name := a.Method
		switch {
		case a.Stressor == equal && a.Method == s.None:
			name = "equal engines"
		case a.Stressor != stressor:
			continue
		case a.Method == s.None:
			name = "no correction"
		}
		if !slices.Contains(*slots, name) {
			*slots = append(*slots, name)
		}
		line := figure.Series{Name: name, Slot: slices.Index(*slots, name) + 1}
		if a.Limit.From == a.Limit.To {
			line.Marked = float64(a.Limit.From)
		}
		for _, r := range a.Rates {
			line.X, line.Y = append(line.X, r.Rate), append(line.Y, stats.Average(r.Finals))
		}
		c.Series = append(c.Series, line)
	}
	return c
}

// mapPicture has a panel for each problem of the map that has runs.
func mapPicture(m *stability.Map) *figure.Figure {
	p := &figure.Figure{Kind: figure.Multiples, Title: "Pass rate at the end against the learning rate; triangles mark the largest stable rate", PartColumns: 3}
	var slots []string
	for _, problem := range stability.Problems {
		for i := range m.Studies {
			if s := &m.Studies[i]; s.Name == problem.Study && s.Arm(problem.Stressor, s.None) != nil {
				p.Parts = append(p.Parts, panel(s, problem.Title, problem.Stressor, &slots))
			}
		}
	}
	return p
}

// gapFigure draws limit and level without a correction against the size of the gap at the start, next to what was published of real models; nil
// where fewer than three stressors have a gap there, or none a limit.
func gapFigure(s *stability.Study) *figure.Figure {
	gaps := slices.DeleteFunc(uncorrected(s), func(a stability.Arm) bool { return !(a.FirstK3 > 0) })
	if len(gaps) < 3 || !slices.ContainsFunc(gaps, func(a stability.Arm) bool { return a.Limit.From == a.Limit.To }) {
		return nil
	}
	slices.SortStableFunc(gaps, func(a, b stability.Arm) int { return cmp.Compare(a.FirstK3, b.FirstK3) })
	p := &figure.Figure{Kind: figure.Multiples, Title: s.Baseline("Size of the gap at the start, and what it costs without a correction: ") + s.Name, PartColumns: 2}
	for _, of := range []struct {
		title string
		y     figure.Axis
		value func(*stability.Arm) float64
	}{
		{"Largest stable learning rate", figure.Axis{Label: "learning rate", Log: true}, func(a *stability.Arm) float64 {
			if a.Limit.From != a.Limit.To {
				return math.NaN()
			}
			return float64(a.Limit.From)
		}},
		{"Level", figure.Axis{Label: "pass rate at the end, at the best rate", High: 1}, func(a *stability.Arm) float64 { return float64(a.Level.Estimate) }},
	} {
		c := figure.Figure{Kind: figure.Lines, Title: of.title, MeanOnly: true, X: figure.Axis{Label: "k3 in the first ten updates, nats per token", Log: true}, Y: of.y}
		line, bottom := figure.Series{Name: s.Baseline("no correction")}, math.Inf(1)
		for i := range gaps {
			if y := of.value(&gaps[i]); !math.IsNaN(y) {
				line.X, line.Y, bottom = append(line.X, float64(gaps[i].FirstK3)), append(line.Y, y), min(bottom, y)
			}
		}
		c.Series = append(c.Series, line)
		for i, real := range stability.RealGaps() {
			y := bottom * (1 - float64(0.1*float64(i+1)))
			c.Series = append(c.Series, figure.Series{Name: "published: " + real.Name, X: []float64{real.Low, real.High}, Y: []float64{y, y}})
		}
		p.Parts = append(p.Parts, c)
	}
	return p
}

// gapTable has the size of each stressor's gap without a correction, and what was published of real models.
func gapTable(s *stability.Study) *figure.Figure {
	t := headOf(s, "gaps")
	for _, a := range uncorrected(s) {
		t.Add(figure.Word(a.Stressor).As(figure.Strong), figure.Number(float64(a.FirstK3), 2), figure.Number(float64(a.K3), 2), figure.Percent(float64(a.Flips), 1), figure.Word("this study"))
	}
	for _, real := range stability.RealGaps() {
		t.Add(figure.Word("published: "+real.Name), figure.Cell{}, figure.Word(figure.FormatNumber(real.Low, 2)+" to "+figure.FormatNumber(real.High, 2)), figure.Cell{}, figure.Word(real.Source))
	}
	return t
}

// freshTable has what fresh models say; nil where none was run.
func freshTable(s *stability.Study) *figure.Figure {
	t := headOf(s, "fresh")
	word := func(agrees bool) figure.Cell {
		if agrees {
			return figure.Word("yes")
		}
		return figure.Word("no").As(figure.Bad)
	}
	limits, gains, significant := 0, 0, 0
	for _, a := range s.Arms {
		f := a.Fresh
		if f == nil {
			continue
		}
		sign := figure.Word("")
		if a.GainNone.N > 1 {
			sign = figure.Word("not significant before")
		}
		if a.GainNone.N > 1 && a.GainNone.Low*a.GainNone.High > 0 {
			significant++
			sign = word(f.GainAgrees)
			if f.GainAgrees {
				gains++
			}
		}
		if f.LimitAgrees {
			limits++
		}
		t.Add(figure.Word(a.Stressor), figure.Word(a.Method).As(figure.Strong), figure.Word(a.Limit.Text(stability.RateText)), figure.Word(f.Limit.Text(stability.RateText)), word(f.LimitAgrees),
			figure.Word(a.GainNone.Text(true)), figure.Word(f.GainNone.Text(true)), sign, figure.Word(fmt.Sprint(f.Limit.N)))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Note = fmt.Sprintf("Limits within a factor of 2: %d of %d. Significant differences with the same sign: %d of %d.", limits, len(t.Rows), gains, significant)
	return t
}

// pictureForms are the files of a picture.
var pictureForms = []string{".svg", ".png"}

// limitPictures are the phase diagrams: the boundary of each correction, and the share of stable runs without one.
func limitPictures(s *stability.Study) []Picture {
	list := []Picture{{"limits", limitFigure(s), pictureForms}, {"stable", stableFigure(s), pictureForms}}
	if gaps := gapFigure(s); gaps != nil {
		list = append(list, Picture{"gaps", gaps, pictureForms})
	}
	return list
}

// limitSections are the sections of a study over learning rates.
func (v *view) limitSections(s *stability.Study) []results.Section {
	rates := &figure.Figure{Kind: figure.Multiples, Title: "Pass rate at the end by learning rate"}
	byRate := results.Section{Heading: "By learning rate", Blocks: []results.Block{rateTable(s)}}
	for _, stressor := range s.Stressors() {
		var slots []string
		if c := panel(s, stressor, stressor, &slots); len(c.Series) > 2 {
			rates.Parts = append(rates.Parts, c)
			byRate.Blocks = append(byRate.Blocks, &c)
		}
	}
	v.pictures = append([]Picture{{"rates", rates, pictureForms}}, limitPictures(s)...)
	list := []results.Section{{Heading: "Where training is stable", Blocks: []results.Block{limitTable(s), v.pictures[1].Figure, v.pictures[2].Figure}}}
	sizes := results.Section{Heading: "Size of the mismatch", Blocks: []results.Block{gapTable(s)}}
	if len(v.pictures) > 3 {
		sizes.Blocks = append(sizes.Blocks, v.pictures[3].Figure)
	}
	list = append(list, sizes)
	if len(s.Checks) > 0 {
		list = append(list, results.Section{Heading: "What was declared before the runs", Blocks: []results.Block{checkTable(s)}})
	}
	if t := lawTable(s); t != nil {
		list = append(list, results.Section{Heading: "A law of the limits", Blocks: []results.Block{t}})
	}
	if t := freshTable(s); t != nil {
		list = append(list, results.Section{Heading: "On fresh models", Blocks: []results.Block{t}})
	}
	return append(list, byRate)
}

// mapFile has the figures of a published map, which everything that recommends a correction quotes.
const mapFile = "map.json"

// PublishMap takes what the folders of studies have of their plans into a published map: dir/NAME has the plan, the cells without their
// curves, of outcomes that studies share those that no folder before it has, and a page; dir has the figures of all, the picture and the
// page of problems. What is published already stays, and all of a study whose grid has no cells, since its base models are missing. No
// run is made.
func PublishMap(dir string, grids []*Grid, from []string) error {
	m := &stability.Map{Studies: []stability.Study{}}
	var taken []*Folder
	for _, g := range grids {
		d, err := g.take(filepath.Join(dir, g.Plan.Name), from)
		if err != nil {
			return err
		}
		taken = append(taken, d)
	}
	stored := record.NewCells(dir, nil)
	for i, d := range taken { // nothing is written before all is read: an outcome may stand in the folder of another study
		if d == nil {
			continue
		}
		if err := d.seal(stored); err != nil {
			return err
		}
		if len(d.Rows) == 0 { // its first runs judge nothing yet
			continue
		}
		study, err := d.publish(grids[i].Plan.Declared)
		if err != nil {
			return err
		}
		m.Studies = append(m.Studies, *study)
	}
	text, err := json.Marshal(m) // without indentation, which would double it
	if err == nil {
		err = record.WriteNew(filepath.Join(dir, mapFile), text)
	}
	if err != nil {
		return err
	}
	picture := mapPicture(m)
	if err := errors.Join(savePicture(dir, "picture", picture), record.WriteFile(dir, "picture.png", results.PNG(picture))); err != nil { // PNG: for the README
		return err
	}
	for _, p := range stability.Problems {
		if err := publishProblem(dir, m, p); err != nil {
			return err
		}
	}
	return record.WriteFile(dir, "README.md", mapPage(m))
}

// publishProblem writes the page of a problem: the answer, the curves and the figures of its corrections.
func publishProblem(dir string, m *stability.Map, p stability.Problem) error {
	a, ok := m.Answer(p.Name)
	if !ok {
		return nil
	}
	s := *m.Study(p.Study)
	var slots []string
	curves := panel(&s, p.Title, p.Stressor, &slots)
	if err := savePicture(dir, p.Name, &curves); err != nil {
		return err
	}
	s.Arms = slices.DeleteFunc(slices.Clone(s.Arms), func(arm stability.Arm) bool {
		return arm.Stressor != p.Stressor && !(arm.Stressor == s.Equal && arm.Method == s.None)
	})
	s.Checks = slices.DeleteFunc(slices.Clone(s.Checks), func(c stability.Check) bool { return !strings.HasPrefix(c.Arm, p.Stressor+", ") })
	var page bytes.Buffer
	fmt.Fprintf(&page, "# %s\n\n%s\n\n![%s](%s.svg)\n\n", p.Title, a.Text, curves.Title, p.Name)
	for _, t := range []*figure.Figure{limitTable(&s), gapTable(&s), checkTable(&s)} {
		fmt.Fprintf(&page, "%s\n", t.Markdown())
	}
	fmt.Fprintf(&page, "`simulate methods NAME` prints what a correction stands for, and its lines for each framework. All stressors are on [the page of the study](%s/README.md).\n", s.Name)
	return record.WriteFile(dir, p.Name+".md", page.Bytes())
}

// take joins what the folders of a study have of its plan, in short, the published one first; nil where none is of that study. The cells
// of another study, which this one may share, stay with it: they would add rates that nobody asked for here.
func (g *Grid) take(dir string, from []string) (*Folder, error) {
	published, err := openSweep(dir)
	if err != nil {
		return nil, err
	}
	if len(g.Cells) == 0 {
		x, err := published.Index()
		if x == nil || err != nil {
			return nil, err
		}
		return newFolder(published, x)
	}
	x := g.index()
	planned := map[string]record.Cell{}
	for _, head := range x.heads() {
		planned[head.Key] = head
	}
	all := record.NewCells(dir, published.sums)
	for _, folder := range append([]string{dir}, from...) {
		other, err := openSweep(folder)
		if err != nil {
			return nil, err
		}
		made, err := other.Index()
		if err != nil {
			return nil, err
		}
		if made == nil || made.Name != g.Plan.Name {
			continue
		}
		err = other.withCells(func(cells *record.Cells) error {
			short, err := cells.With(func(c *record.Cell) (bool, error) {
				head, wanted := planned[c.Key]
				if !wanted {
					return false, nil
				}
				c.Arm, c.Seed, c.Curve = head.Arm, head.Seed, nil
				return true, shorten(&c.Outcome)
			})
			if err != nil {
				return err
			}
			return all.Merge(short) // which compares what both have
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all.Keys()) == 0 {
		return nil, nil
	}
	published.cells = all
	done, err := outcomes(published)
	if err != nil {
		return nil, err
	}
	early := x.premature(done)
	if published.cells, err = all.With(func(c *record.Cell) (bool, error) { return !early[c.Key], nil }); err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, at := range x.wanted(done) {
		asked[x.Arms[at.arm].Keys[at.seed]] = true
	}
	x.Arms = slices.DeleteFunc(x.Arms, func(a Arm) bool { // most steps of a ladder are neither run nor asked for
		return !slices.ContainsFunc(a.Keys, func(key string) bool { return asked[key] || published.cells.Get(key) != nil })
	})
	return newFolder(published, x)
}

// seal writes the cells and the plan of a folder of the map. Outcomes that the folders before it have are not stored again.
func (d *Folder) seal(stored *record.Cells) error {
	once, err := d.store.cells.Sharing(stored)
	if err == nil {
		err = once.Seal(d.keys())
	}
	if err != nil {
		return err
	}
	return d.store.WriteIndex(d.Index)
}

// shorten leaves the one window of an outcome that a map shows, how large the gap is at first: a thousand runs with all of their windows
// are ten megabytes.
func shorten(outcome *json.RawMessage) error {
	var o Outcome
	if err := json.Unmarshal(*outcome, &o); err != nil {
		return err
	}
	first := o.Windows.Values["gap/k3"]
	o.Windows.Values = map[string][]record.Number{"gap/k3": first[:min(1, len(first))]}
	text, err := json.Marshal(&o)
	*outcome = text
	return err
}

// MapTables are the tables of a study of the map: limits and levels, what a law predicts of them, what fresh models say, the size of the
// mismatch, the declared checks.
func MapTables(s *stability.Study) []*figure.Figure {
	return slices.DeleteFunc([]*figure.Figure{limitTable(s), lawTable(s), freshTable(s), gapTable(s), checkTable(s)}, func(t *figure.Figure) bool { return t == nil })
}

// publish judges a folder and writes its page and pictures.
func (d *Folder) publish(declared string) (*stability.Study, error) {
	s := d.Limits()
	var page bytes.Buffer
	fmt.Fprintf(&page, "# %s\n\n%s\n\n", d.title(), cmp.Or(declared, "No check was declared."))
	for _, p := range limitPictures(s) {
		fmt.Fprintf(&page, "![%s](%s.svg)\n\n", p.Figure.Title, p.Name)
		if err := savePicture(d.store.Dir, p.Name, p.Figure); err != nil {
			return nil, err
		}
	}
	for _, t := range append(MapTables(s), rateTable(s)) {
		fmt.Fprintf(&page, "%s\n", t.Markdown())
	}
	if missing := d.Missing(); missing != "" {
		fmt.Fprintf(&page, "Not run yet: %s\n", missing)
	}
	return s, record.WriteFile(d.store.Dir, "README.md", page.Bytes())
}

// savePicture writes a figure for a page, which replaces one that is there.
func savePicture(dir, name string, f *figure.Figure) error {
	return record.WriteFile(dir, name+".svg", results.SVG(f))
}

// mapPage has the answer to each problem.
func mapPage(m *stability.Map) []byte {
	var b bytes.Buffer
	b.WriteString("# The stability map\n\nWhich correction for which problem, from runs of 1,000 updates over a ladder of learning rates. The page of each study says which runs are missing, and how many base models judged each arm.\n\n![" + mapPicture(m).Title + "](picture.svg)\n\n")
	for _, p := range stability.Problems {
		if a, ok := m.Answer(p.Name); ok {
			fmt.Fprintf(&b, "**[%s](%s.md).** %s\n\n", p.Title, p.Name, a.Text)
		}
	}
	for _, s := range m.Studies {
		fmt.Fprintf(&b, "- [%s](%s/README.md)\n", s.Title, s.Name)
	}
	return b.Bytes()
}
