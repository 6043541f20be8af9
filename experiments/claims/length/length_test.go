package length

import (
	"math"
	"strings"
	"testing"

	"driftlab/experiments/claims/claim"
	"driftlab/trainer/method/batch"
)

func TestMeanOf(t *testing.T) {
	got := meanOf([]searchResponse{{tokens: 3}, {tokens: 10, correct: true}, {tokens: 4, correct: true}, {tokens: 7}})
	if want := (searched{rate: .5, length: 6, empty: .25}); got != want {
		t.Errorf("means %+v, want %+v", got, want)
	}
}

// Of a response of two tokens and one of four, whose ratio is 1 and then 1.1: every
// aggregation holds its own quantity constant, up to the ratio.
func TestWeightSpread(t *testing.T) {
	b := new(batch.Batch)
	b.Offsets = []int{0, 2, 6}
	b.Token, b.Mask = make([]int32, 6), []bool{true, true, true, true, true, true}
	b.Advantage = []float64{1, 1, -2, -2, -2, -2}
	b.Anchor = make([]float64, 6)
	for _, ratio := range []float64{1, 1.1} {
		v := math.Log(ratio)
		b.Now.Logp = []float64{0, 0, v, v, v, v}
		for _, aggregation := range lengthAggregations {
			got, err := weightSpread(b, aggregation)
			// The length is divided by with 1e-8 added.
			if want := ratio - 1; err != nil || math.Abs(got-want) > 1e-7 {
				t.Errorf("%s, ratio %v: spread %v (%v), want %v", aggregation, ratio, got, err, want)
			}
		}
	}
	if got, err := weightSpread(b, "seq-mean-token-mean:2"); err == nil {
		t.Errorf("a divisor that this aggregation has no use for: spread %v", got)
	}
}

// A length that stands still in the former half and rises by two a step in the latter.
func TestLateSlopes(t *testing.T) {
	o := new(claim.Observation)
	o.Set("arm", 9, 9, 9, 12, 14, 16)
	if got := lateSlopes(&claim.Judge{Runs: []*claim.Observation{o}}, "arm"); len(got) != 1 || math.Abs(got[0]-20) > 1e-12 {
		t.Errorf("slopes %v, want 20 tokens per ten steps", got)
	}
}

// The last half of a run is without its hard prompts only at the full length of the claim.
func TestGrowthRemoval(t *testing.T) {
	if got := growthRemoval(growthSteps / 2); !strings.Contains(got, "from: 40") {
		t.Errorf("removal at half time: %s", got)
	}
	if got := growthRemoval(2); strings.Contains(got, "from") {
		t.Errorf("a preview waits: %s", got)
	}
}

// Three penalties whose first bite, pass rate and end are written by hand: each is judged
// where it bites by a tenth, the stronger of equals.
func TestTrioMatched(t *testing.T) {
	bites := [][]float64{{20, 18, 18, 3}, {19, 17.5, 10, 5}, {19.5, 19, 18.5, 17}}
	run := func() *claim.Observation {
		o := new(claim.Observation)
		o.Set("pass rate before", .5)
		for _, lr := range trioRates {
			o.Set(claim.AtLR(trioFree, lr), 20, 24, .8, 0, 1)
			for i, a := range trioArms {
				for k, coef := range a.coefs {
					empty := 0.
					if a.name == "uniform" {
						empty = .9
					}
					o.Set(claim.AtLR(a.name+" "+coef, lr), bites[i][k], 12, .1*float64(k), empty, 1)
				}
			}
		}
		return o
	}
	j := &claim.Judge{Seeds: []uint64{1, 2, 3, 4, 5, 6}, Runs: []*claim.Observation{run(), run(), run(), run(), run(), run()}}
	judgeTrio(j)
	for i, want := range []string{"uniform 0.04: 0.90", "group 1: 0.88", "anchor 16: 0.93"} {
		if !strings.Contains(j.Evidence.Notes[i], want) {
			t.Errorf("note %q, want %s in it", j.Evidence.Notes[i], want)
		}
	}
	// All runs of six warm starts end empty under the uniform penalty, none under the anchor: 2
	// of the 64 ways to flip the signs.
	primary := j.Evidence.Checks[0]
	if !primary.Primary || primary.Outcome != claim.Passed || math.Abs(primary.P-2./64) > 1e-9 {
		t.Errorf("primary check %+v", primary)
	}
	for _, c := range j.Evidence.Checks {
		if strings.HasPrefix(c.Name, "pass rate, group minus before") && math.Abs(c.Value.Estimate+.4) > 1e-12 {
			t.Errorf("%s: %v, want -0.4", c.Name, c.Value.Estimate)
		}
	}
}
