package reader_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// tensors stand in for torch: what the page's lines call of a tensor, and the objects around them.
//
//go:embed testdata/tensors.py
var tensors string

// TestLoggingPage runs the lines of the page on stand-ins for tensors, and reads what they write.
func TestLoggingPage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	page := must.Get(os.ReadFile("../LOGGING.md"))(t)
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	cases := []struct {
		name, before, after, format string
		all                         bool // of the response is trained
	}{
		{"verl", `
class tq:
    def kv_batch_get(keys, partition_id, select_fields):
        have = {"responses": t([1], [7, 8]), "response_mask": t([1], [0, 1]), "rollout_log_probs": t([-4.0], [-1.0, -2.0]), "old_log_probs": t([-5.0], [-1.5, -2.5]), "advantages": t([1.0], [3.0, 3.0])}
        return {f: have[f] for f in select_fields}
batch, sorted_indices, reward_extra_infos_dict = types.SimpleNamespace(keys=[0, 1], partition_id=0), [1, 0], {}
`, `
with open("logprobs_rank0.jsonl", "w") as f:
    f.write(json.dumps({"input": "p", "output": "r", "gts": None, "score": 1.0, "step": 4, **{k: v[0] for k, v in reward_extra_infos_dict.items()}}) + "\n")
`, "verl", false},
		{"TRL", "", "LoggedGRPOTrainer()._generate_and_score_completions(None)\n", "neutral", false},
		{"AReaL", "", `
log_columns({"input_ids": t([5, 7, 8, 0], [5, 6, 0, 0]), "attention_mask": t([1, 1, 1, 0], [1, 1, 0, 0]), "loss_mask": t([0, 1, 1, 0], [0, 0, 0, 0]),
             "versions": t([-1, 3, 4, 0], [-1, -1, 0, 0]), "rewards": T([1.0, 0.0]), "logprobs": t([0.0, -1.0, -2.0, 0.0], [0.0] * 4), "prox_logp": t([-1.5, -2.5, -9.0, 0.0], [0.0] * 4)})
`, "neutral", true},
		{"OpenRLHF", "", `
log_columns(types.SimpleNamespace(sequences=t([5, 7, 8, 0], [5, 6, 0, 0]), attention_mask=t([1, 1, 1, 0], [1, 1, 0, 0]), action_mask=t([1, 1, 0], [0, 0, 0]), rewards=T([1.0, 0.0]),
            rollout_log_probs=t([-1.0, -2.0, 0.0], [0.0] * 3), action_log_probs=t([-1.5, -2.5, 0.0], [0.0] * 3)))
`, "neutral", true},
		{"open-instruct", "", `
log_columns(types.SimpleNamespace(query_responses=[t([4, 5, 5, 7, 8, 0])], response_masks=[t([0, 0, 0, 3, 3, 0])], position_ids=[t([0, 1, 0, 1, 2, 0])], advantages=[t([0.0, 0.0, 0.0, 1.0, 1.0, 0.0])],
            vllm_logprobs=[t([math.nan, math.nan, math.nan, -1.0, -2.0, 0.0])]), 0, t([1.0, 1.0, -1.5, -2.5, 1.0]), 0)
`, "neutral", true},
		{"torchtitan", "", `
batch = types.SimpleNamespace(token_ids=T([4, 5, 7, 0, 0]), labels=T([6, 7, 8, 0, 0]), positions=T([0, 0, 1, 2, 0]), loss_mask=T([0, 1, 1, 0, 0]),
            generator_logprobs=T([0.0, -1.0, -2.0, 0.0, 0.0]), advantages=T([0.0, 1.0, 1.0, 0.0, 0.0]))
log_columns(batch, T([-9.0, -1.5, -2.5, -9.0, -9.0]), 0, 4)
`, "neutral", true},
		{"tinker-cookbook", "", `
log_columns([types.SimpleNamespace(model_input=t([4, 5, 7])[0], loss_fn_inputs={"target_tokens": T([5, 7, 8]), "logprobs": T([0.0, -1.0, -2.0]), "advantages": T([0.0, 1.0, 1.0]), "mask": T([0.0, 1.0, 1.0])})],
            [T([-9.0, -1.5, -2.5])], 4)
`, "neutral", true},
		{"recurrent", "", `
layer = types.SimpleNamespace(chunk_gated_delta_rule=1, recurrent_gated_delta_rule=2)
recurrent(types.SimpleNamespace(modules=lambda: [layer, 3]))
with open("logprobs_rank0.jsonl", "w") as f:
    f.write(json.dumps({"token_ids": [7, 8], "logp_rollout": [-1.0, -2.0], "logp_old": [-1.5, -2.5], "logp_old_recurrent": [-1.0, -float(layer.chunk_gated_delta_rule)]}) + "\n")
`, "neutral", true},
	}
	if len(blocks) != len(cases) {
		t.Fatalf("the page has %d blocks of Python, the test %d", len(blocks), len(cases))
	}
	var script strings.Builder
	script.WriteString(tensors)
	dir := t.TempDir()
	for i, c := range cases {
		code := must.Get(json.Marshal(c.before + blocks[i][1] + c.after))(t)
		fmt.Fprintf(&script, "os.mkdir(%q)\nos.chdir(%[1]q)\nexec(%s, dict(globals()))\nos.chdir('..')\n", c.name, code)
	}
	run := exec.Command(python, "-S", "-c", script.String())
	run.Dir, run.Env = dir, append(os.Environ(), "RANK=0")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join(dir, c.name, "logprobs*.jsonl"))
			if err != nil || len(paths) != 1 {
				t.Fatalf("%q, %v", paths, err)
			}
			text := must.Get(os.ReadFile(paths[0]))(t)
			rows, about, err := readText(string(text), "")
			if err != nil || len(rows) != 1 || about.Damaged != 0 || about.Format != c.format {
				t.Fatalf("%d rows, %+v, %v", len(rows), about, err)
			}
			mask := []bool{c.all, true}
			if r := rows[0]; !same(r.Roll, []float64{-1, -2}) || !same(r.Old, []float64{-1.5, -2.5}) || !slices.Equal(r.Token, []int32{7, 8}) || !slices.Equal(r.Mask, mask) {
				t.Errorf("%+v", r)
			}
		})
	}
}
