package loss

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TestExplainEveryLoss: the recorded parts of every loss add up to it, and its gradient is the central difference
// of the loss; the evaluation without a trace has the same bits.
func TestExplainEveryLoss(t *testing.T) {
	for _, e := range Registry {
		t.Run(e.Name, func(t *testing.T) { explainedOverall(t, e.Name, e.New) })
	}
}

// explainedOverall checks the traces of a loss on batches tame and wild, with rejected tokens and closed gates and without.
func explainedOverall(t *testing.T, name string, fresh func() Loss) {
	t.Helper()
	kinks := 0
	for seed := range uint64(8) {
		in := nastyBatch(seed, seed%2 == 1)
		if seed > 3 {
			for n := range in.Mask {
				in.Gate = append(in.Gate, n%5 != 0)
				in.LossMask = append(in.LossMask, in.Mask[n] && n%7 != 0)
			}
		}
		kinks += explained(t, fresh(), in)
	}
	if kinks > 20 {
		t.Errorf("%s: %d tokens have no derivative: too many", name, kinks)
	}
}

// explained checks the trace of a loss, and counts the tokens at a kink.
func explained(t *testing.T, l Loss, in *batch.Batch) (kinks int) {
	t.Helper()
	plain := &Grad{frozen: slices.Clone(in.Now.Logp)}
	must(t, l.Eval(plain, in))
	var active []int
	for n, counts := range in.Active() {
		if counts {
			active = append(active, n)
		} else if plain.DLogp[n] != 0 {
			t.Errorf("%T: token %d is masked and has the gradient %v", l, n, plain.DLogp[n])
		}
	}
	x, out, err := Explain(l, in, active)
	if err != nil {
		t.Error(err)
		return 0
	}
	if math.IsNaN(out.Loss) || math.IsInf(out.Loss, 0) || out.Loss != plain.Loss || !slices.Equal(out.DLogp, plain.DLogp) {
		t.Errorf("%T: the loss is %v with a trace and %v without", l, out.Loss, plain.Loss)
	}
	flat := []trace.Branch{trace.ClippedHigh, trace.ClippedLow, trace.DualClipped, trace.Bounded, trace.Dropped}
	for _, n := range active {
		k := &x.Tokens[n]
		if slope, ok := k.Find(trace.Slope); ok && slope.Value != 0 && slices.Contains(flat, k.Branch) {
			t.Errorf("%T: token %d is %s and has the slope %v", l, n, k.Branch, slope.Value)
		}
		if _, ok := k.Find(trace.Difference); !ok {
			kinks++
		}
	}
	return kinks
}

// wrong is GPG with another gradient, and with a part of the loss that it does not record.
type wrong struct{ factor, hidden float64 }

func (l wrong) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, Aggregation{}, batch.Columns{batch.Advantage}, func(f *frame) {
		f.eachToken(func(n int) (value, dlogp float64) {
			return -in.Advantage[n] * in.Now.Logp[n], -l.factor * in.Advantage[n]
		})
		out.Loss += l.hidden
	})
}

// TestExplainNotices: a gradient or a sum that is not the loss's is an error.
func TestExplainNotices(t *testing.T) {
	for _, c := range []struct {
		wrong
		want string
	}{{wrong{1, 0}, ""}, {wrong{0.5, 0}, "the difference of the loss"}, {wrong{-1, 0}, "the difference of the loss"}, {wrong{1, 1e-6}, "add up"}} {
		_, _, err := Explain(c.wrong, workedBatch(), []int{0, 3})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.wrong, err, c.want)
		}
	}
}
