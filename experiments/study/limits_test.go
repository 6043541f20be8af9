package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/results/record"
	"driftlab/results/stability"
)

// ladderMap is a folder of a ladder over two stressors and three methods with ten models, without any run.
func ladderMap(final func(stressor, method string, rate float64, model int) float64) *Folder {
	l := Ladder{From: 5e-4, Lowest: 1.25e-4, Highest: 4e-3}
	if problem := l.fill(); problem != "" {
		panic(problem)
	}
	x := &Index{Name: "gap", Ladder: &l, Factors: []IndexFactor{{Name: "gap", Values: []string{"equal", "router-fp4"}}, {Name: methodFactor, Values: []string{"none", "tis", "opsm"}}, {Name: rateFactor, Values: l.names()}}}
	d := &Folder{Index: x, done: map[string]*Outcome{}}
	for k := range 10 {
		x.Seeds = append(x.Seeds, uint64(k))
	}
	for _, stressor := range x.Factors[0].Values {
		for _, method := range x.Factors[1].Values {
			for i, name := range l.names() {
				a := Arm{Values: map[string]string{"gap": stressor, methodFactor: method, rateFactor: name}}
				for k := range x.Seeds {
					o := Outcome{Status: record.StatusFinished, Evals: Evals{Step: []int{50, 100}, Value: []record.Number{.5, .95}}}
					o.Final, o.Peak, o.Verdict = record.Number(final(stressor, method, l.rates()[i], k)), .95, record.NotCollapsed
					if o.Final < .6 {
						o.Verdict = record.Collapsed
					}
					key := fmt.Sprint(stressor, method, name, k)
					a.Keys = append(a.Keys, key)
					d.done[key] = &o
					d.Rows = append(d.Rows, Row{Run: key, Values: a.Values, Seed: uint64(k), Outcome: o})
				}
				x.Arms = append(x.Arms, a)
			}
		}
	}
	return d
}

// biased: without a gap a model is stable up to its own limit, which TIS doubles; the router costs .4, which TIS removes, and OPSM destroys.
func biased(stressor, method string, rate float64, model int) float64 {
	limit, level := 6e-4*math.Exp2(.2*math.Sin(float64(model))), .95+.001*float64(model%3)
	if method == "tis" {
		limit *= 2
	}
	if stressor == "router-fp4" {
		level = map[string]float64{"none": .55 + .01*float64(model%4), "tis": level, "opsm": .1}[method]
		if method != "tis" {
			return level - .01*math.Abs(math.Log2(rate/5e-4)) // no rate makes up for it
		}
	}
	if rate > limit {
		return .1
	}
	return level
}

func TestLimits(t *testing.T) {
	d := ladderMap(biased)
	d.Judge = []Declared{
		{Name: "tis raises the limit", Statistic: statisticLimit, Arms: []string{"equal, tis"}, Over: "equal, none", Needs: "above", Bound: 1},
		{Name: "opsm moves no limit", Statistic: statisticLimit, Arms: []string{"equal, opsm"}, Over: "equal, none", Needs: "within", Bound: 2},
		{Name: "tis lowers the limit", Statistic: statisticLimit, Arms: []string{"equal, tis"}, Over: "equal, none", Needs: "below", Bound: 1},
		{Name: "tis raises the level", Statistic: statisticLevel, Arms: []string{"router-fp4, tis"}, Over: "router-fp4, none", Needs: "above", Bound: 0},
		{Name: "opsm lowers the level", Statistic: statisticLevel, Arms: []string{"router-fp4, opsm"}, Over: "router-fp4, none", Needs: "below", Bound: 0},
		{Name: "at half the limit nothing changes", Statistic: statisticFinal, Arms: []string{"equal, tis", "equal, opsm"}, Over: "equal, none", HalfLimit: "equal, none", Needs: "within", Bound: .05},
		{Name: "opsm loses more to the router than tis", Statistic: statisticLevel, Arms: []string{"router-fp4, opsm"}, Over: "router-fp4, tis", Since: []string{"equal, opsm", "equal, tis"}, Needs: "below", Bound: -.5},
		{Name: "at 1e-3 nothing changes", Statistic: statisticFinal, Arms: []string{"equal, tis"}, Over: "equal, none", At: 1e-3, Needs: "within", Bound: .05},
	}
	s := d.Limits()
	none, tis, routed := s.Arm("equal", "none"), s.Arm("equal", "tis"), s.Arm("router-fp4", "none")
	if from := float64(none.Limit.From); from < 5e-4 || from > 1e-3 || none.Limit.To != none.Limit.From || none.LevelRate != "5e-4" || none.Speed != 100 {
		t.Errorf("equal engines: %+v", none)
	}
	if ratio := float64(tis.OverNone.From); math.Abs(ratio-2) > .1 || tis.OverNone.Low <= 1 {
		t.Errorf("a doubled limit: %+v", tis.OverNone)
	}
	if !math.IsInf(float64(routed.Speed), 1) && !math.IsNaN(float64(routed.Speed)) {
		t.Errorf("speed of an arm that never gets there: %v", routed.Speed)
	}
	if routed.Limit.From != 0 || routed.Limit.Text(stability.RateText) != "below 1.3e-4" {
		t.Errorf("an arm that is nowhere stable: %+v", routed.Limit)
	}
	if last := none.Rates[len(none.Rates)-1]; last.Collapsed != 10 || last.Stable != 0 || last.CollapsedLow < .65 {
		t.Errorf("at the highest rate: %+v", last)
	}
	var got []string
	for _, c := range s.Checks {
		got = append(got, c.Arm+": "+c.Outcome)
	}
	want := []string{"equal, tis: met", "equal, opsm: met", "equal, tis: opposite", "router-fp4, tis: met", "router-fp4, opsm: met", "equal, tis at 2.5e-4: met", "equal, opsm at 2.5e-4: met", "router-fp4, opsm: met", "equal, tis at 1e-3: not met"}
	if !slices.Equal(got, want) {
		t.Errorf("checks %q\nwant %q", got, want)
	}
	report, pictures := d.Report(nil, nil)
	if len(report.Sections) != 4 || len(pictures) != 3 {
		t.Errorf("%d sections, %d pictures", len(report.Sections), len(pictures))
	}
	m := &stability.Map{Studies: []stability.Study{*s}}
	answer, ok := m.Answer("routing")
	if !ok || !answer.Settled || answer.Arm == nil || answer.Arm.Method != "tis" {
		t.Errorf("%+v", answer)
	}
	if _, ok := m.Answer("staleness"); ok {
		t.Error("a problem without a study has an answer")
	}
}

