package trainer

import (
	"cmp"
	"slices"

	"driftlab/engine/column"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// adaptive samples groups in stages: a prompt that has been solved gets no more
// responses, and one that was not is lent its last right response in the place of a wrong
// one (AR3PO, 2509.25808).
type adaptive struct {
	answers []*batch.Sampled // by place in the pool; nil before the first
	reused  []bool           // by group of the step
	tokens  int              // of what is lent
}

// generate fills the step's batch from the requests of whole groups, and leaves prompts
// and requests as they were asked.
func (f *promptSampler) generate(s *Session) {
	part := f.group / recipe.AdaptiveStages
	solved, last := make([]bool, len(s.asked)), make([]int, len(s.asked)) // last is a group's last response
	var parts []*batch.Sampled
	asked := s.requests[:0:0]
	for stage := range recipe.AdaptiveStages {
		first := len(asked)
		for g := range s.asked {
			if from := g*f.group + stage*part; !solved[g] {
				asked = append(asked, s.requests[from:from+part]...)
				last[g] = len(asked) - 1
			}
		}
		if len(asked) == first {
			break
		}
		out := new(batch.Sampled)
		s.fleet.Generate(out, asked[first:], engines.Sampling(s.recipe))
		for i, q := range asked[first:] {
			from, to := out.Span(i)
			if s.task.Verify(s.asked[q.Group], out.Token[from:to]).Correct {
				solved[q.Group] = true
				answer := new(batch.Sampled)
				out.Select(answer, []int{i})
				f.answers[f.places[q.PromptID]] = answer
			}
		}
		parts = append(parts, out)
	}
	f.reused, f.tokens = f.reused[:0], 0
	rows := indices(len(asked))
	for g, p := range s.asked {
		answer := f.answers[f.places[p.ID]]
		lend := !solved[g] && answer != nil
		if lend {
			rows[last[g]] = len(asked)
			asked = append(asked, asked[last[g]])
			f.tokens += answer.Tokens()
			parts = append(parts, answer)
		}
		f.reused = append(f.reused, lend)
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(asked[i].Group, asked[j].Group) })
	var all batch.Sampled
	column.Join(&all, parts)
	all.Select(&s.batch.Sampled, rows)
	s.prompts, s.requests = s.prompts[:0], s.requests[:0]
	for k, i := range rows {
		s.batch.Group[k] = asked[i].Group // an answer that is lent has the number of the step it was given in
		s.prompts, s.requests = append(s.prompts, s.asked[asked[i].Group]), append(s.requests, asked[i])
	}
}

// reusedTokens is how many of the batch's tokens were generated in an earlier step.
func (f *promptSampler) reusedTokens() int {
	if f == nil || f.adaptive == nil {
		return 0
	}
	return f.tokens
}

// appendAnswers appends what may be lent, if anything may.
func (f *promptSampler) appendAnswers(dst []byte) []byte {
	if f.adaptive == nil {
		return dst
	}
	all := batch.Sampled{Offsets: []int{0}}
	if there := slices.DeleteFunc(slices.Clone(f.answers), func(a *batch.Sampled) bool { return a == nil }); len(there) > 0 {
		column.Join(&all, there)
	}
	return all.AppendState(dst)
}

// readAnswers reads what appendAnswers appended and returns the rest.
func (f *promptSampler) readAnswers(state []byte) ([]byte, error) {
	if f.adaptive == nil {
		return state, nil
	}
	var all batch.Sampled
	rest, err := all.ReadState(state)
	clear(f.answers)
	for i := range max(len(all.Offsets)-1, 0) {
		answer := new(batch.Sampled)
		all.Select(answer, []int{i})
		f.answers[f.places[all.PromptID[i]]] = answer
	}
	return rest, err
}
