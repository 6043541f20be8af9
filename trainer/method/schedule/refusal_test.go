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
				n, trained := d.core.counts, promised(t, d, seed)
				for s := range trained {
					if d.refuse(s) {
						t.Fatalf("seed %d: sample %d is trained though it was refused", seed, s)
					}
				}
				if n.Trained != len(trained) || n.Dropped == 0 && n.Submitted > 40 {
					t.Errorf("seed %d: %+v, %d trained", seed, n, len(trained))
				}
			}
		})
	}
}
