package reader

import (
	"fmt"
	"math"
)

// nemo is NeMo-RL's train_data_step{n}.jsonl. Sequences are full and padded on
// the right; value i of every column belongs to token i. All values but idx may be
// wrapped in lists of length 1.
//
// Source: NeMo-RL, nemo_rl/algorithms/grpo.py, log_batched_dict_as_jsonl.
var nemo = lineFormat{
	name: "nemo", marks: []string{"token_loss_mask"}, anyOf: []string{"generation_logprobs", "prev_logprobs"},
	keys: []key{
		{"token_ids", numbers}, {"token_loss_mask", numbers}, {"generation_logprobs", numbers}, {"prev_logprobs", numbers},
		{"advantages", numbers}, {"rewards", numbers}, {"filtered_rewards", numbers}, {"input_lengths", numbers}, {"sample_loss_mask", numbers},
		{"idx", numbers}, {"content", counted}, {"agent_ref", texts}, {"reference_policy_logprobs", numbers},
	},
	unique: []string{"idx"}, rows: nemoRow,
}

func nemoRow(o *record, row *Row, visit func() error) error {
	mask := o.column("token_loss_mask")
	long := len(mask)
	if x := o.scalar("input_lengths"); !math.IsNaN(x) {
		if x < 0 || x > float64(long) {
			return fmt.Errorf("input_lengths is %v of %d entries", x, long)
		}
		long = int(x)
	}
	row.Index, row.Reward = o.whole("idx"), o.scalar("rewards")
	row.Messages, row.Env = len(o.at("content").text), o.word("agent_ref")
	if o.scalar("sample_loss_mask") == 0 {
		mask = mask[:0] // the row is not trained, and may hold anything
		long = 0
	}
	full := fullRow{ref: "reference_policy_logprobs",
		mask: func(i int) bool { return mask[i] != 0 && mask[i] == mask[i] }, n: len(mask), long: long,
	}
	return full.fill(row, o, "token_ids", "generation_logprobs", "prev_logprobs", "advantages", visit)
}

// fullRow is a sequence whose columns hold the prompt, too: it is cut where the
// training begins.
type fullRow struct {
	mask func(i int) bool
	// n is the length of the columns, long that of the sequence without padding.
	n, long              int
	newIs                bool   // the learner's column is that of the training forward
	ref, entropy, masked string // keys of further columns, empty for none
}

// fill cuts the columns of these names into prompt and response, and visits the row.
func (w fullRow) fill(row *Row, o *record, ids, roll, old, advantage string, visit func() error) error {
	if w.n == 0 {
		return visit()
	}
	first := 0
	for first < w.long && !w.mask(first) {
		first++
	}
	further := func(name string) []float64 {
		if name == "" {
			return nil
		}
		return o.column(name)
	}
	for _, name := range []string{ids, roll, old, advantage, w.ref, w.entropy, w.masked} {
		if c := further(name); c != nil && len(c) != w.n {
			return fmt.Errorf("%s has %d entries, the mask %d", name, len(c), w.n)
		}
	}
	var err error
	if row.Prompt, row.Token, err = splitIDs(o.column(ids), first, w.long); err != nil {
		return err
	}
	row.PromptRoll, row.Roll = split(recorded(o.column(roll)), first, w.long)
	row.PromptOld, row.Old = split(recorded(o.column(old)), first, w.long)
	_, row.Advantage = split(o.column(advantage), first, w.long)
	_, row.Ref = split(recorded(further(w.ref)), first, w.long)
	_, row.Entropy = split(recorded(further(w.entropy)), first, w.long)
	_, masked := split(recorded(further(w.masked)), first, w.long)
	row.Masked = truths(masked)
	row.Mask = make([]bool, w.long-first)
	for i := range row.Mask {
		row.Mask[i] = w.mask(first + i)
	}
	if w.newIs {
		row.New = row.Old
	}
	return visit()
}

// split cuts a column into prompt and response.
func split(x []float64, first, long int) (prompt, response []float64) {
	if x == nil {
		return nil, nil
	}
	return x[:first], x[first:long]
}

// splitIDs is split for tokens.
func splitIDs(x []float64, first, long int) (prompt, response []int32, err error) {
	if x == nil {
		return nil, nil, nil
	}
	ids, err := int32s(x[:long])
	if err != nil {
		return nil, nil, err
	}
	return ids[:first:first], ids[first:], nil
}

// int32s are numbers as ids.
func int32s(x []float64) ([]int32, error) {
	if x == nil {
		return nil, nil
	}
	ids := make([]int32, len(x))
	for i, v := range x {
		if ids[i] = int32(v); float64(ids[i]) != v {
			return nil, fmt.Errorf("entry %d is %v, and no whole number", i, v)
		}
	}
	return ids, nil
}

// recorded is a column, nil if it holds nothing but null: nobody recorded it.
func recorded(x []float64) []float64 {
	for _, v := range x {
		if v == v {
			return x
		}
	}
	if len(x) > 0 {
		return nil
	}
	return x
}
