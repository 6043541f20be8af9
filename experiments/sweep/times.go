package sweep

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// keepTime appends how long a run took, with what it computes: a measure for others.
func (w *work) keepTime(c *Cell, took time.Duration) {
	if w.options.Now == nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(w.options.Dir, timesFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return // nothing depends on it
	}
	_, _ = fmt.Fprintf(f, "%s,%.3f,%d,%.4g\n", c.Run, took.Seconds(), c.Recipe.Steps, c.Recipe.Work())
	_ = f.Close()
}

// Pace is how many seconds a unit of recipe.Work takes one core, by the times of the runs
// that a folder has of the grid; 0 runs where it has none.
func (g *Grid) Pace(dir string) (seconds float64, runs int) {
	f, err := os.Open(filepath.Join(dir, timesFile))
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1 // a torn line counts as none
	rows, _ := r.ReadAll()
	var took, cost float64
	for _, row := range rows {
		if len(row) != 4 || len(g.cellsOf(row[0])) == 0 {
			continue
		}
		if s, err := strconv.ParseFloat(row[1], 64); err == nil {
			took += s
			cost += g.cellsOf(row[0])[0].Recipe.Work()
			runs++
		}
	}
	if runs == 0 {
		return 0, 0
	}
	return took / cost, runs
}
