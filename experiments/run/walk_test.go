package run

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"driftlab/engine"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// words are the values of parameters that are words in a syntax of their own; the tags of
// the others list theirs.
var words = map[string][]string{"aggregation": append(loss.Aggregations(), "token-mean@pre", "dr_grpo:8")}

// choices are the words that a parameter of a method can be, nil where the walk knows none.
func choices(params reflect.Value, name string) []string {
	for i := range params.NumField() {
		field := params.Type().Field(i)
		switch tag := field.Tag.Get("yaml"); {
		case tag == name && field.Tag.Get("oneof") != "":
			return strings.Fields(field.Tag.Get("oneof"))
		case tag == ",inline":
			if of := choices(params.Field(i), name); of != nil {
				return of
			}
		}
	}
	return words[name]
}

// tasks are the ones that fit a model of milliseconds.
var tasks = []string{"{name: chain, difficulty: [1, 3]}", "{name: addition, difficulty: [1, 2]}", "{name: search, difficulty: [1, 2]}",
	"{name: tagged, difficulty: [1, 3]}", "{name: filler, difficulty: [1, 2], max_fillers: 8}", "{name: lookup, difficulty: [1, 2], calls: [0, 1], max_calls: 2, output: 2}",
	"{name: chapters, difficulty: [1, 2], words: 2, vocabulary: 64}"}

// walk draws recipes over everything that a recipe can name. Entries take
// turns: most of the time one that has run least often is next, so that one that seldom goes
// with the rest of a recipe is tried again.
type walk struct {
	rng     *rand.Rand
	methods map[string][]recipe.Method // by field
	ran     map[string]int             // how often, by field and name
	teacher string                     // a checkpoint, for a teacher or a drafter

	redrawn int // sections that were refused

	sets  []string // of the recipe being drawn
	names []string // what it names
	needs string   // the columns that its methods read
}

func newWalk(seed uint64, teacher string) *walk {
	w := &walk{rng: rand.New(rand.NewPCG(seed, 3)), methods: map[string][]recipe.Method{}, ran: map[string]int{}, teacher: teacher}
	for _, m := range recipe.Methods() {
		w.methods[m.Field] = append(w.methods[m.Field], m)
	}
	for field, extra := range map[string][]string{"routing.replay": {"none"}, "routing.gates": {"live"}} {
		for _, name := range extra {
			m := recipe.Method{Field: field}
			m.Name = name
			w.methods[field] = append(w.methods[field], m)
		}
	}
	return w
}

// entries lists all that the walk can deal.
func (w *walk) entries() (all []string) {
	for field, methods := range w.methods {
		for _, m := range methods {
			all = append(all, field+" "+m.Name)
		}
	}
	for _, p := range correction.Presets {
		all = append(all, "correction "+p.Name)
	}
	for _, name := range engine.PresetNames() {
		all = append(all, "rollout.numerics "+name, "learner.numerics "+name)
	}
	slices.Sort(all)
	return all
}

// chance is true once in n times.
func (w *walk) chance(n int) bool { return w.rng.IntN(n) == 0 }

func oneOf[T any](w *walk, of ...T) T { return of[w.rng.IntN(len(of))] }

// set gives a field a value.
func (w *walk) set(field string, value any) {
	w.sets = append(w.sets, fmt.Sprintf("%s=%v", field, value))
}

// deal draws one of a field's names.
func (w *walk) deal(field string, names []string) int {
	k := w.rng.IntN(len(names))
	if !w.chance(5) {
		for i := range names {
			if j := (k + i) % len(names); w.ran[field+" "+names[j]] < w.ran[field+" "+names[k]] {
				k = j
			}
		}
	}
	w.names = append(w.names, field+" "+names[k])
	return k
}

// method draws a method with parameters, as a recipe has it.
func (w *walk) method(field string) string {
	var names []string
	for _, m := range w.methods[field] {
		names = append(names, m.Name)
	}
	m := w.methods[field][w.deal(field, names)]
	w.needs += " " + m.Needs.String() + " " + m.May.String()
	text := "{name: " + m.Name
	for line := range strings.Lines(m.Defaults.YAML()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if value = strings.TrimSpace(value); value == "" || line[0] == ' ' || !w.chance(3) {
			continue // a section, or left at its default
		}
		text += ", " + name + ": " + w.vary(value, choices(reflect.ValueOf(m.Params).Elem(), name))
	}
	return text + "}"
}

