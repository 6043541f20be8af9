package reader_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// readText reads a file of this text.
func readText(text, format string) (rows []reader.Row, about *reader.File, err error) {
	in := reader.Input{Name: "x.jsonl", At: strings.NewReader(text), Size: int64(len(text))}
	about, err = reader.Read(in, format, func(r *reader.Row) error {
		one := *r
		one.Roll, one.Old, one.New = slices.Clone(r.Roll), slices.Clone(r.Old), slices.Clone(r.New)
		one.Token, one.Prompt, one.Mask = slices.Clone(r.Token), slices.Clone(r.Prompt), slices.Clone(r.Mask)
		one.PromptOld, one.Advantage, one.KeptMass = slices.Clone(r.PromptOld), slices.Clone(r.Advantage), slices.Clone(r.KeptMass)
		rows = append(rows, one)
		return nil
	})
	return rows, about, err
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}

const plain = `{"logp_rollout":[-1,-2],"logp_old":[-1.5,-2.5]}`

// Each line is one fault, between two rows that count.
func TestDamage(t *testing.T) {
	for _, c := range []struct{ line, reason string }{
		{"", "a blank line"},
		{" \r", "a blank line"},
		{"{}", "an object without any of the keys of neutral"},
		{`{"other":1}`, "an object without any of the keys of neutral"},
		{`{"logp_rollout":[-1,`, "logp_rollout: the row is cut: the line ends inside it"},
		{`{"logp_rollout":[-1],"logp_old":[-1`, "logp_old: the row is cut: the line ends inside it"},
		{`{"logp_rollout":[-1],"logp_old":[-1,-2]}`, "logp_rollout has 1 entries for 2 tokens"},
		{`{"logp_rollout":[-1],"mask":[1,1]}`, "mask has 2 entries for 1 tokens"},
		{`{"logp_rollout":["x"]}`, `logp_rollout: the text "x" where a number belongs`},
		{`{"logp_rollout":[{}]}`, `logp_rollout: an object where a number belongs`},
		{`{"logp_rollout":[-1-]}`, `logp_rollout: "-1-" where a value belongs`},
		{`{"logp_rollout":[-1],"token_ids":[1.5]}`, "token_ids: entry 0 is 1.5, and no whole number"},
		{`{"logp_rollout":[-1]} x`, "something stands behind the row"},
		{`{"logp_rollout" [-1]}`, `'[' where ':' belongs`},
		{`{"logp_rollout":[-1]"logp_old":[-1]}`, `'"' where ',' belongs`},
		{`[1]`, `'[' where '{' belongs`},
		{`{"x":` + strings.Repeat("[", 70) + `}`, "more than 64 levels deep"},
		{`{"env":"\q","logp_rollout":[-1]}`, `env: 'q' behind a backslash`},
	} {
		rows, about, err := readText(plain+"\n"+c.line+"\n"+plain+"\n", "")
		if err != nil || len(rows) != 2 || about.Rows != 2 || about.Used != 2 || about.Tokens != 4 {
			t.Errorf("%s: %d rows, %+v, %v", c.line, len(rows), about, err)
		}
		if about.Damaged != 1 || about.Damage[0].Reason != c.reason || about.Damage[0].Line != 2 {
			t.Errorf("%s: %+v, want %q in line 2", c.line, about.Damage, c.reason)
		}
	}
}

// A fault is named by the byte where it was found.
func TestDamageIsPlaced(t *testing.T) {
	_, about, _ := readText(plain+"\n"+`{"logp_rollout":[-1,?]}`+"\n", "")
	want := reader.Damage{Line: 2, Byte: int64(len(plain)) + 1 + 20, Reason: `logp_rollout: "" where a value belongs`}
	if len(about.Damage) != 1 || about.Damage[0] != want {
		t.Errorf("%+v, want %+v", about.Damage, want)
	}
}

