package diagnose

import (
	"slices"
	"testing"

	"driftlab/results/stability"
)

// TestMonitor: a rule fires once when a mean over ten updates passes its limit, from update 30 on, and again after it was silent; a limit that is
// relative is a multiple of the median so far.
func TestMonitor(t *testing.T) {
	rates := stability.PublishedAlarms()
	for name, c := range map[string]struct {
		metric, rule string
		value        func(update int) float64
		want         []int // the last updates of the windows in which it begins to fire
	}{
		"from the start":            {"gap/k3", "k3 above 0.001", func(int) float64 { return 0.002 }, []int{30}},
		"twice":                     {"gap/k3", "k3 above 0.001", func(n int) float64 { return map[bool]float64{true: 0.002, false: 0.0005}[n > 30 && n <= 40 || n > 60] }, []int{40, 70}},
		"one wild update":           {"gap/k3", "k3 above 0.001", func(n int) float64 { return map[bool]float64{true: 0.005, false: 0.0001}[n == 35] }, nil},
		"below":                     {"gap/ess_sequence", "ESS of responses below 0.5", func(n int) float64 { return 1 - float64(n)/100 }, []int{60}},
		"at the limit":              {"gap/ess_sequence", "ESS of responses below 0.5", func(int) float64 { return 0.5 }, nil},
		"relative to the median":    {"actor/grad_norm", "gradient norm twice the median so far", func(n int) float64 { return map[bool]float64{true: 0.7, false: 0.3}[n > 50] }, []int{60}},
		"relative to a median of 0": {"actor/grad_norm", "gradient norm twice the median so far", func(n int) float64 { return map[bool]float64{true: 0.7}[n > 50] }, nil},
	} {
		m := NewMonitor(rates)
		var got []int
		note := func(last int, fired []Alarm) {
			if slices.ContainsFunc(fired, func(a Alarm) bool { return a.Rule == c.rule && a.Rates.Of > 0 && *a.Detection > 0 }) {
				got = append(got, last)
			}
		}
		for n := range 80 {
			note(m.Add(n, map[string]float64{c.metric: c.value(n)}))
		}
		note(m.Close())
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: begins in %v, want %v", name, got, c.want)
		}
	}
}
