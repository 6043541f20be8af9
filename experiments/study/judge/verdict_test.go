package judge

import (
	"math"
	"testing"
)

// TestDecide walks through the rule.
func TestDecide(t *testing.T) {
	p := func(d Level, m Mark) Check { return Check{Level: d, Outcome: m, Primary: true} }
	also := func(d Level, m Mark) Check { return Check{Level: d, Outcome: m} }
	for _, k := range []struct {
		name   string
		checks []Check
		want   Verdict
	}{
		{"nothing primary", []Check{also(Natural, Passed)}, Undecided},
		{"an identity", []Check{p(Exact, Passed)}, Reproduced},
		{"an identity that fails", []Check{p(Exact, Failed)}, NotReproduced},
		{"natural", []Check{p(Natural, Passed), p(Amplified, Failed)}, Reproduced},
		{"amplified", []Check{p(Natural, Failed), p(Amplified, Passed)}, OnlyAmplified},
		{"open, but amplified", []Check{p(Amplified, Passed), p(Natural, Open)}, OnlyAmplified},
		{"amplified alone", []Check{p(Amplified, Passed)}, OnlyAmplified},
		{"a law", []Check{p(Natural, Failed), p(Ladder, Passed), p(Amplified, Passed)}, Extrapolates},
		{"contrary at the natural level", []Check{p(Natural, Contrary), p(Amplified, Passed)}, Refuted},
		{"contrary when amplified", []Check{p(Natural, Open), p(Amplified, Contrary)}, Undecided},
		{"contrary, all there is", []Check{p(Amplified, Contrary)}, Refuted},
		{"too small", []Check{p(Natural, Failed), p(Amplified, Open)}, NotReproduced},
		{"open", []Check{p(Natural, Open)}, Undecided},
		{"what else was looked at decides nothing", []Check{p(Natural, Passed), also(Natural, Contrary), also(Exact, Failed)}, Reproduced},
	} {
		if got := Decide(k.checks); got != k.want {
			t.Errorf("%s: %s, want %s", k.name, got, k.want)
		}
		if d := Decisive(k.checks); d != nil && !d.Primary {
			t.Errorf("%s: decided by %+v", k.name, d)
		}
	}
}

// TestOverRates: a verdict stands where its check comes to the same outcome at every learning rate.
func TestOverRates(t *testing.T) {
	for second, want := range map[Mark]Verdict{Passed: Reproduced, Open: Undecided, Failed: Undecided} {
		c := Check{Outcome: Passed, ByRate: []RateOutcome{{Outcome: Passed}, {Outcome: second}}}
		if got := Reproduced.OverRates(&c); got != want {
			t.Errorf("passed and %s: %s, want %s", second, got, want)
		}
	}
	if got := Reproduced.OverRates(new(Check)); got != Reproduced {
		t.Errorf("at one rate: %s", got)
	}
}

// TestDecisive: a verdict names the check it rests on.
func TestDecisive(t *testing.T) {
	c := func(name string, d Level, m Mark) Check {
		return Check{Name: name, Level: d, Outcome: m, Primary: true}
	}
	for _, k := range []struct {
		checks []Check
		want   string
	}{
		{[]Check{c("a", Natural, Passed), c("b", Amplified, Passed)}, "a"},
		{[]Check{c("a", Natural, Failed), c("b", Amplified, Passed)}, "b"},
		{[]Check{c("b", Amplified, Failed), c("a", Natural, Open)}, "a"},
		{[]Check{c("a", Natural, Contrary), c("b", Amplified, Passed)}, "a"},
	} {
		if got := Decisive(k.checks).Name; got != k.want {
			t.Errorf("decided by %q, want %q", got, k.want)
		}
	}
}

