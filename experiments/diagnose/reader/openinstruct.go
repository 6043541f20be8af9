package reader

// openInstruct is the {run}_rollouts_{shard}.jsonl that open-instruct's save_traces writes.
//
// Source: open-instruct, open_instruct/rl_utils.py, RolloutRecord, commit e6c3044aa.
var openInstruct = lineFormat{
	name: "open-instruct", marks: []string{"prompt_tokens", "response_tokens", "finish_reason"}, rows: openInstructRow,
	keys: []key{{"step", numbers}, {"sample_idx", numbers}, {"prompt_idx", numbers}, {"prompt_tokens", numbers}, {"response_tokens", numbers},
		{"reward", numbers}, {"advantage", numbers}, {"dataset", texts}, {"logprobs", numbers}, {"request_info", objects}, {"finish_reason", texts}},
	parts: map[string][]key{"request_info": {{"tool_calleds", numbers}}},
	notes: []string{generatorAlone},
}

func openInstructRow(o *record, row *Row, visit func() error) error {
	row.Step, row.Index, row.Group, row.Reward, row.Env = o.whole("step"), o.whole("sample_idx"), o.whole("prompt_idx"), o.scalar("reward"), o.word("dataset")
	row.Finish = finish(o.word("finish_reason"), nan)
	if err := row.completion(o.column("prompt_tokens"), o.column("response_tokens"), o.column("logprobs"), o.scalar("advantage"), true); err != nil {
		return err
	}
	if o.at("request_info").present && o.part("request_info", "tool_calleds").first(0) == 1 {
		row.note = "responses that called a tool have its tokens among their own: the records have no mask"
	}
	return visit()
}
