package correction

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// Account is what one method of a pipeline did with the tokens it saw.
type Account struct {
	// Name is the method's.
	Name string
	// Trace ends, for a weight, with ρ, before truncation, and w; for a mask with keep.
	Trace *trace.Trace
}

// Explain applies the pipeline and returns how its weights and masks came about, method
// by method. Weights and decisions are the pipeline's own; every formula is worked out
// again, and one that gives another value is an error.
func (p *Pipeline) Explain(b *batch.Batch, s Stage) ([]Account, error) {
	p.accounts = &[]Account{}
	defer func() { p.accounts = nil }()
	if err := p.Apply(b, s); err != nil {
		return nil, err
	}
	for _, a := range *p.accounts {
		if err := a.Trace.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return *p.accounts, nil
}

// rule is what a method says of itself: what it was given, and how a token's figures
// follow, each formula in those before it.
type rule struct {
	given []trace.Term
	// figures are those of a token that are no formula.
	figures func(n int) []trace.Term
	terms   []trace.Term
	// raw and applied are the formulas of a weight, keep that of a mask; empty where
	// there is none.
	raw, applied, keep string
}

// byTurn reports whether a formula goes over the tokens of a turn.
func (r rule) byTurn() bool {
	return strings.Contains(r.raw, "_turn") || slices.ContainsFunc(r.terms, func(t trace.Term) bool { return strings.Contains(t.Formula, "_turn") })
}

// given is a parameter of a rule.
func given(name string, value float64) trace.Term {
	return trace.Term{Name: name, Value: trace.Number(value)}
}

// formula is a term of a rule.
func formula(name, text string) trace.Term { return trace.Term{Name: name, Formula: text} }

// exp is ratio as a formula.
func (in *Input) exp(logRatio string) string {
	bound := in.Clamp
	if bound == 0 {
		bound = DefaultClamp
	}
	if math.IsInf(bound, 1) {
		return "exp(" + logRatio + ")"
	}
	return fmt.Sprintf("exp(clip(%s, -%g, %g))", logRatio, bound, bound)
}

// begin opens the account of a method with what it sees.
func (p *Pipeline) begin(in *Input, s Stage, r rule) (*trace.Trace, error) {
	t := trace.New(in.Offsets)
	upper, name := in.Anchor, "old"
	if s == AtStep {
		upper, name = in.Now.Logp, "logp"
	}
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		t.Add(n, name, "", upper[n])
		t.Add(n, "roll", "", in.LogpRoll[n])
		t.Add(n, "e", name+" - roll", in.LogRatio[n])
		if r.byTurn() {
			t.Add(n, "turn", "", float64(in.Turn[n]))
		}
		all := r.given
		if r.figures != nil {
			all = append(all[:len(all):len(all)], r.figures(n)...)
		}
		for _, g := range all {
			t.Add(n, g.Name, g.Formula, float64(g.Value))
		}
	}
	for _, term := range r.terms {
		for n, counts := range in.Mask {
			if !counts {
				continue
			}
			if err := t.Derive(n, term.Name, term.Formula); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// accountWeights notes the weights that were computed.
func (p *Pipeline) accountWeights(in *Input) error {
	low, high := p.Weights.Bounds()
	r := p.Weights.rule(in)
	r.given = append([]trace.Term{given("low", low), given("high", high)}, r.given...)
	t, err := p.begin(in, p.stage, r)
	if err != nil {
		return err
	}
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		raw, applied := p.weights.Raw[n], p.weights.Applied[n]
		t.Add(n, "ρ", r.raw, raw)
		t.Add(n, "w", r.applied, applied)
		branch := trace.Kept
		switch {
		case applied == 0 && raw != 0:
			branch = trace.Dropped
		case applied != raw:
			branch = trace.Capped
		}
		t.Tokens[n].Branch = branch
	}
	*p.accounts = append(*p.accounts, Account{weightName(p.Weights), t})
	return nil
}

// accountMask notes the decisions of a mask.
func (p *Pipeline) accountMask(m Masking, in *Input) error {
	r := m.rule(in)
	t, err := p.begin(in, p.stage, r)
	if err != nil {
		return err
	}
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		kept := 0.0
		t.Tokens[n].Branch = trace.Rejected
		if p.keep[n] {
			kept, t.Tokens[n].Branch = 1, trace.Kept
		}
		t.Add(n, trace.Keeping, r.keep, kept)
	}
	*p.accounts = append(*p.accounts, Account{maskName(m), t})
	return nil
}
