package sweep

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"driftlab/results/record"
)

// stepMetrics are the metrics that every step of a run is kept of.
var stepMetrics = append(append([]string(nil), kept...),
	"gap/released_k3", "actor/ppo_kl", "actor/lr", "actor/skipped_updates", "staleness/tokens/max", "clock/ticks",
	"val/learner/pass_rate", "val/learner/greedy_pass_rate", "val/rollout/pass_rate", "val/learner/response_length", "val/weight_travel")

// stepDigits is to how many significant ones.
const stepDigits = 6

// stepsName is the file of a run's steps.
func stepsName(run string) string { return run + ".csv.gz" }

// keepSteps writes the steps of a run: a line each, an empty field where a metric
// was not measured.
func keepSteps(dir, run string, r *record.Record) error {
	var columns []*record.Column
	head := []string{"step"}
	for _, name := range stepMetrics {
		if c := r.Column(name); c != nil {
			columns, head = append(columns, c), append(head, name)
		}
	}
	var text bytes.Buffer
	z, err := gzip.NewWriterLevel(&text, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := csv.NewWriter(z)
	_ = w.Write(head) // to memory, as all of it
	for step := 0; step <= r.Steps; step++ {
		row := []string{strconv.Itoa(step)}
		some := false
		for _, c := range columns {
			field := ""
			if v, ok := c.At(step); ok {
				field, some = numberText(digits(v, stepDigits)), true
			}
			row = append(row, field)
		}
		if some {
			_ = w.Write(row)
		}
	}
	w.Flush()
	if err := z.Close(); err != nil {
		return err
	}
	return record.WriteFile(filepath.Join(dir, stepsFolder), stepsName(run), text.Bytes())
}

// readSteps reads the steps of a run back.
func readSteps(dir, run string) (*record.Record, error) {
	path := filepath.Join(dir, stepsFolder, stepsName(run))
	fail := func(err error) (*record.Record, error) {
		return nil, &record.FolderError{Path: path, Problem: err.Error(), Fix: "remove the file: the table of steps is without this run then", Err: err}
	}
	data, err := record.ReadFile(path)
	if err != nil {
		return nil, storage(path, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fail(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err == nil && len(rows) == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fail(err)
	}
	r := &record.Record{Dir: dir, Name: run}
	for _, row := range rows[1:] {
		step, err := strconv.Atoi(row[0])
		if err != nil {
			return fail(err)
		}
		var metrics []record.Metric
		for i, field := range row {
			if i == 0 || field == "" {
				continue
			}
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return fail(fmt.Errorf("step %d: %w", step, err))
			}
			metrics = append(metrics, record.Metric{Name: rows[0][i], Value: v})
		}
		r.Add(step, metrics)
	}
	return r, nil
}

// stepsThere reports whether a run's steps are in the folder. A log may have come without
// them: a line of it is a finished run all the same.
func stepsThere(dir, run string) bool {
	_, err := os.Stat(filepath.Join(dir, stepsFolder, stepsName(run)))
	return !errors.Is(err, fs.ErrNotExist)
}