// TestMarks puts every kind of check on all sides of its threshold.
func TestMarks(t *testing.T) {
	high := []float64{2, 2.1, 2.2, 2.1, 2, 2.1, 2.2, 2}
	low := []float64{-2, -2.1, -2, -2.2, -2, -2.1, -2.2, -2}
	mixed := []float64{-1, 1, -1, 1, 0.1, -0.1, 1, -1}
	half := []float64{0.5, 0.4, 0.5, 0.4, 0.5, 0.4, 0.5, 0.4}
	zero, one := make([]float64, 8), []float64{1, 1, 1, 1, 1, 1, 1, 1}
	counts := func(k float64) []float64 { return []float64{k, k, k, k} }
	yes, no := Shares{By: []float64{1, 0.5, 1, 1, 0.5, 1}}, Shares{By: make([]float64, 6)}
	for _, k := range []struct {
		name  string
		check Check
		want  Mark
	}{
		{"ratio", Ratio(Natural, "", high, one, 1.9), Passed},
		{"ratio across the threshold", Ratio(Natural, "", high, one, 2.1), Open},
		{"ratio too small", Ratio(Natural, "", high, one, 3), Failed},
		{"ratio below one", Ratio(Natural, "", half, one, 2), Contrary},
		{"ratio of nothing to nothing", Ratio(Natural, "", zero, zero, 2), Open},
		{"ratio below", RatioBelow(Natural, "", half, one, 0.6), Passed},
		{"ratio not below", RatioBelow(Natural, "", high, one, 0.6), Contrary},
		{"ratio below one, not enough", RatioBelow(Natural, "", half, one, 0.2), Failed},
		{"positive", Above(Natural, "", high, 0), Passed},
		{"negative", Above(Natural, "", low, 0), Contrary},
		{"either", Above(Natural, "", mixed, 0), Open},
		{"nothing at all", Above(Natural, "", zero, 0), Failed},
		{"above a bound", Above(Natural, "", high, 5), Failed},
		{"below zero, where one asks for more than five", Above(Natural, "", low, 5), Contrary},
		{"below", Below(Natural, "", half, 1), Passed},
		{"above, where below zero is asked", Below(Natural, "", high, 0), Contrary},
		{"within", Within(Natural, "", half, 0.3, 0.6), Passed},
		{"outside", Within(Natural, "", high, 0.3, 0.6), Failed},
		{"across the edge", Within(Natural, "", mixed, 0, 1), Open},
		{"better", Better(Natural, "", high), Passed},
		{"worse", Better(Natural, "", low), Contrary},
		{"neither", Better(Natural, "", mixed), Open},
		{"better in three", Better(Natural, "", high[:3]), Open},
		{"at most", AtMost(Exact, "", high, 3), Passed},
		{"at most NaN", AtMost(Exact, "", []float64{math.NaN()}, 3), Failed},
		{"zero", Zero(Exact, "", zero), Passed},
		{"not zero", Zero(Exact, "", []float64{0, 1e-300}), Failed},
		{"same", Same(Natural, "", half, high), Passed},
		{"same, by a control without effect", Same(Natural, "", zero, mixed), Open},
		{"not the same", Inside(Natural, "", high, 1), Failed},
		{"cannot tell", Inside(Natural, "", mixed, 0.5), Open},
		{"rates", Rates(Natural, "", counts(40), counts(1000), counts(5), counts(1000), 3), Passed},
		{"rates, too few events", Rates(Natural, "", counts(4), counts(1000), counts(0), counts(1000), 3), Open},
		{"rates the other way", Rates(Natural, "", counts(5), counts(1000), counts(40), counts(1000), 3), Contrary},
		{"enough events", Occurs(Natural, "", counts(40), counts(1e6)), Passed},
		{"too few events", Occurs(Natural, "", counts(1), counts(10)), Open},
		{"fewer collapses", FewerCollapses(Natural, "", no, yes), Passed},
		{"more collapses", FewerCollapses(Natural, "", yes, no), Contrary},
		{"two of three", FewerCollapses(Natural, "", Shares{By: []float64{0, 0, 0}}, Shares{By: []float64{1, 1, 0}}), Open},
		{"report", Report(Natural, "", high), Reported},
	} {
		if got := k.check.Outcome; got != k.want {
			t.Errorf("%s: %s, want %s (%+v, p %v)", k.name, got, k.want, k.check.Value, k.check.P)
		}
	}
}
