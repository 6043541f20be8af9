package correction_test

import (
	"fmt"
	"log"
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
)

// rootTIS is the square root of the truncated ratio. What it does not define itself it has from TokenTIS.
type rootTIS struct{ correction.TokenTIS }

// Weigh fills one weight per token of the mask: Raw before truncation, Applied after it.
func (m *rootTIS) Weigh(w *correction.Weights, in *correction.Input) error {
	if err := m.TokenTIS.Weigh(w, in); err != nil {
		return err
	}
	for n := range w.Applied {
		w.Applied[n] = math.Sqrt(w.Applied[n])
	}
	return nil
}

// A correction of one's own embeds the method that it changes.
func Example_correctionOfOnesOwn() {
	b := &batch.Batch{
		Sampled:   batch.Sampled{Offsets: []int{0, 3}, Mask: []bool{true, true, true}, LogpRoll: []float64{-0.6, -2.1, -2.2}},
		Corrected: batch.Corrected{Anchor: []float64{-0.7, -1.0, -2.5}},
	}
	for _, w := range []correction.Weighting{&correction.TokenTIS{Cap: 4}, &rootTIS{correction.TokenTIS{Cap: 4}}} {
		p := &correction.Pipeline{Mode: correction.Decoupled, Weights: w}
		if err := p.Apply(b, correction.AtBatch); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("weights %.3f\n", b.Weight)
	}
	// Output:
	// weights [0.905 3.004 0.741]
	// weights [0.951 1.733 0.861]
}
