package correction

import (
	"fmt"

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

// statistic is the name of the figure that a mask compares with its bounds low and high.
const statistic = "S"

// Explain applies the pipeline and returns what its methods recorded of the tokens. It is an error
// if the batch has another weight than the one recorded, if a token is open that a mask rejected, or if
// a decision is not that of the recorded statistic and bounds.
func (p *Pipeline) Explain(b *batch.Batch, s Stage) ([]Account, error) {
	p.accounts = &[]Account{}
	defer func() { p.accounts = nil }()
	if err := p.Apply(b, s); err != nil {
		return nil, err
	}
	for _, a := range *p.accounts {
		for n := range a.Trace.Tokens {
			k := &a.Trace.Tokens[n]
			find := func(name string) (float64, bool) { t, ok := k.Find(name); return float64(t.Value), ok }
			if w, ok := find("w"); ok && !p.BatchNormalize && w != b.Weight[n] {
				return nil, fmt.Errorf("%s: token %d of response %d has the weight %v, and the batch %v", a.Name, k.Position+1, k.Response+1, w, b.Weight[n])
			}
			keep, masked := find(trace.Keeping)
			if masked && keep == 0 && b.LossMask[n] && (b.Gate == nil || b.Gate[n]) {
				return nil, fmt.Errorf("%s: token %d of response %d is rejected, and trains", a.Name, k.Position+1, k.Response+1)
			}
			low, _ := find("low")
			high, _ := find("high")
			if x, ok := find(statistic); ok && within(x, low, high) != (keep == 1) {
				return nil, fmt.Errorf("%s: token %d of response %d has the statistic %v between %v and %v, and keep is %v", a.Name, k.Position+1, k.Response+1, x, low, high, keep)
			}
		}
	}
	return *p.accounts, nil
}

// begin opens the account of a method with its inputs.
func (p *Pipeline) begin(in *Input) {
	in.record = trace.New(in.Offsets)
	upper, name := in.Anchor, "old"
	if p.stage == AtStep {
		upper, name = in.Now.Logp, "logp"
	}
	for n := range in.Mask {
		in.note(n, name, upper[n])
		in.note(n, "roll", in.LogpRoll[n])
		in.note(n, "e", in.LogRatio[n])
	}
}

// accountWeights notes the weights that were computed.
func (p *Pipeline) accountWeights(in *Input) {
	low, high := p.Weights.Bounds()
	for n := range in.Mask {
		raw, applied := p.weights.Raw[n], p.weights.Applied[n]
		in.note(n, "low", low)
		in.note(n, "high", high)
		in.note(n, "ρ", raw)
		in.note(n, "w", applied)
		branch := trace.Kept
		switch {
		case applied == 0 && raw != 0:
			branch = trace.Dropped
		case applied != raw:
			branch = trace.Capped
		}
		in.record.Tokens[n].Branch = branch
	}
	*p.accounts = append(*p.accounts, Account{weightName(p.Weights), in.record})
}

// accountMask notes the decisions of a mask.
func (p *Pipeline) accountMask(m Masking, in *Input) {
	for n := range in.Mask {
		kept := 0.0
		in.record.Tokens[n].Branch = trace.Rejected
		if p.keep[n] {
			kept, in.record.Tokens[n].Branch = 1, trace.Kept
		}
		in.note(n, trace.Keeping, kept)
	}
	*p.accounts = append(*p.accounts, Account{maskName(m), in.record})
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
