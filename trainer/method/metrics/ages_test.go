package metrics

import (
	"testing"

	"driftlab/trainer/method/batch"
)

// Three responses to two prompts, learnt at version 7; a tool's token counts nowhere.
//
//	response 0 of group 0: versions 7 6 (mixed), ages 0 1, the second saw older keys
//	response 1 of group 0: version 4, age 3, and a tool's token of age 5 that saw older keys
//	response 2 of group 1: versions 5 5, ages 2 2, both saw older keys
func TestAgesByHand(t *testing.T) {
	b := &batch.Batch{LearnerVersion: 7, Sampled: batch.Sampled{
		Offsets: []int{0, 2, 4, 6}, Mask: []bool{true, true, true, false, true, true}, Group: []int{0, 0, 1},
		Version: []int32{7, 6, 4, 2, 5, 5}, Stale: []bool{false, true, false, true, true, true}}}
	want := map[string]float64{
		"staleness/tokens/mean": (0 + 1 + 3 + 2 + 2) / 5., "staleness/tokens/max": 3, "staleness/samples/mean": (3 + 2) / 2.,
		"staleness/mixed_responses": 1 / 3., "staleness/stale_keys": 3 / 5.,
	}
	got := Ages(nil, b)
	for _, m := range got {
		if w, ok := want[m.Name]; !ok || !close(m.Value, w, 1e-15) {
			t.Errorf("%s is %v, want %v", m.Name, m.Value, w)
		}
		if term, ok := Lookup(m.Name); !ok || term.Formula == "" {
			t.Errorf("the glossary does not explain %s", m.Name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d figures", len(got))
	}
}

// Expert 5 of layer 1 is visited by one engine alone at three of four tokens, expert 5
// of layer 0 at two: experts of several layers are several, and order counts for nothing.
func TestFlipExpertsByHand(t *testing.T) {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 5}, Mask: []bool{true, true, true, true, false}, Layers: 2, TopK: 2,
		LogpRoll: make([]float64, 5), RoutesRoll: []uint8{
			5, 0, 5, 0,
			0, 5, 1, 0,
			0, 1, 5, 2,
			0, 1, 2, 3,
			5, 6, 5, 6}},
		Old: batch.Scored{Logp: make([]float64, 5), Routes: []uint8{
			2, 0, 3, 0,
			3, 0, 0, 5,
			1, 0, 2, 4,
			1, 0, 3, 2,
			0, 1, 0, 1}}}
	g := Compare(b)
	// One engine alone: layer 0: 5 2, 5 3; layer 1: 5 3, 1 5, 5 4.
	if g.FlipExpertMax != 3./4 || g.FlipExpertWorst != 3./10 {
		t.Errorf("the worst expert flips at %v of the tokens, %v of all flips", g.FlipExpertMax, g.FlipExpertWorst)
	}
}
