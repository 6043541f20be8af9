package lab

import (
	_ "embed" // of lab.json
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/published"
	"driftlab/results/stats"
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
	// Kind is share (0 to 1), number, decade (the power of ten), choice or curve (a
	// share at each X).
	Kind string `json:"kind"`
	Ask  string `json:"ask"`
	Unit string `json:"unit,omitempty"`
	// Options are the options of a choice, X the places of a curve.
	Options []string  `json:"options,omitempty"`
	X       []float64 `json:"x,omitempty"`
	Low     float64   `json:"low,omitempty"`
	High    float64   `json:"high,omitempty"`
	// Log: the scale of a share from Low to High is logarithmic.
	Log bool `json:"log,omitempty"`
	// Truth is the published answer: a number, for a choice its option, for a curve
	// a number at each X.
	Truth any `json:"truth"`
	// TruthText is the truth in words.
	TruthText string `json:"said"`
}

// Control chooses what is shown, and fills its key, in braces, into Live.Set.
type Control struct {
	Key   string `json:"key"`
	Label string `json:"label"`
	// Kind is select, range, toggle or number. All but a number have options; a range goes through them in
	// order. A number is the reader's own, from Low to High, and is drawn into the figures whose guess is its key.
	Kind    string   `json:"kind"`
	Options []Option `json:"options"`
	Low     float64  `json:"low,omitempty"`
	High    float64  `json:"high,omitempty"`
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

// Choose returns the values of the lesson's controls: those given as KEY=VALUE, else the lesson's own.
func (l *Lesson) Choose(given []string) (map[string]string, error) {
	out := map[string]string{}
	var keys []string
	for _, k := range l.Controls {
		out[k.Key], keys = k.Value, append(keys, k.Key)
	}
	for _, with := range given {
		key, value, _ := strings.Cut(with, "=")
		i := slices.Index(keys, key)
		if i < 0 {
			return nil, fmt.Errorf("%s: the lesson %s has the controls %s", with, l.Name, strings.Join(keys, ", "))
		}
		if k := l.Controls[i]; k.Kind == "number" {
			if x, err := strconv.ParseFloat(value, 64); err != nil || !(x >= k.Low && x <= k.High) {
				return nil, fmt.Errorf("%s: %s is a number from %g to %g", with, key, k.Low, k.High)
			}
			out[key] = value
			continue
		}
		values := stats.Map(l.Controls[i].Options, func(o Option) string { return o.Value })
		if !slices.Contains(values, value) {
			return nil, fmt.Errorf("%s: %s is one of %s", with, key, strings.Join(values, ", "))
		}
		out[key] = value
	}
	return out, nil
}

// Assignments are the assignments of the live run with the controls' values set in; a pair of engines stands for
// rollout and learner.
func (l *Lesson) Assignments(chosen map[string]string) []string {
	values := maps.Clone(chosen)
	if rollout, learner, ok := strings.Cut(chosen["pair"], "/"); ok {
		values["rollout"], values["learner"] = rollout, learner
	}
	var out []string
	for _, s := range l.Live.Set {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			s = strings.ReplaceAll(s, "{"+key+"}", values[key])
		}
		out = append(out, s)
	}
	return out
}

// packedDocument is lab.json, which TestDocument made of lessons/ and results/published.
//
//go:embed lab.json.gz
var packedDocument []byte

//go:generate go test -run ^TestDocument$ -update

// publishedFile is lab.json, as the page loads it.
var publishedFile = sync.OnceValue(func() []byte { return published.Gunzip(packedDocument) })

// Load reads the lessons that the program was released with.
var Load = sync.OnceValue(func() *Document {
	var d Document
	if err := json.Unmarshal(publishedFile(), &d); err != nil {
		panic(fmt.Sprint("lab.json: ", err)) // TestDocument makes it
	}
	return &d
})

