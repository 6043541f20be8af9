package claim

import (
	"slices"
	"testing"
)

// TestSharedWarmStarts: the runs of one warm start are averaged before anything is tested; seeds
// of ten warm starts are as they were, and the shares of bad ends are counted by warm start.
func TestSharedWarmStarts(t *testing.T) {
	var j Judge
	for seed := range uint64(20) {
		o := new(Observation)
		o.Set("x", float64(seed))
		j.Seeds, j.Runs = append(j.Seeds, seed+1), append(j.Runs, o)
	}
	j.SharedWarmStarts = true
	if got := j.Each(func(o *Observation) float64 { return o.List("x")[0] }); j.Independent() != 10 || got[0] != 5 || got[9] != 14 {
		t.Errorf("%d warm starts: %v", j.Independent(), got)
	}
	s := scope{j: &j, rates: []string{"1e-3"}}.shares(`"x" < 11`)
	if s.Events != 11 || s.Runs != 20 || s.By[0] != 1 || s.By[1] != 0.5 {
		t.Errorf("shares %+v", s)
	}
	lists := make([][]float64, 20)
	lists[3], lists[13], lists[4] = []float64{1, 2}, []float64{6}, []float64{7}
	if got := j.Pooled(lists); !slices.Equal(got, []float64{3, 7}) {
		t.Errorf("pooled %v, want 3 and 7", got)
	}
	draws := Judge{Seeds: j.Seeds, Runs: j.Runs}
	if got := draws.Each(func(o *Observation) float64 { return o.List("x")[0] }); len(got) != 20 || got[19] != 19 {
		t.Errorf("draws are independent: %v", got)
	}
}
