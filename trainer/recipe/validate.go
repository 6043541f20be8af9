package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

const (
	// maxResponses bounds a step, so that a mistyped recipe does not ask for the whole memory.
	maxResponses = 1 << 16
	maxName      = 100
)

// Validate returns everything wrong with the values and their combinations, as
// Faults, or nil.
func (r Recipe) Validate() error { return r.faults().orNil() }

// checker collects faults by field.
type checker struct {
	faults Faults
	alone  int // of the first faults: those of a field by itself
}

// that records a fault unless the condition holds. A field that is wrong by itself is
// not compared with others.
func (c *checker) that(ok bool, path, format string, args ...any) {
	if !ok && !slices.ContainsFunc(c.faults[:c.alone], func(f Fault) bool { return f.Path == path }) {
		c.faults = append(c.faults, Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

// errs records the faults of a value that checks itself. Its error lines begin
// with a field of the value, or speak of the value as a whole; without fields all
// begin with one.
func (c *checker) errs(path string, err error, fields []string) {
	for _, line := range flatten(err) {
		field, problem := splitField(line, fields)
		if strings.HasPrefix(field, "[") || field == "" {
			c.that(false, path+field, "%s", problem)
			continue
		}
		c.that(false, join(path, field), "%s", problem)
	}
}

func flatten(err error) []string {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, flatten(e)...)
		}
		return lines
	}
	return strings.Split(err.Error(), "\n")
}

// splitField cuts "eps_low -1: must not be negative" or "eps_low: ..." into
// the field and the rest.
func splitField(line string, fields []string) (field, problem string) {
	word := line
	if i := strings.IndexAny(line, " :"); i >= 0 {
		word = line[:i]
	}
	base := word
	if i := strings.IndexAny(word, ".["); i > 0 {
		base = word[:i]
	}
	if fields != nil && !slices.Contains(fields, base) {
		return "", line
	}
	return word, strings.TrimLeft(line[len(word):], ": ")
}

func (r Recipe) faults() Faults {
	c := &checker{}
	c.errs("", method.CheckTags(&r), nil) // what tags say; the rest is of several fields
	c.alone = len(c.faults)
	c.name(r.Name)
	c.choice("task", r.Task.Name, r.Task.Params)
	c.model(r)
	c.rollout(r.Rollout)
	c.learner(r)
	c.choice("schedule", r.Schedule.Name, r.Schedule.Params)
	c.that(len(r.Reward) > 0, "reward", "no part: use exact")
	before := len(c.faults)
	for _, m := range r.methods() {
		c.choice(m.path, m.name, m.params)
	}
	if !slices.ContainsFunc(c.faults[before:], func(f Fault) bool { return strings.HasPrefix(f.Path, "correction.") }) { // the pipeline that they make
		c.errs("correction", r.Correction.Pipeline().Validate(), []string{"mode", "weights", "batch_normalize", "masks", "clamp", "order", "weights_after", "denominator", "names"})
	}
	c.that(r.Eval.Every == 0 || r.Eval.Prompts > 0, "eval.prompts", "0 with eval.every %d: must be at least 1, or set eval.every to 0", r.Eval.Every)
	c.that(r.Pretrain == nil || r.Pretrain.Rejection == nil || r.Checkpoint != "", "pretrain.rejection", "no checkpoint to sample from: name one under checkpoint")
	c.pairs(r)
	return c.faults
}

var folderName = regexp.MustCompile(`^(\w[\w.-]*)?$`)

func (c *checker) name(name string) {
	c.that(name != "", "name", "missing: give the run a name")
	c.that(len(name) <= maxName && folderName.MatchString(name), "name", "%q does not name a folder: use up to %d letters, digits and . _ -, a letter or digit first", name, maxName)
}

// choice asks a method about its parameters.
func (c *checker) choice(path, name string, params any) {
	if name == "" {
		c.that(false, path, "no method chosen: start from recipe.Default")
		return
	}
	c.errs(path, method.Check(params), parametersOf(params))
}

func (c *checker) model(r Recipe) {
	m := r.Resolved().Model
	if m == (model.Config{}) {
		return // the checkpoint's: checked when it is read
	}
	for _, line := range flatten(m.Validate()) {
		path, problem, _ := strings.Cut(line, ": ")
		c.that(false, path, "%s", problem)
	}
	if need := len(r.Task.Params.Vocab()); m.Vocab < need {
		c.that(false, "model.vocab", "%d tokens are too few: the task %s has %d", m.Vocab, r.Task.Name, need)
	}
}

