package reader_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

var exhaustive = flag.Bool("exhaustive", false, "200 healthy dumps of each format, as in nightly tests, in place of one")

// response is one of a healthy run: all of its columns are of prompt and response, and prompts and a tool's reply are not trained.
type response struct {
	group, prompt, step, version int
	reward, advantage            float64
	ids                          []int
	mask                         []bool
	roll, old                    []float64
}

func (x *response) length() int { return len(x.ids) - x.prompt }

// healthy are the responses of a step of a run whose engines differ by rounding: groups of equal size, a reward of 0 or 1 or a
// score, and the advantages of GRPO, Dr. GRPO or a leave-one-out baseline.
func healthy(r *rand.Rand, step, kind int) (list []*response) {
	size, sigma := 4<<(kind%3), 0.008+0.016*r.Float64() // mean |dp| stays below 0.005, as of bf16
	for group := range 48 / size {
		p := 0.2 + 0.6*r.Float64()
		var members []*response
		prompt := []int{11, 200 + r.IntN(1<<14), 300 + group, 4 + step}
		var rewards []float64
		for range size {
			x := &response{group: group, prompt: len(prompt), step: step, version: step - 1, ids: slices.Clone(prompt), mask: make([]bool, 4), roll: make([]float64, 4), old: []float64{-9, -1, -2, -3}}
			tool := kind%4 == 3 && r.IntN(2) == 0
			for i := range 20 + r.IntN(60) {
				q := 0.02 + 0.96*r.Float64()
				l := 1 / (1 + math.Exp(math.Log(1/q-1)+sigma*r.NormFloat64()))
				if r.Float64() > q {
					q, l = 1-q, 1-l
				}
				trained := !tool || i < 8 || i > 12
				x.ids, x.mask, x.old = append(x.ids, 500+r.IntN(1<<14)), append(x.mask, trained), append(x.old, float64(float32(math.Log(l))))
				x.roll = append(x.roll, map[bool]float64{true: float64(float32(math.Log(q)))}[trained]) // 0 where the engine did not sample
			}
			if x.reward = r.Float64(); kind%5 > 0 {
				x.reward = map[bool]float64{true: 1}[x.reward < p]
			}
			rewards, members = append(rewards, x.reward), append(members, x)
		}
		m := mean(size, func(i int) float64 { return rewards[i] })
		deviation := math.Sqrt(mean(size, func(i int) float64 { return (rewards[i] - m) * (rewards[i] - m) }))
		for _, x := range members {
			switch x.advantage = x.reward - m; kind % 7 {
			case 0, 1, 2, 3:
				x.advantage /= deviation + 1e-6
			case 4:
				x.advantage *= float64(size) / float64(size-1)
			}
		}
		list = append(list, members...)
	}
	return list
}

// columnOf is a value for each token from one on.
func columnOf[T any](x *response, from int, of func(i int) T) (list []T) {
	for i := from; i < len(x.ids); i++ {
		list = append(list, of(i))
	}
	return list
}

func (x *response) advantages(from int) []float64 {
	return columnOf(x, from, func(i int) float64 { return map[bool]float64{true: x.advantage}[x.mask[i]] })
}

// number is a number for each truth value.
func number(b bool) float64 { return map[bool]float64{true: 1}[b] }

func (x *response) masks(from int) []float64 {
	return columnOf(x, from, func(i int) float64 { return number(x.mask[i]) })
}

// lines is a file of an object for each response.
func lines(object func(i int, x *response) map[string]any) func(testing.TB, []*response) []byte {
	return func(t testing.TB, list []*response) []byte {
		var b bytes.Buffer
		for i, x := range list {
			must.Do(t, json.NewEncoder(&b).Encode(object(i, x)))
		}
		return b.Bytes()
	}
}

// padded is a column that is filled up with zeros to a length, in a list of its own.
func padded[T any](x []T, n int) [][]T { return [][]T{append(slices.Clone(x), make([]T, n-len(x))...)} }

