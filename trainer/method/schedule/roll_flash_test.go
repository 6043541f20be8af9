package schedule

import "testing"

// Reference: systems.md, 2.6: prompts beyond the count are aborted when they are too
// old, so the bound stands; a batch has more to choose from and waits less for the
// slowest. Never are more in flight or done in excess of the count than max_additional.
func TestRollAdditional(t *testing.T) {
	plain, more := 0, 0
	for seed := range seeds(20) {
		for _, additional := range []int{0, 6} {
			p := &RollFlash{RatioPercent: 100, Additional: additional}
			d := newDesk(t, ample(), p, drawn(seed, 20))
			d.check = func(c *Core) {
				v := c.view()
				if excess := v.kept() - p.RatioPercent*v.Batch/100 - (v.Step+1)*v.Batch; excess > additional {
					t.Fatalf("seed %d: %d samples in excess of the count, %d are allowed", seed, excess, additional)
				}
			}
			d.run()
			n := d.core.Counts()
			if len(n.Lags) > 2 {
				t.Errorf("seed %d, %d additional: lags %v", seed, additional, n.Lags)
			}
			if additional == 0 {
				plain += d.core.Now()
				if n.Dropped > 0 {
					t.Errorf("seed %d: %d dropped without additional prompts", seed, n.Dropped)
				}
				continue
			}
			more += d.core.Now()
			if n.Dropped == 0 {
				t.Errorf("seed %d: no surplus is dropped", seed)
			}
		}
	}
	if more >= plain {
		t.Errorf("%d ticks with additional prompts, %d without", more, plain)
	}
}
