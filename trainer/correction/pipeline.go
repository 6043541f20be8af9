package correction

import (
	"fmt"

	"driftlab/trainer/batch"
)

// Mode says which policies the correction compares.
type Mode string

// The modes, under verl's names.
const (
	// Decoupled compares pi_old with mu once per batch: three policies.
	Decoupled Mode = "decoupled"
	// Bypass sets pi_old to mu and compares pi with mu at every gradient step.
	Bypass Mode = "bypass"
)

// Order says which tokens the methods of a pipeline count.
type Order string

// The orders.
const (
	// Independent methods all see the original mask; what any rejects goes (verl).
	Independent Order = "independent"
	// Sequential methods see what the earlier ones left (SkyRL).
	Sequential Order = "sequential"
)

// Denominator says whether rejected tokens count in the loss's denominators.
type Denominator string

// The denominators.
const (
	// Post takes rejected tokens out of the loss mask, hence out of the
	// denominators: the step is larger by 1/keep-rate (verl, SkyRL's masks).
	Post Denominator = "post"
	// Pre leaves the loss mask alone and gives rejected tokens the weight 0
	// (AReaL on purpose, prime-rl, TRL).
	Pre Denominator = "pre"
)

// Stage is the moment of a training step at which Apply is called.
type Stage int

// The stages.
const (
	// AtBatch is once per batch, when LogpOld is known (in bypass mode: instead of scoring it).
	AtBatch Stage = iota
	// AtStep is once per gradient step, when Logp is known.
	AtStep
)

// Pipeline is one weighting and any number of masks, applied to a batch. The
// zero value with Mode Decoupled corrects nothing and still resets the columns.
// It holds scratch memory: use one per goroutine.
type Pipeline struct {
	// Mode is decoupled or bypass. Empty means decoupled.
	Mode Mode `yaml:"mode"`
	// Weights is the importance weight, nil for none.
	Weights Weighting `yaml:"weights"`
	// BatchNormalize divides the truncated weights by their mean: over tokens
	// for token weights, over responses otherwise (verl).
	BatchNormalize bool `yaml:"batch_normalize"`
	// Masks are the rejection rules; a token must pass all.
	Masks []Masking `yaml:"masks"`
	// Order is independent or sequential. Empty means independent.
	Order Order `yaml:"order"`
	// WeightsAfter is, with order sequential, the number of masks that run before the weights.
	WeightsAfter int `yaml:"weights_after"`
	// Denominator is post or pre. Empty means post.
	Denominator Denominator `yaml:"denominator"`
	// Names is the code base whose metric names Apply reports: verl or skyrl. Empty means verl.
	Names string `yaml:"names"`

	metrics  []batch.Metric
	logRatio []float64
	buffer   []float64
	weights  Weights
	current  []bool
	keep     []bool
	kept     []bool
	zeroed   []bool

	ruleNames []ruleNames
}

// Validate returns an error that names the field at fault.
func (p *Pipeline) Validate() error {
	for _, f := range []struct {
		field, value string
		known        [2]string
	}{
		{"mode", string(p.Mode), [2]string{string(Decoupled), string(Bypass)}},
		{"order", string(p.Order), [2]string{string(Independent), string(Sequential)}},
		{"denominator", string(p.Denominator), [2]string{string(Post), string(Pre)}},
		{"names", p.Names, [2]string{"verl", "skyrl"}},
	} {
		if f.value == "" {
			continue
		}
		if err := oneOf(f.field, f.value, f.known[0], f.known[1]); err != nil {
			return err
		}
	}
	if p.Weights != nil {
		if err := p.Weights.Validate(); err != nil {
			return fmt.Errorf("weights: %w", err)
		}
	} else if p.BatchNormalize {
		return fmt.Errorf("batch_normalize: there are no weights to normalise")
	}
	for i, m := range p.Masks {
		if err := m.Validate(); err != nil {
			return fmt.Errorf("masks[%d]: %w", i, err)
		}
	}
	switch {
	case p.WeightsAfter != 0 && p.Order != Sequential:
		return fmt.Errorf("weights_after: only order sequential has an order")
	case p.WeightsAfter < 0 || p.WeightsAfter > len(p.Masks):
		return fmt.Errorf("weights_after is %d, there are %d masks", p.WeightsAfter, len(p.Masks))
	}
	return nil
}

// Metrics returns the figures of the last Apply that had something to compute,
// in a fixed order. The slice is overwritten by the next.
func (p *Pipeline) Metrics() []batch.Metric { return p.metrics }

// Apply fills b.LossMask and b.Weight. At AtBatch it starts from b.Mask and
// weight one; in bypass mode it also copies LogpRoll to LogpOld. At AtStep it
// starts from what AtBatch left, however many steps went before. A Weight of nil
// means one. It allocates nothing in steady state.
func (p *Pipeline) Apply(b *batch.Batch, s Stage) error {
	if s == AtBatch {
		return p.applyAtBatch(b)
	}
	return p.applyAtStep(b)
}

// applyAtBatch resets the columns and, in decoupled mode, corrects pi_old against mu.
func (p *Pipeline) applyAtBatch(b *batch.Batch) error {
	p.metrics = p.metrics[:0]
	b.LossMask = append(b.LossMask[:0], b.Mask...)
	if p.weighs() {
		b.Weight = refill(b.Weight, b.Tokens(), 1)
	} else {
		b.Weight = nil
	}
	if p.Mode == Bypass {
		if err := b.Require("LogpRoll"); err != nil {
			return err
		}
		b.LogpOld = append(b.LogpOld[:0], b.LogpRoll...)
	} else if err := p.run(b, AtBatch); err != nil {
		return err
	}
	b.BatchMask = append(b.BatchMask[:0], b.LossMask...)
	if p.weighs() {
		b.BatchWeight = append(b.BatchWeight[:0], b.Weight...)
	} else {
		b.BatchWeight = nil
	}
	return nil
}

// applyAtStep corrects pi against mu where the mode or a mask asks for it.
func (p *Pipeline) applyAtStep(b *batch.Batch) error {
	if len(b.BatchMask) != b.Tokens() {
		return fmt.Errorf("correction: column BatchMask has %d entries, need %d: apply the pipeline to the batch before its gradient steps",
			len(b.BatchMask), b.Tokens())
	}
	if p.Mode != Bypass && !p.hasStepMasks() {
		return nil
	}
	p.metrics = p.metrics[:0]
	b.LossMask = append(b.LossMask[:0], b.BatchMask...)
	if p.weighs() {
		if len(b.BatchWeight) != b.Tokens() {
			return fmt.Errorf("correction: column BatchWeight has %d entries, need %d", len(b.BatchWeight), b.Tokens())
		}
		b.Weight = append(b.Weight[:0], b.BatchWeight...)
	}
	return p.run(b, AtStep)
}

// hasStepMasks reports whether any mask runs at every gradient step in decoupled mode.
func (p *Pipeline) hasStepMasks() bool {
	for _, m := range p.Masks {
		if _, ok := m.(stepMasking); ok {
			return true
		}
	}
	return false
}

// weighs reports whether the pipeline can give any token a weight other than
// one. If not, Weight stays nil.
func (p *Pipeline) weighs() bool {
	return p.Weights != nil || p.hasStepMasks() || p.Denominator == Pre && len(p.Masks) > 0
}

// refill returns a slice of n times value, in x's memory where it suffices.
func refill[T any](x []T, n int, value T) []T {
	x = x[:0]
	for range n {
		x = append(x, value)
	}
	return x
}
