package reader

import (
	"fmt"
	"math"
	"slices"
)

// Neutral says how to write a dump that any trainer can write.
const Neutral = `One JSON object per response and line. All lists have an entry per response token.
  logp_rollout  log-probs of the sampled tokens in the rollout engine     one of the three
  logp_old      in the learner before the update                          log-probs must be
  logp_new      in the training forward; taken for logp_old without it    in every row
  token_ids, prompt_ids   tokens of response and prompt
  mask          true or 1 on tokens that are trained; without it all are
  advantage, version, kept_mass, prompt_logp_rollout, prompt_logp_old
  routes_rollout, routes_learner   [token][layer][rank], the experts of each
  reward, group, step, env, temperature, top_p     one value per response
Log-probs are natural logarithms. What was not recorded is left out or null, never zero.
NaN, Infinity and -Infinity may stand where a number belongs, as "nan", "inf" and "-inf" do.`

// neutralKeys are those of the neutral format, which are those of driftlab's dumps.
var neutralKeys = []key{
	{"logp_rollout", numbers}, {"logp_old", numbers}, {"logp_new", numbers}, {"token_ids", numbers}, {"prompt_ids", numbers}, {"mask", numbers},
	{"advantage", numbers}, {"version", numbers}, {"kept_mass", numbers}, {"prompt_logp_rollout", numbers}, {"prompt_logp_old", numbers},
	{"routes_rollout", numbers}, {"routes_learner", numbers}, {"reward", numbers}, {"group", numbers}, {"step", numbers}, {"env", texts}, {"temperature", numbers}, {"top_p", numbers},
}

var (
	// driftlab is the dump of this program: results/record, DumpLine.
	driftlab = lineFormat{name: "driftlab", marks: []string{"run", "sample", "logp_rollout", "logp_old"}, rows: neutralRow,
		keys: append(slices.Clone(neutralKeys), key{"sample", numbers}, key{"run", texts})}
	neutral = lineFormat{name: "neutral", anyOf: []string{"logp_rollout", "logp_old", "logp_new"}, rows: neutralRow, keys: neutralKeys}
)

func neutralRow(o *record, row *Row, visit func() error) error {
	roll, old, trained := o.column("logp_rollout"), o.column("logp_old"), o.column("logp_new")
	if old == nil {
		old = trained
	}
	n := max(len(roll), len(old))
	prompt := o.column("prompt_ids")
	for _, name := range []string{"logp_rollout", "logp_old", "logp_new", "token_ids", "mask", "advantage", "version", "kept_mass"} {
		if c := o.column(name); c != nil && len(c) != n {
			return fmt.Errorf("%s has %d entries for %d tokens", name, len(c), n)
		}
	}
	var err error
	for _, ids := range []struct {
		to   *[]int32
		name string
	}{{&row.Token, "token_ids"}, {&row.Prompt, "prompt_ids"}, {&row.Version, "version"}} {
		if *ids.to, err = int32s(o.column(ids.name)); err != nil {
			return fmt.Errorf("%s: %w", ids.name, err)
		}
	}
	row.Roll, row.Old, row.New = recorded(roll), recorded(old), recorded(trained)
	row.Advantage, row.KeptMass = o.column("advantage"), o.column("kept_mass")
	row.PromptRoll, row.PromptOld = o.column("prompt_logp_rollout"), o.column("prompt_logp_old")
	if prompt != nil && (row.PromptRoll != nil && len(row.PromptRoll) != len(prompt) || row.PromptOld != nil && len(row.PromptOld) != len(prompt)) {
		return fmt.Errorf("the log-probs of the prompt do not fit its %d tokens", len(prompt))
	}
	row.Mask = make([]bool, n)
	mask := o.column("mask")
	for i := range row.Mask {
		row.Mask[i] = mask == nil || mask[i] == 1
	}
	row.Step, row.Group, row.Env = o.whole("step"), o.whole("group"), o.word("env")
	row.Reward, row.Temperature, row.TopP = o.scalar("reward"), o.scalar("temperature"), o.scalar("top_p")
	if row.Flips, err = flips(o.at("routes_rollout"), o.at("routes_learner"), n); err != nil {
		return err
	}
	if len(row.Version) > 0 {
		row.Head, row.Tail = int(slices.Min(row.Version)), int(slices.Max(row.Version))
	}
	return visit()
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
