package table_test

import (
	"strings"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
)

// seeded are runs of two methods on two seeds, whose differences to the matched run lie
// around those given.
func seeded(first uint64, differences map[string]float64) *table.Stage {
	var runs []sweep.Outcome
	for seed := first; seed < first+2; seed++ {
		wobble := 0.001 * float64(seed-first)
		runs = append(runs, ran("none", "matched", "", seed, "A", .5, .8))
		for _, method := range []string{"none", "x"} {
			runs = append(runs, ran(method, "age", "matched", seed, "B"+method, .5, .8+differences[method]+wobble))
		}
	}
	return stage(runs...)
}

// The same rows are drawn every time, those alone that have an interval; what they are on
// fresh seeds stands beside them, and whether the intervals meet.
func TestAgain(t *testing.T) {
	s := seeded(1, map[string]float64{"none": -0.3, "x": -0.1})
	rows := s.Rows()
	rows[0].N = 1
	if got := table.Draw(rows); len(got) != 1 || got[0].Method != "x" {
		t.Errorf("drew %+v of a row with an interval and one without", got)
	}
	if command := s.AgainCommand("DIR", table.Draw(s.Rows())); !strings.HasPrefix(command, "simulate sweep screen --out DIR/screen-again --seed 9501 --seeds 2 ") || !strings.Contains(command, " --only method=none+x,stressor=matched+age,rate=1e-3") {
		t.Error(command)
	}
	s.Again = seeded(9501, map[string]float64{"none": -0.3, "x": -0.5})
	files, err := table.Measure([]table.Stage{*s}).Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == "table.md" && !strings.Contains(string(f.Data), "of 2 intervals 1 overlap") {
			t.Errorf("the page says\n%s", f.Data)
		}
	}
}
