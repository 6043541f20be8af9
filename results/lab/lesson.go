package lab

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"

	"driftlab/results/figure"

	"go.yaml.in/yaml/v4"
)

// Document is lab.json: all that the page shows before anything is computed.
type Document struct {
	// V is the version of this shape.
	V int `json:"v"`
	// Lessons are in the order they are taught.
	Lessons []Lesson `json:"lessons"`
	// Recipes are what the free tab offers.
	Recipes []Recipe `json:"recipes"`
}

// Lesson is one lesson with its figures set in.
type Lesson struct {
	// Name is short, for addresses and the command line.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Minutes are what it takes in class.
	Minutes int `json:"minutes"`
	// Question is what the lesson asks, Intro what one must know to guess, a
	// paragraph each.
	Question string   `json:"question"`
	Intro    []string `json:"intro"`
	// Guess is asked before anything is shown.
	Guess []Guess `json:"guess"`
	// Controls choose what is shown.
	Controls []Control `json:"controls"`
	// Aha is the one thing to take away, Why the reason for it.
	Aha string   `json:"aha"`
	Why []string `json:"why"`
	// Shown are the published figures in the lesson's text, in its order.
	Shown []Shown `json:"shown"`
	// Exercise is for paper and pencil.
	Exercise []Exercise `json:"exercise"`
	// Command does on the command line what Live does in the page.
	Command string `json:"command"`
	Live    *Live  `json:"live,omitempty"`
	// Data are the recorded pictures.
	Data Data `json:"data"`
	// Sheet is the lesson on paper, Teach what a teacher should know.
	Sheet Sheet `json:"sheet"`
	Teach Teach `json:"teach"`
}

// Guess is one thing to guess.
type Guess struct {
	Key string `json:"key"`
	// Kind is share (0 to 1), number, decade (the power of ten), choice, curve (a
	// share at each X) or rank (Options, best first).
	Kind string `json:"kind"`
	Ask  string `json:"ask"`
	Unit string `json:"unit,omitempty"`
	// Options are those of a choice or a rank, X the places of a curve.
	Options []string  `json:"options,omitempty"`
	X       []float64 `json:"x,omitempty"`
	Low     float64   `json:"low,omitempty"`
	High    float64   `json:"high,omitempty"`
	// Log: the scale of a share from Low to High is logarithmic.
	Log bool `json:"log,omitempty"`
	// Truth is the published answer: a number, for a choice its option, for a curve
	// a number at each X, for a rank the options in order.
	Truth any `json:"truth"`
	// TruthText is the truth in words.
	TruthText string `json:"said"`
}

// Control chooses what is shown, and fills its key, in braces, into Live.Set.
type Control struct {
	Key   string `json:"key"`
	Label string `json:"label"`
	// Kind is select, range or toggle. Each has options; a range goes through them in
	// order.
	Kind    string   `json:"kind"`
	Options []Option `json:"options"`
	// Value is the one chosen at first.
	Value string `json:"value"`
}

// Option is one value of a control.
type Option struct {
	// Value is what figures and live runs know it by, Label what is read.
	Value string `json:"value"`
	Label string `json:"label"`
}

// Shown is a published figure as the text has it.
type Shown struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"`
	// Source is the file it was read from, Field where in it, or the formula over
	// other figures that it was worked out by.
	Source string `json:"source"`
	Field  string `json:"field"`
}

// Exercise is a question for paper and pencil with its answer.
type Exercise struct {
	Ask    string `json:"ask"`
	Answer string `json:"answer"`
}

// Live is what "Compute it here" sends: a recipe with assignments, in which {key}
// stands for a control's value.
type Live struct {
	Do     string   `json:"do"`
	Recipe string   `json:"recipe"`
	Set    []string `json:"set,omitempty"`
}

// Data are a lesson's pictures; of figures with other values of the controls, those
// that match are shown.
type Data struct {
	Panels []figure.Figure `json:"panels"`
}

// Sheet is what a lesson has on paper in addition to question and exercise.
type Sheet struct {
	// Axes are empty ones for the guess; none where it is a number.
	Axes *Axes `json:"axes,omitempty"`
	// Table is to be filled in from the page: its head and the first cell of each row.
	Table SheetTable `json:"table"`
}

// Axes are empty axes on paper.
type Axes struct {
	X     string    `json:"x"`
	Y     string    `json:"y"`
	XTick []float64 `json:"x_tick"`
	YTick []float64 `json:"y_tick"`
}

// SheetTable is a table with empty cells; Answers are what belongs there.
type SheetTable struct {
	Head    []string   `json:"head"`
	Rows    []string   `json:"rows"`
	Answers [][]string `json:"answers"`
}

// Teach is what a teacher should know.
type Teach struct {
	// Misconception is what learners believe before, and Against what to show them.
	Misconception string `json:"misconception"`
	Against       string `json:"against"`
}

// Recipe is one that the free tab offers.
type Recipe struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// written lessons, and the recipes of the free tab.
//
//go:embed lessons
var texts embed.FS

// authored is a lesson as its file has it: figures in the texts are placeholders,
// such as {kept32}, that name one of Figures.
type authored struct {
	Lesson `yaml:",inline"`
	// Figures are those that texts and truths name.
	Figures map[string]figureSource
	// Truth gives each guess's answer by its key: the name of a figure, a list of
	// them for a curve, for a rank its options with what they are ordered by, the
	// highest first, and for a choice its options with shares, of which the first
	// above one half is the answer; the option without a share if there is none.
	Truth map[string]any
}

// figureSource says where a figure of a lesson is published. One of From, Claim and Work
// is set.
type figureSource struct {
	// From is a JSON file below results/published, Field where in it.
	From  string `yaml:"from"`
	Field string `yaml:"field"`
	// Claim is one whose observations are meant: an entry of a series, such as
	// "natural product 2[0]", in each replication, divided by Over where that is set.
	// Of says what is taken over the replications: min, max or, when empty, the mean.
	Claim string `yaml:"claim"`
	Over  string `yaml:"over"`
	Of    string `yaml:"of"`
	// Work is arithmetic over other figures of the lesson.
	Work string `yaml:"work"`
	// Show is how it is written, for fmt; one that ends in %% shows a share in percent.
	Show string `yaml:"show"`
}

// load reads a file of lessons/, every field of which must be known.
func load(name string, into any) error {
	text, err := texts.ReadFile(path.Join("lessons", name+".yaml"))
	if err != nil {
		return err
	}
	return yaml.Load(text, into, yaml.WithKnownFields())
}

// Written is a lesson as its file has it, before figures are set in: what a recording is made of.
func Written(name string) (*Lesson, error) {
	var a authored
	err := load(name, &a)
	return &a.Lesson, err
}

// Recording is the file of a recording that is figures.
func Recording(panels []figure.Figure) ([]byte, error) {
	list, err := lines(panels)
	return fmt.Appendf(nil, "{\"panels\":%s}\n", list), err
}

// lines is a list in JSON, an item a line, for changes to be seen.
func lines[T any](list []T) ([]byte, error) {
	out := []byte("[\n")
	for i := range list {
		line, err := json.Marshal(&list[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ",\n"...)
		}
		out = append(out, line...)
	}
	return append(out, "\n]"...), nil
}
