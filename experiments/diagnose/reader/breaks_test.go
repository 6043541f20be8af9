package reader_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// TestBreaks reads files that once brought the reader down, or took minutes or gigabytes of it.
func TestBreaks(t *testing.T) {
	for name, want := range map[string]struct {
		rows   int
		reason string // of the refusal, or of the first damage
	}{
		"min1.pkl":            {0, "a pickle that is no tensor batch of SkyRL"},
		"min2.pkl":            {0, "a pickle that is no tensor batch of SkyRL"},
		"legit.pt.zst":        {3, ""},
		"legit2.pt":           {3, ""},
		"bomb_list2.parquet":  {0, "expands to more than 200 times its length"},
		"quad_bounds.pkl.zst": {100000, ""},
		"quad_keys.pt.zst":    {0, "no response length"},
		"d_nones.pkl.zst":     {0, "its values take more than 160 MiB"},
	} {
		text := must.Get(os.ReadFile(filepath.Join("testdata", "breaks", name)))(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start, rows := time.Now(), 0
		about, err := reader.Read(reader.Input{Name: name, At: bytes.NewReader(text), Size: int64(len(text))}, "", func(*reader.Row) error { rows++; return nil })
		runtime.ReadMemStats(&after)
		reason := ""
		if err != nil {
			reason = err.Error()
		} else if len(about.Damage) > 0 {
			reason = about.Damage[0].Reason
		}
		if rows != want.rows || !strings.Contains(reason, want.reason) || want.reason == "" && reason != "" {
			t.Errorf("%s: %d rows and %q, want %d and %q", name, rows, reason, want.rows, want.reason)
		}
		// Quadratic work takes more than 10 s of an idle machine, linear work a fraction of one.
		if took, mib := time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20; took > 10*time.Second || mib > 600 {
			t.Errorf("%s: %v and %d MiB", name, took, mib)
		}
	}
}

// TestMaxMemory refuses by the memory that is allowed: a row of numbers, a pickle of values.
func TestMaxMemory(t *testing.T) {
	row := `{"logp_rollout":[-1` + strings.Repeat(",-1", 1<<16) + `]}`
	values := "\x80\x04](" + strings.Repeat("J\x00\x01\x02\x03", 1<<19) + "e."
	for _, text := range []string{plain + "\n" + row, values} {
		for memory, want := range map[int64]bool{1 << 21: true, 0: false} {
			about, err := reader.Read(reader.Input{Name: "x", At: strings.NewReader(text), Size: int64(len(text)), MaxMemory: memory}, "", func(*reader.Row) error { return nil })
			said := err != nil && strings.Contains(err.Error(), "raise --max-memory") || len(about.Damage) > 0 && strings.Contains(about.Damage[0].Reason, "raise --max-memory")
			if said != want {
				t.Errorf("%.20q with %d bytes: %v, %+v", text, memory, err, about.Damage)
			}
		}
	}
}

// TestPanicIsRefused: a fault of this program while it reads names the file and asks for a report.
func TestPanicIsRefused(t *testing.T) {
	_, err := reader.Read(reader.Input{Name: "x.jsonl", Stream: faulty{}}, "", func(*reader.Row) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "x.jsonl: a fault of this program (broken) after row 0: please report it") {
		t.Error(err)
	}
}

// faulty is a stream that panics.
type faulty struct{}

func (faulty) Read([]byte) (int, error) { panic("broken") }
