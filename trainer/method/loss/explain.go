package loss

import (
	"fmt"
	"slices"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Explain evaluates a loss and returns how every active token's part of it came about,
// from the evaluation itself. It is an error if the parts are not the loss: every
// formula of the trace is worked out again, and the parts are added up.
func Explain(l Loss, in *batch.Batch) (*trace.Trace, *Grad, error) {
	out := &Grad{trace: trace.New(in.Offsets), frozen: slices.Clone(in.Now.Logp)} // frozen: no dual variable moves
	if err := l.Eval(out, in); err != nil {
		return nil, nil, err
	}
	if err := out.trace.Check(); err != nil {
		return nil, nil, err
	}
	sum := 0.0
	for _, part := range out.trace.Rest {
		sum += float64(part.Value)
	}
	for n := range out.trace.Tokens {
		t := &out.trace.Tokens[n]
		share, _ := t.Find(trace.Share)
		grad, _ := t.Find(trace.Grad)
		sum += float64(share.Value)
		if got, want := float64(grad.Value), out.DLogp[n]; !trace.Agree(got, want) {
			return nil, nil, fmt.Errorf("trace: token %d has the gradient %v in its trace and %v in the loss", n, got, want)
		}
	}
	if !trace.Agree(sum, out.Loss) {
		return nil, nil, fmt.Errorf("trace: the tokens' parts add up to %v, the loss is %v", sum, out.Loss)
	}
	return out.trace, out, nil
}

// given notes the columns that a loss reads, of every active token.
func (f *frame) given(needs []batch.Column) {
	if f.trace == nil {
		return
	}
	in := f.in
	columns := []struct {
		column batch.Column
		name   string
		at     func(i, n int) float64
	}{
		{batch.LogpRoll, "roll", func(_, n int) float64 { return in.LogpRoll[n] }},
		{batch.Anchor, "old", func(_, n int) float64 { return in.Anchor[n] }},
		{batch.LogpRef, "ref", func(_, n int) float64 { return in.Ref.Logp[n] }},
		{batch.LogpTeacher, "teacher", func(_, n int) float64 { return in.Teacher.Logp[n] }},
		{batch.Entropy, "H", func(_, n int) float64 { return in.Now.Entropy[n] }},
		{batch.Turn, "turn", func(_, n int) float64 { return float64(in.Turn[n]) }},
		{batch.Reward, "R", func(i, _ int) float64 { return in.Reward[i] }},
		{batch.Correct, "correct", func(i, _ int) float64 { return count(in.Correct[i]) }},
		{batch.Advantage, "A", func(_, n int) float64 { return in.Advantage[n] }},
	}
	for i := range in.Len() {
		for n := range in.Where(i, f.active) {
			f.note(n, "logp", "", f.sg[n])
			for _, c := range columns {
				if slices.Contains(needs, c.column) {
					f.note(n, c.name, "", c.at(i, n))
				}
			}
		}
	}
}
