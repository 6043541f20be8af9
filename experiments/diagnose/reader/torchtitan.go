package reader

import "fmt"

// torchtitan is the rollout_samples.jsonl of its RL experiment: a rollout a line, and a row for each of its turns. Tokens
// and log-probs are there with log_tensors and log_logprobs.
//
// Source: torchtitan, torchtitan/experiments/rl/rollout_recorder.py, commit b5bcd76c6.
var torchtitan = lineFormat{
	name: "torchtitan", marks: []string{"is_validation", "group_id", "turns"}, rows: torchtitanRows,
	keys: []key{{"is_validation", numbers}, {"group_id", numbers}, {"rollout_id", numbers}, {"reward", numbers}, {"advantage", numbers}, {"turns", objects}, {"status", texts}},
	parts: map[string][]key{"turns": {{"min_policy_version", numbers}, {"max_policy_version", numbers},
		{"prompt_token_ids", numbers}, {"completion_token_ids", numbers}, {"completion_logprobs", numbers}}},
	notes: []string{"the recorder keeps the rollouts with the highest and the lowest rewards of a group alone, unless its filter says more", generatorAlone},
}

// generatorAlone is said of formats whose only column is the rollout engine's.
const generatorAlone = "the log-probs are the rollout engine's alone"

func torchtitanRows(o *record, row *Row, visit func() error) error {
	validation := o.scalar("is_validation") == 1
	row.Group, row.Index, row.Reward = o.whole("group_id"), o.whole("rollout_id"), o.scalar("reward")
	row.Finish = finish(o.word("status"), nan)
	for i := range o.at("turns").objects {
		row.Head, row.Tail = o.part("turns", "min_policy_version").count(i), o.part("turns", "max_policy_version").count(i)
		err := row.completion(o.part("turns", "prompt_token_ids").numbers(i), o.part("turns", "completion_token_ids").numbers(i),
			o.part("turns", "completion_logprobs").numbers(i), o.scalar("advantage"), !validation)
		if err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// completion fills a response of which the rollout engine's column is known; NaN is no advantage. None of its tokens is
// trained where it was not sampled for training.
func (r *Row) completion(prompt, tokens, logps []float64, advantage float64, trained bool) (err error) {
	n := max(len(tokens), len(logps))
	if tokens != nil && len(tokens) != n || logps != nil && len(logps) != n {
		return fmt.Errorf("%d log-probs for %d tokens", len(logps), len(tokens))
	}
	if r.Prompt, err = int32s(prompt); err != nil {
		return fmt.Errorf("the prompt: %w", err)
	}
	if r.Token, err = int32s(tokens); err != nil {
		return err
	}
	r.Roll, r.Mask, r.Advantage = recorded(logps), make([]bool, n), nil
	for i := range r.Mask {
		r.Mask[i] = trained
	}
	if advantage == advantage {
		r.Advantage = make([]float64, n)
		for i := range r.Advantage {
			r.Advantage[i] = advantage
		}
	}
	return nil
}