// Numbers are read to the last bit, and what is no number is a value all the same.
func TestValues(t *testing.T) {
	rows, about, err := readText(`{"logp_rollout":[NaN,Infinity,-Infinity,null,"nan","-inf",-0.1,1e-320,-123456789012345678,-0],"logp_old":null,`+
		`"env":"a\u00e9\ud83d\ude00\n","prompt_ids":[7],"prompt_logp_old":[-0.25],"reward":0.5,"kept_mass":[1,1,1,1,1,1,1,1,1,1]}`, "")
	if err != nil || len(rows) != 1 || about.Damaged != 0 {
		t.Fatalf("%v %+v", err, about)
	}
	nan, inf := math.NaN(), math.Inf(1)
	if want := []float64{nan, inf, -inf, nan, nan, -inf, -0.1, 1e-320, -123456789012345678, 0}; !same(rows[0].Roll, want) {
		t.Errorf("%v, want %v", rows[0].Roll, want)
	}
	r := rows[0]
	if r.Old != nil || r.Advantage != nil || r.Token != nil || r.New != nil {
		t.Errorf("columns that were not recorded: %+v", r)
	}
	if r.Env != "aé😀\n" || r.Reward != 0.5 || !math.IsNaN(r.Temperature) || r.Group != reader.Unknown || !same(r.PromptOld, []float64{-0.25}) {
		t.Errorf("%+v", r)
	}
	if want := []string{"token_ids", "logp_old", "logp_new", "advantage", "group", "version", "temperature", "top_p", "routes"}; !slices.Equal(about.Missing, want) {
		t.Errorf("missing %q, want %q", about.Missing, want)
	}
}

// A column of nothing but null was not recorded.
func TestNullColumnIsAbsent(t *testing.T) {
	rows, _, _ := readText(`{"logp_rollout":[-1,-2],"logp_old":[null,null],"logp_new":[-3,null]}`, "")
	if len(rows) != 1 || rows[0].Old != nil || !same(rows[0].New, []float64{-3, math.NaN()}) {
		t.Errorf("%+v", rows)
	}
}

