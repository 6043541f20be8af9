package engines

import (
	"fmt"
	"math"
	"strings"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/trainer/method/batch"
)

// LogProbs is a column of log-probs and what they were computed with.
type LogProbs struct {
	Column string
	Values []float64
	// Who computed them, with which numerics and, of a static KV cache, scales;
	// Field is where a recipe has the numerics.
	Who, Field string
	Numerics   engine.Numerics
	Params     *model.Params
	Scales     engine.KVScales
	Options    learner.ScoreOptions
}

// Check returns a NonFinite that says where the first log-prob of the responses
// from..to-1 that is no finite number comes from, nil if all are finite.
func (s *LogProbs) Check(b *batch.Batch, from, to int) error {
	for i := from; i < to; i++ {
		start, end := b.Span(i)
		for n := start; n < end; n++ {
			if b.Mask[n] && NonFinite(s.Values[n]) != "" {
				return s.explain(b, i, n-start)
			}
		}
	}
	return nil
}

// explain goes through the computation of a token's log-prob again: the first
// tensor that is not finite is the place, and the number format without which
// there is none is the cause.
func (s *LogProbs) explain(b *batch.Batch, response, token int) error {
	for _, t := range s.Params.Tensors() {
		for _, x := range t.Data {
			if value := NonFinite(float64(x)); value != "" {
				return &learner.NonFinite{Tensor: t.Name, Value: value,
					Cause: "the weights themselves are not finite; the update before was too large, lower learner.optimizer.lr"}
			}
		}
	}
	var one batch.Batch
	b.Select(&one, []int{response})
	from, _ := b.Span(response)
	fault := &learner.NonFinite{Tensor: fmt.Sprintf("%s of response %d, token %d", s.Column, response, token), Value: NonFinite(s.Values[from+token])}
	tensor, first := s.locate(&one, s.Numerics)
	switch {
	case tensor == "" && fault.Value == "Inf":
		fault.Cause = fmt.Sprintf("a sampled token has probability zero in %s; the engines are too far apart, use finer rollout.numerics", s.Who)
		return fault
	case tensor == "":
		fault.Cause = fmt.Sprintf("computed again by itself %s gives a finite value; look at the drafter, or at kernels that depend on the batch", s.Who)
		return fault
	}
	fault.Cause = fmt.Sprintf("%s in %s of %s (%s): %s", first, tensor, s.Who, s.Numerics.Name, s.cause(&one))
	return fault
}

// locate scores a response with other numerics.
func (s *LogProbs) locate(one *batch.Batch, n engine.Numerics) (tensor, value string) {
	scorer := learner.NewScorer(s.Params.Config, n, 1)
	defer scorer.Close()
	scorer.Publish(s.Params, 0)
	if n.StaticKV() {
		scorer.SetKVScales(s.Scales)
	}
	return scorer.Locate(&one.Sampled, s.Options)
}

// suspects are the fields of the numerics in the order in which an overflow is
// looked for: what sums pass through, what is stored, what goes in. The order of
// the sums comes last: another one may miss the overflow by luck.
var suspects = []string{engine.WireField, engine.ExpertParallelField, "accumulator", "activations", "scores", "probabilities", "kv_cache", "router", "head", "inputs", "weights", "reduction"}

// cause names the field of the numerics that, in fp32, leaves the response finite.
func (s *LogProbs) cause(one *batch.Batch) string {
	wide, _ := engine.Preset("fp32")
	for _, name := range suspects {
		for _, f := range engine.Fields() {
			n := s.Numerics
			f.Copy(&n, &wide)
			if f.Name != name || f.Text(&n) == f.Text(&s.Numerics) || n.Validate() != nil {
				continue
			}
			if tensor, _ := s.locate(one, n); tensor == "" {
				format := f.Text(&s.Numerics)
				return fmt.Sprintf("overflow in the %s format %s; in fp32 all is finite: change %s.%s, bf16 has the range of fp32",
					strings.ReplaceAll(name, "_", " "), format, s.Field, strings.Replace(name, engine.WireField, "reduction", 1))
			}
		}
	}
	return fmt.Sprintf("no format is to blame alone; use finer %s, or a smaller learner.optimizer.lr", s.Field)
}

// NonFinite is what x is in place of a finite number, NaN or Inf; empty for a finite one.
func NonFinite(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return "Inf"
	}
	return ""
}

// Check looks at the log-probs that every engine recorded of its responses.
func (f *Fleet) Check(b *batch.Batch) error {
	from := 0
	for i, e := range f.engines {
		s := LogProbs{Column: "logp_rollout", Values: b.LogpRoll, Who: "the rollout engine", Field: "rollout.numerics",
			Numerics: f.numerics[i], Params: f.published, Scales: e.KVScales(),
			Options: learner.ScoreOptions{Policy: learner.Policy{Temperature: 1, Retention: b.KVKept != nil}}}
		if i > 0 {
			s.Who, s.Field = fmt.Sprintf("member %d of the fleet", i-1), fmt.Sprintf("rollout.fleet[%d].numerics", i-1)
		}
		to := from + f.count(i, b.Len())
		if err := s.Check(b, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}
