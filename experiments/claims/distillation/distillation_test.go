package distillation

import (
	"math"
	"strings"
	"testing"

	"driftlab/experiments/claims/claim"
)

// Every gap lies in one of the narrow bins, and from two nats on in the judged one.
func TestGapBins(t *testing.T) {
	for _, gap := range []float64{0, .49, .5, .99, 1, 1.5, 2, 2.7, 3, 40} {
		in := func(k int) int {
			if gapBins[k].from <= gap && gap < gapBins[k].end {
				return 1
			}
			return 0
		}
		narrow := 0
		for k := range farBin {
			narrow += in(k)
		}
		if far := in(farBin); narrow != 1 || in(allBin) != 1 || (far == 1) != (gap >= 2) {
			t.Errorf("a gap of %v lies in %d narrow bins, in the judged one: %d, in all: %d", gap, narrow, far, in(allBin))
		}
	}
}

func TestRelative(t *testing.T) {
	if got := relative([]float64{3, 0}, []float64{3, 4}); math.Abs(got-.8) > 1e-15 {
		t.Errorf("relative distance %v, want 4/5", got)
	}
	if got := relative([]float64{0, 0}, []float64{0, 0}); got != 0 {
		t.Errorf("of nothing from nothing: %v", got)
	}
}

// The published coefficient brings a gradient of 80 down to eight times that of k1, which
// is judged at the natural level; the coefficient 1 is judged apart.
func TestK1K2Doses(t *testing.T) {
	run := func() *claim.Observation {
		o := new(claim.Observation)
		for _, figure := range []string{k2Norm, k1Norm, scaledNorm, k2Value, shareOfTokens} {
			list := []float64{1, 1, 1, 1, 1, 1, 1}
			if figure == k2Norm {
				list[farBin] = 80
			}
			o.Set(figure, list...)
		}
		o.Set(alongExact, 1, .5, .5, .9)
		o.Set(identity, 1e-7)
		o.Set(pgNorm, 2)
		o.Set(pgValue, 0)
		o.Set(flippedShare, .3)
		return o
	}
	j := &claim.Judge{Seeds: []uint64{1, 2}, Runs: []*claim.Observation{run(), run()}}
	judgeK1K2(j)
	natural, amplified := j.Evidence.Checks[0], j.Evidence.Checks[1]
	if natural.Level != claim.Natural || math.Abs(natural.Value.Estimate-8) > 1e-9 {
		t.Errorf("natural level: %+v, want 8", natural)
	}
	if amplified.Level != claim.Amplified || math.Abs(amplified.Value.Estimate-80) > 1e-9 {
		t.Errorf("amplified level: %+v, want 80", amplified)
	}
}

// Four teachers whose gains are in the order of their overlaps have a rank correlation of
// 1, and in the opposite order of -1; a gain is over the runs without a teacher.
func TestGateRanks(t *testing.T) {
	run := func(gains [4]float64) *claim.Observation {
		o := new(claim.Observation)
		teachers := []string{gateTemplate, gateTeachers[0].name, gateTeachers[1].name, gateHard}
		for _, rate := range gateRates {
			for _, arm := range []string{gateNone, gateRandom, gateFailed, gateAll, gateHorizon, gateTuned, gateTunedNone} {
				name := claim.AtLR(arm, rate)
				o.Set(name, .3, .3)
				for _, column := range []string{gateOverlap, gateTokens, gateReads, gateK2} {
					o.Set(claim.ArmColumn(name, column), 1)
				}
			}
			for k, arm := range teachers {
				name := claim.AtLR(arm, rate)
				o.Set(name, .3, .3+gains[k])
				o.Set(claim.ArmColumn(name, gateOverlap), .1*float64(k))
				for _, column := range []string{gateTokens, gateReads, gateK2} {
					o.Set(claim.ArmColumn(name, column), 1)
				}
			}
		}
		return o
	}
	j := &claim.Judge{Seeds: []uint64{1, 2}, Runs: []*claim.Observation{run([4]float64{-.1, 0, .1, .2}), run([4]float64{.2, .1, 0, -.1})}}
	judgeGate(j)
	found := false
	for _, c := range j.Evidence.Checks {
		if strings.HasPrefix(c.Name, "rank correlation") {
			found = true
			if len(c.Seeds) != 2 || math.Abs(c.Seeds[0]-1) > 1e-12 || math.Abs(c.Seeds[1]+1) > 1e-12 {
				t.Errorf("rank correlations %v, want 1 and -1", c.Seeds)
			}
		}
	}
	if !found {
		t.Error("no check of the rank correlation")
	}
	if gain := j.Evidence.Checks[0]; math.Abs(gain.Value.Estimate-.05) > 1e-12 {
		t.Errorf("failed and hard minus random: %v, want the mean of 0.2 and -0.1", gain.Value.Estimate)
	}
}