func neutralObject(_ int, x *response) map[string]any {
	return map[string]any{"logp_rollout": x.roll[x.prompt:], "logp_old": x.old[x.prompt:], "token_ids": x.ids[x.prompt:], "prompt_ids": x.ids[:x.prompt],
		"mask": x.mask[x.prompt:], "advantage": x.advantages(x.prompt), "reward": x.reward, "group": x.group, "step": x.step, "version": x.version}
}

// storages are tensors of torch, with the bytes of each.
type storages map[string][]byte

func (s storages) floats(x []float64) any {
	var b []byte
	for _, v := range x {
		b = append(b, float32s(float32(v))...)
	}
	return s.add("FloatStorage", b, len(x))
}

func (s storages) ids(x []int) any { return s.add("LongStorage", int64s(x...), len(x)) }

func (s storages) add(kind string, b []byte, n int) any {
	key := fmt.Sprint(len(s))
	s[key] = b
	return tensor(kind, key, n)
}

// torchDump is a file of samples, or of columns of a rank.
func torchDump(root func(s storages, list []*response) any) func(testing.TB, []*response) []byte {
	return func(t testing.TB, list []*response) []byte {
		s := storages{}
		return torchFile(t, root(s, list), s)
	}
}

// skyrlDump is a batch that is padded on the left.
func skyrlDump(_ testing.TB, list []*response) []byte {
	wide, width := 0, 0
	for _, x := range list {
		wide, width = max(wide, len(x.ids)), max(width, x.length())
	}
	wide = max(wide, width+list[0].prompt)
	var ids, attention []int
	columns := map[string][]float64{}
	for _, x := range list {
		ids, attention = append(append(ids, make([]int, wide-len(x.ids))...), x.ids...), append(attention, make([]int, wide-len(x.ids))...)
		for range x.ids {
			attention = append(attention, 1)
		}
		for name, c := range map[string][]float64{"response_mask": columnOf(x, x.prompt, func(int) float64 { return 1 }), "loss_mask": x.masks(x.prompt),
			"rollout_logprobs": x.roll[x.prompt:], "action_log_probs": x.old[x.prompt:], "advantages": x.advantages(x.prompt)} {
			columns[name] = append(append(columns[name], make([]float64, width-len(c))...), c...)
		}
	}
	numpy := func(kind string, data []byte, width int) pairs {
		return pairs{"format", "numpy", "data", data, "shape", raw("(" + instructions(len(list)) + instructions(width) + "t"), "dtype", kind}
	}
	batch := pairs{"sequences", numpy("int64", int64s(ids...), wide), "attention_mask", numpy("int64", int64s(attention...), wide)}
	for _, name := range []string{"response_mask", "loss_mask", "rollout_logprobs", "action_log_probs", "advantages"} {
		var b []byte
		for _, v := range columns[name] {
			b = append(b, float32s(float32(v))...)
		}
		batch = append(batch, name, numpy("float32", b, width))
	}
	var bounds []any
	for from := 0; from < len(list); {
		to := from
		for to < len(list) && list[to].group == list[from].group {
			to++
		}
		bounds = append(bounds, raw(instructions(from)+instructions(to)+"\x86"))
		from = to
	}
	state := pairs{"batch_dict", batch, "batch_size", len(list), "device", nil, "metadata", pairs{"global_step", list[0].step, "policy_prompt_boundaries", bounds}}
	return []byte(pickled(call{"skyrl.train.training_batch _rebuild_tensor_batch", "cskyrl.train.training_batch\nTrainingInputBatch\n" + instructions(state) + "\x86"}))
}

