package reader

import (
	"cmp"
	_ "embed" // of the neutral format
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/precision/elementary"
)

// Format is a kind of dump. A new one is a row of formats: its keys, what tells it, and, where its columns are not laid out as one
// of the others', a function that hands its responses on.
type Format struct {
	// Name is what --format takes. Files are what its framework calls them, and Has says what they have.
	Name, Files, Has string
	// Marks are the keys that tell a file of lines, all of them, and one of AnyOf if there are any; a format without either is recognised by
	// its first bytes.
	marks, anyOf []string
	// keys are those that are read.
	keys []key
	// parts are what the objects of a key of objects hold, by that key.
	parts map[string][]key
	// unique are the keys whose values together a file has once.
	unique []string
	// rows hands the responses of an object of a line on.
	rows func(o *record, row *Row, visit func() error) error
	// notes are what a reader of the figures must know.
	notes []string
	// stable is a file that stands next to complete ones.
	stable string

	told  []string          // marks and anyOf
	place map[string]int    // of a key by its name
	index map[string]placed // of a key by each name that a file may have for it
}

// key is what a format reads under a name of the neutral format, or one of its own: what it may hold, and what files call it, the
// preferred name first.
type key struct {
	name  string
	kind  kind
	names []string
}

// placed is the place of a key among those of a format, and which of its names it is.
type placed struct{ place, rank int }

// keysOf are keys of a kind, as "name" or as "name=other,another" where files have other names for it.
func keysOf(kind kind, text string) (list []key) {
	for field := range strings.FieldsSeq(text) {
		name, others, named := strings.Cut(field, "=")
		if !named {
			others = name
		}
		list = append(list, key{name, kind, strings.Split(others, ",")})
	}
	return list
}

const (
	bothEngines    = "log-probs of both engines"
	rolloutAlone   = "log-probs of the rollout engine"
	noLogProbs     = "text and rewards"
	generatorAlone = "the log-probs are the rollout engine's alone" // a note
)

// neutralKeys are the keys of the neutral format and of driftlab's dumps, with the names that they have in trainers' own
// tensors and in what people write from them. response_logprobs has a key of its own: it is the rollout engine's in verl's agent
// loop, where nothing else is.
var neutralKeys = slices.Concat(keysOf(numbers, `
	logp_rollout=logp_rollout,rollout_log_probs,rollout_logprobs,rollout_logp,generation_logprobs,inference_logprobs,sampling_logprobs,vllm_logprobs,sampling_per_token_logps
	logp_old=logp_old,old_log_probs,old_logprobs,old_logp,prev_logprobs,old_log_prob,action_log_probs,learner_logprobs,old_per_token_logps
	logp_new=logp_new,new_log_probs,new_logprobs,train_log_probs,trainer_logprobs,per_token_logps
	response_logprobs logp_old_recurrent logp_old_indexed prompt_logp_rollout prompt_logp_old routes_rollout routes_learner
	token_ids=token_ids,response_ids,response_token_ids,train_token_ids,completion_ids,output_ids prompt_ids=prompt_ids,prompt_token_ids
	mask=mask,response_mask,loss_mask,action_mask,completion_mask advantage=advantage,advantages version=version,versions,policy_version kept_mass
	logp_ref=logp_ref,ref_log_prob,ref_log_probs,ref_logprobs,ref_logprob,ref_logp,ref_per_token_logps,base_action_log_probs,reference_policy_logprobs,reference_logprobs
	entropy=entropy,entropies,entropys is_masked=is_masked,masked
	reward score acc=acc,accuracy,is_correct,correct group=group,group_index step=step,global_step temperature top_p learner_version lag=lag,staleness,off_policy_steps
	truncated=truncated,is_truncated finished`),
	keysOf(texts, "env=env,data_source,env_name finish_reason=finish_reason,stop_reason,finish worker=worker,worker_id,rank,dp_rank"))

// neutralColumns are the keys one of which every row has.
var neutralColumns = []string{"logp_rollout", "logp_old", "logp_new", "response_logprobs"}

// sampleKeys are the keys of slime's and miles' samples.
var sampleKeys = keysOf(numbers, `token_ids=tokens length=response_lengths,response_length mask=loss_masks,loss_mask,local_loss_mask logp_rollout=rollout_log_probs logp_old=old_log_probs,log_probs
	logp_new=train_log_probs logp_ref=ref_log_probs entropy advantage=advantages index=sample_index,sample_indices,index group=group_index reward=reward,rewards finish_reason=status truncated version=weight_versions`)

