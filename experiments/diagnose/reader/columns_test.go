package reader_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestFurtherColumns reads what judges learning: under the names of the neutral format, of trainers, and of other formats.
func TestFurtherColumns(t *testing.T) {
	const neutral = `{"logp_rollout":[-1,-2],"logp_old":[-1,-2],"logp_ref":[-3,-4],"logp_teacher":[-5,-6],"entropy":[0.5,1],"is_masked":[0,1],"reward":0.5,"score":1,"acc":1,"lag":3,"finish_reason":"length","worker":2}`
	names := strings.NewReplacer("logp_ref", "ref_log_prob", "logp_teacher", "teacher_log_probs", "entropy", "entropys", "acc", "is_correct", "lag", "staleness", `"finish_reason":"length"`, `"truncated":true`, "worker", "dp_rank")
	for _, text := range []string{
		neutral, names.Replace(neutral),
		`{"schema_version":1,"rank":2,"loss_mask":[0,1,1],"inference_logprobs":[0,-1,-2],"trainer_logprobs":[0,-1,-2],"ref_logprobs":[0,-3,-4],"entropies":[0,0.5,1],"is_masked":[null,false,true]}`,
	} {
		rows, about, err := readText(text, "")
		if err != nil || len(rows) != 1 || about.Damaged != 0 {
			t.Fatalf("%s: %d rows, %+v, %v", text, len(rows), about, err)
		}
		r := rows[0]
		if !same(r.Ref, []float64{-3, -4}) || !same(r.Entropy, []float64{0.5, 1}) || !slices.Equal(r.Masked, []bool{false, true}) || r.Worker != "2" {
			t.Errorf("%s: %+v", text, r)
		}
		if about.Format == "neutral" && !same(r.Teacher, []float64{-5, -6}) {
			t.Errorf("%s: the teacher's are %v", text, r.Teacher)
		}
		if about.Format == "neutral" && fmt.Sprintln(r.Reward, r.Score, r.Acc, r.Lag, r.Finish) != "0.5 1 1 3 length\n" {
			t.Errorf("%s: %v %v %v %v %q", text, r.Reward, r.Score, r.Acc, r.Lag, r.Finish)
		}
	}
	rows, _, _ := readText(plain, "")
	if r := rows[0]; r.Ref != nil || r.Masked != nil || r.Entropy != nil || !math.IsNaN(r.Acc) || !math.IsNaN(r.Score) || !math.IsNaN(r.Lag) || r.Finish != "" || r.Worker != "" {
		t.Errorf("what was not recorded: %+v", r)
	}
}

// TestUnreadKeys names columns that are not read, with the nearest name that is, and no text or index.
func TestUnreadKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"logp_rollout":[-1],"logp_old":[-1],"foo_bar":[1],"ref_logprobz":[-1],"request_id":"x"}`:                     "not read: foo_bar, ref_logprobz (nearest: ref_logprobs)",
		`{"token_loss_mask":[[1]],"generation_logprobs":[[-1]],"prev_logprobs":[[-1]],"idx":7,"bar":{"advantages":1}}`: "not read: bar",
		plain: "",
	} {
		_, about, err := readText(text, "")
		if got := strings.Join(about.Notes, "; "); err != nil || got != want {
			t.Errorf("%s: %q, want %q; %v", text, got, want, err)
		}
	}
	many := plain
	for i := range 25 {
		many += fmt.Sprintf("\n{\"logp_rollout\":[-1],\"zzzzzzzzzz%d\":1}", i)
	}
	if _, about, _ := readText(many, ""); len(about.Notes) != 1 || !strings.HasSuffix(about.Notes[0], "zzzzzzzzzz19 and others") {
		t.Errorf("%q", about.Notes)
	}
}