// packedBatches are micro batches of eight sequences.
func packedBatches(_ testing.TB, responses []*response) []byte {
	var batches []any
	for part := range slices.Chunk(responses, 8) {
		columns := make([][]any, 9)
		for _, x := range part {
			columns[5], columns[8] = append(columns[5], len(x.ids)), append(columns[8], len(x.ids))
			for i, id := range x.ids {
				for k, v := range []any{id, x.mask[i], x.advantage, x.roll[i], i, nil, 1.0, "math"} {
					if v != nil {
						columns[k] = append(columns[k], v)
					}
				}
			}
		}
		batches = append(batches, list(columns...))
	}
	return msgpack(batches)
}

// trlDump has texts and rewards.
func trlDump(t testing.TB, list []*response) []byte {
	type row struct {
		Step       int64   `parquet:"step"`
		Prompt     string  `parquet:"prompt,dict,snappy"`
		Completion string  `parquet:"completion,snappy"`
		Reward     float64 `parquet:"accuracy_reward"`
		Advantage  float64 `parquet:"advantage"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	for _, x := range list {
		must.Get(w.Write([]row{{int64(x.step), fmt.Sprint(x.ids[:x.prompt]), fmt.Sprint(x.ids[x.prompt:]), x.reward, x.advantage}}))(t)
	}
	must.Do(t, w.Close())
	return b.Bytes()
}

// formats are those that the reader knows, as their frameworks write them; both says that a file has the log-probs of both engines.
var formats = []struct {
	name, file string // the file's name has the step
	both       bool
	write      func(t testing.TB, list []*response) []byte
}{
	{"neutral", "step_%d.jsonl", true, lines(neutralObject)},
	{"neutral", "list_%d.json", true, func(t testing.TB, list []*response) []byte {
		return []byte("[" + strings.ReplaceAll(strings.TrimSpace(string(lines(neutralObject)(t, list))), "\n", ",") + "]")
	}},
	{"driftlab", "step_%d.jsonl", true, lines(func(i int, x *response) map[string]any {
		o := neutralObject(i, x)
		o["run"], o["sample"], o["version"] = "r", i, columnOf(x, x.prompt, func(int) int { return x.version })
		return o
	})},
	{"nemo", "train_data_step%d.jsonl", true, func(t testing.TB, list []*response) []byte {
		longest := 0
		for _, x := range list {
			longest = max(longest, len(x.ids))
		}
		return lines(func(i int, x *response) map[string]any {
			return map[string]any{"idx": i, "content": [][]string{{"p", "r"}}, "rewards": []float64{x.reward}, "input_lengths": []int{len(x.ids)}, "sample_loss_mask": []float64{1}, "token_ids": padded(x.ids, longest),
				"token_loss_mask": padded(x.masks(0), longest), "advantages": padded(x.advantages(0), longest), "generation_logprobs": padded(x.roll, longest), "prev_logprobs": padded(x.old, longest)}
		})(t, list)
	}},
	{"prime", "step_%d/rank_0.jsonl", true, lines(func(i int, x *response) map[string]any {
		return map[string]any{"schema_version": 1, "step": x.step, "rank": 0, "micro_step": 0, "micro_sequence_idx": i, "export_sequence_idx": i, "env_name": "math", "token_ids": x.ids, "loss_mask": x.mask,
			"advantages": x.advantages(0), "inference_logprobs": x.roll, "trainer_logprobs": x.old, "log_importance_ratio": columnOf(x, 0, func(i int) float64 { return x.old[i] - x.roll[i] })}
	})},
	{"prime-transport", "step_%d/rank_0.bin", false, packedBatches},
	{"skyrl", "global_step_%d_training_input.pkl", true, skyrlDump},
	{"slime", "train_data/%d.pt", true, torchDump(func(s storages, list []*response) any {
		var samples, rewards []any
		for i, x := range list {
			samples = append(samples, pairs{"tokens", s.ids(x.ids), "response_lengths", x.length(), "total_lengths", len(x.ids), "loss_masks", s.floats(x.masks(x.prompt)), "rollout_log_probs", s.floats(x.roll[x.prompt:]),
				"log_probs", s.floats(x.old[x.prompt:]), "advantages", s.floats(x.advantages(x.prompt)), "rewards", x.advantage, "truncated", 0, "sample_index", i, "rollout_position", i, "group_index", x.group})
			rewards = append(rewards, x.reward)
		}
		return pairs{"format_version", 2, "rollout_id", list[0].step, "rank", 0, "samples", samples, "raw_reward", rewards}
	})},
	{"miles", "train_data/%d_0.pt", true, torchDump(func(s storages, list []*response) any {
		names := []string{"tokens", "response_lengths", "total_lengths", "loss_masks", "rollout_log_probs", "log_probs", "advantages", "sample_indices"}
		columns := make([][]any, len(names))
		for i, x := range list {
			for k, v := range []any{s.ids(x.ids), x.length(), len(x.ids), s.floats(x.masks(x.prompt)), s.floats(x.roll[x.prompt:]), s.floats(x.old[x.prompt:]), s.floats(x.advantages(x.prompt)), i} {
				columns[k] = append(columns[k], v)
			}
		}
		var data pairs
		for k, name := range names {
			data = append(data, name, columns[k])
		}
		return pairs{"rollout_id", list[0].step, "rank", 0, "cp_rank", 0, "cp_size", 1, "rollout_data", data}
	})},
	{"miles", "policy_loss_debug/rank_0_call_%d.pt", true, torchDump(func(s storages, list []*response) any {
		var samples []any
		for i, x := range list {
			samples = append(samples, pairs{"index", i, "response_length", x.length(), "train_log_probs", s.floats(x.old[x.prompt:]), "old_log_probs", s.floats(x.old[x.prompt:]), "rollout_log_probs", s.floats(x.roll[x.prompt:]),
				"advantages", s.floats(x.advantages(x.prompt)), "local_loss_mask", s.floats(x.masks(x.prompt))})
		}
		return pairs{"rank", 0, "call", list[0].step, "samples", samples}
	})},
	{"verl", "%d.jsonl", true, lines(func(_ int, x *response) map[string]any {
		return map[string]any{"input": fmt.Sprint(x.ids[:x.prompt]), "output": fmt.Sprint(x.ids[x.prompt:]), "gts": "g", "score": x.reward, "acc": x.reward > 0.5, "step": x.step, "response_ids": x.ids[x.prompt:],
			"response_mask": x.masks(x.prompt), "rollout_log_probs": x.roll[x.prompt:], "old_log_probs": x.old[x.prompt:], "advantages": x.advantage}
	})},
	{"verl", "%d.jsonl", false, lines(func(_ int, x *response) map[string]any {
		return map[string]any{"input": fmt.Sprint(x.ids[:x.prompt]), "output": fmt.Sprint(x.ids[x.prompt:]), "gts": "g", "score": x.reward, "step": x.step}
	})},
	{"trl", "completions_%05d.parquet", false, trlDump},
	{"areal", "%d/task.jsonl", false, lines(func(i int, x *response) map[string]any {
		return map[string]any{"task_id": x.group, "sample_idx": i, "seqlen": len(x.ids), "prompt_len": x.prompt, "head_version": x.step, "tail_version": x.step, "reward": x.reward, "prompt": fmt.Sprint(x.ids[:x.prompt]), "completion": fmt.Sprint(x.ids[x.prompt:])}
	})},
	{"roll", "rollout_dump_data.step_%d.jsonl", false, func(t testing.TB, list []*response) []byte {
		var prompts, texts []string
		var scores []float64
		for _, x := range list {
			prompts, texts, scores = append(prompts, fmt.Sprint(x.ids[:x.prompt])), append(texts, fmt.Sprint(x.ids[x.prompt:])), append(scores, x.reward)
		}
		return must.Get(json.Marshal(map[string]any{"global_step": []int{list[0].step}, "prompt": prompts, "responses": texts, "scores": scores}))(t)
	}},
	{"torchtitan", "step_%d/rollout_samples.jsonl", false, lines(func(i int, x *response) map[string]any {
		return map[string]any{"is_validation": false, "group_id": x.group, "rollout_id": i, "status": "completed", "reward": x.reward, "advantage": x.advantage, "turns": []any{map[string]any{"turn_id": 0, "min_policy_version": x.version,
			"max_policy_version": x.version, "prompt_token_ids": x.ids[:x.prompt], "completion_token_ids": x.ids[x.prompt:], "completion_logprobs": x.roll[x.prompt:]}}}
	})},
	{"open-instruct", "run_rollouts_%d.jsonl", false, lines(func(i int, x *response) map[string]any {
		return map[string]any{"step": x.step, "sample_idx": i, "prompt_idx": x.group, "prompt_tokens": x.ids[:x.prompt], "response_tokens": x.ids[x.prompt:], "reward": x.reward, "advantage": x.advantage, "finish_reason": "stop",
			"dataset": "math", "logprobs": x.roll[x.prompt:], "request_info": map[string]any{"tool_calleds": false}}
	})},
	{"tinker", "sample_%d.jsonl", false, lines(func(i int, x *response) map[string]any {
		return map[string]any{"kind": "sample", "scope": map[string]any{"split": "train", "iteration": x.step, "group_idx": x.group, "traj_idx": i}, "num_samples": 1, "prompt_tokens": x.ids[:x.prompt],
			"sampling_params": map[string]any{"temperature": 1.0}, "samples": []any{map[string]any{"tokens": x.ids[x.prompt:], "logprobs": x.roll[x.prompt:], "stop_reason": "stop"}}}
	})},
	{"tinker-summary", "train_rollout_summaries_%d.jsonl", false, lines(func(i int, x *response) map[string]any {
		return map[string]any{"schema_version": 1, "split": "train", "iteration": x.step, "group_idx": x.group, "traj_idx": i, "sampling_client_step": x.version, "total_reward": x.reward}
	})},
}

// No healthy dump of any format, of one step or of three, is damaged, to be repaired or said to teach nothing, and at most 2 % have any warning.
func TestHealthyDumpsOfEachFormat(t *testing.T) {
	n := 1
	if *exhaustive {
		n = 200
	}
	for k, f := range formats {
		alarms := 0
		for seed := range n {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(k)))
			a := diagnose.New(diagnose.Options{})
			for step := range 1 + seed%2*2 {
				text := f.write(t, healthy(r, 1+step, seed+k))
				if err := a.Read(reader.Input{Name: fmt.Sprintf(f.file, 1+step), At: bytes.NewReader(text), Size: int64(len(text))}); err != nil {
					t.Fatal(f.name, err)
				}
			}
			report := a.Report()
			for _, in := range report.Inputs {
				if in.Format != f.name || in.Rows != 48 || in.Damaged > 0 || slices.ContainsFunc(in.Notes, func(s string) bool { return strings.HasPrefix(s, "not read") }) {
					t.Fatalf("%s, seed %d: %+v", f.name, seed, in)
				}
			}
			want := map[bool]diagnose.State{true: diagnose.Healthy, false: diagnose.Unusable}[f.both]
			alarmed := report.Verdict.State != want
			for _, x := range report.Findings {
				alarmed = alarmed || x.Level == diagnose.Fault || x.Level == diagnose.Warning
			}
			if alarmed {
				alarms++
				t.Logf("%s (%s), seed %d: %s: %s %s %+v", f.name, f.file, seed, report.Verdict.State, report.Verdict.LogProbs, report.Verdict.Learning, report.Findings[0])
			}
			if report.Verdict.State == diagnose.CannotLearn || report.Verdict.LearningState == diagnose.Fault {
				t.Errorf("%s, seed %d: %s", f.name, seed, report.Verdict.Learning)
			}
		}
		if alarms > n/50 {
			t.Errorf("%s (%s): %d of %d healthy dumps raise an alarm", f.name, f.file, alarms, n)
		}
	}
}