// formats are tried in this order: those with more marks first.
var formats = []*Format{
	// Sequences are full and padded on the right; value i of every column belongs to token i. All values but idx may be wrapped in lists
	// of length 1. Source: NeMo-RL, nemo_rl/algorithms/grpo.py, log_batched_dict_as_jsonl.
	{Name: "nemo", Files: "NeMo-RL, train_data_step{n}.jsonl", Has: bothEngines, marks: []string{"mask"}, anyOf: []string{"logp_rollout", "logp_old"}, unique: []string{"index"}, rows: nemoRow,
		keys: slices.Concat(keysOf(numbers, `mask=token_loss_mask logp_rollout=generation_logprobs logp_old=prev_logprobs logp_ref=reference_policy_logprobs token_ids advantage=advantages
			reward=rewards filtered_rewards input_lengths sample_loss_mask index=idx`), keysOf(counted, "messages=content"), keysOf(texts, "env=agent_ref"))},
	// The training forward writes the trainer's column: it is taken for the old policy's, too, and then contains staleness.
	// Source: prime-rl, src/prime_rl/trainer/rl/token_export.py.
	{Name: "prime", Files: "prime-rl, token_exports/step_{s}/rank_{r}.jsonl", Has: bothEngines, marks: []string{"schema_version", "mask"}, anyOf: []string{"logp_rollout", "logp_old"}, rows: primeRow, stable: "STABLE",
		notes: []string{"trainer_logprobs are the training forward's, taken for the old policy's: the gap contains staleness"},
		keys: slices.Concat(keysOf(numbers, `schema_version step index=export_sequence_idx token_ids mask=loss_mask advantage=advantages logp_rollout=inference_logprobs logp_old=trainer_logprobs
			logp_ref=ref_logprobs entropy=entropy,entropies is_masked rl_weights ref_kl_weights mismatch_kl log_importance_ratio importance_ratio prob_delta`), keysOf(texts, "env=env_name worker=rank"))},
	// A rollout a line, and a row for each of its turns. Tokens and log-probs are there with log_tensors and log_logprobs.
	// Source: torchtitan, torchtitan/experiments/rl/rollout_recorder.py, commit b5bcd76c6.
	{Name: "torchtitan", Files: "rollout_samples.jsonl", Has: rolloutAlone, marks: []string{"is_validation", "group", "turns"}, rows: torchtitanRows,
		notes: []string{"the recorder keeps the rollouts with the highest and the lowest rewards of a group alone, unless its filter says more", generatorAlone},
		keys:  slices.Concat(keysOf(numbers, "is_validation group=group_id index=rollout_id reward advantage"), keysOf(objects, "turns"), keysOf(texts, "finish_reason=status")),
		parts: map[string][]key{"turns": keysOf(numbers, "min_policy_version max_policy_version prompt_token_ids completion_token_ids completion_logprobs")}},
	// Source: open-instruct, open_instruct/rl_utils.py, RolloutRecord, written by save_traces, commit e6c3044aa.
	{Name: "open-instruct", Files: "{run}_rollouts_{shard}.jsonl", Has: rolloutAlone, marks: []string{"prompt_ids", "token_ids", "finish_reason"}, rows: openInstructRow, notes: []string{generatorAlone},
		keys: slices.Concat(keysOf(numbers, "step index=sample_idx group=prompt_idx prompt_ids=prompt_tokens token_ids=response_tokens reward advantage logp_rollout=logprobs"),
			keysOf(texts, "env=dataset finish_reason"), keysOf(objects, "request_info")),
		parts: map[string][]key{"request_info": keysOf(numbers, "tool_calleds")}},
	// A request of the instrumented client a line, and a row for each sequence that it got. Requests of another split than train are no
	// training data. Source: tinker-cookbook, tinker_cookbook/capture/instrument.py and exporter.py, commit 9dfcc3a2c.
	{Name: "tinker", Files: "tinker-cookbook, capture/sample.jsonl", Has: rolloutAlone, marks: []string{"kind", "scope", "num_samples"}, rows: tinkerRows, notes: []string{generatorAlone},
		keys: slices.Concat(keysOf(texts, "kind"), keysOf(objects, "scope samples sampling_params"), keysOf(numbers, "num_samples prompt_tokens")),
		parts: map[string][]key{"scope": slices.Concat(keysOf(texts, "split"), keysOf(numbers, "iteration group_idx traj_idx")),
			"samples": slices.Concat(keysOf(numbers, "tokens logprobs"), keysOf(texts, "stop_reason")), "sampling_params": keysOf(numbers, "temperature top_p")}},
	// A trajectory a line. Source: tinker-cookbook, tinker_cookbook/rl/rollout_logging.py, commit 9dfcc3a2c.
	{Name: "tinker-summary", Files: "tinker-cookbook, {split}_rollout_summaries.jsonl", Has: "lengths and rewards", marks: []string{"schema_version", "env", "step", "index", "reward"}, rows: responseRow,
		notes: []string{"summaries have lengths and rewards, and no tokens"},
		keys:  slices.Concat(keysOf(numbers, "schema_version step=iteration group=group_idx index=traj_idx head=sampling_client_step reward=total_reward"), keysOf(texts, "env=split"))},
	// Source: results/record, DumpLine.
	{Name: "driftlab", Files: "the dumps of this program", Has: bothEngines, marks: []string{"run", "sample", "logp_rollout", "logp_old"}, unique: []string{"run", "step", "sample"}, rows: responseRow,
		keys: slices.Concat(neutralKeys, keysOf(numbers, "sample"), keysOf(texts, "run"))},
	// What trainer.rollout_data_dir receives. Columns of log-probs and tokens that are added have the names of verl's tensors, or
	// those of the neutral format.
	{Name: "verl", Files: "{step}.jsonl", Has: noLogProbs + ", and columns of log-probs that were added", marks: []string{"input", "text", "score", "step"}, rows: responseRow,
		keys: slices.Concat(neutralKeys, keysOf(texts, "input text=output"))},
	{Name: "neutral", Files: "what anybody can write", Has: bothEngines, anyOf: neutralColumns, keys: neutralKeys, rows: responseRow},
	// AReaL's own workflows mark prompts with version -1, which makes head_version -1: then the span is unknown.
	{Name: "areal", Files: "AReaL, {tail_version}/{task_id}.jsonl", Has: noLogProbs, marks: []string{"head", "tail"}, rows: arealRow,
		keys: slices.Concat(keysOf(numbers, "head=head_version tail=tail_version group=task_id index=sample_idx reward"), keysOf(texts, "input=prompt text=completion"))},
	// One line of columns.
	{Name: "roll", Files: "ROLL, rollout_dump_data.step_{n}.jsonl", Has: noLogProbs, marks: []string{"text", "scores"}, rows: rollRows,
		keys: slices.Concat(keysOf(texts, "text=responses input=prompt env=domain"), keysOf(numbers, "scores step=global_step"))},
	{Name: "skyrl", Files: "SkyRL, global_step_{n}_training_input.pkl", Has: bothEngines,
		keys: keysOf(numbers, "token_ids=sequences attention_mask response_mask mask=loss_mask logp_rollout=rollout_logprobs logp_old=action_log_probs logp_ref=base_action_log_probs advantage=advantages")},
	{Name: "slime", Files: "train_data/{id}.pt, rollout_data/{id}.pt", Has: bothEngines, keys: sampleKeys},
	{Name: "miles", Files: "train_data/{id}_{rank}.pt, policy_loss_debug/rank_{r}_call_{c}.pt", Has: bothEngines, keys: sampleKeys},
	{Name: "trl", Files: "TRL, completions_{step}.parquet", Has: noLogProbs},
	{Name: "prime-transport", Files: "prime-rl, rollouts/step_{s}/rank_{r}.bin", Has: rolloutAlone,
		keys: keysOf(numbers, "token_ids=input_ids mask=loss_mask advantage=advantages logp_rollout=inference_logprobs logp_ref=ref_logprobs temperatures rl_weights ref_kl_weights")},
}

