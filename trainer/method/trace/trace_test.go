package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// worked is a response of three tokens, the last in a turn of its own.
func worked() *Trace {
	t := New([]int{0, 3, 4})
	for n, x := range []float64{-0.5, 2, 3, 7} {
		t.Add(n, "x", "", x)
		t.Add(n, "turn", "", float64(n/2))
	}
	return t
}

// Formulas have the value that arithmetic gives them.
func TestEvaluate(t *testing.T) {
	for formula, want := range map[string]float64{
		"-x": 0.5, "-x·2": 1, "1 - x - 2": -0.5, "8/2/2": 2, "1 + 2·3": 7, "(1 + 2)·3": 9, "-x²": -0.25, "2·-x": 1,
		"|x|/2": 0.25, "exp(0)": 1, "log(exp(2))": 2, "sqrt(4)": 2, "min(x, 3)": -0.5, "max(x, 3)": 3, "clip(x, 0, 1)": 0,
		"inside(x, -0.5, 1)": 1, "inside(x, 0, 1)": 0, "not(0)": 1, "above(1, x)": 1, "above(x, x)": 0, "sign(x)": -1, "σ(0)": 0.5,
		"Σ(x)": 4.5, "mean(x)": 1.5, "most(x)": 3, "least(x²)": 0.25, "first(x)": -0.5, "count(x)": 3, "Σ_turn(x)": 1.5, "mean_turn(x)": 0.75,
		"count_turn(1)": 2, "Σ_≤t(x)": -0.5, "count_≤t(1)": 1, "least_<t(x)": 1,
	} {
		k := &worked().Tokens[0]
		n, err := parse(formula)
		if err != nil {
			t.Errorf("%s: %v", formula, err)
			continue
		}
		if got, err := n.eval(k); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, %v, want %v", formula, got, err, want)
		}
	}
	for formula, want := range map[string]string{
		"": "expected a number", "x +": "expected a number", "y": "no term y", "f(x)": "no function f", "(x": `expected ")"`, "x)": "left over",
		"min(x)": "has 1 arguments", "|x": `expected "|"`, "Σ(y)": "no term y", "x x": "left over",
	} {
		n, err := parse(formula)
		if err == nil {
			_, err = n.eval(&worked().Tokens[0])
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", formula, err, want)
		}
	}
}

// A fold stays within the response and sees the tokens it says.
func TestFoldsByPlace(t *testing.T) {
	tr := worked()
	for n, want := range []string{"1 -0.5 1.5", "-0.5 1.5 1.5", "-0.5 4.5 3", "1 7 7"} {
		var got []string
		for _, f := range []string{"least_<t(x)", "Σ_≤t(x)", "Σ_turn(x)"} {
			if err := tr.Derive(n, "y"+f, f); err != nil {
				t.Fatal(err)
			}
			term, _ := tr.Tokens[n].Find("y" + f)
			got = append(got, term.Value.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("token %d: %v, want %s", n, got, want)
		}
	}
}

// With numbers in the place of names a formula keeps its meaning.
func TestLines(t *testing.T) {
	tr := worked()
	tr.Add(0, "y", "2 - (x - 1)", 3.5)
	tr.Add(0, "z", "-x/(y·2) + mean(x)", 1.5714285714285714)
	tr.Add(0, "y", "|x|", 0.5)
	tr.Take(0, ClippedLow, "z·(x + 1)", "0")
	tr.Scale(0, "y")
	tr.Result(0, 0.39285714285714285, 0)
	if err := tr.Check(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(tr.Tokens[0].Lines(), "\n")
	want := `x = -0.5
turn = 0
z = -x/(y·2) + mean(x) = -(-0.5)/(3.5·2) + mean(-0.5, 2, 3) = 1.57143
y = |x| = |-0.5| = 0.5
L = y·(z·(x + 1)) = 0.5·1.57143·(-0.5 + 1) = 0.392857   (clipped below)
dL = 0`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if w := tr.Tokens[0].Workings(); len(w) != 4 {
		t.Errorf("workings %q", w)
	}
}

// What JSON has no number for is a word.
func TestNumberAsJSON(t *testing.T) {
	text, err := json.Marshal([]Number{0.5, Number(math.Inf(1)), Number(math.Inf(-1)), Number(math.NaN())})
	if want := `[0.5,"+Inf","-Inf","NaN"]`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

func Example() {
	t := New([]int{0, 1})
	t.Add(0, "A", "", 1)
	t.Add(0, "logp", "", -0.5)
	t.Add(0, "old", "", -0.7)
	t.Add(0, "r", "exp(logp - old)", 1.2214027581601699)
	t.Add(0, "high", "", 1.2)
	t.Take(0, ClippedHigh, "-A·high", "0")
	t.Result(0, -1.2, 0)
	fmt.Println(t.Check())
	for _, line := range t.Tokens[0].Workings() {
		fmt.Println(line)
	}
	// Output:
	// <nil>
	// r = exp(logp - old) = exp(-0.5 - (-0.7)) = 1.2214
	// L = -A·high = -1·1.2 = -1.2   (clipped above)
	// dL = 0
}
