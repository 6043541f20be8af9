package loss

import (
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"

	"go.yaml.in/yaml/v4"
)

// TestExplainEveryLoss: the trace of every loss is the loss. Explain works every
// formula out again and adds the tokens' parts up; the evaluation without a trace has
// the same bits.
func TestExplainEveryLoss(t *testing.T) {
	for _, e := range Registry {
		t.Run(e.Name, func(t *testing.T) { explainLoss(t, e) })
	}
}

func explainLoss(t *testing.T, e method.Entry[Loss]) {
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
			t.Fatal(err)
		}
		x, out, err := Explain(e.New(), in)
		if err != nil {
			t.Errorf("batch %d: %v", seed, err)
			continue
		}
		if out.Loss != plain.Loss || !slices.Equal(out.DLogp, plain.DLogp) {
			t.Errorf("batch %d: a trace changes the loss", seed)
		}
		for n, k := range x.Tokens {
			if in.Active()[n] && k.Branch != "" {
				branches[k.Branch]++
			}
		}
	}
	t.Log(branches)
}

// TestExplainOptions: the same away from the defaults.
func TestExplainOptions(t *testing.T) {
	with := func(l Loss, text string) Loss {
		t.Helper()
		if err := yaml.Unmarshal([]byte(text), l); err != nil {
			t.Fatal(err)
		}
		if v, ok := l.(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	for i, l := range []Loss{
		with(NewPPOClip(), "{delta: 1.5, dual_clip: 2, log_clamp: 0, aggregation: seq-mean-token-mean@pre}"),
		with(NewCISPO(), "{level: sequence, anchor: roll}"), with(NewCISPO(), "{unified_mask: true, eps_low: 0.2}"), with(NewCISPO(), "{cap: 1.1}"),
		with(NewSAPO(), "{level: sequence, mean_advantage: true, anchor: roll}"), with(NewImportanceSampling(), "{level: sequence, anchor: old}"),
		with(NewKimi(), "{level: token, anchor: roll}"), with(NewMinPRO(), "{variant: clip}"), with(NewMinPRO(), "{cap: 1, anchor: roll}"),
		with(NewLogitFusion(), "{ratio: shaped, cap: 1, floor: 0.5}"), with(NewLogitFusion(), "{ratio: decoupled}"), with(NewLogitFusion(), "{ratio: student, cap: 1, soft_cap: true}"),
		with(NewDPPOTV(), "{live_ratio: true, anchor: old}"), with(NewDPPOKL(), "{cap: 0, mask_anchor: old}"), with(NewDPPOTopK(), "{k: 2, divergence: tv, cap: 1}"),
		with(NewSTPPO(), "{gradient: live}"), with(NewSTPPO(), "{ctn: kl, dual_clip: 1.5}"), with(NewSTPPO(), "{ctn: survivors, turn_ratio: mean}"),
		with(NewSTPPO(), "{ctn: kl, gradient: live, turn_ratio: product}"), with(NewSTPPO(), "{ctn: bias_norm, epsilon: 1e-8, log_cap: 0}"),
		with(NewPrimeMasked(), "{sequence: true, length_norm: true}"), with(NewPrimeMasked(), "{low: 0.9, high: 1.1}"), with(NewPrimeGeo(), "{sequence: true, teacher_tau: 0.1, kl_tau: 0.1}"),
		with(NewTOPR(), "{level: token, sign: advantage}"), with(NewTOPR(), "{level: turn, anchor: old}"), with(NewDecoupledPPO(), "{prox: linear, behave: sequence_mask, cap: 1}"),
		with(NewDecoupledPPO(), "{prox: rollout, behave: none, dual_clip: 2}"), with(NewGMPO(), "{clip: sequence, non_empty: true}"), with(NewGMPO(), "{clip: none, normalise: false}"),
		with(NewGSPO(), "{mean_advantage: false, dual_clip: 1.1, log_cap: 0}"), with(NewGSPOToken(), "{ratio_mask: pre}"), with(NewKLCov(), "{exact: true, share: 0.5}"), with(NewKLCov(), "{share: 0.5}"),
		with(NewClipCov(), "{low: -1, share: 0.5}"), with(NewR2VPO(), "{variant: adaptive_clip, anchor: roll}"), with(NewQUATRO(), "{off_policy: true}"), with(NewMaxRL(), "{ratio: false, baseline: false}"),
		with(NewOAPL(), "{length_norm: true}"), with(NewOnlineDPO(), "{all_pairs: true}"), with(NewTRM(), "{divergence: k2}"), with(NewM2Mask(), "{threshold: 0.01}"), with(NewVESPO(), "{sequence_weights: true}"),
		with(NewACR(), "{cap: 1}"), with(NewRefKL(), "{kl_tau: 0}"), with(NewIPO(), "{log_clamp: 0}"), with(NewASPO(), "{cap_neg: 1.1, cap_pos: 1.1}"),
	} {
		for seed := range uint64(4) {
			in := nastyBatch(seed, seed%2 == 1)
			for n := range in.Mask {
				in.LossMask = append(in.LossMask, in.Mask[n] && n%7 != 0)
			}
			plain := &Grad{frozen: slices.Clone(in.Now.Logp)}
			if err := l.Eval(plain, in); err != nil {
				t.Fatalf("%d, %T: %v", i, l, err)
			}
			if _, out, err := Explain(l, in); err != nil || out.Loss != plain.Loss {
				t.Errorf("%d, %T %+v, batch %d: %v", i, l, l, seed, err)
			}
		}
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
