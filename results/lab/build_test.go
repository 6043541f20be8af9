package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// order is how the lessons are taught.
var order = []string{"gap", "length", "policies", "routing", "age", "fix", "normal"}

// Build makes the document of lessons/ and a folder such as results/published.
func Build(dir fs.FS) (*Document, error) {
	d := &Document{V: 1}
	p := newPublished(dir)
	for _, name := range order {
		l, err := build(p, name)
		if err != nil {
			return nil, fmt.Errorf("lesson %s: %w", name, err)
		}
		d.Lessons = append(d.Lessons, *l)
	}
	return d, load("free", &d.Recipes)
}

func build(p *publishedFolder, name string) (*Lesson, error) {
	var a authored
	if err := load(name, &a); err != nil {
		return nil, err
	}
	l := &a.Lesson
	l.Name = name
	f := newFigures(p, a.Figures)
	for _, text := range l.texts() {
		var err error
		if *text, err = f.set(*text, &l.Shown); err != nil {
			return nil, err
		}
	}
	for i := range l.Guess {
		g := &l.Guess[i]
		if err := g.answer(f, a.Truth[g.Key]); err != nil {
			return nil, fmt.Errorf("truth of %s: %w", g.Key, err)
		}
		g.TruthText = g.truthText()
	}
	for used := range a.Figures {
		if _, ok := f.known[used]; !ok {
			return nil, fmt.Errorf("figure %s is nowhere used", used)
		}
	}
	var err error
	l.Data.Panels, err = panels(p, name)
	return l, err
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
		if g.Kind == "choice" {
			return g.choose(truth, value)
		}
		return g.rank(truth, value)
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
	case []float64:
		points := make([]string, len(truth))
		for i, y := range truth {
			points[i] = fmt.Sprintf("%.0f %% at %g", 100*y, g.X[i])
		}
		return strings.Join(points, ", ")
	}
	return strings.Join(g.Truth.([]string), ", then ")
}

// choose takes the first option whose share is above one half, else the one without a share.
func (g *Guess) choose(by map[string]any, value func(any) (float64, error)) error {
	found := false
	for _, option := range g.Options {
		name, ok := by[option]
		if !ok && !found {
			g.Truth = option
		}
		if !ok {
			continue
		}
		share, err := value(name)
		if err != nil {
			return fmt.Errorf("%s: %w", option, err)
		}
		if share > 0.5 && !found {
			g.Truth, found = option, true
		}
	}
	if g.Truth == nil {
		return fmt.Errorf("no option of %s is the answer", g.Key)
	}
	return nil
}

// rank orders the options by their figures, the highest first; equal ones stay as
// they are listed.
func (g *Guess) rank(by map[string]any, value func(any) (float64, error)) error {
	figure := map[string]float64{}
	for _, option := range g.Options {
		x, err := value(by[option])
		if err != nil {
			return fmt.Errorf("%s: %w", option, err)
		}
		figure[option] = x
	}
	ranked := slices.Clone(g.Options)
	slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(figure[b], figure[a]) })
	g.Truth = ranked
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
