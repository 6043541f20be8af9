package schedule

import (
	"math/rand/v2"
	"testing"
)

// mostly refuses nine samples of ten.
func mostly(seed uint64) func(sample int) bool {
	return func(sample int) bool { return rand.New(rand.NewPCG(seed, uint64(sample))).IntN(10) > 0 }
}

// Every system, when nine of ten samples are refused after they are done: the run
// comes to its end, what the policy promises holds, and every sample is counted once.
func TestRefusals(t *testing.T) {
	for _, e := range Systems {
		t.Run(e.Name, func(t *testing.T) {
			for seed := range seeds(16) {
				r := rand.New(rand.NewPCG(seed, 9))
				config, policy := random(r), e.New()
				config.Graded = true
				vary(r, policy)
				d := newDesk(t, config, policy, drawn(seed, 1+r.IntN(20)))
				d.refuse = mostly(seed)
				d.check = sometimes(t)
				d.run()
				n, updates := d.core.counts, 0
				trained := map[int]bool{}
				for _, c := range d.commands {
					for _, s := range c.Samples {
						if c.Kind != Train {
							break
						}
						if d.refuse(s) || trained[s] {
							t.Fatalf("seed %d: sample %d is trained, again or though it was refused", seed, s)
						}
						trained[s] = true
					}
					if c.Update {
						updates++
					}
				}
				if last := d.commands[len(d.commands)-1]; last.Stuck || updates != config.Steps {
					t.Fatalf("seed %d, %+v, %+v: %d of %d updates, stuck %v", seed, config, policy, updates, config.Steps, last.Stuck)
				}
				if n.Trained != len(trained) || n.Dropped == 0 && n.Submitted > 40 {
					t.Errorf("seed %d: %+v, %d trained", seed, n, len(trained))
				}
				if b := policy.Traits().Bound; b >= 0 && len(n.Lags) > b+1 {
					t.Errorf("seed %d, %+v: lags %v above the bound %d", seed, policy, n.Lags, b)
				}
			}
		})
	}
}
