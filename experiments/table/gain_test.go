package table_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results/figure"
	"driftlab/results/record"
)

// wave is a seed's own difference, in hundredths: as large to either side.
var wave = []float64{.01, -.01, .012, -.012, .008, -.008, .011, -.011}

// eight is a stage of eight seeds: cure brings .3 of the .4 that age costs, harm costs .2
// in the healthy run, and idle changes nothing but by chance.
func eight(name string, first uint64) *table.Stage {
	gains := map[string][2]float64{"none": {}, "cure": {.3, 0}, "harm": {0, -.2}, "idle": {}}
	var runs []sweep.Outcome
	for k, noise := range wave {
		seed := first + uint64(k)
		runs = append(runs, ran("none", "matched", "", seed, "A", .5, .8))
		for at, method := range []string{"none", "cure", "harm", "idle"} {
			own := 0.0
			if method != "none" {
				own = wave[(k+3*at)%len(wave)]
			}
			runs = append(runs, ran(method, "age", "matched", seed, "B"+method, .5, .4+gains[method][0]+noise+own),
				ran(method, "calm", "matched", seed, "C"+method, .5, .8+gains[method][1]+noise+own))
		}
	}
	slices.SortStableFunc(runs, func(a, b sweep.Outcome) int { return strings.Compare(a.Values["method"], b.Values["method"]) })
	s := stage(runs...)
	s.Name, s.Index.Name = name, name
	return s
}

// What acts is told from none under the stressor where it does, on either side, and what
// does not is not; of the healthy run it is called harm.
func TestTold(t *testing.T) {
	s := eight("confirm", 1)
	list := s.Rank().Methods
	for _, m := range list {
		if len(m.Gain) != 2 {
			t.Fatalf("%s has %d gains", m.Method, len(m.Gain))
		}
		if got := m.Gain[0].Better(); got != (m.Method == "cure") || m.Gain[0].Worse() {
			t.Errorf("%s under age: better %v, worse %v: %+v", m.Method, got, m.Gain[0].Worse(), m.Gain[0])
		}
		if got := m.Gain[1].Worse(); got != (m.Method == "harm") || m.Gain[1].Better() || m.Harms != got {
			t.Errorf("%s in the healthy run: worse %v, harms %v: %+v", m.Method, got, m.Harms, m.Gain[1])
		}
		if want := map[string]float64{"cure": .3}[m.Method]; m.Gain[0].Low > want || m.Gain[0].High < want {
			t.Errorf("%s brings %+v, want %v", m.Method, m.Gain[0].Interval, want)
		}
	}
	// cure is the best under age, and the noise of idle or none is in the healthy run.
	if m := list[0]; m.Method != "cure" || m.Regret.N != 8 || m.Regret.Estimate > .01 || m.Regret.Low > m.Regret.Estimate {
		t.Errorf("in front is %+v", m)
	}
}

// A method that brings .3 at one dose and costs .2 at another of the same stressor is
// named; without a second dose, or a healthy run, nothing is said of them.
func TestTurned(t *testing.T) {
	const named = "Significantly better at one level of a stressor and significantly worse at another: `turn` (C)."
	var runs []sweep.Outcome
	for k, noise := range wave {
		seed := uint64(k)
		runs = append(runs, ran("none", "matched", "", seed, "A", .5, .8))
		for _, m := range []struct {
			name       string
			mild, hard float64
		}{{"none", 0, 0}, {"turn", -.2, .3}, {"help", .1, .2}} {
			for stressor, gain := range map[string]float64{"age": m.hard, "young": m.mild} {
				o := ran(m.name, stressor, "matched", seed, m.name+stressor, .5, .4+gain+noise*(1+gain))
				o.Values["letter"] = "C"
				runs = append(runs, o)
			}
		}
	}
	slices.SortStableFunc(runs, func(a, b sweep.Outcome) int { return strings.Compare(a.Run, b.Run) })
	text := pageOf(t, *stage(runs...))
	if !strings.Contains(text, named) || strings.Contains(text, "without a stressor") {
		t.Errorf("the page says\n%s\nwant %s", text, named)
	}
	for _, o := range runs {
		if o.Values["stressor"] == "young" {
			o.Values["letter"] = "B"
		}
	}
	if text := pageOf(t, *stage(runs...)); strings.Contains(text, "at one level") {
		t.Errorf("of single doses the page says\n%s", text)
	}
}

// Before a stage is whole nothing is told, and three seeds tell nothing ever.
func TestToldOfTooFew(t *testing.T) {
	s := eight("confirm", 1)
	s.Runs = s.Runs[:len(s.Runs)-1]
	for _, m := range s.Rank().Methods {
		if len(m.Gain) > 0 || m.Harms || m.Regret.N > 0 {
			t.Errorf("%s is judged by a part of its runs: %+v", m.Method, m)
		}
	}
	if text := pageOf(t, *s); !strings.Contains(text, "once every run is there") {
		t.Error(text)
	}
	s = eight("screen", 1)
	s = stage(slices.DeleteFunc(s.Runs, func(o sweep.Outcome) bool { return o.Seed > 3 })...)
	if text := pageOf(t, *s); !strings.Contains(text, "With 3 seeds no difference can be significant: the least p of a paired sign-flip test is 0.25.") {
		t.Error(text)
	}
}

