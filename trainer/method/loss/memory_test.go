package loss

import (
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/memorytest"
)

// bits are all that a result says.
func bits(out *Grad) []float64 {
	all := append([]float64{out.Loss}, out.DLogp...)
	for _, m := range out.Metrics {
		all = append(all, m.Value)
	}
	return all
}

// Whatever a loss, a KL term or a term remembers is its Memory.
func TestMemory(t *testing.T) {
	remember := map[string]bool{}
	note := func(name string, remembers bool, err error) {
		remember[name] = remembers
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	at := func(k int) (*batch.Batch, *Grad) {
		b, out := nastyBatch(uint64(k+1), false), &Grad{}
		b.Old.Logp, b.Gate = b.Anchor, slices.Repeat([]bool{true}, b.Tokens())
		out.Reset(b.Tokens())
		return b, out
	}
	for _, e := range everyMethod() {
		remembers, err := memorytest.Check(3, e.fresh, func(m any, k int) ([]float64, error) {
			b, out := at(k)
			err := e.run(m, out, b)
			all := bits(out)
			for _, open := range b.Gate {
				all = append(all, count(open))
			}
			return all, err
		})
		note(e.name, remembers, err)
	}
	penalty := func(k KL, n int) ([]float64, error) {
		b, out := at(n)
		if err := k.AddLoss(out, b); err != nil {
			return nil, err
		}
		kl, err := k.AddReward(b)
		return append(append(bits(out), b.TokenReward...), kl, k.Coefficient()), err
	}
	for _, e := range KLRegistry {
		remembers, err := memorytest.Check(3, e.New, penalty)
		note("kl in the reward "+e.Name, remembers, err)
		if _, ok := e.New().(*KLTerm); !ok {
			continue
		}
		remembers, err = memorytest.Check(3, func() KL {
			k := e.New().(*KLTerm)
			k.In, k.Controller = InReward, Controller{Target: 0.1, Horizon: 100}
			return k
		}, penalty)
		note("adaptive kl "+e.Name, remembers, err)
	}
	remembers, err := memorytest.Check(3, func() Term {
		e := NewAdaptiveEntropy()
		e.Target = 10
		return e
	}, func(term Term, k int) ([]float64, error) {
		b, out := at(k)
		err := term.AddLoss(out, b)
		return bits(out), err
	})
	note("entropy below the target", remembers, err)
	for name, remembers := range remember {
		if known := name == "r2vpo" || name == "flowrl" || name == "entropy below the target" || len(name) > 11 && name[:11] == "adaptive kl"; remembers != known {
			t.Errorf("%s remembers: %v", name, remembers)
		}
	}
}
