package recipe

import "testing"

// TestControl checks that a corrected recipe and its control differ by the correction
// that the name says, and by nothing else.
func TestControl(t *testing.T) {
	control := loaded(t, "fp8-uncorrected", "name=fp8-token-tis", "correction.weights={name: token_tis, cap: 2}")
	corrected := loaded(t, "fp8-token-tis")
	if string(control.YAML()) != string(corrected.YAML()) {
		t.Errorf("corrected:\n%s\nits control with the correction:\n%s", corrected.YAML(), control.YAML())
	}
}
