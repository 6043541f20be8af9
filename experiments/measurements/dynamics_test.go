package measurements

import (
	"math"
	"testing"

	"driftlab/experiments/study/claims/claim"
)

// TestLawFit: a curve drawn by the law is explained, one that rises with the
// entropy is not, and a third of it tells where it ends.
func TestLawFit(t *testing.T) {
	var h, fall, rise []float64
	for k := range 12 {
		x := 2 - float64(k)/10
		h, fall, rise = append(h, x), append(fall, 0.9-float64(0.1*math.Exp(x))), append(rise, float64(0.1*math.Exp(x)))
	}
	exps := make([]float64, len(h))
	for i, x := range h {
		exps[i] = math.Exp(x)
	}
	if r := explained(exps, fall); math.Abs(r-1) > 1e-9 {
		t.Errorf("R² %v of the law's own curve", r)
	}
	if r := explained(exps, rise); r != 0 {
		t.Errorf("R² %v of a curve that rises", r)
	}
	for _, n := range []int{4, 12} {
		if c := ceiling(h[:n], fall[:n]); math.Abs(c-0.8) > 1e-9 {
			t.Errorf("b - a is %v from %d points, want 0.8", c, n)
		}
	}
}

// TestSurgeLeads: a run that falls at once after its responses have grown, one
// whose responses never grow, and a run that holds though they grow.
func TestSurgeLeads(t *testing.T) {
	rates := []string{"1e-3", "2e-3"}
	step := func(at int, before, after float64) (x []float64) {
		for k := range 100 {
			if k < at {
				x = append(x, before)
			} else {
				x = append(x, after)
			}
		}
		return x
	}
	o := new(claim.Observation)
	set := func(rate string, reward, length []float64) {
		name := claim.AtLR("arm", rate)
		o.Set(claim.ArmColumn(name, surgeReward), reward...)
		o.Set(claim.ArmColumn(name, surgeLength), length...)
	}
	set(rates[0], step(70, 0.8, 0), step(40, 10, 20))
	set(rates[1], step(70, 0.8, 0), step(40, 10, 10))
	held := new(claim.Observation)
	held.Set(claim.ArmColumn(claim.AtLR("arm", rates[0]), surgeReward), step(70, 0.8, 0.7)...)
	held.Set(claim.ArmColumn(claim.AtLR("arm", rates[0]), surgeLength), step(40, 10, 20)...)
	held.Set(claim.ArmColumn(claim.AtLR("arm", rates[1]), surgeReward), step(70, 0.8, 0.7)...)
	held.Set(claim.ArmColumn(claim.AtLR("arm", rates[1]), surgeLength), step(40, 10, 10)...)
	s := surgesOf(&claim.Judge{Runs: []*claim.Observation{o, held}}, rates, "arm")
	// 20 % more length after three of ten steps, 30 % less reward after three or
	// four; without an alarm the end counts. Both runs are of one warm start.
	if len(s.leads) != 1 || s.collapsed != 2 || s.early != 1 || s.healthy != 2 {
		t.Fatalf("leads %v of %d runs, %d of %d healthy runs raise the alarm", s.leads, s.collapsed, s.early, s.healthy)
	}
	if !(s.leads[0] > (28-30)/2. && s.leads[0] < (33-20)/2.) {
		t.Errorf("leads %v, want about the mean of -26 and 30", s.leads)
	}
}

// TestSparedByHeads: at a KL between two heads the pass rate is interpolated between
// their pass rates; beyond the ladder it is the pass rate of the last head.
func TestSparedByHeads(t *testing.T) {
	o := new(claim.Observation)
	set := func(name string, kl, pass float64) {
		name = claim.AtLR(name, "1e-3")
		o.Set(name, pass, pass)
		o.Set(claim.ArmColumn(name, "gap/exact_kl"), kl)
	}
	set("head a", 0.01, 0.8)
	set("head b", 1, 0.4)
	set("router between", 0.1, 0.5)
	set("router beyond", 2, 0.1)
	j := &claim.Judge{Seeds: []uint64{1}, Runs: []*claim.Observation{o}}
	for formats, want := range map[string]float64{"between": 0.1, "beyond": 0.3, "between beyond": 0.2} {
		if got := sparedByHeads(j, []string{"1e-3"}, []string{formats}); math.Abs(got[0]-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", formats, got, want)
		}
	}
}

// TestBudget: a cell is inside by its uncorrected runs.
func TestBudget(t *testing.T) {
	o := new(claim.Observation)
	for _, c := range []struct {
		name      string
		tv, gains float64
	}{{"fine", 1e-5, 0.1}, {"coarse", 1e-3, 0.5}} {
		for name, pass := range map[string]float64{c.name: 0.2, c.name + ", sequence TIS": 0.2 + c.gains} {
			name = claim.AtLR(name, "1e-3")
			o.Set(name, pass, pass)
			o.Set(claim.ArmColumn(name, "gap/exact_tv_p95"), c.tv)
			o.Set(claim.ArmColumn(name, "rollout_corr/chi2_seq"), 0)
		}
	}
	j := &claim.Judge{Seeds: []uint64{1}, Runs: []*claim.Observation{o}}
	for cell, want := range map[string]float64{"fine": 1, "coarse": 0} {
		if got := inBudget(j, nil, []string{cell}); got[0] != want {
			t.Errorf("%s: inside %v, want %v", cell, got, want)
		}
	}
}
