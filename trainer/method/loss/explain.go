package loss

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

// rule says how a token's part of a loss comes about, for a trace. It is evaluated
// after Eval, and only for a trace; the frame is that of Eval.
type rule struct {
	frame
	trace.Rule
	// clamped is the condition under which the last ratio has no gradient.
	clamped string
	// share are the lines after value and slope, up to the token's part of the loss and
	// its gradient.
	share []trace.Line
	// tokens are those that the rule is for; nil for all.
	tokens []int
	// also are rules that add to the parts of the tokens.
	also []rule
	// rest are parts of the loss that belong to no token.
	rest []trace.Term
}

// ruled is a loss that can be explained.
type ruled interface {
	// rule declares how the figures of a token come about.
	rule(r *rule)
}

// ratio appends exp of a log-ratio, clamped to the limit if that is not 0.
func (r *rule) ratio(name, of string, limit float64) {
	r.clamped = ""
	if limit == 0 {
		r.Formula(name, "exp("+of+")")
		return
	}
	bound := strconv.FormatFloat(limit, 'f', -1, 64)
	r.clamped = "|" + of + "| > " + bound
	r.Add(trace.Line{Name: name, Formula: "exp(" + of + ")", When: "|" + of + "| ≤ " + bound},
		trace.Line{Name: name, Formula: "exp(" + bound + ")", When: of + " > " + bound},
		trace.Line{Name: name, Formula: "exp(-" + bound + ")", When: of + " < -" + bound})
}

// cappedExp appends exp(min(x, limit)) of the figure x; a limit of 0 is none.
func (r *rule) cappedExp(name string, limit float64) {
	r.clamped = ""
	if limit <= 0 {
		r.Formula(name, "exp(x)")
		return
	}
	bound := trace.Number(limit).String()
	r.clamped = "x > " + bound
	r.Formula(name, "exp(min(x, "+bound+"))")
}

// kept ends the rule with the whole term of a token, without a slope where the last ratio
// is clamped.
func (r *rule) kept(value, slope string, lines ...trace.Line) {
	r.keptIf(nil, value, slope, lines...)
}

// keptIf is kept for the tokens of which the condition is true.
func (r *rule) keptIf(condition func(n int) bool, value, slope string, lines ...trace.Line) {
	if r.clamped != "" {
		r.Branch(trace.Case{Branch: trace.Clamped, If: condition, Lines: lines, When: r.clamped, Value: value, Slope: "0"})
	}
	r.Branch(trace.Case{Branch: trace.Kept, If: condition, Lines: lines, Value: value, Slope: slope})
}

// term ends the rule with a term that no ratio can clamp.
func (r *rule) term(value, slope string) {
	r.Branch(trace.Case{Branch: trace.Kept, Value: value, Slope: slope})
}

// drop is the branch of the tokens that the loss leaves out.
func (r *rule) drop(dropped func(n int) bool) {
	r.Branch(trace.Case{Branch: trace.Dropped, If: dropped, Value: "0", Slope: "0"})
}

// detached ends the rule with -sg[w]·A·logp. The lines give w; a token that meets the
// condition has a bounded weight.
func (r *rule) detached(bounded string, lines ...trace.Line) {
	if bounded != "" {
		r.Branch(trace.Case{Branch: trace.Capped, Lines: lines, When: bounded, Value: "-w·A·logp", Slope: "-w·A"})
	}
	r.Branch(trace.Case{Branch: trace.Kept, Lines: lines, Value: "-w·A·logp", Slope: "-w·A"})
}

// capped ends the rule with detached, of the ratio r below a cap, 0 for none.
func (r *rule) capped(limit float64) {
	if limit == 0 {
		r.detached("", trace.Line{Name: "w", Formula: "r"})
		return
	}
	r.Given("cap", limit)
	r.detached("r > cap", trace.Line{Name: "w", Formula: "min(r, cap)"})
}

// band appends the bounds of a clip.
func (r *rule) band(low, high float64) {
	r.Given("low", low)
	r.Given("high", high)
}

// clip ends the rule with PPO's clip of the ratio of that name between low and high, and
// with the dual clip, 0 for none.
func (r *rule) clip(name string, dual float64) {
	if dual > 0 {
		r.dualClip(name, trace.Given("c", dual))
	}
	r.Branch(trace.Case{Branch: trace.ClippedHigh, When: "A > 0, " + name + " > high", Value: "-A·high", Slope: "0"},
		trace.Case{Branch: trace.ClippedLow, When: "A < 0, " + name + " < low", Value: "-A·low", Slope: "0"})
	r.kept("-A·"+name, "-A·"+name)
}

// dualClip is the branch in which the line c bounds the loss.
func (r *rule) dualClip(name string, c trace.Line) {
	r.Branch(trace.Case{Branch: trace.DualClipped, Lines: []trace.Line{c}, When: "A < 0, max(" + name + ", low) > c", Value: "-A·c", Slope: "0"})
}

// shared says that every token of a response has the same gradient, by a formula in the
// weight w of a token.
func (r *rule) shared(gradient string) {
	weight, lines := r.weightFormula()
	r.share = append(lines, trace.Formula("w", strings.TrimSuffix(weight, "·")), trace.Formula(trace.Share, "w·L"), trace.Formula(trace.Grad, gradient))
}

