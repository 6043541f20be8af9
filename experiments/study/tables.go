package study

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// The tables of a finished sweep, each as .csv and as .parquet.
const (
	runsTable  = "runs"
	stepsTable = "steps"
)

// The kinds of columns, in short.
const words, whole, real, short = record.Words, record.Whole, record.Real, record.Short

// column heads a column.
type column = record.Head

// writeTable writes rows as name.csv and, where there is somebody who can, as
// name.parquet, each whole or not at all.
func (o Tables) writeTable(dir, name string, columns []column, rows func(yield func(row []any) error) error) error {
	return record.WriteWhole(dir, name+".csv", func(text io.Writer) error {
		c := csv.NewWriter(text)
		fields := stats.Map(columns, func(c column) string { return c.Name })
		if err := c.Write(fields); err != nil {
			return err
		}
		add := func(row []any) error {
			for i, v := range row {
				fields[i] = fieldOf(v)
			}
			return c.Write(fields)
		}
		var err error
		if o.Parquet == nil {
			err = rows(add)
		} else {
			err = record.WriteWhole(dir, name+".parquet", func(binary io.Writer) error {
				p := o.Parquet(binary, columns)
				err := rows(func(row []any) error { return errors.Join(add(row), p.Write(row)) })
				return errors.Join(err, p.Close())
			})
		}
		c.Flush()
		return errors.Join(err, c.Error())
	})
}

// fieldOf is a value as CSV has it; what is not finite is nan, inf or -inf.
func fieldOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return record.FloatText(v)
	}
	panic(fmt.Sprintf("sweep: a %T in a table", v))
}

// factorColumns are those that every table begins with.
func (x *Index) factorColumns() []column {
	factors := stats.Map(x.columns(), func(name string) column { return column{Name: name, Kind: words} })
	return slices.Concat([]column{{Name: "run", Kind: words}}, factors, []column{{Name: "seed", Kind: whole}})
}

// head is the begin of a row, in those columns.
func (x *Index) head(o *Row) []any {
	row := []any{o.Run}
	for _, name := range x.columns() {
		if text, ok := o.Values[name]; ok {
			row = append(row, text)
		} else {
			row = append(row, nil)
		}
	}
	return append(row, o.Seed)
}

// runColumns are the columns of the table of runs after the factors' columns.
func runColumns() []column {
	columns := []column{{Name: "status", Kind: words}, {Name: "reason", Kind: words}, {Name: "steps", Kind: whole}, {Name: "metric", Kind: words}, {Name: "fate", Kind: words},
		{Name: "start", Kind: real}, {Name: "final", Kind: real}, {Name: "mean", Kind: real}, {Name: "peak", Kind: real}, {Name: "drawdown", Kind: real}}
	for _, name := range kept {
		columns = append(columns, column{Name: name, Kind: real})
	}
	return append(columns, column{Name: "generated", Kind: whole}, column{Name: "scored", Kind: whole}, column{Name: "trained", Kind: whole},
		column{Name: "cannot_act", Kind: words}, column{Name: "same_as", Kind: words}, column{Name: "command", Kind: words})
}

// stepColumns are the columns of the table of steps after the factors' columns.
func stepColumns() []column {
	return append([]column{{Name: "step", Kind: whole}}, stats.Map(stepMetrics, func(name string) column { return column{Name: name, Kind: short} })...)
}

// ownColumns are the names of the columns that tables have whatever is varied.
func ownColumns() []string {
	return stats.Map(slices.Concat((&Index{}).factorColumns(), runColumns(), stepColumns()), func(c column) string { return c.Name })
}

// writeRuns writes the table with a row for each cell.
func (d *Folder) writeRuns(dir string, o Tables) error {
	x, rows := d.Index, d.Rows
	columns := append(x.factorColumns(), runColumns()...)
	same := twins(rows)
	return o.writeTable(dir, runsTable, columns, func(yield func([]any) error) error {
		for i := range rows {
			o := &rows[i]
			row := append(x.head(o), o.Status, o.Reason, int64(o.Steps), o.Metric, string(o.Verdict),
				measured(o.Start), measured(o.Final), measured(o.Mean), measured(o.Peak), measured(o.Drawdown))
			for _, name := range kept {
				if v, ok := o.Means[name]; ok {
					row = append(row, float64(v))
				} else {
					row = append(row, nil)
				}
			}
			if err := yield(append(row, o.Tokens.Generated, o.Tokens.Scored, o.Tokens.Trained, o.cannotAct, same[o.Run], o.command)); err != nil {
				return err
			}
		}
		return nil
	})
}

// measured is nil for a figure that was not.
func measured(n record.Number) any {
	if math.IsNaN(float64(n)) {
		return nil
	}
	return float64(n)
}

// writeSteps writes the table with a row for each step of each cell that has a curve.
func (d *Folder) writeSteps(dir string, o Tables) error {
	columns := append(d.factorColumns(), stepColumns()...)
	first := len(columns) - len(stepMetrics)
	return o.writeTable(dir, stepsTable, columns, func(yield func([]any) error) error {
		row := make([]any, len(columns))
		for i := range d.Rows {
			cell, err := d.store.Cell(d.Rows[i].Run)
			if err != nil {
				return err
			}
			if cell.Curve == nil {
				continue
			}
			of, last, err := cell.Columns()
			if err != nil {
				return &record.FolderError{Path: d.store.Dir, Problem: err.Error(), Fix: "remove its line, and the run is made again", Err: err}
			}
			copy(row, d.head(&d.Rows[i]))
			for step := 0; step <= last; step++ {
				row[first-1] = int64(step)
				some := false
				for k, name := range stepMetrics {
					row[first+k] = nil
					if v, ok := of[name].At(step); ok {
						row[first+k], some = v, true
					}
				}
				if !some {
					continue
				}
				if err := yield(row); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
