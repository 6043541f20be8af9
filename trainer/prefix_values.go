package trainer

import (
	"math"

	"driftlab/engine/rollout"
	"driftlab/trainer/episode"
	"driftlab/trainer/recipe"
)

// prefixValues has the policy value the step's responses.
type prefixValues struct {
	*episode.Valuer
	own *rollout.Engine // in the learner's numerics; nil: the engine that sampled
}

func newPrefixValues(s *Session) (stage, error) {
	r := s.recipe
	if r.PrefixValues == nil {
		return nil, nil
	}
	p := &prefixValues{Valuer: episode.NewValuer(r)}
	if r.PrefixValues.At == recipe.AtTraining {
		p.own = rollout.New(r.Model, r.Learner.Numerics, evaluationSlots, s.options.Workers)
	}
	return p, nil
}

// run fills Episode and PrefixValue, and logs what that took.
func (p *prefixValues) run(s *Session) error {
	b, e := &s.batch, s.fleet.Main()
	if p.own != nil {
		e = p.own
		e.Publish(s.learner.Params(), b.LearnerVersion)
	}
	cost := p.Fill(b, s.prompts, e, s.recipe.Seed+uint64(b.Step)<<32)
	tokens := cost.New
	if p.own != nil {
		tokens += cost.Read
	}
	s.log("prefix_values/tokens", float64(tokens))
	s.log("prefix_values/episodes", float64(cost.Prefixes)/float64(b.Len()))
	moved, sum := 0.0, 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n+1 < to; n++ {
			if b.Episode[n+1] != b.Episode[n] {
				moved, sum = moved+1, sum+math.Abs(b.PrefixValue[n+1]-b.PrefixValue[n])
			}
		}
	}
	s.log("prefix_values/utility_abs", sum/max(moved, 1))
	return nil
}

func (p *prefixValues) Close() {
	if p.own != nil {
		p.own.Close()
	}
}