// Every format by a row of its own, wrapped or not.
func TestFormats(t *testing.T) {
	const nemo = `{"content":[["p","r"]],"rewards":[1.0],"input_lengths":[4],"token_ids":[[5,6,7,8,0]],"token_loss_mask":[[0,1,0,1,0]],` +
		`"sample_loss_mask":[1.0],"advantages":[[2,2,2,2,2]],"generation_logprobs":[[0,-1,0,-3,0]],"prev_logprobs":[[0,-1.5,-9,-2,0]],"idx":3}`
	const prime = `{"schema_version":1,"step":4,"export_sequence_idx":0,"env_name":"math","token_ids":[5,6,7],"loss_mask":[false,true,true],` +
		`"inference_logprobs":[0,-1,-3],"trainer_logprobs":[-9,-1.5,-2],"rl_weights":[1,0,null],"ref_kl_weights":[null,null,null]}`
	for _, c := range []struct {
		name, text  string
		roll, old   []float64
		mask        []bool
		prompt, env string
	}{
		{"nemo", nemo, []float64{-1, 0, -3}, []float64{-1.5, -9, -2}, []bool{true, false, true}, "[5]", ""},
		{"nemo", strings.NewReplacer("[[", "[", "]]", "]", "[1.0]", "1.0", "[4]", "4").Replace(nemo), []float64{-1, 0, -3}, []float64{-1.5, -9, -2}, []bool{true, false, true}, "[5]", ""},
		{"nemo", strings.Replace(nemo, `"sample_loss_mask":[1.0]`, `"sample_loss_mask":[0.0]`, 1), nil, nil, nil, "[]", ""},
		{"prime", prime, []float64{-3}, []float64{-2}, []bool{true}, "[5 6]", "math"},
		{"prime", strings.Replace(prime, `"ref_kl_weights":[null,null`, `"ref_kl_weights":[null,0.5`, 1), []float64{-1, -3}, []float64{-1.5, -2}, []bool{true, true}, "[5]", "math"},
		{"driftlab", `{"run":"r","step":1,"sample":0,"prompt_ids":[1,2],"token_ids":[3],"mask":[true],"logp_rollout":[-1],"logp_old":[-2],"logp_new":null,"routes_rollout":[[[0,1]]]}`,
			[]float64{-1}, []float64{-2}, []bool{true}, "[1 2]", ""},
		{"neutral", `{"logp_rollout":[-1,-3],"logp_new":[-2,-4],"mask":[0,1]}`, []float64{-1, -3}, []float64{-2, -4}, []bool{false, true}, "[]", ""},
		{"verl", `{"input":"a","output":"b","gts":"1","score":1,"step":5}`, nil, nil, nil, "[]", ""},
		{"areal", `{"task_id":1,"head_version":-1,"tail_version":4,"reward":1,"prompt":"a","completion":"b"}`, nil, nil, nil, "[]", ""},
		{"roll", `{"global_step":[3],"responses":["b"],"scores":[1.0],"domain":["math"]}`, nil, nil, nil, "[]", "math"},
		{"torchtitan", torchtitanLine, []float64{-1, -3}, nil, []bool{true, true}, "[5]", ""},
		{"torchtitan", strings.Replace(torchtitanLine, "false", "true", 1), []float64{-1, -3}, nil, []bool{false, false}, "[5]", ""},
		{"open-instruct", openInstructLine, []float64{-1, -3}, nil, []bool{true, true}, "[5 6]", "math"},
		{"tinker", tinkerLine, []float64{-1, -3}, nil, []bool{true, true}, "[5]", "train"},
		{"tinker", strings.Replace(tinkerLine, `"split":"train"`, `"split":"test"`, 1), []float64{-1, -3}, nil, []bool{false, false}, "[5]", "test"},
		{"tinker-summary", tinkerSummaryLine, nil, nil, nil, "[]", "train"},
	} {
		rows, about, err := readText(c.text, "")
		if err != nil || about.Format != c.name || len(rows) != 1 || about.Damaged > 0 {
			t.Errorf("%s: %v, %+v", c.name, err, about)
			continue
		}
		r := rows[0]
		if !same(r.Roll, c.roll) || !same(r.Old, c.old) || !slices.Equal(r.Mask, c.mask) || fmt.Sprint(r.Prompt) != c.prompt || r.Env != c.env {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// ROLL has a row of columns, AReaL an unknown span where prompts are marked.
func TestTextFormats(t *testing.T) {
	rows, about, err := readText(`{"global_step":[3,3],"responses":["b","c"],"scores":[1.0,0.0],"prompt":["p","q"]}`, "")
	if err != nil || len(rows) != 2 || about.Step != 3 || rows[1].Text != "c" || rows[1].PromptText != "q" || rows[1].Reward != 0 {
		t.Errorf("%v %+v %+v", err, about, rows)
	}
	rows, _, err = readText(`{"task_id":1,"head_version":-1,"tail_version":4,"reward":1,"prompt":"a","completion":"b"}`, "")
	if err != nil || rows[0].Head != reader.Unknown || rows[0].Tail != 4 {
		t.Errorf("%v %+v", err, rows)
	}
}

// prime-rl's derived columns are recomputed, and a step without STABLE is said to be incomplete.
func TestPrimeChecksItself(t *testing.T) {
	const row = `{"schema_version":1,"loss_mask":[1],"inference_logprobs":[-1],"trainer_logprobs":[-1.5],"log_importance_ratio":[%s]}`
	for text, damaged := range map[string]int{"-0.5": 0, "-0.50005": 0, "-0.5002": 1, "null": 0} {
		rows, about, _ := readText(fmt.Sprintf(row, text), "")
		if len(rows) != 1 || about.Damaged != damaged {
			t.Errorf("%s: %d rows, %+v", text, len(rows), about.Damage)
		}
	}
	text := fmt.Sprintf(row, "-0.5")
	in := reader.Input{Name: "r", At: strings.NewReader(text), Size: int64(len(text)), InFolder: func(string) bool { return false }}
	about, err := reader.Read(in, "", func(*reader.Row) error { return nil })
	if err != nil || about.Damaged != 1 || !strings.Contains(about.Damage[0].Reason, "STABLE") {
		t.Errorf("%v %+v", err, about)
	}
}

// idx counts the rows of a NeMo-RL file: twice the same is a fault.
func TestDuplicateIndex(t *testing.T) {
	row := `{"token_loss_mask":[[1]],"generation_logprobs":[[-1]],"prev_logprobs":[[-1]],"idx":7}` + "\n"
	rows, about, err := readText(row+row, "")
	if err != nil || len(rows) != 2 || about.Damaged != 1 || about.Damage[0].Reason != "idx 7 comes a second time" {
		t.Errorf("%v %+v", err, about)
	}
}

// Rows of the formats whose only column is the rollout engine's, by hand from the structs that their sources name.
const (
	torchtitanLine = `{"is_validation": false, "group_id": 3, "rollout_id": 1, "status": "completed", "reward": 1.0, "reward_breakdown": {"math": 1.0}, "advantage": 0.5, "turns": [{"turn_id": 0, ` +
		`"min_policy_version": 7, "max_policy_version": 9, "prompt_messages": [{"role": "user", "content": "p"}], "completion_message": null, "env_messages": [], "env_rewards": {}, ` +
		`"prompt_token_ids": [5], "completion_token_ids": [7, 8], "completion_logprobs": [-1.0, -3.0]}]}`
	openInstructLine = `{"step": 4, "sample_idx": 2, "prompt_idx": 1, "prompt_tokens": [5, 6], "response_tokens": [7, 8], "reward": 10.0, "advantage": 0.5, "finish_reason": "stop", "dataset": "math", ` +
		`"ground_truth": [9], "request_info": {"num_calls": 0, "timeouts": 0, "tool_errors": "", "tool_calleds": false, "tool_call_stats": [{"success": true}], "rollout_state": {}}, "logprobs": [-1.0, -3.0]}`
	tinkerLine = `{"kind": "sample", "scope": {"split":"train", "iteration": 4, "group_idx": 1, "traj_idx": 0}, "created_at": 1.5, "num_samples": 1, "seq_id": 17, "prompt_tokens": [5], "prompt_length": 1, ` +
		`"sampling_params": {"max_tokens": 64, "temperature": 0.7, "top_p": null, "top_k": -1, "seed": null}, "samples": [{"tokens": [7, 8], "logprobs": [-1.0, -3.0], "stop_reason": "stop"}], "status": "ok"}`
	tinkerSummaryLine = `{"schema_version": 1, "split": "train", "iteration": 4, "group_idx": 1, "traj_idx": 0, "tags": ["math"], "sampling_client_step": 3, "total_reward": 1.0, "final_reward": 1.0, ` +
		`"trajectory_metrics": {}, "steps": [{"step_idx": 0, "ob_len": 5, "ac_len": 2, "reward": 1.0, "episode_done": true, "metrics": {}, "logs": {}}], "final_ob_len": 0}`
)

// An object of a list has its own entries, and none where a key is missing or null.
func TestObjectsInRows(t *testing.T) {
	rows, about, err := readText(`{"is_validation":false,"group_id":3,"turns":[{"prompt_token_ids":[5],"completion_token_ids":[7,8],"completion_logprobs":[-1,-2],"max_policy_version":4},`+
		`{"completion_logprobs":[-3],"completion_logprobs":[-4,-5]},{"completion_token_ids":[9],"completion_logprobs":null,"x":{"completion_logprobs":[1]}},{}]}`+"\n"+
		`{"is_validation":false,"group_id":4,"turns":[{"completion_token_ids":[7],"completion_logprobs":[-1,-2]}]}`+"\n"+`{"is_validation":false,"group_id":5,"turns":[{"completion_logprobs":["x"]}]}`, "")
	if err != nil || len(rows) != 4 || about.Damaged != 2 || about.Damage[0].Reason != "turn 0: token_ids has 1 entries for 2 tokens" ||
		about.Damage[1].Reason != `turns: completion_logprobs: the text "x" where a number belongs` {
		t.Fatalf("%v, %d rows, %+v", err, len(rows), about)
	}
	if !same(rows[0].Roll, []float64{-1, -2}) || rows[0].Tail != 4 || rows[0].Head != reader.Unknown || !same(rows[1].Roll, []float64{-4, -5}) || rows[1].Token != nil || rows[1].Prompt != nil ||
		rows[1].Tail != reader.Unknown || rows[2].Roll != nil || len(rows[2].Mask) != 1 || len(rows[3].Mask) != 0 {
		t.Errorf("%+v", rows)
	}
}

// A response that called a tool says that it has the tool's tokens, too.
func TestOpenInstructTools(t *testing.T) {
	_, about, err := readText(strings.Replace(openInstructLine, `"tool_calleds": false`, `"tool_calleds": true`, 1), "")
	if err != nil || len(about.Notes) != 2 || !strings.Contains(about.Notes[1], "called a tool") {
		t.Errorf("%v %+v", err, about)
	}
}

// A file of another kind is refused by its keys, with the nearest format; --format overrules.
func TestUnknownKeys(t *testing.T) {
	_, _, err := readText(`{"schema_version":1,"loss_mask":[1],"logprobs":[-1]}`, "")
	var refused *reader.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "schema_version, loss_mask, logprobs are of no format that is known; the nearest is prime, without inference_logprobs or trainer_logprobs") {
		t.Errorf("%v", err)
	}
	if _, about, err := readText(`{"logp_rollout":[-1],"logp_old":[-1],"run":"","sample":0}`, "neutral"); err != nil || about.Format != "neutral" {
		t.Errorf("%v %+v", err, about)
	}
}

// Whatever the container, a cut stream gives the rows before the cut, and only a
// stream that ends with a row is without damage.
func TestCuts(t *testing.T) {
	text := []byte(strings.Repeat(plain+"\n", 3))
	var gz, zs bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write(text)
	z.Close()
	s := must.Get(zstd.NewWriter(&zs))(t)
	s.Write(text)
	s.Close()
	for name, whole := range map[string][]byte{"plain": text, "gzip": gz.Bytes(), "zstd": zs.Bytes()} {
		for n := range len(whole) + 1 {
			for _, pipe := range []bool{false, true} {
				in := reader.Input{Name: name, At: bytes.NewReader(whole[:n]), Size: int64(n)}
				if pipe {
					in = reader.Input{Name: name, Stream: bytes.NewReader(whole[:n])}
				}
				rows := 0
				about, err := reader.Read(in, "", func(r *reader.Row) error {
					if rows++; !same(r.Old, []float64{-1.5, -2.5}) {
						t.Errorf("%s, %d bytes: %v", name, n, r.Old)
					}
					return nil
				})
				least := 0
				if name == "plain" {
					least = (n + 1) / (len(plain) + 1)
				}
				if refused := (*reader.Refused)(nil); err != nil && !errors.As(err, &refused) {
					t.Fatalf("%s, %d bytes: %v", name, n, err)
				}
				if rows < least || n == len(whole) && rows != 3 {
					t.Errorf("%s, %d bytes: %d rows", name, n, rows)
				}
				clean := n == len(whole) || name == "plain" && n > 0 && (n+1)%(len(plain)+1) <= 1
				if err == nil && (about.Damaged == 0) != clean {
					t.Errorf("%s, %d of %d bytes, pipe %v: damage %+v", name, n, len(whole), pipe, about.Damage)
				}
			}
		}
	}
}

// shrinking is a file that has lost its end since its size was asked for.
func TestShrinkingFile(t *testing.T) {
	text := plain + "\n" + plain + "\n"
	in := reader.Input{Name: "x", At: strings.NewReader(text), Size: int64(len(text)) + 10}
	rows := 0
	about, err := reader.Read(in, "", func(*reader.Row) error { rows++; return nil })
	if err != nil || rows != 2 || about.Damaged != 1 || !strings.Contains(about.Damage[0].Reason, "shorter") {
		t.Errorf("%v, %d rows, %+v", err, rows, about)
	}
	// A file that grows is read as far as it was.
	in = reader.Input{Name: "x", At: strings.NewReader(text), Size: int64(len(plain)) + 1}
	if about, err = reader.Read(in, "", func(*reader.Row) error { return nil }); err != nil || about.Rows != 1 || about.Damaged != 0 {
		t.Errorf("%v %+v", err, about)
	}
}

// Rows longer than any buffer are read as others are.
func TestLongRows(t *testing.T) {
	n := 400_000
	numbers := strings.TrimSuffix(strings.Repeat("-0.12345678,", n), ",")
	text := `{"text":"` + strings.Repeat(`\"ab`, n) + `","logp_rollout":[` + numbers + `],"logp_old":[` + numbers + `]}`
	rows, about, err := readText(text+"\n"+plain, "")
	if err != nil || len(rows) != 2 || about.Damaged != 0 || about.Tokens != n+2 || rows[0].Old[n-1] != -0.12345678 {
		t.Errorf("%v %d rows, %d tokens, %+v", err, len(rows), about.Tokens, about.Damage)
	}
}

// The number of updates before the learner's weights is read where a line has it.
func TestLearnerVersion(t *testing.T) {
	for text, want := range map[string]int{`"learner_version":16,`: 16, "": 0} {
		rows, _, err := readText(`{`+text+`"logp_rollout":[-1],"logp_old":[-1],"run":"","step":2,"sample":0,"version":[12]}`, "")
		if err != nil || len(rows) != 1 || rows[0].Learner != want || rows[0].Head != 12 {
			t.Errorf("%q: %v %+v", text, err, rows)
		}
	}
}
