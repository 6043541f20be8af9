package guard

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "write the worked examples of the specs")

// parameters prints the fields of a parameter struct under their recipe names.
func parameters(g Guard) string {
	var text []string
	v := reflect.ValueOf(g).Elem()
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
			text = append(text, fmt.Sprintf("%s %v", tag, v.Field(i).Interface()))
		}
	}
	return strings.Join(text, ", ")
}

// work runs the example of a guard: its input and its decision.
func work(t *testing.T, g Guard) (input, result string) {
	switch g.(type) {
	case *ESSLearningRate:
		d := decision(t, g, nil, Input{Batch: weighted(1, .5, 2, 8)})
		return "w = [1 0.5 2 8]", fmt.Sprintf("ess = %.6g, lr × %.6g", g.Metrics(nil)[0].Value, d.Scale)
	case *LengthSurge:
		var at []string
		for step := range 520 {
			length := 10
			if step >= 110 {
				length = 30
			}
			d := decision(t, g, nil, Input{Batch: long(length), Step: step})
			if step == 109 || step == 307 || step == 308 || step == 506 {
				at = append(at, fmt.Sprintf("%.6g at step %d", d.Scale, step))
			}
		}
		return "mean length 10 up to step 109, 30 from step 110", "lr × " + strings.Join(at, ", ")
	case *GradientAlignment:
		grad := []float32{.6, .8}
		decision(t, g, []float32{1, 0}, Input{})
		decision(t, g, grad, Input{})
		return "g_prev = [1 0], g = [0.6 0.8]", fmt.Sprintf("c = %.6g, g becomes [%.6g %.6g]", g.Metrics(nil)[0].Value, grad[0], grad[1])
	}
	t.Fatalf("no example for %T", g)
	return "", ""
}

// TestWorkedExamples recomputes the example of every spec.
func TestWorkedExamples(t *testing.T) {
	var examples []string
	for _, e := range Registry {
		g := e.New()
		input, result := work(t, g)
		got := input + "\n" + parameters(g) + "\n" + result
		if !*update && got != e.Example {
			t.Errorf("%s: the example says\n%s\nrecomputed\n%s", e.Name, e.Example, got)
		}
		examples = append(examples, e.Name+"\n"+got+"\n")
	}
	if *update {
		must.Do(t, os.WriteFile("examples.txt", []byte(strings.Join(examples, "\n")), 0o644))
	}
}
