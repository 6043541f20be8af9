package table

import (
	"fmt"
	"math"
	"testing"
)

// gainsOf are gains of settings a, b, ... under one stressor, the values plus a wiggle by model.
func gainsOf(wiggle float64, values ...float64) *gains {
	g := &gains{}
	for i, v := range values {
		var byModel []float64
		for model := range 6 {
			byModel = append(byModel, v+wiggle*float64((model*(i+1))%5-2))
		}
		g.add(fmt.Sprint("setting", i), "age16", byModel)
	}
	return g
}

// Equal orders have the correlation 1, reversed ones -1, and settings that one side lacks are left out.
func TestRankCorrelation(t *testing.T) {
	a := gainsOf(0, .1, .2, .3, .4, .5)
	for want, b := range map[float64]*gains{1: gainsOf(0, .2, .3, .5, .6, .9), -1: gainsOf(0, .5, .4, .3, .2, .1)} {
		got := rankCorrelation(same(a, b, false))
		if math.Abs(got.Estimate-want) > 1e-12 || math.Abs(got.Low-want) > 1e-12 || math.Abs(got.High-want) > 1e-12 {
			t.Errorf("%+v, want %v without an interval", got, want)
		}
	}
	b := gainsOf(0, .5, .4, .3, .2, .1)
	delete(b.by, "setting4")
	c, ok := compare(a, b, "age16", "age16", false)
	if !ok || len(c.settings) != 4 {
		t.Errorf("%v settings are compared, want 4", c.settings)
	}
	delete(b.by, "setting3")
	if _, ok := compare(a, b, "age16", "age16", false); ok {
		t.Error("three settings make a rank correlation")
	}
}

// Noise by model widens the interval and lowers the correlation of halves; nothing depends on chance.
func TestRankCorrelationOfNoisyGains(t *testing.T) {
	clear, noisy := gainsOf(.001, .1, .2, .3, .4, .5, .6), gainsOf(.2, .1, .2, .3, .4, .5, .6)
	if got := splitHalves(same(clear, clear, true)); got.Estimate < .999 {
		t.Errorf("halves without noise correlate by %v", got.Estimate)
	}
	halves := splitHalves(same(noisy, noisy, true))
	if !(halves.Estimate < .9) || !(halves.Low < halves.Estimate) {
		t.Errorf("halves with noise: %+v", halves)
	}
	got := rankCorrelation(same(noisy, clear, false))
	if !(got.Low < got.Estimate) || got != rankCorrelation(same(noisy, clear, false)) {
		t.Errorf("%+v, and a second time %+v", got, rankCorrelation(same(noisy, clear, false)))
	}
}