// vary draws another value of a parameter, one of the words if there are any.
func (w *walk) vary(value string, of []string) string {
	if value == "true" || value == "false" {
		return strconv.FormatBool(w.chance(2))
	}
	if n, err := strconv.Atoi(value); err == nil && n > 1 {
		return strconv.Itoa(n + w.rng.IntN(3) - 1)
	}
	if x, err := strconv.ParseFloat(strings.TrimPrefix(value, "."), 64); err == nil {
		if strings.HasPrefix(value, ".") {
			return oneOf(w, value, "2")
		}
		return fmt.Sprint(oneOf(w, 0, 1, x/2, 2*x))
	}
	if of != nil {
		return oneOf(w, of...)
	}
	return value
}

// list draws a list of methods.
func (w *walk) list(field string, least, most int) {
	var all []string
	for range least + w.rng.IntN(most-least+1) {
		all = append(all, w.method(field))
	}
	w.set(field, "["+strings.Join(all, ", ")+"]")
}

// recipe draws the changes that make a recipe of tiny. A section that does not
// go with those before it is drawn again, a few times: the recipe may still be
// refused.
func (w *walk) recipe(accepts func(sets []string) bool) []string {
	w.sets, w.names, w.needs = nil, nil, ""
	w.set("steps", 2)
	w.set("seed", w.rng.IntN(1000))
	w.set("model.context", 128)
	w.set("model.vocab", 64) // the drafter's
	w.set("eval", oneOf(w, "{every: 0}", "{every: 1, prompts: 2}", "{every: 2, prompts: 3}"))
	for _, section := range []func(){
		w.task, w.schedule, w.rollout, w.learner, w.routing, w.correction,
		func() {
			if w.chance(2) {
				w.set("anchor", oneOf(w, "old", "behaviour", "rollout", "ewma", "sync_start", "interpolated"))
			}
		},
		w.reward,
		func() { w.set("advantage", w.method("advantage")); w.prefixValues() },
		w.loss,
		w.graded,
		func() { w.list("terms", 0, 2) },
		w.distillation,
		func() { w.set("kl", w.method("kl")) },
		func() { w.list("guards", 0, 2) },
	} {
		before := *w
		for range 10 {
			w.sets, w.names, w.needs = before.sets[:len(before.sets):len(before.sets)], before.names[:len(before.names):len(before.names)], before.needs
			if section(); accepts(w.sets) {
				break
			}
			w.redrawn++
		}
	}
	return w.sets
}

// reward draws rewards beside one by length: random weights answer nothing
// right, and a step without rewards that differ learns nothing.
func (w *walk) reward() {
	w.list("reward", 0, 2)
	w.sets[len(w.sets)-1] = strings.Replace(w.sets[len(w.sets)-1], "[", "[{name: length_uniform, coef: 0.1}, ", 1)
	w.prefixValues()
}

// prefixValues draws how the policy values its responses, where a method reads that.
func (w *walk) prefixValues() {
	if strings.Contains(w.needs, "PrefixValue") {
		w.set("prefix_values", fmt.Sprintf("{by: %s, completions: %d, at: %s, longest: %d}", oneOf(w, "log_prob", "probability", "completions"),
			1+w.rng.IntN(2), oneOf(w, "generation", "training"), 1+w.rng.IntN(4)))
	}
}

// graded draws what refuses and replays groups.
func (w *walk) graded() {
	if w.chance(3) {
		w.set("rollout.dynamic_sampling", fmt.Sprintf("{refuse: %s, max_batches: %d}", oneOf(w, "equal", "equal_reward", "solved"), 1+w.rng.IntN(3)))
	}
	if w.chance(3) {
		w.set("replay", fmt.Sprintf("{draws: %d, order: %s, capacity: %d, tau: %v, beta: %v, clear: %v}", w.rng.IntN(3),
			oneOf(w, "fresh", "priority", "uniform", "fifo"), 1+w.rng.IntN(4), oneOf(w, 1, 500), oneOf(w, 0, 0.4), w.chance(4)))
	}
}