// Lesson is the one of that name, nil for none.
func (d *Document) Lesson(name string) *Lesson {
	if i := slices.IndexFunc(d.Lessons, func(l Lesson) bool { return l.Name == name }); i >= 0 {
		return &d.Lessons[i]
	}
	return nil
}

// DiagnosePage is the name of Diagnose's page in the site.
const DiagnosePage = "diagnose.html"

// Diagnose is the page that diagnoses dumps of real runs, with its program in it: one file that opens from a disk, too. The
// browser allows it no request at all. home is the lab's page next to it, empty for none.
func Diagnose(p Program, home string) []byte {
	paper := results.SharedPaper()
	style, script := paper.Style+"\n"+source("diagnose.css"), paper.Script+"\n"+source("diagnose.js")
	return filled(diagnosePage, map[string]any{
		"Policy": policyOf(sums(paper.Early, script)+" 'wasm-unsafe-eval'", style, "'none'"), "Style": template.CSS(style), "Early": template.JS(paper.Early), "Script": template.JS(script),
		"Worker":  template.HTML(inScript(string(p.Support) + "\n" + source("worker.js"))),
		"Program": template.HTML(`"` + quotable(p.Diagnose) + `"`), "Home": home, "Nav": navigation(home, DiagnosePage),
	})
}

var diagnosePage = template.Must(template.New("").Parse(source("diagnose.html")))

// Expected says what a guess is to be.
func (g Guess) Expected() string {
	switch g.Kind {
	case "share":
		return "a percentage from 0 to 100"
	case "decade":
		return fmt.Sprintf("a power of ten from 1e%g to 1e%g", g.Low, g.High)
	case "curve":
		return fmt.Sprintf("%d percentages, at %s", len(g.X), strings.Trim(fmt.Sprint(g.X), "[]"))
	case "choice":
		return fmt.Sprintf("a number from 1 to %d", len(g.Options))
	}
	return strings.TrimSpace(fmt.Sprintf("a number from %g to %g %s", g.Low, g.High, g.Unit))
}

// Parse reads a guess and returns it in words, or says what was expected.
func (g Guess) Parse(text string) (string, error) {
	switch g.Kind {
	case "share":
		share, err := percentage(text)
		return fmt.Sprintf("%.3g %%", share), err
	case "decade":
		text = strings.TrimPrefix(strings.Replace(text, "10^", "1e", 1), "1e")
		power, err := strconv.Atoi(text)
		if err != nil || float64(power) < g.Low || float64(power) > g.High {
			return "", fmt.Errorf("expected %s", g.Expected())
		}
		return fmt.Sprintf("1e%d", power), nil
	case "curve":
		words := splitWords(strings.ReplaceAll(text, "%", " "))
		if len(words) != len(g.X) {
			return "", fmt.Errorf("expected %d percentages, found %d", len(g.X), len(words))
		}
		for i, word := range words {
			share, err := percentage(word)
			if err != nil {
				return "", err
			}
			words[i] = fmt.Sprintf("%.3g %% at %g", share, g.X[i])
		}
		return strings.Join(words, ", "), nil
	case "choice":
		return g.option(text)
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, g.Unit)), 64)
	if err != nil || !(x >= g.Low && x <= g.High) {
		return "", fmt.Errorf("expected %s", g.Expected())
	}
	return strings.TrimSpace(fmt.Sprintf("%g %s", x, g.Unit)), nil
}

// percentage reads a share, with or without its sign.
func percentage(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 100 {
		return 0, fmt.Errorf("expected a percentage from 0 to 100")
	}
	return x, nil
}

// option reads one of a guess's options, by its number or its name.
func (g Guess) option(text string) (string, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(g.Options) {
		return g.Options[n-1], nil
	}
	for _, o := range g.Options {
		if strings.EqualFold(o, text) {
			return o, nil
		}
	}
	return "", fmt.Errorf("expected %s", g.Expected())
}

// splitWords are words with spaces or commas between them.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
}
