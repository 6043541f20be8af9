package recipe

import "driftlab/trainer/correction"

// Correction is the section that handles the gap between the engines; its
// fields are those of correction.Pipeline.
type Correction struct {
	// Mode is decoupled or bypass. Default decoupled.
	Mode correction.Mode `yaml:"mode"`
	// Weights is the importance weight. Default none.
	Weights Choice[correction.Weighting] `yaml:"weights"`
	// BatchNormalize divides the weights by their mean. Default false.
	BatchNormalize bool `yaml:"batch_normalize"`
	// Masks are the rejection rules; a token must pass all. Default: none.
	Masks []Choice[correction.Masking] `yaml:"masks"`
	// Order is independent or sequential. Default independent.
	Order correction.Order `yaml:"order"`
	// WeightsAfter is, with order sequential, the number of masks before the
	// weights. Default 0.
	WeightsAfter int `yaml:"weights_after"`
	// Denominator is post or pre (rejection). Default post.
	Denominator correction.Denominator `yaml:"denominator"`
	// Names chooses the code base whose metric names are logged: verl or skyrl.
	// Default verl.
	Names string `yaml:"names"`
}

// Pipeline returns a fresh pipeline that does what the section says.
func (c Correction) Pipeline() *correction.Pipeline {
	p := &correction.Pipeline{
		Mode: c.Mode, BatchNormalize: c.BatchNormalize, Order: c.Order,
		WeightsAfter: c.WeightsAfter, Denominator: c.Denominator, Names: c.Names,
	}
	if c.Weights.Name != "none" {
		p.Weights = c.Weights.New()
	}
	for _, m := range c.Masks {
		p.Masks = append(p.Masks, m.New())
	}
	return p
}