// loss draws a loss, and a teacher for one that may read it.
func (w *walk) loss() {
	if slices.ContainsFunc(w.sets, func(set string) bool { return strings.HasPrefix(set, "loss=") }) {
		return // a preset's
	}
	w.set("loss", w.method("loss"))
	if strings.Contains(w.needs, "LogpTeacher") {
		w.set("teacher", w.teacher)
	}
}

// distillation draws a teacher for terms that read one, and which responses it guides.
func (w *walk) distillation() {
	if strings.Contains(w.needs, "Teacher") {
		w.set("teacher", w.teacher)
	}
	if w.chance(4) {
		w.set("teacher", w.teacher)
		w.set("distillation", fmt.Sprintf("{advantage: %s, pass_rate: %v, failed: %v, horizon: %d, random: %v}",
			oneOf(w, "separate", "scaled", "raw", "joint", "none"), oneOf(w, 1, 0.5), w.chance(2), w.rng.IntN(4), w.chance(3)))
	}
}

// task draws a task by its name and small.
func (w *walk) task() {
	var names []string
	for _, m := range w.methods["task"] {
		names = append(names, m.Name)
	}
	name := names[w.deal("task", names)]
	k := slices.IndexFunc(tasks, func(text string) bool { return strings.HasPrefix(text, "{name: "+name+",") })
	if k < 0 {
		w.set("task", name)
		return
	}
	w.set("task", tasks[k])
}

// schedule draws a constant lag as often as a system, with a cluster of its own: what
// a clock goes with is less.
func (w *walk) schedule() {
	if w.chance(2) {
		w.set("schedule", oneOf(w, "sync", "lag", "{name: lag, k: 3}"))
		return
	}
	w.set("schedule", w.method("schedule"))
	if name := w.names[len(w.names)-1]; !w.chance(3) && name != "schedule sync" && name != "schedule lag" {
		w.set("cluster", fmt.Sprintf("{workers: %d, engine: %d, trainers: %d, costs: {prefill_token: %d, decode_step: %d, learn_token: %d, sync: %d, push: %d}}",
			1+w.rng.IntN(5), 1+w.rng.IntN(2), 1+w.rng.IntN(2), w.rng.IntN(100), 1+w.rng.IntN(9000), 1+w.rng.IntN(500), w.rng.IntN(20_000), w.rng.IntN(20_000)))
	}
}

// rollout draws the sampling engine.
func (w *walk) rollout() {
	w.set("rollout.numerics", w.numerics("rollout.numerics"))
	w.set("rollout.prompts", 2+w.rng.IntN(2))
	w.set("rollout.group", 2+w.rng.IntN(3))
	w.set("rollout.max_tokens", 4+w.rng.IntN(9))
	w.set("rollout.temperature", oneOf(w, 1, 1, 0.7, 1.5))
	w.set("rollout.top_p", oneOf(w, 1, 1, 0.8))
	w.set("rollout.top_k", oneOf(w, 0, 0, 3))
	w.set("rollout.slots", oneOf(w, 0, 0, 1, 3))
	w.set("rollout.prefill_chunk", oneOf(w, 0, 0, 2))
	w.set("rollout.prefix_cache", w.chance(3))
	w.set("rollout.log_probs", oneOf(w, "processed", "processed", "processed", "raw", "tempered"))
	w.set("support.replay", w.chance(4))
	switch w.rng.IntN(4) {
	case 0:
		w.set("rollout.kv_retention", fmt.Sprintf("{policy: %s, keep: %v, budget: %d, sinks: %d, recent: %d}",
			oneOf(w, "window", "heavy_hitter"), oneOf(w, 0.3, 0.5, 1), oneOf(w, 0, 0, 6), w.rng.IntN(3), 1+w.rng.IntN(4)))
		w.set("retention.replay", w.chance(2))
	case 1:
		w.set("rollout.speculative", fmt.Sprintf("{drafter: %s, draft: %d, refresh: %d, verify: %s, log_probs: %s, adaptive: %v, numerics: %s, distill: {every: %d}}",
			oneOf(w, "self", "self", "self", w.teacher), 1+w.rng.IntN(4), oneOf(w, 0, 0, 1, 2), oneOf(w, "exact", "lossy, tau: 0.5", "greedy"),
			oneOf(w, "verifier", "verifier", "drafter", "law"), w.chance(2), w.numerics("rollout.numerics"), w.rng.IntN(3)))
	}
	if w.chance(4) {
		w.set("rollout.fleet", fmt.Sprintf("[{numerics: %s, share: 0.4}, {numerics: {base: %s, kv_cache: fp8_e4m3}, share: 0.25}]",
			w.numerics("rollout.numerics"), oneOf(w, "fp32", "bf16", "fp16")))
		w.set("rollout.kv_scales", oneOf(w, "{prompts: 2, every: 2, margin: 0.5}", "{}"))
	}
	if w.chance(4) {
		w.set("rollout.pool", fmt.Sprintf("{prompts: %d, focus: %s}", 3+w.rng.IntN(3), oneOf(w, "upsample", "knapsack", "uniform", "adaptive")))
	}
	if w.chance(4) {
		w.set("rollout.noise", "{start: 1e-2, stages: 2}")
	}
}

