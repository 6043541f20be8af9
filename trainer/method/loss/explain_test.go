package loss

import (
	"math"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TestExplainEveryLoss: the recorded parts of every loss add up to it, and its gradient is the central difference
// of the loss; the evaluation without a trace has the same bits.
func TestExplainEveryLoss(t *testing.T) {
	for _, e := range Registry {
		t.Run(e.Name, func(t *testing.T) {
			kinks := 0
			for seed := range uint64(8) {
				in := nastyBatch(seed, seed%2 == 1)
				if seed > 3 {
					for n := range in.Mask {
						in.Gate = append(in.Gate, n%5 != 0)
						in.LossMask = append(in.LossMask, in.Mask[n] && n%7 != 0)
					}
				}
				kinks += explained(t, e.New(), in)
			}
			if kinks > 20 {
				t.Errorf("%d tokens have no derivative: too many", kinks)
			}
		})
	}
}

// explained checks the trace of a loss, and counts the tokens at a kink.
func explained(t *testing.T, l Loss, in *batch.Batch) (kinks int) {
	t.Helper()
	plain := &Grad{frozen: slices.Clone(in.Now.Logp)}
	if err := l.Eval(plain, in); err != nil {
		t.Fatal(err)
	}
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

// TestExplainOptions: the same away from the defaults.
func TestExplainOptions(t *testing.T) {
	with := func(l Loss, text string) Loss {
		t.Helper()
		if err := yaml.Unmarshal([]byte(text), l); err != nil {
			t.Fatal(err)
		}
		if err := method.Check(l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, l := range []Loss{
		with(method.New[PPOClip](), "{delta: 1.5, dual_clip: 2, log_clamp: 0, aggregation: seq-mean-token-mean@pre}"), with(method.New[PPOClip](), "{delta: 1.05, dual_clip: 1.5}"),
		with(method.New[CISPO](), "{level: sequence, anchor: roll}"), with(method.New[CISPO](), "{unified_mask: true, eps_low: 0.2}"), with(method.New[CISPO](), "{cap: 1.1}"),
		with(method.New[SAPO](), "{level: sequence, mean_advantage: true, anchor: roll}"), with(method.New[ImportanceSampling](), "{level: sequence, anchor: old}"),
		with(method.New[Kimi](), "{level: token, anchor: roll}"), with(method.New[MinPRO](), "{variant: clip}"), with(method.New[MinPRO](), "{cap: 1, anchor: roll}"),
		with(method.New[LogitFusion](), "{ratio: shaped, cap: 1, floor: 0.5}"), with(method.New[LogitFusion](), "{ratio: decoupled}"), with(method.New[LogitFusion](), "{ratio: student, cap: 1, soft_cap: true}"),
		with(NewDPPOTV(), "{live_ratio: true, anchor: old}"), with(NewDPPOKL(), "{cap: 0, mask_anchor: old}"), with(method.New[DPPOTopK](), "{k: 2, divergence: tv, cap: 1}"),
		with(method.New[STPPO](), "{gradient: live}"), with(method.New[STPPO](), "{ctn: kl, dual_clip: 1.5}"), with(method.New[STPPO](), "{ctn: survivors, turn_ratio: mean}"),
		with(method.New[STPPO](), "{ctn: kl, gradient: live, turn_ratio: product}"), with(method.New[STPPO](), "{ctn: bias_norm, epsilon: 1e-8, log_cap: 0}"),
		with(method.New[PrimeMasked](), "{sequence: true, length_norm: true}"), with(method.New[PrimeMasked](), "{low: 0.9, high: 1.1}"), with(method.New[PrimeGeo](), "{sequence: true, teacher_tau: 0.1, kl_tau: 0.1}"),
		with(method.New[TOPR](), "{level: token, sign: advantage}"), with(method.New[TOPR](), "{level: turn, anchor: old}"), with(method.New[DecoupledPPO](), "{prox: linear, behave: sequence_mask, cap: 1}"),
		with(method.New[DecoupledPPO](), "{prox: rollout, behave: none, dual_clip: 2}"), with(method.New[GMPO](), "{clip: sequence, non_empty: true}"), with(method.New[GMPO](), "{clip: none, normalise: false}"),
		with(method.New[GSPO](), "{mean_advantage: false, dual_clip: 1.1, log_cap: 0}"), with(method.New[GSPOToken](), "{ratio_mask: pre}"), with(method.New[KLCov](), "{exact: true, share: 0.5}"), with(method.New[KLCov](), "{share: 0.5}"),
		with(method.New[ClipCov](), "{low: -1, share: 0.5}"), with(method.New[R2VPO](), "{variant: adaptive_clip, anchor: roll}"), with(method.New[QUATRO](), "{off_policy: true}"), with(method.New[MaxRL](), "{ratio: false, baseline: false}"),
		with(method.New[OAPL](), "{length_norm: true}"), with(method.New[OnlineDPO](), "{all_pairs: true}"), with(method.New[TRM](), "{divergence: k2}"), with(method.New[M2Mask](), "{threshold: 0.01}"), with(method.New[VESPO](), "{sequence_weights: true}"),
		with(method.New[ACR](), "{cap: 1}"), with(method.New[RefKL](), "{kl_tau: 0}"), with(method.New[IPO](), "{log_clamp: 0}"), with(method.New[ASPO](), "{cap_neg: 1.1, cap_pos: 1.1}"),
	} {
		for seed := range uint64(4) {
			in := nastyBatch(seed, seed%2 == 1)
			for n := range in.Mask {
				in.LossMask = append(in.LossMask, in.Mask[n] && n%7 != 0)
			}
			explained(t, l, in)
		}
	}
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
