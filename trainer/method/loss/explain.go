package loss

import (
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// record keeps what an evaluation says of its tokens, for a trace. Eval fills it by note,
// took, add and addResponse, which do nothing where a Grad has no record.
type record struct {
	frame frame
	needs []batch.Column
	trace *trace.Trace
	at    int // the token whose term is being computed
	// parts and rows are the parts of the loss by token and by response; the last of rows
	// belongs to no response.
	parts, rows []float64
}

// begin says that what is noted next is of token n.
func (f *frame) begin(n int) {
	if rec := f.out.record; rec != nil {
		rec.at = n
		if k := &rec.trace.Tokens[n]; k.Branch == "" {
			k.Branch = trace.Kept
		}
	}
}

// note records a figure of the token at hand.
func (f *frame) note(name string, value float64) {
	if rec := f.out.record; rec != nil {
		rec.trace.Add(rec.at, name, value)
	}
}

// took records the branch of the token at hand.
func (f *frame) took(b trace.Branch) {
	if rec := f.out.record; rec != nil {
		rec.trace.Tokens[rec.at].Branch = b
	}
}

// add adds a part of the loss that is of token n, whose factor in the batch is w.
func (f *frame) add(n int, w, part float64) {
	f.out.Loss += part
	if rec := f.out.record; rec != nil {
		f.note("weight", w)
		rec.parts[n] += part
	}
}

// addResponse adds a part of the loss that the tokens of response i have together; where i
// is their number, it is a constant.
func (f *frame) addResponse(i int, part float64) {
	f.out.Loss += part
	if rec := f.out.record; rec != nil {
		rec.rows[i] += part
	}
}

// Explain evaluates a loss and returns what the evaluation recorded of every active token.
// It is an error if the recorded parts do not add up to the loss, or if the gradient of
// a token of check is not the central difference of the loss in its log-prob.
func Explain(l Loss, in *batch.Batch, check []int) (*trace.Trace, *Grad, error) {
	t := trace.New(in.Offsets)
	rec := &record{trace: t, parts: make([]float64, in.Tokens()), rows: make([]float64, in.Len()+1)}
	out := &Grad{record: rec, frozen: slices.Clone(in.Now.Logp)} // frozen: no dual variable moves
	if err := l.Eval(out, in); err != nil {
		return nil, nil, err
	}
	sum := 0.0
	for i, part := range rec.rows {
		if sum += part; part != 0 {
			name := fmt.Sprintf("response %d", i+1)
			if i == in.Len() {
				name = "a constant"
			}
			t.Rest = append(t.Rest, trace.Term{Name: name, Value: trace.Number(part)})
		}
	}
	inputs, active := rec.inputs(), in.Active()
	for n := range t.Tokens {
		k := &t.Tokens[n]
		if sum += rec.parts[n]; !active[n] {
			*k = trace.Token{Response: k.Response, Position: k.Position}
			continue
		}
		rec.frame.begin(n)
		noted := k.Terms
		k.Terms = nil
		for _, c := range inputs {
			t.Add(n, c.name, c.at(n))
		}
		k.Terms = append(k.Terms, noted...)
		t.Add(n, trace.Share, rec.parts[n])
		t.Add(n, trace.Grad, out.DLogp[n])
	}
	if !trace.Agree(sum, out.Loss) {
		return nil, nil, fmt.Errorf("explain: the recorded parts of %T add up to %v, the loss is %v", l, sum, out.Loss)
	}
	return t, out, checkSlopes(l, in, t, out, check)
}

// checkSlopes compares the gradients of tokens with central differences of the loss, in
// which what a method detaches keeps its value. A token at a kink has no derivative, and no difference.
func checkSlopes(l Loss, in *batch.Batch, t *trace.Trace, out *Grad, tokens []int) error {
	const h = 1e-6
	view := *in
	view.Now.Logp = slices.Clone(in.Now.Logp)
	moved := &Grad{frozen: in.Now.Logp}
	for _, n := range tokens {
		k := &t.Tokens[n]
		var at [2]float64
		for side, x := range [2]float64{in.Now.Logp[n] - h, in.Now.Logp[n] + h} {
			view.Now.Logp[n] = x
			if err := l.Eval(moved, &view); err != nil {
				return err
			}
			at[side] = moved.Loss
		}
		view.Now.Logp[n] = in.Now.Logp[n]
		left, right := (out.Loss-at[0])/h, (at[1]-out.Loss)/h
		if math.Abs(left-right) > float64(1e-3*(math.Abs(left)+math.Abs(right)))+float64(1e-5*(1+math.Abs(out.Loss))) {
			continue
		}
		slope := (at[1] - at[0]) / (2 * h)
		// 1e-6 of the slope, and the rounding of a difference of losses over 2h.
		if got := out.DLogp[n]; math.Abs(got-slope) > float64(1e-6*max(math.Abs(slope), 1e-2))+float64(1e-9*math.Abs(out.Loss)) {
			return fmt.Errorf("explain: token %d of response %d: the gradient of %T is %.9g, and the difference of the loss %.9g", k.Position+1, k.Response+1, l, got, slope)
		}
		t.Add(n, trace.Difference, slope)
	}
	return nil
}

// input is a column that a loss reads, under the name that formulas have for it.
type input struct {
	column batch.Column
	name   string
	at     func(n int) float64
}

// inputs are the columns that the evaluation asked for.
func (rec *record) inputs() []input {
	in := rec.frame.in
	response := func(n int) int { return rec.trace.Tokens[n].Response }
	return slices.DeleteFunc([]input{
		{batch.Logp, "logp", func(n int) float64 { return in.Now.Logp[n] }},
		{batch.LogpRoll, "roll", func(n int) float64 { return in.LogpRoll[n] }},
		{batch.Anchor, "old", func(n int) float64 { return in.Anchor[n] }},
		{batch.LogpRef, "ref", func(n int) float64 { return in.Ref.Logp[n] }},
		{batch.LogpTeacher, "teacher", func(n int) float64 { return in.Teacher.Logp[n] }},
		{batch.Entropy, "H", func(n int) float64 { return in.Now.Entropy[n] }},
		{batch.Turn, "turn", func(n int) float64 { return float64(in.Turn[n]) }},
		{batch.Reward, "R", func(n int) float64 { return in.Reward[response(n)] }},
		{batch.Correct, "correct", func(n int) float64 { return count(in.Correct[response(n)]) }},
		{batch.Advantage, "A", func(n int) float64 { return in.Advantage[n] }},
	}, func(c input) bool { return c.column != batch.Logp && !slices.Contains(rec.needs, c.column) })
}
