package loss

import (
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/batch"
	"driftlab/trainer/trace"
)

// TestExplainEveryLoss: the trace of every loss is the loss. Explain works every
// formula out again and adds the tokens' parts up; the evaluation without a trace has
// the same bits.
func TestExplainEveryLoss(t *testing.T) {
	for _, e := range Registry {
		branches := map[trace.Branch]int{}
		for seed := range uint64(8) {
			in := nastyBatch(seed, seed%2 == 1)
			if seed > 3 {
				for n := range in.Mask {
					in.Gate = append(in.Gate, n%5 != 0)
					in.LossMask = append(in.LossMask, in.Mask[n] && n%7 != 0)
				}
			}
			plain := &Grad{frozen: slices.Clone(in.Now.Logp)}
			if err := e.New().Eval(plain, in); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			x, out, err := Explain(e.New(), in)
			if err != nil {
				t.Errorf("%s, batch %d: %v", e.Name, seed, err)
				continue
			}
			if out.Loss != plain.Loss || !slices.Equal(out.DLogp, plain.DLogp) {
				t.Errorf("%s, batch %d: a trace changes the loss", e.Name, seed)
			}
			for n, k := range x.Tokens {
				if in.Active()[n] && k.Branch != "" {
					branches[k.Branch]++
				}
			}
		}
		t.Logf("%s: %v", e.Name, branches)
	}
}

// liar is GPG, with something else to say of it.
type liar struct {
	branch       trace.Branch
	value, slope string
	hidden       float64
}

// Eval adds a part to the loss that it hides.
func (l liar) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, Aggregation{}, batch.Advantage)
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		f.took(n, l.branch, l.value, l.slope)
		return -in.Advantage[n] * in.Now.Logp[n], -in.Advantage[n]
	})
	out.Loss += l.hidden
	return nil
}

// TestExplainNotices: a formula, a branch or a sum that is not the loss's is an error.
func TestExplainNotices(t *testing.T) {
	for _, c := range []struct {
		liar
		want string
	}{
		{liar{trace.Kept, "-A·logp", "-A", 0}, ""},
		{liar{trace.Kept, "-A·roll", "-A", 0}, "no term roll"},
		{liar{trace.Kept, "A·logp", "-A", 0}, "L = A·logp is"},
		{liar{trace.Kept, "-A·logp", "-A/2", 0}, "dL = -A/2 is"},
		{liar{trace.Kept, "L", "-A", 0}, "its own formula"},
		{liar{trace.ClippedHigh, "-A·logp", "-A", 0}, "clipped above, with the slope -A"},
		{liar{trace.Kept, "", "-A", 0}, "no formula of L"},
		{liar{trace.Kept, "-A·logp", "-A", 1e-6}, "add up"},
	} {
		_, _, err := Explain(c.liar, workedBatch())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.liar, err, c.want)
		}
	}
}
