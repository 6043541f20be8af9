package reader

import (
	"fmt"
	"math"
	"slices"
)

// Neutral says how to write a dump that any trainer can write.
const Neutral = `One JSON object per response and line, or a JSON array of them. All lists have an entry per response token.
  logp_rollout  log-probs of the sampled tokens in the rollout engine     one of the three
  logp_old      in the learner before the update                          log-probs must be
  logp_new      in the training forward; taken for logp_old without it    in every row
  logp_old_recurrent   as logp_old, with linear attention computed token by token, as the rollout engine decodes
  logp_old_indexed     as logp_old, over the positions that the rollout engine's index of sparse attention chose
  token_ids, prompt_ids   tokens of response and prompt; where token_ids is longer, the response is its end
  mask          true or 1 on tokens that are trained; without it all are
  advantage, version, kept_mass   per token, or one number for all of them
  learner_version   updates behind logp_old, if a step makes several; without it step - 1
  prompt_logp_rollout, prompt_logp_old   per token of the prompt
  routes_rollout, routes_learner   [token][layer][rank], the experts of each
  logp_ref, entropy, is_masked   per token: the reference model's log-probs, the learner's entropy, what a correction has removed
  reward, score, acc, group, step, env, worker, temperature, top_p, lag, finish_reason     one value per response
The names that trainers use are read, too: rollout_log_probs, rollout_logprobs, generation_logprobs, response_logprobs;
old_log_probs, old_logprobs, prev_logprobs; train_log_probs, new_log_probs; response_ids, train_token_ids; response_mask,
loss_mask; advantages; global_step; data_source; ref_log_prob, base_action_log_probs, ref_logprobs; accuracy, is_correct; truncated.
A score without a reward is the reward.
Log-probs are natural logarithms. What was not recorded is left out or null, never zero.
NaN, Infinity and -Infinity may stand where a number belongs, as "nan", "inf" and "-inf" do.`

// neutralKeys are those of the neutral format, which are those of driftlab's dumps.
var neutralKeys = []key{
	{"logp_rollout", numbers}, {"logp_old", numbers}, {"logp_new", numbers}, {"token_ids", numbers}, {"prompt_ids", numbers}, {"mask", numbers},
	{"advantage", numbers}, {"version", numbers}, {"kept_mass", numbers}, {"prompt_logp_rollout", numbers}, {"prompt_logp_old", numbers},
	{"routes_rollout", numbers}, {"routes_learner", numbers}, {"reward", numbers}, {"group", numbers}, {"step", numbers}, {"env", texts}, {"temperature", numbers}, {"top_p", numbers},
	{"response_logprobs", numbers}, {"logp_old_recurrent", numbers}, {"logp_old_indexed", numbers}, {"learner_version", numbers},
	{"logp_ref", numbers}, {"entropy", numbers}, {"is_masked", numbers}, {"score", numbers}, {"acc", numbers}, {"lag", numbers}, {"finish_reason", texts}, {"truncated", numbers}, {"finished", numbers}, {"worker", texts},
}

// neutralNames are other names of neutral keys, in trainers' own tensors and in what people write from them.
// response_logprobs has a key of its own: it is the rollout engine's in verl's agent loop, where nothing else is.
var neutralNames = [][]string{
	{"logp_rollout", "rollout_log_probs", "rollout_logprobs", "rollout_logp", "generation_logprobs", "inference_logprobs", "sampling_logprobs", "vllm_logprobs", "sampling_per_token_logps"},
	{"logp_old", "old_log_probs", "old_logprobs", "old_logp", "prev_logprobs", "old_log_prob", "action_log_probs", "learner_logprobs", "old_per_token_logps"},
	{"logp_new", "new_log_probs", "new_logprobs", "train_log_probs", "trainer_logprobs", "per_token_logps"},
	{"token_ids", "response_ids", "response_token_ids", "train_token_ids", "completion_ids", "output_ids"},
	{"prompt_ids", "prompt_token_ids"},
	{"mask", "response_mask", "loss_mask", "action_mask", "completion_mask"},
	{"advantage", "advantages"}, {"version", "versions", "policy_version"},
	{"group", "group_index"}, {"step", "global_step"}, {"env", "data_source", "env_name"},
	{"logp_ref", "ref_log_prob", "ref_log_probs", "ref_logprobs", "ref_logprob", "ref_logp", "ref_per_token_logps", "base_action_log_probs", "reference_policy_logprobs", "reference_logprobs"},
	{"entropy", "entropies", "entropys"}, {"is_masked", "masked"}, {"acc", "accuracy", "is_correct", "correct"}, {"lag", "staleness", "off_policy_steps"},
	{"finish_reason", "stop_reason", "finish"}, {"truncated", "is_truncated"}, {"worker", "worker_id", "rank", "dp_rank"},
}

