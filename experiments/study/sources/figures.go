package sources

import (
	_ "embed" // of the list and its numbers
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"

	"go.yaml.in/yaml/v4"
)

// The list of the sources' figures, and the numbers that a test reads out of published files for its drawings.
var (
	//go:embed figures.yaml
	figuresText []byte
	//go:embed figures.json
	figureNumbers []byte
)

// Shown is a figure or a table of a source, and what is published here next to it.
type Shown struct {
	ID, Source, Name string
	// Shows is what the source shows. Values are its numbers or words as a table, nil for none.
	Shows  string
	Values *figure.Figure
	// State is same, weaker, opposite, proxy, not shown yet or not shown; Because is a sentence that says why.
	State, Because string
	// Answers are as in the list of coverage, and Found says what each came to.
	Answers, Found []string
	// Picture is a claim whose published picture is shown; Drawings have the numbers of the source and ours together.
	Picture  string
	Drawings []*Drawing
}

// Drawing is a figure. Its series are Drawn.
type Drawing struct {
	figure.Figure `yaml:",inline"`
	Drawn         []DrawnSeries
}

// DrawnSeries is typed, if it is of the source. Ours are Of expressions about the observations of a claim, "ID: expression", or about
// a run, "run NAME: value", each a number or a list. Across is likewise, for the horizontal axis.
type DrawnSeries struct {
	figure.Series `yaml:",inline"`
	Of, Across    []string
}

// Numbers are what a series comes to, with 95 % intervals over independent units, if there are several.
type Numbers struct {
	Y    record.Floats `json:"y"`
	Low  record.Floats `json:"low,omitempty"`
	High record.Floats `json:"high,omitempty"`
	X    record.Floats `json:"x,omitempty"`
}

// Fill sets the values of a series.
func (n Numbers) Fill(s *figure.Series) {
	s.Y, s.Low, s.High = n.Y, n.Low, n.High
	if n.X != nil {
		s.X = n.X
	}
}

// Figures is the list of figures and tables of all sources.
func Figures() (list []*Shown) {
	var numbers map[string]Numbers
	if err := json.Unmarshal(figureNumbers, &numbers); err != nil {
		panic("figures.json: " + err.Error()) // a test writes it
	}
	if err := yaml.Load(figuresText, &list, yaml.WithKnownFields()); err != nil {
		panic("figures.yaml: " + err.Error()) // tests read it
	}
	for _, s := range list {
		i := slices.IndexFunc(coverageSources(), func(of coverageSource) bool { return of.id == s.Source })
		s.Source = coverageSources()[i].name
		if s.Values != nil {
			s.Values.Kind = figure.Table
		}
		for _, a := range s.Answers {
			found, err := answer(a)
			if err != nil {
				panic("figures.yaml: " + s.ID + ": " + err.Error())
			}
			s.Found = append(s.Found, found)
		}
		for _, d := range s.Drawings {
			for _, of := range d.Drawn {
				if n, ok := numbers[d.Title+": "+of.Name]; ok {
					n.Fill(&of.Series)
				}
				d.Series = append(d.Series, of.Series)
			}
		}
	}
	return list
}

// DrawingName is the file of a drawing.
func (s *Shown) DrawingName(i int) string {
	return strings.TrimSuffix(fmt.Sprintf("%s-%d", s.ID, i+1), "-1") + ".svg"
}

// Results are the answers with their commands and what they came to.
func (s *Shown) Results() (all []string) {
	for i, a := range s.Answers {
		all = append(all, shown(a, s.Found[i], "`", strings.HasPrefix(CoverageCommand(a), "study ")))
	}
	return all
}

// FiguresPage is the list as Markdown. Drawings are files next to it, by DrawingName.
func FiguresPage(list []*Shown) string { return filled("figures.md.tmpl", list) }
