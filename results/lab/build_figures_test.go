package lab

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"strings"
)

// figures are the figures of a lesson, read when they are needed.
type figures struct {
	published *publishedFolder
	spec      map[string]figureSource
	known     map[string]Shown
	working   map[string]bool // being worked out, to find circles
}

func newFigures(p *publishedFolder, spec map[string]figureSource) *figures {
	return &figures{p, spec, map[string]Shown{}, map[string]bool{}}
}

// get reads a figure.
func (f *figures) get(name string) (Shown, error) {
	if s, ok := f.known[name]; ok {
		return s, nil
	}
	spec, ok := f.spec[name]
	if !ok {
		return Shown{}, fmt.Errorf("no figure %q", name)
	}
	if f.working[name] {
		return Shown{}, fmt.Errorf("figure %q is worked out from itself", name)
	}
	f.working[name] = true
	s, err := f.read(spec)
	if err != nil {
		return Shown{}, fmt.Errorf("figure %s: %w", name, err)
	}
	s.Text = written(spec.Show, s.Value)
	f.known[name] = s
	return s, nil
}

func (f *figures) read(spec figureSource) (Shown, error) {
	switch {
	case spec.Claim != "":
		return f.published.observation(spec)
	case spec.From != "":
		x, err := f.published.number(spec.From, spec.Field)
		return Shown{Value: x, Source: path.Join(root, spec.From), Field: spec.Field}, err
	}
	x, sources, err := f.work(spec.Work)
	return Shown{Value: x, Source: strings.Join(sources, ", "), Field: spec.Work}, err
}

// written shows a figure.
func written(show string, x float64) string {
	if show == "" {
		show = "%g"
	}
	if strings.HasSuffix(show, "%%") {
		x *= 100
	}
	return shortExponent.ReplaceAllString(fmt.Sprintf(show, x), "e$1$2")
}

// shortExponent finds Go's 1e-05 and 1e+06, which are written 1e-5 and 1e6.
var shortExponent = regexp.MustCompile(`e(?:\+|(-))0*([0-9])`)

// placeholder is where a figure is set into a text.
var placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)

// set puts figures into a text, and notes which.
func (f *figures) set(text string, shown *[]Shown) (string, error) {
	var fault error
	out := placeholder.ReplaceAllStringFunc(text, func(match string) string {
		s, err := f.get(match[1 : len(match)-1])
		if err != nil {
			fault = err
			return match
		}
		if shown != nil {
			*shown = append(*shown, s)
		}
		return s.Text
	})
	return out, fault
}

// decade is the power of ten below a figure.
func decade(x float64) (int, error) {
	if !(x > 0) || math.IsInf(x, 1) {
		return 0, fmt.Errorf("%g has no decade", x)
	}
	text := fmt.Sprintf("%e", x)
	var power int
	_, err := fmt.Sscanf(text[strings.IndexByte(text, 'e')+1:], "%d", &power)
	return power, err
}