// neutralColumns are the keys one of which every row has.
var neutralColumns = []string{"logp_rollout", "logp_old", "logp_new", "response_logprobs"}

var (
	// driftlab is the dump of this program: results/record, DumpLine.
	driftlab = lineFormat{name: "driftlab", marks: []string{"run", "sample", "logp_rollout", "logp_old"}, rows: neutralRow,
		keys: append(slices.Clone(neutralKeys), key{"sample", numbers}, key{"run", texts}), also: neutralNames, unique: []string{"run", "step", "sample"}}
	neutral = lineFormat{name: "neutral", anyOf: neutralColumns, rows: neutralRow, keys: neutralKeys, also: neutralNames}
)

func neutralRow(o *record, row *Row, visit func() error) error {
	roll, old, trained := neutralLogps(o, row)
	n := max(len(roll), len(old))
	ids, prompt := o.column("token_ids"), o.column("prompt_ids")
	if len(ids) > n {
		if prompt == nil {
			prompt = ids[:len(ids)-n]
		}
		ids = ids[len(ids)-n:]
	}
	o.repeat(n, "advantage", "version", "kept_mass", "is_masked")
	mask := o.column("mask")
	for _, c := range []struct {
		name string
		have []float64
	}{{"logp_rollout", roll}, {"logp_old", old}, {"logp_new", trained}, {"logp_old_recurrent", o.column("logp_old_recurrent")}, {"logp_old_indexed", o.column("logp_old_indexed")}, {"token_ids", ids}, {"mask", mask},
		{"advantage", o.column("advantage")}, {"version", o.column("version")}, {"kept_mass", o.column("kept_mass")},
		{"logp_ref", o.column("logp_ref")}, {"entropy", o.column("entropy")}, {"is_masked", o.column("is_masked")}} {
		if c.have != nil && len(c.have) != n {
			return fmt.Errorf("%s has %d entries for %d tokens", o.keyOf(c.name), len(c.have), n)
		}
	}
	var err error
	for _, c := range []struct {
		to   *[]int32
		name string
		have []float64
	}{{&row.Token, "token_ids", ids}, {&row.Prompt, "prompt_ids", prompt}, {&row.Version, "version", o.column("version")}} {
		if *c.to, err = int32s(c.have); err != nil {
			return fmt.Errorf("%s: %w", o.keyOf(c.name), err)
		}
	}
	row.Roll, row.Old, row.New = recorded(roll), recorded(old), recorded(trained)
	row.Recurrent, row.Indexed = recorded(o.column("logp_old_recurrent")), recorded(o.column("logp_old_indexed"))
	row.Ref, row.Entropy, row.Masked = recorded(o.column("logp_ref")), recorded(o.column("entropy")), truths(recorded(o.column("is_masked")))
	row.Advantage, row.KeptMass = o.column("advantage"), o.column("kept_mass")
	row.PromptRoll, row.PromptOld = o.column("prompt_logp_rollout"), o.column("prompt_logp_old")
	if prompt != nil && (row.PromptRoll != nil && len(row.PromptRoll) != len(prompt) || row.PromptOld != nil && len(row.PromptOld) != len(prompt)) {
		return fmt.Errorf("the log-probs of the prompt do not fit its %d tokens", len(prompt))
	}
	row.Mask = make([]bool, n)
	for i := range row.Mask {
		row.Mask[i] = mask == nil || mask[i] == 1
	}
	row.Step, row.Group, row.Env = o.whole("step"), o.whole("group"), o.word("env")
	row.Learner = max(0, o.whole("learner_version"))
	row.Reward, row.Temperature, row.TopP = o.scalar("reward"), o.scalar("temperature"), o.scalar("top_p")
	if row.Score, row.Acc, row.Lag = o.scalar("score"), o.scalar("acc"), o.scalar("lag"); row.Reward != row.Reward {
		row.Reward, row.Score = row.Score, nan
	}
	row.Worker, row.Finish = o.word("worker"), finish(o.word("finish_reason"), o.truncated())
	if row.Flips, err = flips(o.at("routes_rollout"), o.at("routes_learner"), n); err != nil {
		return err
	}
	row.RouteRoll, row.RouteLearner = o.at("routes_rollout").routes(n), o.at("routes_learner").routes(n)
	if routes := max(len(row.RouteRoll), len(row.RouteLearner)); n > 0 {
		row.Routes = routes / n
	}
	if len(row.Version) > 0 {
		row.Head, row.Tail = int(slices.Min(row.Version)), int(slices.Max(row.Version))
	}
	return visit()
}

