package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"driftlab/precision/must"

	"go.yaml.in/yaml/v4"
)

// authored is a lesson as its file has it: figures in the texts are placeholders,
// such as {kept32}, that name one of Figures.
type authored struct {
	Lesson `yaml:",inline"`
	// Figures are those that texts and truths name.
	Figures map[string]figureSource
	// Truth gives each guess's answer by its key: the name of a figure, a list of
	// them for a curve, and for a choice its options with figures, of which the
	// largest is the answer's.
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
func load(t testing.TB, name string, into any) {
	text := must.Get(os.ReadFile("lessons/" + name + ".yaml"))(t)
	must.Do(t, yaml.Load(text, into, yaml.WithKnownFields()))
}

// order is how the lessons are taught.
var order = []string{"gap", "length", "policies", "routing", "age", "fix", "normal"}

// build makes the document of lessons/ and results/published.
func build(t testing.TB) *Document {
	d, p := &Document{V: 1}, newPublished(t, os.DirFS("../published"))
	for _, name := range order {
		d.Lessons = append(d.Lessons, buildLesson(p, name))
	}
	load(t, "free", &d.Recipes)
	return d
}

func buildLesson(p *publishedFolder, name string) Lesson {
	var a authored
	load(p.t, name, &a)
	l := &a.Lesson
	l.Name = name
	f := newFigures(p, a.Figures)
	for _, text := range l.texts() {
		*text = must.Get(f.set(*text, &l.Shown))(p.t)
	}
	for i := range l.Guess {
		g := &l.Guess[i]
		must.Do(p.t, g.answer(f, a.Truth[g.Key]))
		g.TruthText = g.truthText()
	}
	for used := range a.Figures {
		if _, ok := f.known[used]; !ok {
			p.t.Errorf("%s: figure %s is nowhere used", name, used)
		}
	}
	l.Data.Panels = panels(p, name)
	return *l
}

// answer reads what a guess is compared with.
func (g *Guess) answer(f *figures, truth any) error {
	value := func(name any) (float64, error) {
		s, err := f.get(fmt.Sprint(name))
		return s.Value, err
	}
	switch truth := truth.(type) {
	case string:
		x, err := value(truth)
		if g.Truth = x; err == nil && g.Kind == "decade" {
			g.Truth, err = decade(x)
		}
		return err
	case []any:
		var curve []float64
		for _, name := range truth {
			x, err := value(name)
			if err != nil {
				return err
			}
			curve = append(curve, x)
		}
		if len(curve) != len(g.X) {
			return fmt.Errorf("%d figures at %d places", len(curve), len(g.X))
		}
		g.Truth = curve
		return nil
	case map[string]any:
		return g.choose(truth, value)
	}
	return fmt.Errorf("%v: expected a figure's name, a list or options with their figures", truth)
}

// truthText writes the answer.
func (g *Guess) truthText() string {
	switch truth := g.Truth.(type) {
	case int:
		return fmt.Sprintf("1e%d", truth)
	case float64:
		if g.Kind == "share" {
			return written("%.3g %%", truth)
		}
		return strings.TrimSpace(fmt.Sprint(truth, " ", g.Unit))
	case string:
		return truth
	}
	curve := g.Truth.([]float64)
	points := make([]string, len(curve))
	for i, y := range curve {
		points[i] = fmt.Sprintf("%.0f %% at %g", 100*y, g.X[i])
	}
	return strings.Join(points, ", ")
}

// choose takes the option of the largest figure.
func (g *Guess) choose(by map[string]any, value func(any) (float64, error)) error {
	largest := math.Inf(-1)
	for _, option := range g.Options {
		x, err := value(by[option])
		if err != nil {
			return fmt.Errorf("%s: %w", option, err)
		}
		if x > largest {
			g.Truth, largest = option, x
		}
	}
	return nil
}

// encode is how the document is kept.
func (d *Document) encode() ([]byte, error) {
	lessons, err := lines(d.Lessons)
	if err != nil {
		return nil, err
	}
	recipes, err := json.Marshal(d.Recipes)
	return fmt.Appendf(nil, "{\"v\":%d,\"lessons\":%s,\"recipes\":%s}\n", d.V, lessons, recipes), err
}

// texts are the places where figures may stand, in the order they are read.
func (l *Lesson) texts() []*string {
	list := []*string{&l.Question}
	each := func(texts []string) {
		for i := range texts {
			list = append(list, &texts[i])
		}
	}
	each(l.Intro)
	for i := range l.Guess {
		list = append(list, &l.Guess[i].Ask)
	}
	list = append(list, &l.Aha)
	each(l.Why)
	for i := range l.Exercise {
		list = append(list, &l.Exercise[i].Ask, &l.Exercise[i].Answer)
	}
	for _, row := range l.Sheet.Table.Answers {
		each(row)
	}
	return append(list, &l.Teach.Misconception, &l.Teach.Against)
}
