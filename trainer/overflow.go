package trainer

import (
	"fmt"
	"math"
	"strings"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/batch"
)

// scored is a column of log-probs and what they were computed with.
type scored struct {
	column string
	logp   []float64
	// who computed them, with which numerics and, of a static KV cache, scales;
	// field is where a recipe has the numerics.
	who, field string
	numerics   engine.Numerics
	params     *model.Params
	scales     engine.KVScales
	options    learner.ScoreOptions
}

// check returns a NonFinite that says where the first log-prob of the responses
// from..to-1 that is no finite number comes from, nil if all are finite.
func (s *scored) check(b *batch.Batch, from, to int) error {
	for i := from; i < to; i++ {
		start, end := b.Span(i)
		for n := start; n < end; n++ {
			if x := s.logp[n]; b.Mask[n] && !finite(x) {
				return s.explain(b, i, n-start)
			}
		}
	}
	return nil
}

// explain goes through the computation of a token's log-prob again: the first
// tensor that is not finite is the place, and the number format without which
// there is none is the cause.
func (s *scored) explain(b *batch.Batch, response, token int) error {
	for _, t := range s.params.Tensors() {
		for _, x := range t.Data {
			if x := float64(x); !finite(x) {
				return &learner.NonFinite{Tensor: t.Name, Value: value(x),
					Cause: "the weights themselves are not finite; the update before was too large, lower learner.optimizer.lr"}
			}
		}
	}
	var one batch.Batch
	b.Select(&one, []int{response})
	from, _ := b.Span(response)
	fault := &learner.NonFinite{Tensor: fmt.Sprintf("%s of response %d, token %d", s.column, response, token), Value: value(s.logp[from+token])}
	tensor, first := s.locate(&one, s.numerics)
	switch {
	case tensor == "" && fault.Value == "Inf":
		fault.Cause = fmt.Sprintf("a sampled token has probability zero in %s; the engines are too far apart, use finer rollout.numerics", s.who)
		return fault
	case tensor == "":
		fault.Cause = fmt.Sprintf("computed again by itself %s gives a finite value; look at the drafter, or at kernels that depend on the batch", s.who)
		return fault
	}
	fault.Cause = fmt.Sprintf("%s in %s of %s (%s): %s", first, tensor, s.who, s.numerics.Name, s.cause(&one))
	return fault
}

// locate scores a response with other numerics.
func (s *scored) locate(one *batch.Batch, n engine.Numerics) (tensor, value string) {
	scorer := learner.NewScorer(s.params.Config, n, 1)
	defer scorer.Close()
	scorer.Publish(s.params, 0)
	if n.StaticKV() {
		scorer.SetKVScales(s.scales)
	}
	return scorer.Locate(&one.Sampled, s.options)
}

// suspects are the fields of the numerics in the order in which an overflow is
// looked for: what sums pass through, what is stored, what goes in. The order of
// the sums comes last: another one may miss the overflow by luck.
var suspects = []string{wireName, expertParallelName, "accumulator", "activations", "scores", "probabilities", "kv_cache", "router", "head", "inputs", "weights", "reduction"}

// cause names the field of the numerics that, in fp32, leaves the response finite.
func (s *scored) cause(one *batch.Batch) string {
	wide, _ := engine.Preset("fp32")
	for _, name := range suspects {
		for _, f := range fieldMechanisms {
			n := s.numerics
			f.copy(&n, &wide)
			if f.name != name || f.value(&n) == f.value(&s.numerics) || n.Validate() != nil {
				continue
			}
			if tensor, _ := s.locate(one, n); tensor == "" {
				format := f.value(&s.numerics)
				return fmt.Sprintf("overflow in the %s format %s; in fp32 all is finite: change %s.%s, bf16 has the range of fp32",
					strings.ReplaceAll(name, "_", " "), format, s.field, fieldOf(name))
			}
		}
	}
	return fmt.Sprintf("no format is to blame alone; use finer %s, or a smaller learner.optimizer.lr", s.field)
}

// fieldOf is where the numerics have a mechanism.
func fieldOf(mechanism string) string {
	if mechanism == wireName {
		return "reduction"
	}
	return mechanism
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func value(x float64) string {
	if math.IsNaN(x) {
		return "NaN"
	}
	return "Inf"
}

// check looks at the log-probs that every engine recorded of its responses.
func (f *fleet) check(b *batch.Batch) error {
	from := 0
	for i, e := range f.engines {
		s := scored{column: "logp_rollout", logp: b.LogpRoll, who: "the rollout engine", field: "rollout.numerics",
			numerics: f.numerics[i], params: f.published, scales: e.KVScales(),
			options: learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Retention: b.KVKept != nil}}}
		if i > 0 {
			s.who, s.field = fmt.Sprintf("member %d of the fleet", i-1), fmt.Sprintf("rollout.fleet[%d].numerics", i-1)
		}
		to := from + f.count(i, b.Len())
		if err := s.check(b, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// checkScored looks at the columns of the policies that score.
func (s *session) checkScored(options learner.ScoreOptions) error {
	b := &s.batch
	for _, c := range []struct {
		column string
		logp   []float64
		who    string
		scorer *learner.Scorer
		params *model.Params
	}{
		{"logp_old", b.Old.Logp, "the learner", &s.learner.Scorer, s.learner.Params()},
		{"logp_ref", b.Ref.Logp, "the reference", s.reference, s.initial},
		{"logp_teacher", b.Teacher.Logp, "the teacher", s.teacher, s.taught},
	} {
		if c.scorer == nil {
			continue
		}
		x := scored{column: c.column, logp: c.logp, who: c.who, field: "learner.numerics", numerics: s.recipe.Learner.Numerics,
			params: c.params, scales: c.scorer.KVScales(), options: options}
		if c.scorer != &s.learner.Scorer {
			x.options.Replay, x.options.Retention = learner.ReplayNone, false
		}
		if err := x.check(b, 0, b.Len()); err != nil {
			return err
		}
	}
	return nil
}