// numerics draws a preset, sometimes with another order of its sums.
func (w *walk) numerics(field string) string {
	name := engine.PresetNames()[w.deal(field, engine.PresetNames())]
	if w.chance(4) {
		return fmt.Sprintf("{base: %s, reduction: %s}", name, oneOf(w, "canonical", "pairwise:4", "split_k:2"))
	}
	return name
}

// learner draws the gradient engine and its optimiser.
func (w *walk) learner() {
	w.set("learner.numerics", w.numerics("learner.numerics"))
	w.set("learner.temperature", oneOf(w, 0, 0, 0, 1.2))
	w.set("learner.epochs", 1+w.rng.IntN(2))
	w.set("learner.minibatches", 1+w.rng.IntN(3))
	w.set("learner.optimizer", fmt.Sprintf("{lr: %v, warmup: %d, decay: %s, clip_norm: %v, weight_decay: %v}",
		oneOf(w, 1e-2, 1e-3), w.rng.IntN(3), oneOf(w, "constant", "linear", "cosine"), oneOf(w, 0, 1), oneOf(w, 0, 0.1)))
	w.set("learner.loss_scale", oneOf(w, "{mode: auto}", "{mode: auto}", "{mode: dynamic, initial: 1024, growth_interval: 1}", "{mode: none}"))
	w.set("invariant_scale", oneOf(w, 1, 1, 1, 1.5))
}

// routing draws what of the rollout engine's routes the learner replays.
func (w *walk) routing() {
	for _, field := range []string{"routing.replay", "routing.gates"} {
		var names []string
		for _, m := range w.methods[field] {
			names = append(names, m.Name)
		}
		w.set(field, names[w.deal(field, names)])
	}
	w.set("routing.router", oneOf(w, "trained", "trained", "frozen"))
	w.set("routing.released", w.chance(5))
}

// correction draws a published preset, or its own weights and masks.
func (w *walk) correction() {
	if w.chance(3) {
		var names []string
		for _, p := range correction.Presets {
			names = append(names, p.Name)
		}
		p := correction.Presets[w.deal("correction", names)]
		w.set("correction", p.Name)
		if p.Loss != "ppo_clip" { // others refuse that, and it is tiny's
			w.set("loss", p.Loss)
		}
		w.needs += " LogpRoll LogpOld"
		return
	}
	w.set("correction.mode", oneOf(w, "decoupled", "decoupled", "decoupled", "bypass"))
	w.set("correction.weights", w.method("correction.weights"))
	w.list("correction.masks", 0, 2)
	w.set("correction.batch_normalize", w.chance(4))
	w.set("correction.order", oneOf(w, "independent", "independent", "sequential"))
	w.set("correction.denominator", oneOf(w, "post", "pre"))
	w.set("correction.names", oneOf(w, "verl", "skyrl"))
}

// unknownWords lists the parameters that are words which the walk never leaves,
// because it knows no other.
func unknownWords() (all []string) {
	for _, m := range recipe.Methods() {
		for line := range strings.Lines(m.Defaults.YAML()) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			value = strings.TrimSpace(value)
			_, notNumber := strconv.ParseFloat(strings.TrimPrefix(value, "."), 64)
			if value == "" || value == "true" || value == "false" || notNumber == nil || value[0] == '[' || choices(reflect.ValueOf(m.Params).Elem(), name) != nil {
				continue
			}
			all = append(all, fmt.Sprintf("%s %s: %s %s", m.Field, m.Name, name, value))
		}
	}
	return all
}
