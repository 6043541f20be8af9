package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Estimator fills Advantage from rewards. Implementations are pointers to
// parameter structs; they keep scratch memory, so use one per goroutine.
type Estimator interface {
	// Estimate fills b.Advantage, zero outside b.Mask, or returns an error that
	// names the column it misses. It allocates nothing in steady state.
	Estimate(b *batch.Batch) error
}

// Asymmetry is embedded in every estimator: it weights positive advantages.
type Asymmetry struct {
	// PositiveWeight multiplies positive advantages after all normalisation, 0 to
	// 1: 1 is the ordinary estimator, 0 trains on negatives only.
	PositiveWeight float64 `yaml:"positive_weight" default:"1" range:"[0,1]"`
}

// symmetric is the default: positive advantages count in full.
var symmetric = *method.New[Asymmetry]()

// apply weights the positive advantages of b.
func (a Asymmetry) apply(b *batch.Batch) {
	if a.PositiveWeight == 1 {
		return
	}
	for n, x := range b.Advantage {
		if x > 0 {
			b.Advantage[n] = a.PositiveWeight * x
		}
	}
}

// broadcast gives every generated token its response's score, and the others 0.
func broadcast(b *batch.Batch, score []float64) {
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i, x := range score {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] = x
		}
	}
}
