package reader

import "fmt"

var (
	// tinker is the capture/sample.jsonl of tinker-cookbook's instrumented client: a request a line, and a row for each
	// sequence that it got. Requests of another split than train are no training data.
	//
	// Source: tinker-cookbook, tinker_cookbook/capture/instrument.py and exporter.py, commit 9dfcc3a2c.
	tinker = lineFormat{
		name: "tinker", marks: []string{"kind", "scope", "num_samples"}, rows: tinkerRows,
		keys: []key{{"kind", texts}, {"scope", objects}, {"num_samples", numbers}, {"prompt_tokens", numbers}, {"samples", objects}, {"sampling_params", objects}},
		parts: map[string][]key{
			"scope":           {{"split", texts}, {"iteration", numbers}, {"group_idx", numbers}, {"traj_idx", numbers}},
			"samples":         {{"tokens", numbers}, {"logprobs", numbers}, {"stop_reason", texts}},
			"sampling_params": {{"temperature", numbers}, {"top_p", numbers}},
		},
		notes: []string{generatorAlone},
	}
	// tinkerSummary is its {split}_rollout_summaries.jsonl: a trajectory a line, with lengths and rewards, and neither
	// tokens nor log-probs.
	//
	// Source: tinker-cookbook, tinker_cookbook/rl/rollout_logging.py, commit 9dfcc3a2c.
	tinkerSummary = lineFormat{
		name: "tinker-summary", marks: []string{"schema_version", "split", "iteration", "traj_idx", "total_reward"}, rows: tinkerSummaryRow,
		keys: []key{{"schema_version", numbers}, {"split", texts}, {"iteration", numbers}, {"group_idx", numbers}, {"traj_idx", numbers},
			{"sampling_client_step", numbers}, {"total_reward", numbers}},
		notes: []string{"summaries have lengths and rewards, and no tokens"},
	}
)

func tinkerRows(o *record, row *Row, visit func() error) error {
	split := o.part("scope", "split").word(0)
	row.Step, row.Group, row.Index = o.part("scope", "iteration").count(0), o.part("scope", "group_idx").count(0), o.part("scope", "traj_idx").count(0)
	row.Temperature, row.TopP, row.Env = o.part("sampling_params", "temperature").first(0), o.part("sampling_params", "top_p").first(0), split
	for i := range o.at("samples").objects {
		err := row.completion(o.column("prompt_tokens"), o.part("samples", "tokens").numbers(i), o.part("samples", "logprobs").numbers(i), nan, split == "" || split == "train")
		row.Finish = finish(o.part("samples", "stop_reason").word(i), nan)
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

func tinkerSummaryRow(o *record, row *Row, visit func() error) error {
	row.Step, row.Group, row.Index, row.Reward, row.Env = o.whole("iteration"), o.whole("group_idx"), o.whole("traj_idx"), o.scalar("total_reward"), o.word("split")
	row.Head = o.whole("sampling_client_step")
	row.Tail = row.Head
	return visit()
}
