package claim

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// TestObservationRoundTrip: numbers come back bit for bit, also those that JSON
// does not have.
func TestObservationRoundTrip(t *testing.T) {
	var o, back Observation
	o.Set("third", 1.0/3, 0.1+0.2)
	o.Set("empty")
	text := must.Get(json.Marshal(&o))(t)
	must.Do(t, json.Unmarshal(text, &back))
	if !slices.Equal(back.List("third"), o.List("third")) || len(back.List("empty")) != 0 {
		t.Errorf("%s came back as %+v", text, back)
	}
	again, err := json.Marshal(&back)
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("%s, then %s (%v)", text, again, err)
	}
}