// neutralLogps are the three columns of log-probs.
func neutralLogps(o *record, row *Row) (roll, old, trained []float64) {
	roll, old, trained = o.column("logp_rollout"), o.column("logp_old"), o.column("logp_new")
	response := o.column("response_logprobs")
	switch {
	case response == nil:
	case roll == nil:
		roll = response
	case old == nil && trained == nil:
		old = response
		row.note = "response_logprobs in addition to " + o.keyOf("logp_rollout") + " are taken for the learner's"
	}
	if old == nil {
		old = trained
	}
	return roll, old, trained
}

// repeat makes columns of n entries of those keys that hold one number, and no list.
func (o *record) repeat(n int, names ...string) {
	for _, name := range names {
		c := o.at(name)
		if !c.present || c.width != 0 || len(c.number) != 1 {
			continue
		}
		x := c.number[0]
		c.number = c.number[:0]
		for range n {
			c.number = append(c.number, x)
		}
	}
}

// flips compares the routes of both engines over n tokens, nil unless both were recorded throughout.
func flips(roll, learner *cell, n int) ([]bool, error) {
	if !roll.present || !learner.present || len(roll.number) == 0 || len(learner.number) == 0 || slices.ContainsFunc(roll.number, math.IsNaN) || slices.ContainsFunc(learner.number, math.IsNaN) {
		return nil, nil
	}
	width := roll.width
	if width < 1 || learner.width != width || len(roll.number) != len(learner.number) || n == 0 || len(roll.number)%(n*width) != 0 {
		return nil, fmt.Errorf("routes_rollout and routes_learner have %d and %d entries, which are not as many layers and ranks for each of %d tokens", len(roll.number), len(learner.number), n)
	}
	list := make([]bool, len(roll.number)/width)
	for i := range list { // a set of experts has none twice
		other := learner.number[i*width : (i+1)*width]
		list[i] = slices.ContainsFunc(roll.number[i*width:(i+1)*width], func(e float64) bool { return !slices.Contains(other, e) })
	}
	return list, nil
}

// routes are a cell's experts, nil unless there are as many for each of n tokens, all of them recorded.
func (c *cell) routes(n int) []int32 {
	if !c.present || n == 0 || len(c.number) == 0 || len(c.number)%n != 0 {
		return nil
	}
	ids, err := int32s(c.number)
	if err != nil {
		return nil
	}
	return ids
}

// truths are numbers as truth values; what is not recorded is false.
func truths(x []float64) []bool {
	if x == nil {
		return nil
	}
	list := make([]bool, len(x))
	for i, v := range x {
		list[i] = v == v && v != 0
	}
	return list
}

// truncated is whether a response reached the cap, NaN where neither that nor its contrary is recorded.
func (o *record) truncated() float64 {
	if x := o.scalar("truncated"); x == x {
		return x
	}
	return 1 - o.scalar("finished")
}

// finish is why a response ended, in the words of the OpenAI interface, which most engines have; truncated is NaN where
// it is not recorded.
func finish(reason string, truncated float64) string {
	switch reason {
	case "length", "truncated", "max_tokens", "max_length", "max_new_tokens", "TRUNCATED":
		return "length"
	case "stop", "eos", "completed", "eos_token", "stop_sequence", "COMPLETED":
		return "stop"
	case "":
		switch {
		case truncated == 1:
			return "length"
		case truncated == 0:
			return "stop"
		}
	}
	return reason
}
