package correction

import (
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the worked examples of the specs")

// list prints numbers to six digits.
func list(x []float64) string {
	text := make([]string, len(x))
	for i, v := range x {
		text[i] = fmt.Sprintf("%.6g", v)
	}
	return "[" + strings.Join(text, " ") + "]"
}

// parameters prints the fields of a parameter struct under their recipe names.
func parameters(m any) string {
	var text []string
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
			text = append(text, fmt.Sprintf("%s %v", tag, v.Field(i).Interface()))
		}
	}
	if text == nil {
		return "no parameters"
	}
	return strings.Join(text, ", ")
}

// render works an example through a pipeline and prints three lines.
func render(p *Pipeline, m any) (string, error) {
	b := Worked()
	if err := p.Apply(b, AtBatch); err != nil {
		return "", err
	}
	if err := p.Apply(b, AtStep); err != nil {
		return "", err
	}
	first := fmt.Sprintf("old = %s, roll = %s", list(b.Anchor), list(b.LogpRoll))
	switch m.(type) {
	case *OPSM:
		first = fmt.Sprintf("logp = %s, roll = %s, A = %s", list(b.Now.Logp), list(b.LogpRoll), list(b.Advantage))
	case *ESTR:
		first = fmt.Sprintf("logp = %s, roll = %s, mu = [0.5 0.3 0.2]", list(b.Now.Logp), list(b.LogpRoll))
	case *LastVersion:
		first = fmt.Sprintf("version = %v", b.Version)
	case *Truncated:
		first = "the response was cut"
	case *TRM:
		first = "mu = [0.5 0.3 0.2], pi = [0.4 0.4 0.2]"
	}
	e := make([]float64, b.Tokens())
	for n := range e {
		e[n] = math.Exp(b.Anchor[n] - b.LogpRoll[n])
	}
	second := fmt.Sprintf("ρ = %s; %s", list(e), parameters(m))
	switch m.(type) {
	case *OPSM:
		sum := 0.0
		for n := range b.Now.Logp {
			sum += b.LogpRoll[n] - b.Now.Logp[n]
		}
		second = fmt.Sprintf("D = mean(roll − logp) = %.6g; %s", sum/3, parameters(m))
	case *TRM:
		second = fmt.Sprintf("KL(mu || pi) = %.6g at each of 3 tokens; %s", klDivergence(b.DistRoll[:3], b.Now.Dist[:3]), parameters(m))
	}
	third := "w = " + list(b.Weight)
	if b.Weight == nil {
		keep := make([]float64, b.Tokens())
		for n := range keep {
			if b.LossMask[n] && (b.Gate == nil || b.Gate[n]) {
				keep[n] = 1
			}
		}
		third = "keep = " + list(keep)
	}
	return first + "\n" + second + "\n" + third, nil
}

// TestWorkedExamples recomputes the example of every spec.
func TestWorkedExamples(t *testing.T) {
	var examples []string
	check := func(name, want string, p *Pipeline, m any) {
		text, err := render(p, m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		examples = append(examples, name+"\n"+text+"\n")
		if !*update && text != want {
			t.Errorf("%s: the example says\n%s\nrecomputed\n%s", name, want, text)
		}
	}
	for _, e := range Weightings {
		m := e.New()
		check(e.Name, e.Example, &Pipeline{Weights: m}, m)
	}
	for _, e := range Masks {
		m := e.New()
		check(e.Name, e.Example, &Pipeline{Masks: []Masking{m}}, m)
	}
	if *update {
		slices.Sort(examples)
		must(t, os.WriteFile("examples.txt", []byte(strings.Join(examples, "\n")), 0o644))
	}
}

// The example of truncated weights shows one that is truncated.
func TestExampleTruncates(t *testing.T) {
	e, err := Weightings.Lookup("token_tis")
	if err != nil || !strings.HasSuffix(e.Example, "w = [0.904837 2 0.740818]") {
		t.Errorf("token_tis: %s, %v", e.Example, err)
	}
}
