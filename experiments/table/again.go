package table

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// The table checks itself: rows drawn at random are made again on seeds that no stage has.
const (
	// drawn is how many rows of a stage are made again.
	drawn = 10
	// AgainFolder ends the name of their sweep's folder.
	AgainFolder = "-again"
	againSeed   = 9501
)

// Draw returns ten of the rows that have an interval, at random, the same ones of the same
// rows.
func Draw(rows []Row) []Row {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.N < 2 })
	rng := rand.New(rand.NewPCG(againSeed, uint64(len(rows))))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows[:min(drawn, len(rows))]
}

// AgainCommand makes rows drawn from a stage again, below a folder.
func (s *Stage) AgainCommand(dir string, rows []Row) string {
	text := fmt.Sprintf("simulate sweep %s --out %s/%s%s --seed %d --seeds %d", s.Name, dir, s.Name, AgainFolder, againSeed, len(s.Index.Seeds))
	for _, r := range rows {
		text += " --only " + r.only()
	}
	return text
}

// againTable compares rows drawn from the stage's with the same rows on the fresh seeds.
func (r *Ranking) againTable() *figure.Figure {
	rows := Draw(r.Rows)
	t := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "method"}, {Name: "stressor"}, {Name: "rate"}, number("whole run"), {Name: "95 %"}, number("repeated"), {Name: "95 %"}, {Name: "intervals"}}}
	overlapping := 0
	for _, first := range rows {
		i := slices.IndexFunc(r.Again, func(a Row) bool {
			return a.Method == first.Method && a.Stressor == first.Stressor && a.Rate == first.Rate
		})
		if i < 0 || r.Again[i].N < 2 {
			continue
		}
		word := figure.Word("disjoint").As(figure.Warn)
		if overlap(first.AUC, r.Again[i].AUC) {
			word = figure.Word("overlap").As(figure.Good)
			overlapping++
		}
		t.Add(figure.Word(first.Method), figure.Word(first.Stressor), figure.Word(first.Rate), signed(first.AUC.Estimate), between(first.AUC), signed(r.Again[i].AUC.Estimate), between(r.Again[i].AUC), word)
	}
	t.Title = fmt.Sprintf("Random rows repeated on fresh seeds: of %d intervals %d overlap", len(t.Rows), overlapping)
	t.Note = "Seeds from " + fmt.Sprint(againSeed) + " on, which no stage uses. Command: `" + r.Stage.AgainCommand("DIR", rows) + "`."
	return t
}

// overlap reports whether two intervals have a point in common.
func overlap(a, b stats.Interval) bool { return a.Low <= b.High && b.Low <= a.High }
