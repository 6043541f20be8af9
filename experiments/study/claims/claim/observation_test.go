package claim

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// TestObservationRoundTrip: numbers come back as they were kept, with nine digits, also those that JSON
// does not have; float32 come back bit for bit.
func TestObservationRoundTrip(t *testing.T) {
	var o, back Observation
	o.Set("third", 1.0/3, 0.1+0.2)
	o.Set("empty")
	text := must.Get(json.Marshal(&o))(t)
	must.Do(t, json.Unmarshal(text, &back))
	if !slices.Equal(back.List("third"), []float64{0.333333333, 0.3}) || !slices.Equal(o.List("third"), back.List("third")) || len(back.List("empty")) != 0 {
		t.Errorf("%s came back as %+v", text, back)
	}
	third := float32(1) / 3
	above := math.Nextafter32(third, 1)
	o.Set("neighbours", float64(third), float64(above), math.NaN(), math.Inf(-1))
	if v := o.List("neighbours"); float32(v[0]) != third || float32(v[1]) != above || !math.IsNaN(v[2]) || !math.IsInf(v[3], -1) {
		t.Errorf("two neighbouring float32, NaN and -Inf were kept as %v", v)
	}
	again, err := json.Marshal(&back)
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s, then %s (%v)", text, again, err)
	}
}
