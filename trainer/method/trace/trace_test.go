package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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

// A fold stays within the response and takes the tokens in that its name says.
func TestFoldsByPlace(t *testing.T) {
	tr := worked()
	for n, want := range []string{"1 -0.5 1.5", "-0.5 1.5 1.5", "-0.5 4.5 3", "1 7 7"} {
		var got []string
		for _, f := range []string{"least_<t(x)", "Σ_≤t(x)", "Σ_turn(x)"} {
			if err := tr.derive(n, "y"+f, f); err != nil {
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
	r := &Rule{}
	r.Branch(Case{Branch: ClippedLow, Value: "z·(x + 1)", Slope: "0"})
	r.Scale("y")
	if err := tr.Apply(r, []int{0}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Conclude(0, &Result{Value: 0.39285714285714285}); err != nil {
		t.Fatal(err)
	}
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

// A documented formula with its gradient is a rule: definitions first, with the parameters
// that it names.
func TestDocumentedRule(t *testing.T) {
	parameters := map[string]float64{"c": 2, "unused": 1}
	d, err := Document("L = -sg[min(r, c)]·A·logp, r = exp(lr)")
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Rule("-min(r, c)·A", parameters)
	if err != nil {
		t.Fatal(err)
	}
	tr := New([]int{0, 1})
	for name, x := range map[string]float64{"A": 2, "logp": -0.5, "old": -0.5} {
		tr.Add(0, name, "", x)
	}
	if err := errors.Join(tr.Apply(r, []int{0}), tr.Conclude(0, nil), tr.Check()); err != nil {
		t.Fatal(err)
	}
	want := []string{"lr = logp - old = -0.5 - (-0.5) = 0", "r = exp(lr) = exp(0) = 1", "L = -(min(r, c))·A·logp = -min(1, 2)·2·(-0.5) = 1   (kept)", "dL = -min(r, c)·A = -min(1, 2)·2 = -2"}
	if got := tr.Tokens[0].Workings(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c, ok := tr.Tokens[0].Find("c"); !ok || c.Value != 2 {
		t.Error("the parameter c is no line")
	}
	for _, formula := range []string{"loss = A", "L = A [x]", "L = A, r =", "L = x, x = y, y = x"} {
		if _, err := Document(formula); err == nil {
			t.Errorf("%q is taken", formula)
		}
	}
}

// A branch takes the tokens that meet its conditions, which may name its own lines; the
// others do not keep these lines.
func TestBranches(t *testing.T) {
	tr := worked() // x = -0.5, 2, 3, 7
	var r Rule
	r.Add(Line{Name: "y", Formula: "x/2", When: "x > 1"})
	r.Branch(Case{Branch: Dropped, If: func(n int) bool { return n == 1 }, Value: "0", Slope: "0"},
		Case{Branch: Bounded, Lines: []Line{Given("c", 5)}, When: "0 ≤ x ≤ 10, x > c", Value: "c", Slope: "0"})
	r.Formula("z", "-x")
	r.Branch(Case{Branch: Kept, Value: "z", Slope: "-1"})
	r.After(Given("w", 2))
	r.Scale("w")
	if err := tr.Apply(&r, []int{0, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"kept: x turn z w L dL: 1", "dropped: x turn y L dL: 0", "kept: x turn y z w L dL: -6", "ratio bounded: x turn y c w L dL: 10"} {
		if err := tr.Conclude(n, nil); err != nil {
			t.Fatal(err)
		}
		k := &tr.Tokens[n]
		var names []string
		for _, term := range k.Terms {
			names = append(names, term.Name)
		}
		value, _ := k.Find(Value)
		if got := fmt.Sprintf("%s: %s: %s", k.Branch, strings.Join(names, " "), value.Value); got != want {
			t.Errorf("token %d: %s, want %s", n, got, want)
		}
	}
	var wrong Rule
	wrong.Branch(Case{When: "nothing > 1"})
	if err := tr.Apply(&wrong, []int{0}); err == nil {
		t.Error("a condition with an unknown name is taken")
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
	var clip Rule
	clip.Given("A", 1)
	clip.Given("logp", -0.5)
	clip.Given("old", -0.7)
	clip.Formula("r", "exp(logp - old)")
	clip.Given("high", 1.2)
	clip.Branch(Case{Branch: ClippedHigh, When: "A > 0, r > high", Value: "-A·high", Slope: "0"},
		Case{Branch: Kept, Value: "-A·r", Slope: "-A·r"})
	t := New([]int{0, 1})
	fmt.Println(t.Apply(&clip, []int{0}), t.Conclude(0, &Result{Value: -1.2}), t.Check())
	for _, line := range t.Tokens[0].Workings() {
		fmt.Println(line)
	}
	// Output:
	// <nil> <nil> <nil>
	// r = exp(logp - old) = exp(-0.5 - (-0.7)) = 1.2214
	// L = -A·high = -1·1.2 = -1.2   (clipped above)
	// dL = 0
}
