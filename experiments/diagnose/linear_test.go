package diagnose_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// TestManyPartsLinear holds what an analysis allocates to be linear in environments, steps and groups: four times as many rows allocate at most six
// times as much, where a quadratic part would have sixteen times.
func TestManyPartsLinear(t *testing.T) {
	for _, c := range []struct {
		name string
		row  func(i int) string
	}{
		{"environments", func(i int) string { return fmt.Sprintf(`"env": "e%d"`, i) }},
		{"steps", func(i int) string { return fmt.Sprintf(`"step": %d`, i) }},
		{"groups", func(i int) string { return fmt.Sprintf(`"group": %d, "reward": %d`, i, i%2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			allocated := func(rows int) float64 {
				var dump bytes.Buffer
				for i := range rows {
					fmt.Fprintf(&dump, "{\"logp_rollout\": [-0.%d, -1.5], \"logp_old\": [-0.%d, -1.5], %s}\n", 1+i%8, 1+i%7, c.row(i))
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				a := diagnose.New(diagnose.Options{})
				must.Do(t, a.Read(reader.Input{Name: "dump.jsonl", At: bytes.NewReader(dump.Bytes()), Size: int64(dump.Len())}))
				if r := a.Report(); r.Inputs[0].Rows != rows {
					t.Fatalf("%d rows of %d", r.Inputs[0].Rows, rows)
				}
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			allocated(100) // what is made once
			if few, many := allocated(500), allocated(2000); many > 6*few {
				t.Errorf("500 rows allocate %.3g bytes, 2,000 rows %.3g", few, many)
			}
		})
	}
}
