package reader

import (
	"fmt"
	"slices"
)

// The formats of text, without log-probs but for columns that somebody has added to verl's.
var (
	// verl is what trainer.rollout_data_dir receives: {step}.jsonl. Columns of log-probs and tokens
	// have the names of verl's tensors, or those of the neutral format.
	verl = lineFormat{
		name: "verl", marks: []string{"input", "output", "score", "step"}, rows: verlRow,
		keys: append(slices.Clone(neutralKeys), key{"input", texts}, key{"output", texts}), also: neutralNames,
	}
	// areal is {tail_version}/{task_id}.jsonl. Its own workflows mark prompts with
	// version -1, which makes head_version -1: then the span is unknown.
	areal = lineFormat{
		name: "areal", marks: []string{"head_version", "tail_version"}, rows: arealRow,
		keys: []key{{"head_version", numbers}, {"tail_version", numbers}, {"task_id", numbers}, {"reward", numbers}, {"sample_idx", numbers},
			{"prompt", texts}, {"completion", texts}},
	}
	// roll is ROLL's rollout_dump_data.step_{n}.jsonl: one line of columns.
	roll = lineFormat{
		name: "roll", marks: []string{"responses", "scores"}, rows: rollRows,
		keys: []key{{"responses", texts}, {"scores", numbers}, {"prompt", texts}, {"domain", texts}, {"global_step", numbers}},
	}
)

func verlRow(o *record, row *Row, visit func() error) error {
	row.PromptText, row.Text = o.word("input"), o.word("output")
	if slices.ContainsFunc(neutralColumns, func(name string) bool { return o.at(name).present }) {
		return neutralRow(o, row, visit)
	}
	row.Reward, row.Step, row.Acc, row.Env = o.scalar("score"), o.whole("step"), o.scalar("acc"), o.word("env")
	row.Finish = finish(o.word("finish_reason"), o.truncated())
	return visit()
}

func arealRow(o *record, row *Row, visit func() error) error {
	row.PromptText, row.Text, row.Reward = o.word("prompt"), o.word("completion"), o.scalar("reward")
	row.Group, row.Index = o.whole("task_id"), o.whole("sample_idx")
	if row.Tail = o.whole("tail_version"); row.Tail < 0 {
		row.Tail = Unknown
	}
	row.Step = row.Tail
	if row.Head = o.whole("head_version"); row.Head < 0 {
		row.Head = Unknown
	}
	return visit()
}

func rollRows(o *record, row *Row, visit func() error) error {
	text, score := o.at("responses").text, o.at("scores").number
	if len(text) != len(score) {
		return fmt.Errorf("%d responses and %d scores", len(text), len(score))
	}
	entry := func(name string, i int) string {
		if c := o.at(name); len(c.text) == len(text) {
			return c.text[i]
		}
		return ""
	}
	row.Step = o.whole("global_step")
	for i := range text {
		row.Text, row.Reward, row.PromptText, row.Env = text[i], score[i], entry("prompt", i), entry("domain", i)
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}