//go:embed neutral.txt
var neutralText string

// Neutral says how to write a dump that any trainer can write.
var Neutral = strings.TrimSpace(neutralText)

func init() {
	for _, f := range formats {
		f.told, f.place, f.index = slices.Concat(f.marks, f.anyOf), map[string]int{}, map[string]placed{}
		for i, k := range f.keys {
			f.place[k.name] = i
			for rank, name := range k.names {
				f.index[name] = placed{i, rank}
			}
		}
	}
}

// Formats are all formats, and the names that Read takes to force one.
func Formats() (list []Format, names []string) {
	for _, f := range formats {
		list, names = append(list, *f), append(names, f.Name)
	}
	return list, names
}

// FormatTable has a line for each format: its name, what its framework calls its files, and what they have.
func FormatTable() string {
	var lines []string
	for _, f := range formats {
		lines = append(lines, fmt.Sprintf("  %-17s%s: %s", f.Name, f.Files, f.Has))
	}
	return strings.Join(lines, "\n")
}

func formatOf(name string) *Format {
	return formats[slices.IndexFunc(formats, func(f *Format) bool { return f.Name == name })]
}

// own is what files call a key that is read.
func (f *Format) own(name string) string { return f.keys[f.place[name]].names[0] }

// among reports whether a file's keys have that of a name.
func (f *Format) among(keys []string, name string) bool {
	return slices.ContainsFunc(keys, func(k string) bool {
		at, known := f.index[k]
		return known && at.place == f.place[name]
	})
}