// differences lists the fields in which a model section and a checkpoint differ.
func differences(m, checkpoint model.Config, name string) Faults {
	var faults Faults
	if m.Experts == 0 && checkpoint.Experts > 0 {
		return Faults{{Path: "model.experts", Problem: fmt.Sprintf("a dense model, but the checkpoint %s has %d experts: train a dense one first, for example simulate pretrain chain-base --set model.experts=1 --out dense, "+
			"then give it with checkpoint=./dense and without a model section", name, checkpoint.Experts)}}
	}
	theirs := fieldsOf(reflect.ValueOf(&checkpoint).Elem())
	for i, f := range fieldsOf(reflect.ValueOf(&m).Elem()) {
		if a, b := f.value.Interface(), theirs[i].value.Interface(); a != b {
			has := cmp.Or(fmt.Sprint(b), "none")
			faults = append(faults, Fault{Path: "model." + f.name, Problem: fmt.Sprintf("%v, but the checkpoint %s has %s: leave the field out to take the checkpoint's model, or start from random weights with an empty checkpoint", a, name, has)})
		}
	}
	return faults
}

func (c *checker) rollout(r Rollout) {
	c.numerics("rollout.numerics", r.Numerics)
	c.that(r.Responses() <= maxResponses, "rollout.prompts", "%d prompts of %d responses are %d, more than %d", r.Prompts, r.Group, r.Responses(), maxResponses)
	c.speculative(r)
	c.fusion(r)
	if k := r.KVRetention; k != nil {
		c.that(k.Policy != retainHeavyHitter || !r.PrefixCache, "rollout.prefix_cache",
			"true shares keys and values, and kv_retention heavy_hitter needs the attention that each prompt gave them: use false")
	}
	c.sharedPrefixCache(r)
	c.fleet(r)
	c.kvScales(r)
	c.pool(r)
	c.that(r.Noise.Start == 0 || r.Noise.End <= r.Noise.Start, "rollout.noise.end", "%v is above start, %v: the noise fades", r.Noise.End, r.Noise.Start)
}

func (c *checker) speculative(r Rollout) {
	s := r.Speculative
	if s == nil {
		return
	}
	const at = "rollout.speculative."
	c.that(s.Drafter != "", at+"drafter", "missing: use self, or a checkpoint's name")
	if s.Numerics != nil {
		c.numerics(at+"numerics", *s.Numerics)
	}

	c.that(s.Tau == 0 || s.Verify == VerifyLossy, at+"tau", "%v is the leniency of verify lossy: use 0 with %s", s.Tau, s.Verify)
	c.that(s.Refresh == 0 || s.Drafter == DrafterSelf, at+"refresh", "%d copies the policy, and %s is another model: use 0, or distill", s.Refresh, s.Drafter)
	c.that(s.LogProbs == VerifierLogProbs || r.LogProbs == ProcessedLogProbs, at+"log_probs",
		"%s is of a distribution after temperature and truncation, and rollout.log_probs is %s: use processed there", s.LogProbs, r.LogProbs)
	c.that(s.Distill.Every == 0 || s.LogProbs == VerifierLogProbs, at+"distill.every",
		"%d learns from the verifier's distributions, and log_probs %s records others: use verifier", s.Distill.Every, s.LogProbs)
	c.that(r.KVRetention == nil, "rollout.speculative", "drafts are taken back from the KV cache, and what kv_retention gave up does not come back: leave one of the two out")
}

func (c *checker) numerics(path string, n engine.Numerics) {
	if _, ok := engine.Preset(n.Name); !ok && n.Name != "" {
		c.that(false, join(path, "name"), "%v", method.UnknownName(n.Name, engine.PresetNames()))
	}
	c.errs(path, n.Validate(), parametersOf(&n))
}

func (c *checker) learner(r Recipe) {
	l := r.Learner
	c.numerics("learner.numerics", l.Numerics)
	c.that(r.Rollout.Responses() <= 0 || l.Minibatches <= r.Rollout.Responses(), "learner.minibatches",
		"%d are more than the %d responses of a step (rollout.prompts x rollout.group)", l.Minibatches, r.Rollout.Responses())
	if lag, ok := r.Schedule.Params.(*schedule.Lag); ok && lag.Batches > 0 {
		const most = 1024 // weights that a run keeps, as of k
		c.that(lag.Batches <= most/max(l.Updates(), 1), "schedule.batches", "%d batches of %d updates are more than %d updates: the run keeps the weights of each", lag.Batches, l.Updates(), most)
	}
	c.that(l.LossScale.Mode != ScaleDynamic || l.Numerics.Gradients.Overflow != precision.Saturate, "learner.loss_scale.mode",
		"dynamic halves the scale when a gradient is not finite, and gradients of %s saturate: use a format that overflows to infinity, such as fp16, or mode none", l.Numerics.Gradients)
	fraction, _ := math.Frexp(l.LossScale.Initial)
	c.that(fraction == 0.5, "learner.loss_scale.initial", "%v is not a power of two between 1 and 2^24", l.LossScale.Initial)
}
