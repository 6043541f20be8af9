package diagnose_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
	"time"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"

	"github.com/klauspost/compress/gzip"
)

// TestBigDump reads a dump of as many bytes as DIAGNOSE_BYTES says (1e10 is 10 GB),
// plain and gzip, with one core and with all: the same report, the figures of the block of
// rows that it repeats, and little memory. It logs how fast that went.
func TestBigDump(t *testing.T) {
	size, err := strconv.ParseFloat(os.Getenv("DIAGNOSE_BYTES"), 64)
	if err != nil {
		t.Skip("DIAGNOSE_BYTES does not say how many bytes to write")
	}
	block, longest := nemoRows(500)
	small := read(t, diagnose.Options{}, write(t, "block.jsonl", block, 1))
	copies := int(math.Ceil(size / float64(len(block))))
	var first []byte
	for _, name := range []string{"big.jsonl", "big.jsonl.gz"} {
		path := write(t, name, block, copies)
		for _, cores := range []int{1, runtime.NumCPU()} {
			before := runtime.GOMAXPROCS(cores)
			start := time.Now()
			r := read(t, diagnose.Options{}, path)
			took := time.Since(start)
			runtime.GOMAXPROCS(before)
			info := must.Get(os.Stat(path))(t)
			t.Logf("%s, %d cores: %d rows, %.3g GB on disk, %.3g GB of lines in %v: %.0f MB/s; peak %d MB", name, cores, r.Inputs[0].Rows, float64(info.Size())/1e9,
				float64(len(block)*copies)/1e9, took, float64(len(block)*copies)/1e6/took.Seconds(), peak(t)>>20)
			if want := 500 * copies; r.Inputs[0].Rows != want {
				t.Fatalf("%d rows, want %d", r.Inputs[0].Rows, want)
			}
			for figure, got := range map[string][2]float64{"k1": {r.Gap.K1, small.Gap.K1}, "k3": {r.Gap.K3, small.Gap.K3}, "mean |d|": {r.Gap.MeanAbsDlogp, small.Gap.MeanAbsDlogp}, "Pearson": {r.Gap.Pearson, small.Gap.Pearson}} {
				if math.Abs(got[0]-got[1]) > 1e-9*math.Abs(got[1]) {
					t.Errorf("%s is %v, of the block %v", figure, got[0], got[1])
				}
			}
			r.Inputs[0].File = ""
			text := must.Get(json.Marshal([]any{r.Gap, r.Inputs[0].Rows, r.Inputs[0].Tokens, r.Responses, r.Verdict.State}))(t)
			if first == nil {
				first = text
			} else if string(first) != string(text) {
				t.Errorf("%s with %d cores: another report", name, cores)
			}
		}
		os.Remove(path)
	}
	if most := uint64(512<<20 + 8*longest); peak(t) > most {
		t.Errorf("the peak is %d MB, above %d", peak(t)>>20, most>>20)
	}
}

// BenchmarkRead says how many bytes of lines are read and checked in a second: with two cores, by one each.
func BenchmarkRead(b *testing.B) {
	block, _ := nemoRows(500)
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		a := diagnose.New(diagnose.Options{})
		must.Do(b, a.Read(reader.Input{Name: "dump", At: bytes.NewReader(block), Size: int64(len(block))}))
	}
}

// nemoRows is a block of n rows of NeMo-RL, and how long its longest is.
func nemoRows(n int) (text []byte, longest int) {
	r := rand.New(rand.NewPCG(2, 3))
	for i := range n {
		length := 200 + r.IntN(3000)
		row := map[string][]any{}
		var ids, mask, roll, old, advantages []any
		for j := range length {
			p := -3 * r.Float64() * r.Float64()
			trained := 0
			if j > 50 {
				trained = 1
			}
			ids, mask = append(ids, r.IntN(32000)), append(mask, trained)
			roll, old, advantages = append(roll, float32(p)), append(old, float32(p+0.01*r.NormFloat64())), append(advantages, 0.5)
		}
		row["token_ids"], row["token_loss_mask"], row["generation_logprobs"], row["prev_logprobs"], row["advantages"] = []any{ids}, []any{mask}, []any{roll}, []any{old}, []any{advantages}
		row["content"], row["rewards"], row["input_lengths"], row["sample_loss_mask"] = []any{[]string{"lorem ipsum"}}, []any{1.0}, []any{length}, []any{1.0}
		line, _ := json.Marshal(row)
		line = append(line[:len(line)-1], fmt.Sprintf(",\"idx\":%d}\n", i)...)
		text, longest = append(text, line...), max(longest, len(line))
	}
	return text, longest
}

var index = regexp.MustCompile(`"idx":([0-9]+)}`)

// write puts the given number of copies of the block into a file, each row with a number of its own.
func write(t *testing.T, name string, block []byte, copies int) string {
	path := filepath.Join(t.TempDir(), name)
	f := must.Get(os.Create(path))(t)
	w := bufio.NewWriterSize(f, 1<<20)
	var z *gzip.Writer
	to := func(b []byte) { w.Write(b) }
	if filepath.Ext(name) == ".gz" {
		z, _ = gzip.NewWriterLevel(w, 1)
		to = func(b []byte) { z.Write(b) }
	}
	at := index.FindAllIndex(block, -1)
	for c := range copies {
		from := 0
		for i, m := range at {
			to(block[from:m[0]])
			to(fmt.Appendf(nil, "\"idx\":%d}", c*len(at)+i))
			from = m[1]
		}
		to(block[from:])
	}
	if z != nil {
		z.Close()
	}
	must.Do(t, w.Flush())
	must.Do(t, f.Close())
	return path
}

// peak is the most memory that the process has held, 0 where the system does not say.
func peak(t *testing.T) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	kB := must.Get(strconv.ParseUint(string(m[1]), 10, 64))(t)
	return kB << 10
}