// lacking are the marks that keys do not have, as files call them.
func (f *Format) lacking(keys []string) (list []string) {
	for _, m := range f.marks {
		if !f.among(keys, m) {
			list = append(list, f.own(m))
		}
	}
	if len(f.anyOf) > 0 && !slices.ContainsFunc(f.anyOf, func(m string) bool { return f.among(keys, m) }) {
		var any []string
		for _, m := range f.anyOf {
			any = append(any, f.own(m))
		}
		list = append(list, strings.Join(any, " or "))
	}
	return list
}

// choose is the format of a row with these keys, nil for none at all.
func choose(file string, keys []string, forced string) (*Format, error) {
	near, lacking := "", []string(nil)
	for _, f := range formats {
		if f.rows == nil {
			continue
		}
		l := f.lacking(keys)
		if forced == f.Name || forced == "" && len(l) == 0 {
			return f, nil
		}
		if had := len(f.marks) + min(len(f.anyOf), 1) - len(l); had > 0 && (near == "" || len(l) < len(lacking)) {
			near, lacking = f.Name, l
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	problem := fmt.Sprintf("the keys %.500s are of no format that is known", strings.Join(keys, ", "))
	if near != "" {
		problem += fmt.Sprintf("; the nearest is %s, without %s", near, strings.Join(lacking, ", "))
	}
	return nil, &Refused{file, problem, "choose one with --format, or write the neutral one"}
}

// numbersOf fills what a row has one of.
func (o *record) numbersOf(row *Row) {
	row.Step, row.Index, row.Group, row.Env, row.Worker = o.whole("step"), o.whole("index"), o.whole("group"), o.word("env"), o.word("worker")
	row.Reward, row.Score, row.Acc = o.scalar("reward"), o.scalar("score"), o.scalar("acc")
	if math.IsNaN(row.Reward) {
		row.Reward, row.Score = row.Score, nan
	}
	row.Temperature, row.TopP, row.Lag, row.Learner = o.scalar("temperature"), o.scalar("top_p"), o.scalar("lag"), max(0, o.whole("learner_version"))
	truncated := o.scalar("truncated")
	if math.IsNaN(truncated) {
		truncated = 1 - o.scalar("finished")
	}
	row.Finish = finish(o.word("finish_reason"), truncated)
	row.PromptText, row.Text, row.Messages = o.word("input"), o.word("text"), len(o.at("messages").text)
	if row.Head = o.whole("head"); row.Head < 0 {
		row.Head = Unknown
	}
	if row.Tail = row.Head; o.at("tail").present {
		if row.Tail = o.whole("tail"); row.Tail < 0 {
			row.Tail = Unknown
		}
	}
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
		switch truncated {
		case 1:
			return "length"
		case 0:
			return "stop"
		}
	}
	return reason
}

// responseRow is a response whose columns have an entry for each of its tokens.
func responseRow(o *record, row *Row, visit func() error) error {
	o.numbersOf(row)
	roll, old, trained, response := o.column("logp_rollout"), o.column("logp_old"), o.column("logp_new"), o.column("response_logprobs")
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
	n := max(len(roll), len(old))
	o.repeat(n, "advantage", "version", "kept_mass", "is_masked")
	if err := row.fill(sequence{n: n, to: n, called: o.keyOf, column: func(name string) []float64 {
		switch name {
		case "logp_rollout":
			return roll
		case "logp_old":
			return old
		}
		return o.column(name)
	}}); err != nil {
		return err
	}
	if err := row.routes(o.at("routes_rollout"), o.at("routes_learner"), n); err != nil {
		return err
	}
	return visit()
}

// repeat makes columns of n entries of those keys that hold one number, and no list.
func (o *record) repeat(n int, names ...string) {
	for _, name := range names {
		if c := o.at(name); c.present && c.width == 0 && len(c.number) == 1 {
			c.number = slices.Repeat(c.number, n)
		}
	}
}

// routes takes in the experts of both engines over n tokens: those of each, and where they differ.
func (r *Row) routes(roll, learner *cell, n int) error {
	experts := func(c *cell) []int32 {
		if !c.present || n == 0 || len(c.number) == 0 || len(c.number)%n != 0 {
			return nil
		}
		ids, err := int32s(c.number)
		if err != nil {
			return nil // not recorded throughout
		}
		return ids
	}
	r.RouteRoll, r.RouteLearner = experts(roll), experts(learner)
	if n > 0 {
		r.Routes = max(len(r.RouteRoll), len(r.RouteLearner)) / n
	}
	if !roll.present || !learner.present || len(roll.number) == 0 || len(learner.number) == 0 || slices.ContainsFunc(roll.number, math.IsNaN) || slices.ContainsFunc(learner.number, math.IsNaN) {
		return nil
	}
	width := roll.width
	if width < 1 || learner.width != width || len(roll.number) != len(learner.number) || n == 0 || len(roll.number)%(n*width) != 0 {
		return fmt.Errorf("routes_rollout and routes_learner have %d and %d entries, which are not as many layers and ranks for each of %d tokens", len(roll.number), len(learner.number), n)
	}
	r.Flips = make([]bool, len(roll.number)/width)
	for i := range r.Flips { // a set of experts has none twice
		other := learner.number[i*width : (i+1)*width]
		r.Flips[i] = slices.ContainsFunc(roll.number[i*width:(i+1)*width], func(e float64) bool { return !slices.Contains(other, e) })
	}
	return nil
}

// sequence describes a row whose columns hold the prompt, too, up to a token: the response begins at the first trained one.
func (o *record) sequence(n, to int, trained func(i int) bool) sequence {
	s := sequence{n: n, to: to, trained: trained, called: o.keyOf, column: o.column}
	for s.from < to && !trained(s.from) {
		s.from++
	}
	return s
}

func nemoRow(o *record, row *Row, visit func() error) error {
	o.numbersOf(row)
	mask := o.column("mask")
	long := len(mask)
	if x := o.scalar("input_lengths"); x < 0 || x > float64(long) {
		return fmt.Errorf("input_lengths is %v of %d entries", x, long)
	} else if !math.IsNaN(x) {
		long = int(x)
	}
	if o.scalar("sample_loss_mask") == 0 { // the row is not trained, and may hold anything
		return visit()
	}
	if err := row.fill(o.sequence(len(mask), long, func(i int) bool { return mask[i] != 0 && mask[i] == mask[i] })); err != nil {
		return err
	}
	return visit()
}

func primeRow(o *record, row *Row, visit func() error) error {
	o.numbersOf(row)
	mask, rl, ref := o.column("mask"), o.column("rl_weights"), o.column("ref_kl_weights")
	for _, name := range []string{"rl_weights", "ref_kl_weights"} {
		if c := o.column(name); c != nil && len(c) != len(mask) {
			return fmt.Errorf("%s has %d entries for %d tokens", name, len(c), len(mask))
		}
	}
	row.odd = o.disagreement(mask)
	if err := row.fill(o.sequence(len(mask), len(mask), primeTrained(mask, rl, ref))); err != nil {
		return err
	}
	row.New = row.Old
	return visit()
}

// primeTrained reports whether prime-rl trains a token: the mask has it, and reinforcement or distillation weighs it. A weight that is
// null is NaN, and trained for reinforcement.
func primeTrained(mask, rl, ref []float64) func(i int) bool {
	return func(i int) bool {
		return mask[i] == 1 && (rl == nil || rl[i] != 0 || ref != nil && ref[i] == ref[i] && ref[i] != 0)
	}
}

// derivedTolerance is how far the columns that prime-rl derives may be off.
const derivedTolerance = 1e-4

// disagreement recomputes the writer's columns on the trained tokens, and says where they are something else.
func (o *record) disagreement(mask []float64) string {
	roll, trainer := o.column("logp_rollout"), o.column("logp_old")
	for _, d := range []struct {
		name string
		of   func(roll, trainer float64) float64
	}{
		{"log_importance_ratio", func(r, t float64) float64 { return t - r }},
		{"importance_ratio", func(r, t float64) float64 { return elementary.Exp(t - r) }},
		{"mismatch_kl", func(r, t float64) float64 { return elementary.Expm1(t-r) - (t - r) }},
		{"prob_delta", func(r, t float64) float64 { return elementary.Exp(t) - elementary.Exp(r) }},
	} {
		column := o.column(d.name)
		if len(column) != len(mask) || len(roll) != len(mask) || len(trainer) != len(mask) {
			continue
		}
		for i, have := range column {
			want := d.of(roll[i], trainer[i])
			if mask[i] == 1 && math.Abs(have-want) > derivedTolerance*max(1, math.Abs(want)) {
				return fmt.Sprintf("%s of token %d is %v, and %v by the two log-probs", d.name, i, have, want)
			}
		}
	}
	return ""
}

func openInstructRow(o *record, row *Row, visit func() error) error {
	if o.at("request_info").present && o.part("request_info", "tool_calleds").first(0) == 1 {
		row.note = "responses that called a tool have its tokens among their own: the records have no mask"
	}
	return responseRow(o, row, visit)
}

func arealRow(o *record, row *Row, visit func() error) error {
	o.numbersOf(row)
	row.Step = row.Tail
	return visit()
}

func rollRows(o *record, row *Row, visit func() error) error {
	text, score := o.at("text").text, o.at("scores").number
	if len(text) != len(score) {
		return fmt.Errorf("%d responses and %d scores", len(text), len(score))
	}
	entry := func(name string, i int) string {
		if c := o.at(name); len(c.text) == len(text) {
			return c.text[i]
		}
		return ""
	}
	row.Step = o.whole("step")
	for i := range text {
		row.Text, row.Reward, row.PromptText, row.Env = text[i], score[i], entry("input", i), entry("env", i)
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// sampled fills a response of which the rollout engine's column is known; none of its tokens is trained where it was not sampled
// for training.
func (r *Row) sampled(prompt, tokens, logps []float64, advantage float64, trained bool) error {
	n := max(len(tokens), len(logps))
	c := named{"prompt_ids": prompt, "token_ids": tokens, "logp_rollout": logps, "advantage": nil}
	if advantage == advantage {
		c["advantage"] = slices.Repeat([]float64{advantage}, n)
	}
	return r.fill(sequence{n: n, to: n, column: c.column, called: strings.Clone, trained: func(int) bool { return trained }})
}

func torchtitanRows(o *record, row *Row, visit func() error) error {
	o.numbersOf(row)
	for i := range o.at("turns").objects {
		of := func(name string) []float64 { return o.part("turns", name).numbers(i) }
		if err := row.sampled(of("prompt_token_ids"), of("completion_token_ids"), of("completion_logprobs"), o.scalar("advantage"), o.scalar("is_validation") != 1); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
		row.Head, row.Tail = o.part("turns", "min_policy_version").count(i), o.part("turns", "max_policy_version").count(i)
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

func tinkerRows(o *record, row *Row, visit func() error) error {
	split := o.part("scope", "split").word(0)
	row.Step, row.Group, row.Index = o.part("scope", "iteration").count(0), o.part("scope", "group_idx").count(0), o.part("scope", "traj_idx").count(0)
	row.Temperature, row.TopP, row.Env = o.part("sampling_params", "temperature").first(0), o.part("sampling_params", "top_p").first(0), split
	for i := range o.at("samples").objects {
		of := func(name string) []float64 { return o.part("samples", name).numbers(i) }
		if err := row.sampled(o.column("prompt_tokens"), of("tokens"), of("logprobs"), nan, cmp.Or(split, "train") == "train"); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		row.Finish = finish(o.part("samples", "stop_reason").word(i), nan)
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

// int32s are numbers as ids, nil for none.
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

// recorded is a column, nil if it holds nothing but null: it was not recorded.
func recorded(x []float64) []float64 {
	if len(x) > 0 && !slices.ContainsFunc(x, func(v float64) bool { return v == v }) {
		return nil
	}
	return x
}

// truths are numbers as truth values, nil for none; what is not recorded is false.
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
