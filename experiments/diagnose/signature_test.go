package diagnose

import (
	"slices"
	"testing"
)

// Every feature that was measured is shown beside the ranges of the causes, and what was not is not.
func TestLooks(t *testing.T) {
	f := Features{Med: new(0.02), ICC: new(0.3)}
	list := the.signatures(&f)
	if len(list) != 2 || list[0].Feature != "med" || list[0].Value != 0.02 || list[1].Feature != "icc" || list[1].Value != 0.3 {
		t.Fatalf("%+v", list)
	}
	middle := map[string]float64{}
	for _, r := range list[1].Ranges {
		for i, q := range r.Quantiles[1:] {
			if q < r.Quantiles[i] {
				t.Errorf("the quantiles of %s fall: %v", r.Cause, r.Quantiles)
			}
		}
		middle[r.Cause] = r.Quantiles[2]
	}
	if middle[Staleness] <= middle[Precision] || len(middle) != 3 {
		t.Errorf("of one token id errors correlate by %v", middle)
	}
}

// The values of checks stand beside those of sound dumps.
func TestCheckReference(t *testing.T) {
	rows, _ := Cases[0].Draw(1).Rows()
	shown := 0
	for _, c := range analysed(Options{}, rows).judged() {
		r := c.Reference
		if (r != the.Checks[c.ID]) != (c.Result == NotApplicable && the.Checks[c.ID] != nil) {
			t.Errorf("%s has another check's reference", c.ID)
		}
		if r == nil {
			continue
		}
		shown++
		if !slices.IsSorted(r.Quantiles[:]) || r.N < 100 {
			t.Errorf("%s: %+v", c.ID, *r)
		}
	}
	if shown < len(checks)-6 { // late-mask and repeated-routes are newer than the fit
		t.Errorf("%d of %d checks have a reference", shown, len(checks))
	}
}
