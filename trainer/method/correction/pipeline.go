package correction

import (
	"fmt"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
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
	// Pre leaves the loss mask alone and closes the gate of rejected tokens: they
	// stay in every denominator (AReaL on purpose, prime-rl, TRL).
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
// It has scratch memory: use one per goroutine.
type Pipeline struct {
	// Mode is decoupled or bypass. Empty means decoupled.
	Mode Mode `yaml:"mode" oneof:"decoupled bypass"`
	// Weights is the importance weight, nil for none.
	Weights Weighting `yaml:"weights"`
	// BatchNormalize divides the truncated weights by their mean: over tokens
	// for token weights, over responses otherwise (verl).
	BatchNormalize bool `yaml:"batch_normalize"`
	// Masks are the rejection rules; a token must pass all.
	Masks []Masking `yaml:"masks"`
	// Order is independent or sequential. Empty means independent.
	Order Order `yaml:"order" oneof:"independent sequential"`
	// WeightsAfter is, with order sequential, the number of masks that run before the weights.
	WeightsAfter int `yaml:"weights_after"`
	// Denominator is post or pre. Empty means post.
	Denominator Denominator `yaml:"denominator" oneof:"post pre"`
	// Clamp bounds log-ratios, and their sums, before exp. 0 means 20 (verl, SkyRL,
	// slime); .inf is none (AReaL, ROLL, TRL).
	Clamp float64 `yaml:"clamp"`
	// Names is the code base whose metric names Apply reports: verl or skyrl. Empty means verl. With nemo-rl
	// and miles, whose corrections log no more than verl's, the gap is logged under their names, too.
	Names string `yaml:"names" oneof:"verl skyrl nemo-rl miles"`
	// Seed is the run's, for rules that draw; no recipe gives it here.
	Seed uint64 `yaml:"-"`

	input    Input
	metrics  []batch.Metric
	atBatch  int // how many of metrics the batch stage reported
	logRatio []float64
	buffer   []float64
	weights  Weights
	current  []bool
	keep     []bool

	ruleNames []ruleNames

	withheld bool // the masks do not act

	accounts *[]Account // of the methods that run; nil unless they are explained
	stage    Stage
}

// Withhold keeps the masks from acting in the batches to come, or no longer does.
func (p *Pipeline) Withhold(masks bool) { p.withheld = masks }

// Validate returns an error that names the field at fault.
func (p *Pipeline) Validate() error {
	if err := method.CheckTags(p); err != nil {
		return err
	}
	if p.Weights != nil {
		if err := method.Check(p.Weights); err != nil {
			return fmt.Errorf("weights: %w", err)
		}
	} else if p.BatchNormalize {
		return fmt.Errorf("batch_normalize: there are no weights to normalise")
	}
	for i, m := range p.Masks {
		if err := method.Check(m); err != nil {
			return fmt.Errorf("masks[%d]: %w", i, err)
		}
		for j, other := range p.Masks[:i] {
			if maskName(m) == maskName(other) {
				return fmt.Errorf("masks[%d]: %s is masks[%d] already, and two rules' figures cannot have one name: keep the narrower", i, maskName(m), j)
			}
		}
	}
	switch {
	case !(p.Clamp >= 0):
		return fmt.Errorf("clamp is %v, must not be negative", p.Clamp)
	case p.WeightsAfter != 0 && p.Order != Sequential:
		return fmt.Errorf("weights_after: only order sequential has an order")
	case p.WeightsAfter < 0 || p.WeightsAfter > len(p.Masks):
		return fmt.Errorf("weights_after is %d, there are %d masks", p.WeightsAfter, len(p.Masks))
	}
	return nil
}

// Metrics returns the figures of the last AtBatch and the last AtStep after it,
// in a fixed order. The slice is overwritten by the next Apply.
func (p *Pipeline) Metrics() []batch.Metric { return p.metrics }

// Apply fills b.LossMask, b.Weight and b.Gate. At AtBatch it starts from b.Mask,
// weight one and open gates; in bypass mode it also makes LogpRoll the anchor.
// At AtStep it starts from what AtBatch left, however many steps went before. A
// Weight or Gate of nil means one and open: columns that the pipeline never
// needs stay nil. It allocates nothing in steady state.
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
	weight, gate := b.Weight, b.Gate
	b.Weight, b.Gate = nil, nil
	if p.Weights != nil {
		b.Weight = refill(weight, b.Tokens(), 1)
	}
	if p.hasStepMasks() || p.Denominator == Pre && len(p.Masks) > 0 { // else no gate closes
		b.Gate = refill(gate, b.Tokens(), true)
	}
	if p.Mode == Bypass {
		if err := b.Require(batch.LogpRoll); err != nil {
			return err
		}
		b.Anchor = b.LogpRoll
	} else if err := p.run(b, AtBatch); err != nil {
		return err
	}
	b.BatchMask = append(b.BatchMask[:0], b.LossMask...)
	p.atBatch = len(p.metrics)
	b.BatchWeight = copied(b.BatchWeight, b.Weight)
	b.BatchGate = copied(b.BatchGate, b.Gate)
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
	p.metrics = p.metrics[:p.atBatch]
	b.LossMask = append(b.LossMask[:0], b.BatchMask...)
	b.Weight = copied(b.Weight, b.BatchWeight)
	b.Gate = copied(b.Gate, b.BatchGate)
	return p.run(b, AtStep)
}

// AtEveryStep reports whether a mask runs at every gradient step in decoupled mode: it closes gates.
func AtEveryStep(m Masking) bool { _, ok := m.(stepMasking); return ok }

// hasStepMasks reports whether any mask does.
func (p *Pipeline) hasStepMasks() bool { return slices.ContainsFunc(p.Masks, AtEveryStep) }

// copied returns a copy of src in dst's memory, nil if src is nil.
func copied[T any](dst, src []T) []T {
	if src == nil {
		return nil
	}
	return append(dst[:0], src...)
}

// refill returns a slice of n times value, in x's memory where it suffices.
func refill[T any](x []T, n int, value T) []T {
	x = slices.Grow(x[:0], n)
	for range n {
		x = append(x, value)
	}
	return x
}
