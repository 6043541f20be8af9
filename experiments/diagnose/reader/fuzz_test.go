package reader_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// fuzz reads whatever comes: no input may panic, hand on a row whose columns do not fit each other, or say nothing.
func fuzz(f *testing.F, seeds ...string) {
	f.Helper()
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	debug.SetMemoryLimit(512 << 20)
	f.Fuzz(func(t *testing.T, data []byte) {
		rows := 0
		about, err := reader.Read(reader.Input{Name: "x", At: bytes.NewReader(data), Size: int64(len(data)), MaxMemory: 64 << 20}, "", func(r *reader.Row) error {
			rows++
			for name, n := range map[string]int{"Roll": len(r.Roll), "Old": len(r.Old), "New": len(r.New), "Ref": len(r.Ref), "Advantage": len(r.Advantage), "Token": len(r.Token), "Masked": len(r.Masked), "Entropy": len(r.Entropy)} {
				if n != 0 && n != len(r.Mask) {
					t.Fatalf("%s has %d entries, the mask %d", name, n, len(r.Mask))
				}
			}
			if n := len(r.PromptRoll); n != 0 && r.Prompt != nil && n != len(r.Prompt) {
				t.Fatalf("%d log-probs for a prompt of %d", n, len(r.Prompt))
			}
			return nil
		})
		if refused := (*reader.Refused)(nil); err != nil && (!errors.As(err, &refused) || strings.Contains(err.Error(), "a fault of this program")) {
			t.Fatal(err)
		}
		if about.Rows != rows || about.Used > rows || len(about.Damage) > about.Damaged {
			t.Fatalf("%d rows: %+v", rows, about)
		}
	})
}

// seedFiles are files of testdata by their ending.
func seedFiles(f *testing.F, ending string) (texts []string) {
	names, err := filepath.Glob(filepath.Join("testdata", "breaks", "*"+ending))
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(f)
		texts = append(texts, string(text))
	}
	return texts
}

func FuzzLines(f *testing.F) {
	fuzz(f, plain, "["+plain+","+plain+"]", `{"input":"p","output":"r","score":1,"step":2,"train_token_ids":[3,4],"rollout_logprobs":[-1],"response_logprobs":[-2],"advantage":0.5}`, torchtitanLine, openInstructLine, tinkerLine, tinkerSummaryLine,
		`{"token_loss_mask":[[0,1]],"generation_logprobs":[[0,-1]],"prev_logprobs":[[0,-1]],"input_lengths":[2],"idx":7}`,
		`{"schema_version":1,"loss_mask":[0,1],"inference_logprobs":[0,-1],"trainer_logprobs":[0,-1],"is_masked":[null,true]}`,
		`{"logp_rollout":[-1,NaN],"logp_old":[-1,"inf"],"routes_rollout":[[[1]],[[2]]],"routes_learner":[[[1]],[[3]]],"env":"a\\u00e9"}`,
		`{"global_step":[3],"responses":["b"],"scores":[1.0],"domain":["math"]}`)
}

func FuzzPickle(f *testing.F) { fuzz(f, append(seedFiles(f, ".pkl"), skyrlBatch(nil))...) }

func FuzzTorch(f *testing.F) {
	fuzz(f, append(seedFiles(f, ".pt"),
		string(torchFile(f, pairs{"call", 0, "samples", []any{pairs{"local_loss_mask", tensor("FloatStorage", "0", 2)}}}, map[string][]byte{"0": float32s(1, 1)})),
		string(torchFile(f, rankData(1), map[string][]byte{"0": int64s(5, 7, 8), "1": int64s(5, 9), "4": float32s(-1, -2)})))...)
}

func FuzzParquet(f *testing.F) {
	text := must.Get(os.ReadFile(filepath.FromSlash("../../../testdata/dumps/trl/text/completions/completions_00041.parquet")))(f)
	fuzz(f, append(seedFiles(f, ".parquet"), string(text))...)
}

func FuzzTransport(f *testing.F) { fuzz(f, string(transported)) }
