package correction

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/precision/elementary"
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

// rule says how a method comes to its weight or its decision, for a trace.
type rule struct {
	lines []trace.Line
	// raw and applied are the formulas of a weight, keep that of a mask; empty where
	// there is none.
	raw, applied, keep string
}

// byTurn reports whether a formula goes over the tokens of a turn.
func (r rule) byTurn() bool {
	return strings.Contains(r.raw, "_turn") || slices.ContainsFunc(r.lines, func(l trace.Line) bool { return strings.Contains(l.Formula, "_turn") })
}

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

// begin opens the account of a method with its inputs.
func (p *Pipeline) begin(in *Input, s Stage, r rule) (*trace.Trace, error) {
	t := trace.New(in.Offsets)
	upper, name := in.Anchor, "old"
	if s == AtStep {
		upper, name = in.Now.Logp, "logp"
	}
	lines := []trace.Line{
		{Name: name, Value: func(n int) float64 { return upper[n] }},
		{Name: "roll", Value: func(n int) float64 { return in.LogpRoll[n] }},
		trace.Formula("e", name+" - roll"),
	}
	if r.byTurn() {
		lines = append(lines, trace.Line{Name: "turn", Value: func(n int) float64 { return float64(in.Turn[n]) }})
	}
	var tokens []int
	for n, counts := range in.Mask {
		if counts {
			tokens = append(tokens, n)
		}
	}
	return t, t.Evaluate(tokens, append(lines, r.lines...)...)
}

// accountWeights notes the weights that were computed.
func (p *Pipeline) accountWeights(in *Input) error {
	low, high := p.Weights.Bounds()
	r := p.Weights.rule(in)
	r.lines = append([]trace.Line{trace.Given("low", low), trace.Given("high", high)}, r.lines...)
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

// Worked is the batch of the worked examples: one response of three tokens, of which one
// has a ratio above a cap of 2.
func Worked() *batch.Batch {
	b := &batch.Batch{
		Sampled:   batch.Sampled{Offsets: []int{0, 3}, Mask: []bool{true, true, true}, LogpRoll: []float64{-0.6, -1.8, -2.2}, Turn: []int32{0, 0, 1}, Version: []int32{6, 7, 7}, Finished: []bool{false}, Vocab: 3},
		Now:       batch.Scored{Logp: []float64{-0.5, -1.2, -2.0}, Entropy: []float64{0.5, 1, 2}},
		Graded:    batch.Graded{Advantage: []float64{-1, -1, -1}, Correct: []bool{false}},
		Corrected: batch.Corrected{Anchor: []float64{-0.7, -1.0, -2.5}},
	}
	for range b.Tokens() {
		for a, p := range []float64{.5, .3, .2} {
			b.DistRoll = append(b.DistRoll, float32(elementary.Log(p)))
			b.Now.Dist = append(b.Now.Dist, float32(elementary.Log([]float64{.4, .4, .2}[a])))
		}
	}
	return b
}