// Models that judge nothing are compared with those that did.
func TestLimitsOnFreshModels(t *testing.T) {
	d := ladderMap(biased)
	d.Confirm, d.Fresh = d.Seeds[:7], d.Seeds[7:]
	s := d.Limits()
	tis := s.Arm("router-fp4", "tis")
	if f := tis.Fresh; f == nil || f.Limit.N != 3 || !f.LimitAgrees || !f.GainAgrees || f.GainNone.N != 3 || tis.Level.N != 7 {
		t.Errorf("%+v of %+v", f, tis)
	}
	for i := range d.Rows { // fresh models that find the contrary
		if r := &d.Rows[i]; slices.Contains(d.Fresh, r.Seed) && r.Values["gap"] == "router-fp4" && r.Values[methodFactor] == "tis" {
			r.Final = 0
		}
	}
	if f := d.Limits().Arm("router-fp4", "tis").Fresh; f.LimitAgrees || f.GainAgrees {
		t.Errorf("the contrary agrees: %+v", f)
	}
}

// Five models settle nothing: a correction is recommended on ten or more.
func TestLimitsFewModels(t *testing.T) {
	d := ladderMap(biased)
	d.Rows = slices.DeleteFunc(d.Rows, func(r Row) bool { return r.Seed >= 5 })
	m := &stability.Map{Studies: []stability.Study{*d.Limits()}}
	if answer, ok := m.Answer("routing"); !ok || answer.Settled || answer.Arm != nil {
		t.Errorf("%+v", answer)
	}
}

// mapped is a study of arms over rates whose runs end as given: arm, rate, then a final pass rate for each seed. Every run was at
// 0.9 before.
func mapped(ends map[string][][]float64, arms [][2]string, rates ...string) *Folder {
	d := &Folder{Index: &Index{Factors: []IndexFactor{{Name: ArmFactor}, {Name: rateField, Values: rates}}}}
	for _, arm := range arms {
		d.Factors[0].Values = append(d.Factors[0].Values, arm[0])
		for r, rate := range rates {
			a := Arm{Values: map[string]string{ArmFactor: arm[0], rateField: rate, titleLabel: arm[0], problemLabel: arm[1]}}
			if arm[0] == "equal" || arm[0] == "bare" {
				a.Values[titleLabel] = "none"
			}
			d.Arms = append(d.Arms, a)
			for seed, final := range ends[arm[0]][r] {
				o := Outcome{Status: record.StatusFinished, RunOutcome: record.RunOutcome{Peak: 0.9, Final: record.Number(final)}}
				d.Rows = append(d.Rows, Row{Seed: uint64(seed), Outcome: o, Values: a.Values})
			}
		}
	}
	return d
}

// TestLimitsOfArms: the arms of a plan that share rates are mapped as those of a ladder are, with rates in numeric order; three models
// recommend nothing.
func TestLimitsOfArms(t *testing.T) {
	good, bad := []float64{0.9, 0.85, 0.9}, []float64{0.2, 0.1, 0.1}
	d := mapped(map[string][][]float64{"equal": {good, good, good}, "bare": {good, bad, good}, "mask": {good, good, bad}},
		[][2]string{{"equal", "equal engines"}, {"bare", "lag"}, {"mask", "lag"}}, "1e-3", "2e-3", "5e-4")
	s := d.Limits()
	for i, want := range []string{"equal engines none above 2.0e-3", "lag none 1.4e-3 (1.0e-3 to 2.0e-3)", "lag mask not determined"} {
		a := s.Arms[i]
		if got := fmt.Sprintf("%s %s %s", a.Stressor, a.Method, a.Limit.Text(stability.RateText)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	const finding = "With equal engines training is stable up to a learning rate of 2e-3 or more, and ends at a pass rate of 0.88 at its best rate. " +
		"With lag it is stable without a correction up to 1e-3 (ends at 0.88); with mask up to 2e-3 or more (ends at 0.88)."
	if got := d.Finding(); got != finding {
		t.Errorf("finding %q", got)
	}
	text := strings.Join(strings.Fields(rateTable(s).Markdown()), " ")
	if want := "| equal engines | none | 0.88; 0/3 (0.00 to 0.71) |"; !strings.Contains(text, want) {
		t.Errorf("the table lacks %q:\n%s", want, text)
	}
	r, pictures := d.Report(nil, nil)
	if pictures[0].Name != "rates" || len(pictures[0].Figure.Parts) != 1 || len(pictures[0].Figure.Parts[0].Series) != 3 || r.Sections[0].Heading != "Where training is stable" {
		t.Errorf("pictures %+v, first section %s", pictures[0], r.Sections[0].Heading)
	}
	d.Rows = nil
	if got := d.Finding(); got != "" {
		t.Errorf("without runs: %q", got)
	}
	if d.Factors[0].Name = "method"; d.rateColumn() != "" {
		t.Error("a map of methods")
	}
}