// pageOf is the table's text.
func pageOf(t *testing.T, stages ...table.Stage) string {
	t.Helper()
	files, err := table.Measure(stages).Files()
	if err != nil {
		t.Fatal(err)
	}
	return string(files[slices.IndexFunc(files, func(f table.File) bool { return f.Name == "table.md" })].Data)
}

// The picture has the first three and those that are asked about, or else all, with a mark
// where they are told from none.
func TestPicture(t *testing.T) {
	s := eight("confirm", 1)
	drawn := func(asked string) *figure.Figure {
		for i := range s.Runs {
			if v := s.Runs[i].Values; v["method"] == asked {
				v["asked"] = "true"
			}
		}
		r := s.Rank()
		return r.Picture("Told")
	}
	if h := drawn("nobody"); len(h.Series) != 4 {
		t.Errorf("the picture has %+v", h.Series)
	}
	if h := drawn("cure"); len(h.Series) != 3 || h.Series[0].Name != "1  cure" || !slices.Equal(h.Series[0].Signs, []int{1, 0}) {
		t.Errorf("the picture has %+v", h.Series)
	}
	if h := drawn("harm"); len(h.Series) != 4 || h.Series[3].Name != "4  harm" || !slices.Equal(h.Series[3].Signs, []int{0, -1}) {
		t.Errorf("the picture has %+v", h.Series)
	}
}

// The picture of a table is the confirmation's once that is whole, and the screen's before;
// so it is with the alarms.
func TestWholeStages(t *testing.T) {
	picture := func(stages ...table.Stage) string {
		files, err := table.Measure(stages).Files()
		if err != nil {
			t.Fatal(err)
		}
		return string(files[slices.IndexFunc(files, func(f table.File) bool { return f.Name == "table.png" })].Data)
	}
	screen, confirm, part := *eight("screen", 101), *eight("confirm", 1), *eight("confirm", 1)
	for _, s := range []table.Stage{screen, part} {
		for i := range s.Runs {
			s.Runs[i].Run = fmt.Sprint(s.Name, i)
			s.Runs[i].Windows = sweep.Windows{Every: 10, Values: map[string][]record.Number{"critic/score/mean": {.5, .6, .7, .8}}}
		}
	}
	part.Runs = part.Runs[:len(part.Runs)-1]
	if got := picture(part, screen); got != picture(screen) {
		t.Error("a part of a confirmation took the screen's picture")
	}
	alone, beside := table.Measure([]table.Stage{screen}).Alarms, table.Measure([]table.Stage{part, screen}).Alarms
	if beside.Runs != alone.Runs {
		t.Errorf("the alarms are of %d runs, of the screen's %d", beside.Runs, alone.Runs)
	}
	if got := picture(confirm, screen); got == picture(screen) || got != picture(confirm) {
		t.Error("the whole confirmation is not what is drawn")
	}
}

// The screen chooses, the confirmation measures: the one that is in front there, whatever
// came out best here.
func TestAnswers(t *testing.T) {
	screen := eight("screen", 101)
	for i := range screen.Runs {
		if o := &screen.Runs[i]; o.Values["method"] == "idle" && o.Values["stressor"] == "age" {
			o.Evals.Value[1] += .5 // the luck of a screen
		}
	}
	text := pageOf(t, *eight("confirm", 1), *screen)
	var line string
	for one := range strings.Lines(text) {
		if strings.Contains(one, " updates) | age") {
			line = strings.Join(strings.Fields(one), " ")
		}
	}
	if !strings.HasPrefix(line, "| stale rollouts (off-policy lag of 16 updates) | age | -0.40 | idle | -0.40 | +0.00 |") || !strings.HasSuffix(line, "| 1 | 0 |") {
		t.Errorf("under age the page answers %q in\n%s", line, text)
	}
	if strings.Contains(pageOf(t, *screen), "Recommended setting for each stressor") {
		t.Error("the screen answers by itself")
	}
	if !strings.Contains(text, "1 of 3 distinct settings are significantly better than no correction under at least one stressor (↑), and 1 are significantly worse under at least one (↓); without a stressor, significantly worse are `harm`.") {
		t.Errorf("the summary says\n%s", text)
	}
	// Waves of ±.0104, seven degrees of freedom, t 2.365: 2.365·.0111/√8. Detected are .02: some five
	// standard errors of .0039. Cure and harm have arrows, idle is small.
	if !strings.Contains(text, "intervals is 0.01, and the test detects effects of 0.02 with 80 % power (median). 0 effects of 0.15 or more have no arrow.") {
		t.Errorf("the summary says\n%s", text)
	}
}
