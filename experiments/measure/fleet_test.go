package measure

import (
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/precision/must"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
)

// TestFleet holds every response of a mixed fleet against the engine that was to
// sample it, alone: the same tokens, and that engine's log-probs.
func TestFleet(t *testing.T) {
	r := measured(t)
	must.Do(t, r.Set("rollout.numerics=bf16", "rollout.fleet=[{numerics: fp16, share: 0.5}, {numerics: fp8-w8a8, share: 0.25}]"))
	r, p, err := trainer.Prepare(r)
	must.Do(t, err)
	_, requests := measureRequests(r)
	mixed := (&Probe{r, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, requests, 1}).fleet()
	defer mixed.Close()
	var b batch.Sampled
	for range 2 { // the second time in the same memory
		mixed.Generate(&b, requests, engines.Sampling(r))
	}
	if name := mixed.Name(r.Rollout.Numerics); name != "25% bf16 + 50% fp16 + 25% fp8-w8a8" {
		t.Errorf("name %q", name)
	}
	alone := r
	alone.Rollout.Fleet = nil
	from := 0
	for i, want := range []struct {
		n     engine.Numerics
		count int
	}{{r.Rollout.Numerics, 4}, {r.Rollout.Fleet[0].Numerics, 8}, {r.Rollout.Fleet[1].Numerics, 4}} {
		alone.Rollout.Numerics = want.n
		one := (&Probe{alone, trainer.Weights{Current: p, Calibrated: p, Drafter: p}, requests, 1}).fleet()
		var c, part batch.Sampled
		one.Generate(&c, requests, engines.Sampling(r))
		one.Close()
		var rows []int
		for k := range want.count {
			rows = append(rows, from+k)
		}
		c.Select(&part, rows)
		x, y := b.Offsets[from], b.Offsets[from+want.count]
		if !slices.Equal(b.Token[x:y], part.Token) || !slices.Equal(b.LogpRoll[x:y], part.LogpRoll) || !slices.Equal(b.DistRoll[x*b.Vocab:y*b.Vocab], part.DistRoll) {
			t.Errorf("the responses of engine %d are not those of %s alone", i, want.n.Name)
		}
		from += want.count
	}
}
