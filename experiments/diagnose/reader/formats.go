package reader

import (
	"cmp"
	_ "embed" // of formats and the neutral one
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/precision"
	"driftlab/precision/elementary"
	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// Format is a kind of dump. A new one is a row of formats.yaml: its keys, what tells it, and, where its columns are not laid out as
// one of the others', a function of layouts that hands its responses on.
type Format struct {
	// Name is what --format takes. Files are what its framework calls them, and Has says what they have.
	Name, Files, Has string
	// Marks are the keys that tell a file of lines, all of them, and one of AnyOf if there are any; a format without either is recognised by
	// its first bytes.
	Marks, AnyOf []string
	// Keys are those that are read, after those of the format that it is Like, and Parts what the objects of a key of objects hold.
	Keys  Keys
	Like  string
	Parts map[string]Keys
	// Unique are the keys whose values together a file has once.
	Unique []string
	// Layout is the layout of an object of a line, one of layouts.
	Layout string
	// Notes are what a reader of the figures must know.
	Notes []string
	// Stable is a file that stands next to complete ones.
	Stable string

	rows  func(o *record, row *Row, visit func() error) error // hands the responses of an object of a line on
	told  []string                                            // Marks and AnyOf
	keys  []key
	place map[string]int    // of a key by its name
	index map[string]placed // of a key by each name that a file may have for it
}

// Keys are lists of keys, by what they hold; those that are skipped are known and not read.
type Keys struct{ Skipped, Numbers, Texts, Objects string }

// key is what a format reads under a name of the neutral format, or one of its own: what it may hold, and what files call it, the
// preferred name first.
type key struct {
	name  string
	kind  kind
	names []string
}

// placed is the place of a key among those of a format, and which of its names it is.
type placed struct{ place, rank int }

func (k Keys) list() (list []key) {
	for i, text := range [...]string{k.Skipped, k.Numbers, k.Texts, k.Objects} {
		for field := range strings.FieldsSeq(text) {
			name, others, _ := strings.Cut(field, "=")
			list = append(list, key{name, kind(i), strings.Split(cmp.Or(others, name), ",")})
		}
	}
	return list
}

// layouts are how the objects of lines hold responses.
var layouts = map[string]func(o *record, row *Row, visit func() error) error{
	"response": responseRow, "nemo": nemoRow, "prime": primeRow, "torchtitan": torchtitanRows, "open-instruct": openInstructRow,
	"tinker": tinkerRows, "roll": rollRows, "areal": func(o *record, row *Row, visit func() error) error {
		o.numbersOf(row)
		row.Step = row.Tail
		return visit()
	},
}

//go:embed formats.yaml
var formatsText []byte

// shipped is formats.yaml.
var shipped struct {
	Formats []*Format
	Unused  string
	Globals map[string][]string
	unused  []string // of Unused
}

//go:embed neutral.txt
var neutralText string

// Neutral says how to write a dump that any trainer can write.
var Neutral = strings.TrimSpace(neutralText)

func init() {
	if err := yaml.Unmarshal(formatsText, &shipped); err != nil {
		panic("reader: formats.yaml: " + err.Error())
	}
	shipped.unused = strings.Fields(shipped.Unused)
	for _, f := range shipped.Formats {
		f.rows, f.told = layouts[f.Layout], slices.Concat(f.Marks, f.AnyOf)
		f.place, f.index = map[string]int{}, map[string]placed{}
		if f.Like != "" {
			f.keys = formatOf(f.Like).Keys.list()
		}
		f.keys = append(f.keys, f.Keys.list()...)
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
	for _, f := range shipped.Formats {
		list, names = append(list, *f), append(names, f.Name)
	}
	return list, names
}

// FormatTable has a line for each format: its name, what its framework calls its files, and what they have.
func FormatTable() string {
	lines := stats.Map(shipped.Formats, func(f *Format) string { return fmt.Sprintf("  %-17s%s: %s", f.Name, f.Files, f.Has) })
	return strings.Join(lines, "\n")
}

func formatOf(name string) *Format {
	return shipped.Formats[slices.IndexFunc(shipped.Formats, func(f *Format) bool { return f.Name == name })]
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
	for _, m := range f.Marks {
		if !f.among(keys, m) {
			list = append(list, f.own(m))
		}
	}
	if len(f.AnyOf) > 0 && !slices.ContainsFunc(f.AnyOf, func(m string) bool { return f.among(keys, m) }) {
		any := stats.Map(f.AnyOf, f.own)
		list = append(list, strings.Join(any, " or "))
	}
	return list
}

// choose is the format of a row with these keys, nil for none at all.
func choose(file string, keys []string, forced string) (*Format, error) {
	near, lacking := "", []string(nil)
	for _, f := range shipped.Formats {
		if f.rows == nil {
			continue
		}
		l := f.lacking(keys)
		if forced == f.Name || forced == "" && len(l) == 0 {
			return f, nil
		}
		if had := len(f.Marks) + min(len(f.AnyOf), 1) - len(l); had > 0 && (near == "" || len(l) < len(lacking)) {
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
	row.PromptText, row.Text = o.word("input"), o.word("text")
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
	for _, name := range []string{"advantage", "version", "kept_mass", "is_masked"} { // one number for the response, or one for each token
		if c := o.at(name); c.present && c.width == 0 && len(c.number) == 1 {
			c.number = slices.Repeat(c.number, n)
		}
	}
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
	row.heads(o.at, n)
	if err := row.routes(o.at("routes_rollout"), o.at("routes_learner"), n); err != nil {
		return err
	}
	return visit()
}

// heads takes in the kept or the likeliest tokens of n tokens. Where these are all that the engine could sample, the learner's mass on them is the kept mass.
func (r *Row) heads(at func(name string) *cell, n int) {
	into := [...]*[]float64{&r.HeadID, &r.HeadRoll, &r.HeadOld}
	for k, name := range [...]string{"topk_ids", "topk_logp_rollout", "topk_logp_old"} {
		switch c := at(name); {
		case !c.present:
		case len(c.ends) != n || r.HeadEnds != nil && !slices.Equal(c.ends, r.HeadEnds):
			r.note = c.key + " is not read in all rows: each token must have a list, of the same length in all such columns"
			r.HeadID, r.HeadRoll, r.HeadOld, r.HeadEnds = nil, nil, nil, nil
			return
		default:
			r.HeadEnds, *into[k] = c.ends, c.number
		}
	}
	if r.HeadID == nil || r.HeadRoll == nil || r.HeadOld == nil || r.KeptMass != nil || r.Token == nil || r.Roll == nil {
		return
	}
	for i, id := range r.Token {
		mass, h := math.NaN(), r.HeadOf(i)
		if at := slices.Index(h[0], float64(id)); at >= 0 && max(math.Abs(h[1][at]-r.Roll[i]), math.Abs(Mass(h[1])-1)) < 1e-3 { // which may be rounded
			mass = Mass(h[2])
		}
		r.KeptMass = append(r.KeptMass, mass)
	}
}

// HeadOf returns the ids of a token's head and their log-probs in both engines, nil where they were not recorded.
func (r *Row) HeadOf(token int) (h [3][]float64) {
	from := 0
	if token > 0 {
		from = r.HeadEnds[token-1]
	}
	for k, column := range [...][]float64{r.HeadID, r.HeadRoll, r.HeadOld} {
		if column != nil {
			h[k] = column[from:r.HeadEnds[token]]
		}
	}
	return h
}

// Mass is the probability of tokens with these log-probs; what is not a number is padding.
func Mass(logp []float64) (sum float64) {
	for _, x := range logp {
		if x == x {
			sum += elementary.Exp(x)
		}
	}
	return sum
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
	if o.at("request_info").present && o.part("request_info", "tool_calleds", 0).scalar() == 1 {
		row.note = "responses that called a tool have its tokens among their own: the records have no mask"
	}
	return responseRow(o, row, visit)
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
		of := func(name string) []float64 { return o.part("turns", name, i).number }
		if err := row.sampled(of("prompt_token_ids"), of("completion_token_ids"), of("completion_logprobs"), o.scalar("advantage"), o.scalar("is_validation") != 1); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
		row.Head, row.Tail = o.part("turns", "min_policy_version", i).whole(), o.part("turns", "max_policy_version", i).whole()
		if err := visit(); err != nil {
			return err
		}
	}
	return nil
}

func tinkerRows(o *record, row *Row, visit func() error) error {
	split := o.part("scope", "split", 0).word()
	row.Step, row.Group, row.Index = o.part("scope", "iteration", 0).whole(), o.part("scope", "group_idx", 0).whole(), o.part("scope", "traj_idx", 0).whole()
	row.Temperature, row.TopP, row.Env = o.part("sampling_params", "temperature", 0).scalar(), o.part("sampling_params", "top_p", 0).scalar(), split
	for i := range o.at("samples").objects {
		of := func(name string) []float64 { return o.part("samples", name, i).number }
		if err := row.sampled(o.column("prompt_tokens"), of("tokens"), of("logprobs"), nan, cmp.Or(split, "train") == "train"); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		row.Finish = finish(o.part("samples", "stop_reason", i).word(), nan)
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

// truths are numbers as truth values, nil for none; what is not recorded is false.
func truths(x []float64) []bool {
	if x == nil {
		return nil
	}
	return stats.Map(x, func(v float64) bool { return v == v && v != 0 })
}

// Unknown is a whole number that was not recorded.
const Unknown = math.MinInt32

// Row is one response with what its dump records of it. Columns hold an entry
// per token; nil means not recorded. Absent numbers are NaN or Unknown.
type Row struct {
	// Line counts from 1 in a file of lines, samples from 1 in others; Byte is where the row
	// begins, before any compression.
	Line int
	Byte int64

	// Step is the training step, Index the row's number by its own account, Group its prompt group.
	Step, Index, Group int
	// Env names the environment, empty if there is only one.
	Env string
	// Worker names the process that recorded or sampled it, empty if unknown.
	Worker string
	// Reward is the scalar reward that the advantages are made of, Score what the grader gave where that is recorded next to
	// it, and Acc whether the answer is right (0 or 1, or a share).
	Reward, Score, Acc float64
	// Temperature and TopP are how it was sampled, Lag is its recorded staleness in updates.
	Temperature, TopP, Lag float64
	// Finish is why the response ended: "stop", "length" (the cap was reached), or another reason as recorded; empty if unknown.
	Finish string

	// Prompt are the tokens before the response. Where a format does not say where the
	// response begins, it begins at the first trained token.
	Prompt []int32
	// PromptRoll and PromptOld are the log-probs on the prompt's positions.
	PromptRoll, PromptOld []float64

	// Token are the tokens of the response, Mask the trained ones among them.
	Token []int32
	Mask  []bool
	// Roll, Old and New are the log-probs of the tokens in the rollout engine, in the learner
	// before the update, and in the training forward.
	Roll, Old, New []float64
	// Ref and Teacher are the log-probs in the reference model and in the teacher of a distillation, Entropy the entropy of the learner's distribution.
	Ref, Teacher, Entropy []float64
	// Masked are the tokens that the trainer's own correction removed.
	Masked []bool
	// Recurrent and Indexed are Old once more, with one thing as it is in the rollout engine: linear attention computed
	// token by token, and the positions that its index of sparse attention chose.
	Recurrent, Indexed []float64
	// Advantage, Version (the updates before the weights that sampled) and KeptMass (of the
	// sampling support) are per token.
	Advantage []float64
	Version   []int32
	KeptMass  []float64
	// Flips are the tokens and layers, [token][layer], that other experts computed in one engine than in the other.
	Flips []bool
	// RouteRoll and RouteLearner are the experts of each engine as recorded, [token][layer][rank], Routes of them a token;
	// nil where that engine's routes were not recorded throughout.
	RouteRoll, RouteLearner []int32
	Routes                  int

	// HeadID are ids that the rollout engine kept in sampling, or found likeliest, HeadRoll and HeadOld their log-probs in both engines; nil where not
	// recorded. Those of a token are the ones up to its HeadEnds, from that of the token before; NaN is padding.
	HeadID, HeadRoll, HeadOld []float64
	HeadEnds                  []int

	// Head and Tail are the least and the greatest version of the response.
	Head, Tail int
	// Learner is the number of updates before the weights of Old, 0 where it is the number of the steps before.
	Learner int

	// Text is the response of a dump without tokens, PromptText its prompt.
	Text, PromptText string

	odd  string // what is not as it should be in a row that counts
	note string // what a reader of the figures must know of the row's columns
}

// reset makes the row one of which nothing is known, and keeps its memory.
func (r *Row) reset() {
	*r = Row{
		Step: Unknown, Index: Unknown, Group: Unknown, Head: Unknown, Tail: Unknown,
		Reward: nan, Score: nan, Acc: nan, Temperature: nan, TopP: nan, Lag: nan,
	}
}

// Flipped reports whether a token was computed by other experts, in any layer. Routes must be recorded.
func (r *Row) Flipped(token int) bool {
	layers := len(r.Flips) / len(r.Mask)
	return slices.Contains(r.Flips[token*layers:(token+1)*layers], true)
}

// Trained is how many of the tokens are trained.
func (r *Row) Trained() int {
	n := 0
	for _, m := range r.Mask {
		if m {
			n++
		}
	}
	return n
}

// numbered are the columns of numbers per token, by their names in the neutral format; prompt is the column of the prompt's positions.
var numbered = [...]struct {
	name       string
	of, prompt func(*Row) *[]float64
}{
	{"logp_rollout", func(r *Row) *[]float64 { return &r.Roll }, func(r *Row) *[]float64 { return &r.PromptRoll }},
	{"logp_old", func(r *Row) *[]float64 { return &r.Old }, func(r *Row) *[]float64 { return &r.PromptOld }},
	{"logp_new", func(r *Row) *[]float64 { return &r.New }, nil},
	{"logp_old_recurrent", func(r *Row) *[]float64 { return &r.Recurrent }, nil},
	{"logp_old_indexed", func(r *Row) *[]float64 { return &r.Indexed }, nil},
	{"logp_ref", func(r *Row) *[]float64 { return &r.Ref }, nil},
	{"logp_teacher", func(r *Row) *[]float64 { return &r.Teacher }, nil},
	{"entropy", func(r *Row) *[]float64 { return &r.Entropy }, nil},
	{"advantage", func(r *Row) *[]float64 { return &r.Advantage }, nil},
	{"kept_mass", func(r *Row) *[]float64 { return &r.KeptMass }, nil},
}

// sequence is what a format has of a response.
type sequence struct {
	// column is the column of a name of the neutral format, nil where it was not recorded, and called the file's own name for it.
	column func(name string) []float64
	called func(name string) string
	// Columns have an entry for each of n tokens, of which those from one on, up to another, are the response. What is before
	// them is the prompt; where token_ids is longer than n, the prompt is its beginning.
	n, from, to int
	// trained reports whether a token is; nil goes by the column mask, and all are without one.
	trained func(i int) bool
}

// named are columns by the names of the neutral format, for a sequence.
type named map[string][]float64

func (c named) column(name string) []float64 { return c[name] }

// fill cuts the columns of a sequence into prompt and response.
func (r *Row) fill(s sequence) (err error) {
	column := func(name string) []float64 {
		if c := s.column(name); c == nil || len(c) == s.n {
			return c
		} else if err == nil {
			err = fmt.Errorf("%s has %d entries for %d tokens", s.called(name), len(c), s.n)
		}
		return nil
	}
	whole := func(name string, column []float64) []int32 {
		list, wrong := int32s(column)
		if wrong != nil && err == nil {
			err = fmt.Errorf("%s: %w", s.called(name), wrong)
		}
		return list
	}
	cut := func(c []float64) []float64 {
		if c == nil || len(c) > 0 && !slices.ContainsFunc(c, func(v float64) bool { return v == v }) {
			return nil // nothing but null: it was not recorded
		}
		return c[s.from:s.to]
	}
	r.Prompt, r.Token = nil, nil
	for _, c := range numbered {
		all := column(c.name)
		if *c.of(r) = cut(all); c.prompt == nil {
			continue
		}
		if *c.prompt(r) = s.column("prompt_" + c.name); s.from > 0 && all != nil {
			*c.prompt(r) = all[:s.from]
		}
	}
	r.Masked, r.Version = truths(cut(column("is_masked"))), whole("version", cut(column("version")))
	mask := column("mask")
	r.Mask = make([]bool, s.to-s.from)
	for i := range r.Mask {
		r.Mask[i] = s.trained == nil && (mask == nil || mask[s.from+i] != 0 && mask[s.from+i] == mask[s.from+i]) || s.trained != nil && s.trained(s.from+i)
	}
	ids := s.column("token_ids")
	if lead := len(ids) - s.n; ids != nil && lead < 0 {
		column("token_ids") // says so
	} else if ids != nil {
		list := whole("token_ids", ids[:lead+s.to])
		if list != nil {
			r.Prompt, r.Token = list[:lead+s.from:lead+s.from], list[lead+s.from:]
		}
		if lead+s.from == 0 {
			r.Prompt = nil
		}
	}
	if prompt := s.column("prompt_ids"); prompt != nil {
		r.Prompt = whole("prompt_ids", prompt)
	}
	for _, c := range [...][]float64{r.PromptRoll, r.PromptOld} {
		if c != nil && r.Prompt != nil && len(c) != len(r.Prompt) && err == nil {
			err = fmt.Errorf("the log-probs of the prompt do not fit its %d tokens", len(r.Prompt))
		}
	}
	if len(r.Version) > 0 {
		r.Head, r.Tail = int(slices.Min(r.Version)), int(slices.Max(r.Version))
	}
	return err
}

// Damage is one thing that is broken in a file.
type Damage struct {
	Line   int    `json:"line"`
	Byte   int64  `json:"byte"`
	Reason string `json:"reason"`
}

const (
	// keptDamage is how many faults of a file are named; the others are counted.
	keptDamage = 100
	// longestReason and longestEnv are the most bytes of what is quoted from a file: a fault, and an environment's name.
	longestReason = 1 << 10
	longestEnv    = 1 << 8
)

// File is what there is to say of a file that was read.
type File struct {
	Name   string
	Format string
	// Step is the rows' training step, Unknown where they disagree or none has one.
	Step int
	// Rows were complete, Used of them have a trained token that counts, with Tokens of these.
	Rows, Used, Tokens int
	// Damage names the first faults, Damaged counts all.
	Damage  []Damage
	Damaged int
	// Missing are the columns that the file does not have.
	Missing []string
	// Notes say what a reader of the figures must know of this format.
	Notes []string

	notRead []string // keys that are recorded and not read
	rowStep *int     // of the first row
	mixed   bool     // other rows have other steps
	has     [len(columns)]bool
}

// columns are what a row may have, under the names of the neutral format.
var columns = [...]struct {
	name string
	in   func(*Row) bool
}{
	{"token_ids", func(r *Row) bool { return r.Token != nil }},
	{"logp_rollout", func(r *Row) bool { return r.Roll != nil }},
	{"logp_old", func(r *Row) bool { return r.Old != nil }},
	{"logp_new", func(r *Row) bool { return r.New != nil }},
	{"advantage", func(r *Row) bool { return r.Advantage != nil }},
	{"reward", func(r *Row) bool { return !math.IsNaN(r.Reward) }},
	{"group", func(r *Row) bool { return r.Group != Unknown }},
	{"version", func(r *Row) bool { return r.Version != nil || r.Tail != Unknown }},
	{"temperature", func(r *Row) bool { return !math.IsNaN(r.Temperature) }},
	{"top_p", func(r *Row) bool { return !math.IsNaN(r.TopP) }},
	{"kept_mass", func(r *Row) bool { return r.KeptMass != nil }},
	{"routes", func(r *Row) bool { return r.Flips != nil }},
}

func (f *File) send(row *Row, visit func(*Row) error) error {
	f.Rows++
	if len(row.Env) > longestEnv {
		row.Env = strings.Clone(row.Env[:longestEnv])
	}
	if n := row.Trained(); n > 0 {
		f.Used++
		f.Tokens += n
	}
	for i, c := range columns {
		f.has[i] = f.has[i] || c.in(row)
	}
	if row.odd != "" {
		f.damage(row.Line, row.Byte, row.odd)
	}
	if row.note != "" {
		f.note(row.note)
	}
	if f.rowStep == nil {
		f.rowStep = new(row.Step)
	}
	f.mixed = f.mixed || row.Step != *f.rowStep
	return visit(row)
}

// close says what the file as a whole is like.
func (f *File) close() {
	for i, c := range columns {
		if !f.has[i] && f.Rows > 0 {
			f.Missing = append(f.Missing, c.name)
		}
	}
	f.Step = StepNamed(f.Name)
	if f.rowStep != nil && !f.mixed && *f.rowStep != Unknown {
		f.Step = *f.rowStep
	}
}

func (f *File) note(text string) {
	if !slices.Contains(f.Notes, text) {
		f.Notes = append(slices.Clone(f.Notes), text)
	}
}

func (f *File) damage(line int, byte int64, reason string) {
	f.Damaged++
	if len(reason) > longestReason {
		reason = reason[:longestReason] + " …"
	}
	if len(f.Damage) < keptDamage {
		f.Damage = append(f.Damage, Damage{line, byte, reason})
	}
}

// Refused is a file that is not read at all.
type Refused struct{ Name, Problem, Fix string }

// Error names file, problem and fix.
func (r *Refused) Error() string { return r.Name + ": " + r.Problem + ": " + r.Fix }

const (
	// mostUnread is how many keys of a file that are not read are named, unreadBytes the most of one that is quoted.
	mostUnread, unreadBytes = 20, 64
	// nearName is the share of letters up to which another name is proposed.
	nearName = 0.5
)

// unread notes a key that is recorded and not read.
func (f *File) unread(key string) {
	if len(key) > unreadBytes {
		key = key[:unreadBytes] + "…"
	}
	if len(f.notRead) > mostUnread || slices.Contains(f.notRead, key) || slices.Contains(shipped.unused, key) {
		return
	}
	f.notRead = append(f.notRead, strings.Clone(key))
}

// noteUnread puts the keys that are not read into the notes, each with the nearest of those that are.
func (f *File) noteUnread(known []string) {
	if len(f.notRead) == 0 {
		return
	}
	var list []string
	for _, key := range f.notRead[:min(len(f.notRead), mostUnread)] {
		if near := precision.NearestNames(key, known); len(near) > 0 && precision.NameDistance(key, near[0]) <= nearName {
			key += fmt.Sprintf(" (nearest: %s)", near[0])
		}
		list = append(list, key)
	}
	more := ""
	if len(f.notRead) > mostUnread {
		more = " and others"
	}
	f.note("not read: " + strings.Join(list, ", ") + more)
}

// names are all that files have for what the format reads.
func (f *Format) names() (list []string) {
	for _, k := range f.keys {
		list = append(list, k.names...)
	}
	return list
}

// unreadOf notes the keys of a dictionary that the format does not read.
func (f *File) unreadOf(d *dictionary, format *Format) {
	for _, k := range d.keys {
		if key, ok := k.(string); ok {
			if _, known := format.index[key]; !known {
				f.unread(key)
			}
		}
		if len(f.notRead) > mostUnread {
			return
		}
	}
}
