package loss

import (
	"fmt"
	"reflect"
	"slices"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// record is what an evaluation leaves for a trace.
type record struct {
	frame frame
	needs []batch.Column
	// computed is what Eval returned for a token; loops of a loss's own leave none.
	computed map[int]*trace.Result
	// restricted says that the loss left tokens out of every sum.
	restricted bool
}

// Explain evaluates a loss and returns how every active token's part of it came about, by
// its rule. It is an error if the parts are not the loss: every
// token's term is compared with what Eval returned, and the parts are added up.
func Explain(l Loss, in *batch.Batch) (*trace.Trace, *Grad, error) {
	rec := &record{computed: map[int]*trace.Result{}}
	out := &Grad{record: rec, frozen: slices.Clone(in.Now.Logp)} // frozen: no dual variable moves
	if err := l.Eval(out, in); err != nil {
		return nil, nil, err
	}
	t := trace.New(in.Offsets)
	r := rule{frame: rec.frame}
	r.out = &Grad{frozen: out.frozen} // what a rule computes is not logged
	if err := t.Evaluate(r.all(), rec.columns()...); err != nil {
		return nil, nil, err
	}
	if err := r.declare(l); err != nil {
		return nil, nil, err
	}
	if err := r.apply(t, rec); err != nil {
		return nil, nil, err
	}
	for n := range t.Tokens {
		if rec.restricted && !r.active[n] {
			t.Tokens[n].Branch = trace.Dropped
		}
	}
	return t, out, checkParts(t, out)
}

// declare takes the rule of a loss, or where it has none the documented formula and gradient.
func (r *rule) declare(l Loss) error {
	if declared, ok := l.(ruled); ok {
		declared.rule(r)
		return nil
	}
	for _, e := range Registry {
		if reflect.TypeOf(e.New()) == reflect.TypeOf(l) {
			parameters := symbols(l)
			parameters["w"] = 1 // the importance weight is a factor of the whole term
			d, err := trace.Document(e.Formula)
			if err == nil {
				var documented *trace.Rule
				if documented, err = d.Rule(e.Gradient, parameters); err == nil {
					r.Rule = *documented
					return nil
				}
			}
			return fmt.Errorf("trace: %s has no method rule, and its documented formula or gradient cannot be evaluated: %w", e.Name, err)
		}
	}
	return fmt.Errorf("trace: %T has no rule", l)
}

// checkParts compares a trace with the loss that it is of.
func checkParts(t *trace.Trace, out *Grad) error {
	if err := t.Check(); err != nil {
		return err
	}
	sum := 0.0
	for _, part := range t.Rest {
		sum += float64(part.Value)
	}
	for n := range t.Tokens {
		k := &t.Tokens[n]
		share, _ := k.Find(trace.Share)
		grad, _ := k.Find(trace.Grad)
		sum += float64(share.Value)
		if got, want := float64(grad.Value), out.DLogp[n]; !trace.Agree(got, want) {
			return fmt.Errorf("trace: token %d has the gradient %v in its trace and %v in the loss", n, got, want)
		}
	}
	if !trace.Agree(sum, out.Loss) {
		return fmt.Errorf("trace: the tokens' parts add up to %v, the loss is %v", sum, out.Loss)
	}
	return nil
}

// all are the active tokens.
func (f *frame) all() (tokens []int) {
	for n, m := range f.active {
		if m {
			tokens = append(tokens, n)
		}
	}
	return tokens
}

// apply works a rule out on its tokens, with the terms that Eval computed.
func (r *rule) apply(t *trace.Trace, rec *record) error {
	tokens := r.tokens
	if tokens == nil {
		tokens = r.all()
	}
	if err := t.Apply(&r.Rule, tokens); err != nil {
		return err
	}
	if r.Branches() {
		for _, n := range tokens {
			if err := t.Conclude(n, rec.computed[n]); err != nil {
				return err
			}
		}
		if r.share == nil {
			r.perToken()
		}
	}
	for _, line := range r.share {
		if err := addShare(t, tokens, line); err != nil {
			return err
		}
	}
	t.Rest = append(t.Rest, r.rest...)
	for i := range r.also {
		if err := r.also[i].apply(t, &record{}); err != nil {
			return err
		}
	}
	return nil
}

// addShare works a line out; parts of the loss and of the gradient are added to those
// that a token has of another rule.
func addShare(t *trace.Trace, tokens []int, line trace.Line) error {
	before := make([]trace.Term, len(tokens))
	for i, n := range tokens {
		before[i], _ = t.Tokens[n].Find(line.Name)
	}
	if err := t.Evaluate(tokens, line); err != nil {
		return err
	}
	for i, n := range tokens {
		terms := t.Tokens[n].Terms
		if last := &terms[len(terms)-1]; before[i].Name != "" && (line.Name == trace.Share || line.Name == trace.Grad) {
			last.Formula, last.Value = "", last.Value+before[i].Value
		}
	}
	return nil
}

// columns are the lines of what a loss reads.
func (rec *record) columns() []trace.Line {
	in := rec.frame.in
	lines := []trace.Line{{Name: "logp", Value: func(n int) float64 { return rec.frame.sg[n] }}}
	for _, c := range []struct {
		column batch.Column
		name   string
		at     func(n int) float64
	}{
		{batch.LogpRoll, "roll", func(n int) float64 { return in.LogpRoll[n] }},
		{batch.Anchor, "old", func(n int) float64 { return in.Anchor[n] }},
		{batch.LogpRef, "ref", func(n int) float64 { return in.Ref.Logp[n] }},
		{batch.LogpTeacher, "teacher", func(n int) float64 { return in.Teacher.Logp[n] }},
		{batch.Entropy, "H", func(n int) float64 { return in.Now.Entropy[n] }},
		{batch.Turn, "turn", func(n int) float64 { return float64(in.Turn[n]) }},
		{batch.Reward, "R", rec.frame.ofResponse(func(i int) float64 { return in.Reward[i] })},
		{batch.Correct, "correct", rec.frame.ofResponse(func(i int) float64 { return count(in.Correct[i]) })},
		{batch.Advantage, "A", func(n int) float64 { return in.Advantage[n] }},
	} {
		if slices.Contains(rec.needs, c.column) {
			lines = append(lines, trace.Line{Name: c.name, Value: c.at})
		}
	}
	return lines
}
