package study

import (
	"encoding/csv"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/columnar"
	"driftlab/results/record"
	"driftlab/results/stats"

	"github.com/parquet-go/parquet-go"
)

// finished runs a sweep whole and returns its files.
func finished(t *testing.T, g *Grid, dir string, o Options) map[string]string {
	t.Helper()
	o.Dir = dir
	sweepInto(t, g, o)
	must.Get(Finish(dir, Tables{Steps: true, Parquet: columnar.New}))(t)
	return filesOf(t, dir)
}

// TestShards: parts that are put together have the bytes of one run, in whatever
// order, also where two parts made the same run.
func TestShards(t *testing.T) {
	g, dir := gridOf(t, tiny), filepath.Join(t.TempDir(), "parts [1]") // not a pattern
	whole := finished(t, g, filepath.Join(dir, "whole"), Options{})
	var parts []string
	for _, s := range []Shard{{2, 3}, {0, 3}, {1, 3}} {
		part := filepath.Join(dir, s.Folder())
		sweepInto(t, g, Options{Dir: part, Shard: s, Workers: 2})
		parts = append(parts, part)
	}
	merged := filepath.Join(dir, "merged")
	if _, err := Merge(parts[:2], merged, Tables{}); err == nil || !strings.Contains(err.Error(), "1 of 4 runs are missing: method=none, seed 4") {
		t.Errorf("a part is missing: %v", err)
	}
	found := Parts([]string{dir})
	if len(found) != 3 {
		t.Fatalf("parts %v", found)
	}
	must.Get(Merge(append(found, filepath.Join(dir, "whole")), merged, Tables{Steps: true, Parquet: columnar.New}))(t)
	if got := filesOf(t, merged); !maps.Equal(got, whole) {
		for name := range whole {
			t.Errorf("%s is equal: %t", name, got[name] == whole[name])
		}
		t.Errorf("%d files for %d", len(got), len(whole))
	}

	other := filepath.Join(dir, "other")
	sweepInto(t, gridOf(t, strings.Replace(tiny, "seeds: [3, 4]", "seeds: [3]", 1)), Options{Dir: other})
	if _, err := Merge([]string{parts[0], other}, merged, Tables{}); err == nil || !strings.Contains(err.Error(), "another sweep than") {
		t.Errorf("another sweep: %v", err)
	}
	change(t, parts[0], `"status":"finished"`, `"status":"stopped"`)
	if _, err := Merge([]string{parts[0], filepath.Join(dir, "whole")}, merged, Tables{}); err == nil || !strings.Contains(err.Error(), "they differ in status") {
		t.Errorf("a conflict: %v", err)
	}
}

// TestShardOf reads the variables of Slurm and Kubernetes as they set them.
func TestShardOf(t *testing.T) {
	for _, tc := range []struct {
		environment string
		want        Shard
		fault       string
	}{
		{"", Shard{}, ""},
		{"SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=3", Shard{3, 4}, ""},
		{"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=5", Shard{0, 4}, ""},
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2", Shard{3, 4}, ""},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0", Shard{}, "part 9 of 4"},
		{"SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_COUNT=4", Shard{}, `SLURM_ARRAY_TASK_ID="x"`},
		{"SLURM_ARRAY_TASK_ID=1", Shard{}, `SLURM_ARRAY_TASK_COUNT=""`},
		{"JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=3", Shard{2, 3}, ""},
		{"JOB_COMPLETION_INDEX=2", Shard{}, "JOB_COMPLETIONS is not"},
	} {
		values := map[string]string{}
		for _, field := range strings.Fields(tc.environment) {
			name, value, _ := strings.Cut(field, "=")
			values[name] = value
		}
		got, _, err := ShardOf(func(name string) string { return values[name] })
		if tc.fault == "" && (err != nil || got != tc.want) || tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
			t.Errorf("%s: %v (%v), want %v %s", tc.environment, got, err, tc.want, tc.fault)
		}
	}
}

// TestTables: both forms of a table say the same, with a column for every factor and
// label.
func TestTables(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	files := finished(t, g, dir, Options{})
	for name, want := range map[string]int{"runs": 6, "steps": 6 * 5} {
		rows, err := csv.NewReader(strings.NewReader(files[name+".csv"])).ReadAll()
		if err != nil || len(rows) != want+1 {
			t.Fatalf("%s.csv: %d rows (%v), want %d", name, len(rows)-1, err, want)
		}
		if head := strings.Join(rows[0][:4], " "); head != "run method group seed" {
			t.Errorf("%s.csv begins with %s", name, head)
		}
		file := must.Get(parquet.OpenFile(strings.NewReader(files[name+".parquet"]), int64(len(files[name+".parquet"]))))(t)
		var columns []string
		for _, c := range file.Schema().Columns() {
			columns = append(columns, c[0])
		}
		if fmt.Sprint(columns) != fmt.Sprint(rows[0]) {
			t.Errorf("%s: columns %v and %v", name, columns, rows[0])
		}
		values := make([]parquet.Row, want+1)
		n := 0
		for _, group := range file.RowGroups() {
			r := group.Rows()
			k, _ := r.ReadRows(values[n:])
			for i := range values[n : n+k] {
				values[n+i] = values[n+i].Clone()
			}
			n += k
			_ = r.Close()
		}
		if n != want {
			t.Fatalf("%s.parquet: %d rows, want %d", name, n, want)
		}
		for i, row := range values[:n] {
			for k, v := range row {
				text := ""
				switch v.Kind() {
				case parquet.ByteArray:
					text = string(v.ByteArray())
				case parquet.Int64:
					text = fmt.Sprint(v.Int64())
				case parquet.Double:
					text = record.FloatText(v.Double())
				case parquet.Float:
					text = record.FloatText(stats.Digits(float64(v.Float()), stepDigits))
				}
				if v.IsNull() {
					text = ""
				}
				if text != rows[i+1][k] {
					t.Fatalf("%s row %d, %s: %q and %q", name, i, rows[0][k], text, rows[i+1][k])
				}
			}
		}
	}
}
