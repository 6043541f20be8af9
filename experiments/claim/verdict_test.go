package claim

import (
	"math"
	"testing"
)

// TestDecide walks through the rule.
func TestDecide(t *testing.T) {
	c := func(d Dose, m Mark) Check { return Check{Dose: d, Outcome: m} }
	for _, k := range []struct {
		name   string
		checks []Check
		seeds  int
		want   Verdict
	}{
		{"nothing judged", []Check{c(Natural, Reported)}, 5, Undecided},
		{"exact alone", []Check{c(Exact, Passed), c(Exact, Reported)}, 5, Reproduced},
		{"exact fails, the rest passes", []Check{c(Exact, Failed), c(Natural, Passed)}, 5, NotReproduced},
		{"natural", []Check{c(Natural, Passed), c(Amplified, Failed)}, 5, Reproduced},
		{"amplified", []Check{c(Natural, Failed), c(Amplified, Passed)}, 5, OnlyAmplified},
		{"amplified alone", []Check{c(Amplified, Passed)}, 5, OnlyAmplified},
		{"contrary where it is strongest", []Check{c(Natural, Open), c(Amplified, Passed), c(Amplified, Contrary)}, 5, Refuted},
		{"contrary in one seed", []Check{c(Natural, Contrary)}, 1, NotReproduced},
		{"too small", []Check{c(Natural, Passed), c(Natural, Failed)}, 5, NotReproduced},
		{"open", []Check{c(Natural, Passed), c(Natural, Open)}, 5, Undecided},
		{"a natural contrary gives way to a passing amplification", []Check{c(Natural, Contrary), c(Amplified, Passed)}, 5, OnlyAmplified},
	} {
		if got := Decide(k.checks, k.seeds); got != k.want {
			t.Errorf("%s: %s, want %s", k.name, got, k.want)
		}
	}
}

// TestMarks puts every kind of check on both sides of its threshold.
func TestMarks(t *testing.T) {
	high, low, mixed := []float64{2, 2.1, 2.2, 2.1, 2}, []float64{-2, -2.1, -2, -2.2, -2}, []float64{-1, 1, -1, 1, 0.1}
	one := []float64{1, 1, 1, 1, 1}
	zero := make([]float64, 5)
	half := []float64{0.5, 0.4, 0.5, 0.4, 0.5}
	for _, k := range []struct {
		name  string
		check func(j *Judge)
		want  Mark
	}{
		{"ratio", func(j *Judge) { j.Ratio(Natural, "", high, one, 2) }, Passed},
		{"ratio too small", func(j *Judge) { j.Ratio(Natural, "", high, one, 3) }, Failed},
		{"ratio below one", func(j *Judge) { j.Ratio(Natural, "", half, one, 2) }, Contrary},
		{"ratio of nothing to nothing", func(j *Judge) { j.Ratio(Natural, "", zero, zero, 2) }, Open},
		{"ratio to nothing", func(j *Judge) { j.Ratio(Natural, "", high, zero, 2) }, Passed},
		{"ratio below", func(j *Judge) { j.RatioBelow(Natural, "", half, one, 0.6) }, Passed},
		{"ratio not below", func(j *Judge) { j.RatioBelow(Natural, "", high, one, 0.6) }, Contrary},
		{"positive", func(j *Judge) { j.Positive(Natural, "", high) }, Passed},
		{"negative", func(j *Judge) { j.Positive(Natural, "", low) }, Contrary},
		{"either", func(j *Judge) { j.Positive(Natural, "", mixed) }, Open},
		{"above a bound", func(j *Judge) { j.Above(Natural, "", high, 5) }, Failed},
		{"below", func(j *Judge) { j.Below(Natural, "", half, 1) }, Passed},
		{"not below zero", func(j *Judge) { j.NotBelow(Natural, "", mixed, 0) }, Passed},
		{"below zero", func(j *Judge) { j.NotBelow(Natural, "", low, 0) }, Failed},
		{"within", func(j *Judge) { j.Within(Natural, "", half, 0.3, 0.6) }, Passed},
		{"outside", func(j *Judge) { j.Within(Natural, "", high, 0.3, 0.6) }, Failed},
		{"across the edge", func(j *Judge) { j.Within(Natural, "", mixed, 0, 1) }, Open},
		{"covers", func(j *Judge) { j.Covers(Natural, "", mixed, 0) }, Passed},
		{"does not cover", func(j *Judge) { j.Covers(Natural, "", high, 0) }, Failed},
		{"always", func(j *Judge) { j.Always(Natural, "", high, 1) }, Passed},
		{"not always", func(j *Judge) { j.Always(Natural, "", mixed, 0) }, Failed},
		{"never", func(j *Judge) { j.Always(Natural, "", low, 0) }, Contrary},
		{"at most", func(j *Judge) { j.AtMost(Natural, "", high, 3) }, Passed},
		{"at most NaN", func(j *Judge) { j.AtMost(Natural, "", []float64{math.NaN()}, 3) }, Failed},
		{"zero", func(j *Judge) { j.Zero(Natural, "", zero) }, Passed},
		{"not zero", func(j *Judge) { j.Zero(Natural, "", []float64{0, 1e-300}) }, Failed},
		{"equivalent", func(j *Judge) { j.Equivalent(Natural, "", mixed, 2) }, Passed},
		{"not equivalent", func(j *Judge) { j.Equivalent(Natural, "", high, 1) }, Failed},
		{"cannot tell", func(j *Judge) { j.Equivalent(Natural, "", mixed, 0.5) }, Open},
		{"report", func(j *Judge) { j.Report(Natural, "", high) }, Reported},
	} {
		var j Judge
		k.check(&j)
		if got := j.Evidence.Checks[0].Outcome; got != k.want {
			t.Errorf("%s: %s, want %s (%+v)", k.name, got, k.want, j.Evidence.Checks[0].Value)
		}
	}
}

// TestDecisive: a verdict other than reproduced names the check it rests on.
func TestDecisive(t *testing.T) {
	c := func(name string, d Dose, m Mark) Check { return Check{Name: name, Dose: d, Outcome: m} }
	for _, k := range []struct {
		checks []Check
		want   string
	}{
		{[]Check{c("a", Exact, Passed), c("b", Natural, Passed)}, ""},
		{[]Check{c("a", Exact, Failed), c("b", Natural, Failed)}, "a"},
		{[]Check{c("a", Natural, Passed), c("b", Natural, Open), c("c", Amplified, Passed)}, "b"},
		{[]Check{c("a", Natural, Failed), c("b", Amplified, Failed), c("c", Amplified, Contrary)}, "c"},
		{[]Check{c("a", Natural, Open), c("b", Amplified, Open), c("c", Amplified, Failed)}, "c"},
		{[]Check{c("a", Natural, Passed), c("b", Natural, Open)}, "b"},
	} {
		v := Decide(k.checks, LeastSeeds)
		got := ""
		if d := v.Decisive(k.checks); d != nil {
			got = d.Name
		}
		if got != k.want {
			t.Errorf("%s: decided by %q, want %q", v, got, k.want)
		}
	}
}
