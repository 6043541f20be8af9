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
	// Shows is what the source shows. Values are its numbers or words; the first row has the heads.
	Shows  string
	Values [][]string
	// State is same, weaker, opposite, proxy, not shown yet or not shown; Because is a sentence that says why.
	State, Because string
	// Answers are as in the list of coverage, and Found says what each came to.
	Answers, Found []string
	// Picture is a claim whose published picture is shown; Drawings have the numbers of the source and ours together.
	Picture  string
	Drawings []*Drawing
}

// DrawingName is the file of a drawing.
func (s *Shown) DrawingName(i int) string {
	return strings.TrimSuffix(fmt.Sprintf("%s-%d", s.ID, i+1), "-1") + ".svg"
}

// Drawing is a figure whose series are typed, if they are of the source, or made of published files.
type Drawing struct {
	Kind              figure.Kind
	Title, X, Y, Note string
	Log               bool
	LogX              bool `yaml:"logX"`
	Labels            []string
	Series            []DrawnSeries
}

// DrawnSeries has the values of Source, or those Of expressions about the observations of a claim, "ID: expression", or about a run,
// "run NAME: value". Each is a number or a list. Across is likewise, for the horizontal axis.
type DrawnSeries struct {
	Name       string
	At, Source []float64
	Of, Across []string
}

// Numbers are what a series comes to, with 95 % intervals over independent units, if there are several.
type Numbers struct {
	Y    record.Floats `json:"y"`
	Low  record.Floats `json:"low,omitempty"`
	High record.Floats `json:"high,omitempty"`
	X    record.Floats `json:"x,omitempty"`
}

// figuresHead is the beginning of the page.
const figuresHead = "# The sources' figures, side by side\n\n" +
	"Every figure and table of the texts that this program started from, and what is published here next to it. A picture of a source is described, and its values are those of its text. " +
	"Our numbers are read out of published files ([claims](../claims/verdicts.md)); commands are typed in a clone, after `go build ./cmd/simulate`. " +
	"[The list of features and statements](../seeds.md) has the same sources. The account of a three-policy trust region has no figures or tables.\n\n" +
	"States: **same**; **weaker**: in the same direction, smaller or under fewer conditions; **opposite**: in the other direction; **proxy**: another quantity or another kind of model; " +
	"**not shown yet**: a condition is missing, and the nearest result stands there; **not shown**.\n"

// Figures is the list of figures and tables of all sources, without numbers in the drawings.
func Figures() (list []*Shown, err error) {
	if err := yaml.Load(figuresText, &list, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("figures.yaml: %w", err)
	}
	for _, s := range list {
		for _, a := range s.Answers {
			found, err := answer(a)
			if err != nil {
				return nil, fmt.Errorf("figures.yaml: %s: %w", s.ID, err)
			}
			s.Found = append(s.Found, found)
		}
	}
	return list, nil
}

// Draw are the drawings of a figure.
func (s *Shown) Draw() (all []*figure.Figure) {
	var numbers map[string]Numbers
	if err := json.Unmarshal(figureNumbers, &numbers); err != nil {
		panic("figures.json: " + err.Error()) // a test makes it
	}
	for _, d := range s.Drawings {
		f := &figure.Figure{Kind: d.Kind, Title: d.Title, Note: d.Note, Labels: d.Labels, X: figure.Axis{Label: d.X, Log: d.LogX}, Y: figure.Axis{Label: d.Y, Log: d.Log}}
		for _, of := range d.Series {
			n := numbers[d.Title+": "+of.Name]
			if of.Source != nil {
				n.Y = of.Source
			}
			if n.X == nil {
				n.X = of.At
			}
			f.Series = append(f.Series, figure.Series{Name: of.Name, X: n.X, Y: n.Y, Low: n.Low, High: n.High})
		}
		all = append(all, f)
	}
	return all
}

// Table is what the source shows as a table; nil if it has no values.
func (s *Shown) Table() *figure.Figure {
	if s.Values == nil {
		return nil
	}
	t := &figure.Figure{Kind: figure.Table}
	for _, head := range s.Values[0] {
		t.Columns = append(t.Columns, figure.Column{Name: head})
	}
	for _, row := range s.Values[1:] {
		t.Add(figure.Words(row...)...)
	}
	return t
}

// Results are the answers with their commands and what they came to.
func (s *Shown) Results() (all []string) {
	for i, a := range s.Answers {
		all = append(all, shown(a, s.Found[i], "`"))
	}
	return all
}

// SourceName is the name of the source.
func (s *Shown) SourceName() string {
	i := slices.IndexFunc(coverageSources, func(of coverageSource) bool { return of.id == s.Source })
	return coverageSources[i].name
}

// emphases are those of some states.
var emphases = map[string]figure.Emphasis{"same": figure.Good, "weaker": figure.Warn, "proxy": figure.Warn, "opposite": figure.Bad}

// FiguresTable has a row for each figure, whose name leads to the figure.
func FiguresTable(list []*Shown) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Sortable: true, Columns: []figure.Column{{Name: "figure"}, {Name: "source", Filter: true}, {Name: "state", Filter: true}, {Name: "why"}}}
	for _, s := range list {
		source, _, _ := strings.Cut(s.SourceName(), ",")
		t.Add(figure.Cell{Text: s.Name, Link: "#" + s.ID}, figure.Word(source), figure.Word(s.State).As(emphases[s.State]), figure.Word(s.Because))
	}
	return t
}

// FiguresPage is the list as Markdown. Drawings are files next to it, by DrawingName.
func FiguresPage(list []*Shown) string {
	var b strings.Builder
	t := FiguresTable(list)
	t.Columns = t.Columns[:3] // the reasons stand with the figures
	b.WriteString(figuresHead + "\n" + t.Markdown())
	source := ""
	for _, s := range list {
		if s.Source != source {
			source = s.Source
			b.WriteString("\n## " + s.SourceName() + "\n")
		}
		fmt.Fprintf(&b, "\n<a id=%q></a>\n\n### %s\n\n**%s.** %s\n\nThe source: %s\n", s.ID, s.Name, s.State, s.Because, s.Shows)
		if t := s.Table(); t != nil {
			b.WriteString("\n" + t.Markdown())
		}
		for i, f := range s.Draw() {
			fmt.Fprintf(&b, "\n![%s](%s)\n", f.Title, s.DrawingName(i))
		}
		if s.Picture != "" {
			fmt.Fprintf(&b, "\n[![%s](../claims/%[1]s/picture.svg)](../claims/%[1]s/README.md)\n", s.Picture)
		}
		b.WriteString("\n- " + strings.Join(s.Results(), "\n- ") + "\n")
	}
	return b.String()
}