// whole says that a term is the response's: its tokens have its gradient each, and
// its value together.
func (r *rule) whole(weight func(i int) float64) {
	r.share = []trace.Line{{Name: "W", Value: r.ofResponse(weight)}, trace.Formula(trace.Share, "W·L/count(1)"), trace.Formula(trace.Grad, "W·dL")}
}

// perToken says that every token has its own value and gradient, times its weight.
func (r *rule) perToken() {
	weight, lines := r.weightFormula()
	r.share = append(lines, trace.Formula(trace.Share, weight+trace.Value), trace.Formula(trace.Grad, weight+trace.Slope))
}

// weightFormula is the product of the factors of weight, and its lines.
func (r *rule) weightFormula() (product string, lines []trace.Line) {
	product, lines = "agg·", []trace.Line{{Name: "agg", Value: r.ofResponse(func(i int) float64 { return r.rowWeight[i] })}}
	if in := r.in; in.Weight != nil {
		product, lines = product+"weight·", append(lines, trace.Line{Name: "weight", Value: func(n int) float64 { return in.Weight[n] }})
	}
	if in := r.in; in.Gate != nil {
		product, lines = product+"gate·", append(lines, trace.Line{Name: "gate", Value: func(n int) float64 { return count(in.Gate[n]) }})
	}
	return product, lines
}

// remain says that a part of the loss belongs to no token.
func (r *rule) remain(name string, value float64) {
	r.rest = append(r.rest, trace.Term{Name: name, Value: trace.Number(value)})
}

// ofResponse is a figure of responses as one of their tokens.
func (f *frame) ofResponse(figure func(i int) float64) func(n int) float64 {
	var values []float64
	return func(n int) float64 {
		if values == nil {
			values = make([]float64, f.in.Tokens())
			for i := range f.in.Len() {
				from, to := f.in.Span(i)
				for x := figure(i); from < to; from++ {
					values[from] = x
				}
			}
		}
		return values[n]
	}
}

// ofGroup is ofResponse of a figure that the responses of a group have together.
func (f *frame) ofGroup(figure func(rows []int) func(i int) float64) func(n int) float64 {
	return f.ofResponse(func(i int) float64 {
		groups := f.groups()
		for k := range groups.Len() {
			if rows := groups.Rows(k); slices.Contains(rows, i) {
				return figure(rows)(i)
			}
		}
		return 0
	})
}

// ofToken is a figure of a token of a response, by that and its own number.
func (f *frame) ofToken(figure func(i, n int) float64) func(n int) float64 {
	values := make([]float64, f.in.Tokens())
	for i := range f.in.Len() {
		for n := range f.in.Where(i, f.active) {
			values[n] = figure(i, n)
		}
	}
	return func(n int) float64 { return values[n] }
}

// CheckFormula evaluates the formula of a loss's page on every token of a trace, from the
// columns and the parameters alone, and compares it with what the loss computed. checked
// is false where the formula cannot be evaluated, and why says what of it; where it can
// be and has another value, that is the error.
func CheckFormula(l Loss, formula string, t *trace.Trace) (checked bool, why string, err error) {
	d, fault := trace.Document(formula)
	if fault != nil {
		return false, fault.Error(), nil
	}
	parameters := symbols(l)
	for n := range t.Tokens {
		k := &t.Tokens[n]
		value, ok := k.Find(trace.Value)
		if !ok {
			continue
		}
		got, fault := d.Value(k, usual(k, maps.Clone(parameters)))
		if fault != nil {
			return false, fault.Error(), nil
		}
		checked = true
		if !trace.Agree(got, float64(value.Value)) {
			return true, "", fmt.Errorf("the documented formula %s is %v at token %d of response %d, and the loss computes %v", formula, trace.Number(got), k.Position+1, k.Response+1, value.Value)
		}
	}
	return checked, "", nil
}

// usual adds what formulas name without a definition: lr, the log-ratio to old; w, the
// importance weight, which is 1 where the batch has none; anchor, the one denominator.
func usual(k *trace.Token, given map[string]float64) map[string]float64 {
	given["w"] = 1
	if x, ok := k.Find("weight"); ok {
		given["w"] = float64(x.Value)
	}
	logp, _ := k.Find("logp")
	old, hasOld := k.Find("old")
	roll, hasRoll := k.Find("roll")
	if hasOld {
		given["lr"] = float64(logp.Value) - float64(old.Value)
	}
	switch {
	case hasOld && !hasRoll:
		given["anchor"] = float64(old.Value)
	case hasRoll && !hasOld:
		given["anchor"] = float64(roll.Value)
	}
	return given
}

// symbols are the numbers among a loss's parameters, by their names in a recipe and with
// the Greek letters that formulas have for them.
func symbols(l Loss) map[string]float64 {
	list := map[string]float64{}
	v := reflect.Indirect(reflect.ValueOf(l))
	if v.Kind() != reflect.Struct {
		return list
	}
	greek := strings.NewReplacer("eps", "ε", "beta", "β", "delta", "δ", "lambda", "λ", "tau", "τ", "alpha", "α", "gamma", "γ", "cap", "c")
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if f := v.Field(i); name != "" && f.CanFloat() {
			list[name], list[greek.Replace(name)] = f.Float(), f.Float()
		}
	}
	return list
}
