package correction

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestExplainEveryMethod: what a trace says of every weight and mask is what the
// pipeline did, in both modes, and the pipeline does the same without one.
func TestExplainEveryMethod(t *testing.T) {
	check := func(name string, mode Mode, p, plain *Pipeline) {
		t.Helper()
		for seed := range uint64(6) {
			b, c := random(seed, 8), random(seed, 8)
			p.Mode, plain.Mode = mode, mode
			for _, s := range []Stage{AtBatch, AtStep} {
				accounts, err := p.Explain(b, s)
				if err != nil {
					t.Errorf("%s, %s, batch %d: %v", name, mode, seed, err)
					return
				}
				must(t, plain.Apply(c, s))
				if !slices.Equal(b.Weight, c.Weight) || !slices.Equal(b.LossMask, c.LossMask) || !slices.Equal(b.Gate, c.Gate) {
					t.Errorf("%s, %s, batch %d: a trace changes what the pipeline does", name, mode, seed)
				}
				for _, a := range accounts {
					if a.Name != name {
						t.Errorf("%s is called %s", name, a.Name)
					}
				}
			}
		}
	}
	for _, mode := range []Mode{Decoupled, Bypass} {
		for _, e := range Weightings {
			check(e.Name, mode, &Pipeline{Weights: e.New()}, &Pipeline{Weights: e.New()})
		}
		check("token_tis", mode, &Pipeline{Weights: &TokenTIS{Cap: 2, FromTurn: 1}}, &Pipeline{Weights: &TokenTIS{Cap: 2, FromTurn: 1}})
		for _, e := range Masks {
			check(e.Name, mode, &Pipeline{Masks: []Masking{e.New()}}, &Pipeline{Masks: []Masking{e.New()}})
		}
		for _, statistic := range []string{"ratio", "k1", "k2", "k3", "k3_inverse", "difference"} {
			for _, over := range []string{"mean", "sum", "max"} {
				for _, level := range []string{"token", "sequence", "segment"} {
					band := func() *Pipeline {
						return &Pipeline{Clamp: math.Inf(1), Masks: []Masking{&Band{Level: level, Statistic: statistic, Aggregate: over, Low: -0.5, High: 1.5}}}
					}
					check("band", mode, band(), band())
				}
			}
		}
	}
}

// TestExplainNotices: a decision that is not that of the recorded statistic is an error.
func TestExplainNotices(t *testing.T) {
	if _, err := (&Pipeline{Masks: []Masking{wrong{}}}).Explain(random(1, 1), AtBatch); err == nil || !strings.Contains(err.Error(), "and keep is") {
		t.Error(err)
	}
}

// wrong keeps what its statistic rejects.
type wrong struct{ TokenMask }

func (wrong) Reject(keep []bool, in *Input) error {
	err := (&TokenMask{Low: 1, High: 1}).Reject(keep, in)
	for n := range keep {
		keep[n] = true
	}
	return err
}
