package advantage

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
)

var update = flag.Bool("update", false, "write the worked examples of the specs")

// example is the batch of the worked examples: one prompt, three responses of
// one, two and one tokens, of which the first is right.
func example() *batch.Batch {
	b := single([]float64{1, 0, 0}, []int{0, 0, 0}, []int{1, 2, 1})
	b.TokenReward = []float64{1, 0.5, 0, 0}
	b.OutcomeParts, b.StepReward = [][]float64{{1}, {0}, {0}}, []float64{0, 0.5, 0, -0.5}
	b.Turn = []int32{0, 0, 1, 0}
	b.Value = []float64{0.5, 0.3, 0.2, 0.4}
	b.Episode, b.PrefixValue = []int32{0, 0, 1, 0}, []float64{0.3, 0.3, 0.2, 0.3}
	b.GreedyReward = []float64{0.5, 0.5, 0.5}
	b.PromptID, b.Token = []int64{0, 0, 0}, []int32{1, 1, 2, 1}
	b.Old.Logp = []float64{-0.693147, -0.693147, -1.386294, -1.609438} // .5 .5 .25 .2
	b.LogpRoll = []float64{-0.693147, -0.693147, -1.609438, -0.916291}
	b.Old.SumSquares = []float64{0.4, 0.4, 0.5, 0.3}
	b.Old.Entropy = []float64{1, 0.8, 0.4, 1.2}
	b.ScoreNorm = []float64{1, 2, 1}
	return b
}

// list prints a column, a bar between responses.
func list(b *batch.Batch, x []float64) string {
	var text []string
	for i := range b.Len() {
		from, to := i, i+1
		if len(x) == b.Tokens() {
			from, to = b.Span(i)
		}
		var row []string
		for _, v := range x[from:to] {
			row = append(row, fmt.Sprintf("%.5g", v))
		}
		text = append(text, strings.Join(row, " "))
	}
	return "[" + strings.Join(text, " | ") + "]"
}

// parameters prints the fields of a parameter struct under their recipe names.
func parameters(v reflect.Value) (text []string) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		switch {
		case tag == ",inline":
			text = append(text, parameters(v.Field(i))...)
		case tag != "":
			text = append(text, fmt.Sprintf("%s %v", tag, v.Field(i).Interface()))
		}
	}
	return text
}

// TestWorkedExamples recomputes the example of every spec.
func TestWorkedExamples(t *testing.T) {
	var examples []string
	names := Registry.Names()
	slices.Sort(names)
	for _, name := range names {
		e, err := Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		b, m := example(), e.New()
		if name == "rl_zvp" {
			b.Reward = []float64{0, 0, 0} // the zero-variance group that the method is for
		}
		if err := m.Estimate(b); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		input := []string{"R = " + list(b, b.Reward)}
		for _, column := range e.Needs {
			switch column {
			case batch.TokenReward:
				input = append(input, "r = "+list(b, b.TokenReward))
			case batch.StepReward:
				input = append(input, "r = "+list(b, b.StepReward))
			case batch.Value:
				input = append(input, "V = "+list(b, b.Value))
			case batch.GreedyReward:
				input = append(input, "greedy 0.5")
			case batch.LogpOld:
				input = append(input, "old = "+list(b, b.Old.Logp))
			case batch.LogpRoll:
				input = append(input, "roll = "+list(b, b.LogpRoll))
			case batch.SumSquares:
				input = append(input, "Σq² = "+list(b, b.Old.SumSquares))
			case batch.EntropyOld:
				input = append(input, "H = "+list(b, b.Old.Entropy))
			case batch.ScoreNorm:
				input = append(input, "n = "+list(b, b.ScoreNorm))
			case batch.Turn:
				input = append(input, "turns [0 | 0 1 | 0]")
			}
		}
		got := strings.Join(input, ", ") + "\n" + strings.Join(parameters(reflect.ValueOf(m).Elem()), ", ") + "\nA = " + list(b, b.Advantage)
		if !*update && got != e.Example {
			t.Errorf("%s: the example says\n%s\nrecomputed\n%s", name, e.Example, got)
		}
		examples = append(examples, name+"\n"+got+"\n")
	}
	if *update {
		must(t, os.WriteFile("examples.txt", []byte(strings.Join(examples, "\n")), 0o644))
	}
}

// The columns a spec names are those whose absence is an error.
func TestNeedsAreRequired(t *testing.T) {
	for _, e := range Registry {
		for _, column := range e.Needs {
			b := example()
			b.RewardParts = [][]float64{{1}, {0}, {0}}
			b.Forget(column)
			if column == batch.RewardParts {
				b.RewardParts = [][]float64{} // without any, the reward is the only kind
			}
			if err := e.New().Estimate(b); err == nil || !strings.Contains(err.Error(), column.String()) {
				t.Errorf("%s without %s: error %v, want one that names it", e.Name, column, err)
			}
		}
	}
}
