package loss

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TestExplainEveryLoss: the rule of every loss gives what Eval computes, token by token
// and added up; the evaluation without a trace has the same bits.
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
		if err := method.Check(l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for i, l := range []Loss{
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

// misdeclared is GPG with another rule.
type misdeclared struct {
	branch       trace.Branch
	value, slope string
	hidden       float64
}

// Eval adds a part to the loss that it hides.
func (l misdeclared) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, Aggregation{}, batch.Advantage)
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		return -in.Advantage[n] * in.Now.Logp[n], -in.Advantage[n]
	})
	out.Loss += l.hidden
	return nil
}

func (l misdeclared) rule(r *rule) {
	r.Branch(trace.Case{Branch: l.branch, Value: l.value, Slope: l.slope})
}

// TestExplainNotices: a formula, a branch or a sum that is not the loss's is an error.
func TestExplainNotices(t *testing.T) {
	for _, c := range []struct {
		misdeclared
		want string
	}{
		{misdeclared{trace.Kept, "-A·logp", "-A", 0}, ""},
		{misdeclared{trace.Kept, "-A·roll", "-A", 0}, "no term roll"},
		{misdeclared{trace.Kept, "A·logp", "-A", 0}, "L = A·logp is"},
		{misdeclared{trace.Kept, "-A·logp", "-A/2", 0}, "dL = -A/2 is"},
		{misdeclared{trace.Kept, "L", "-A", 0}, "its own formula"},
		{misdeclared{trace.ClippedHigh, "-A·logp", "-A", 0}, "clipped above, with the slope -A"},
		{misdeclared{trace.Kept, "", "-A", 0}, "no formula of L"},
		{misdeclared{trace.Kept, "-A·logp", "-A", 1e-6}, "add up"},
	} {
		_, _, err := Explain(c.misdeclared, workedBatch())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.misdeclared, err, c.want)
		}
	}
}

// plain is a loss without a rule: -sg[min(r, c)]·A·logp, c its parameter.
type plain struct {
	Cap float64 `yaml:"cap" default:"1.1"`
}

func (p *plain) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, Aggregation{}, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		r, _ := ratio(f.sg[n]-in.Anchor[n], 0)
		return detached(min(r, p.Cap), in.Advantage[n], in.Now.Logp[n])
	})
	return nil
}

// TestExplainByTheDocumentedFormula: a loss without a rule is explained by the formula and the
// gradient of its spec; one that is not its own, or that cannot be evaluated, is an error.
func TestExplainByTheDocumentedFormula(t *testing.T) {
	before := Registry
	defer func() { Registry = before }()
	for _, c := range []struct{ formula, gradient, want string }{
		{"L = -sg[min(r, c)]·A·logp, r = exp(lr)", "-min(r, c)·A", ""},
		{"L = -sg[max(r, c)]·A·logp, r = exp(lr)", "-min(r, c)·A", "and the method has"},
		{"L = -sg[min(r, c)]·A·logp, r = exp(lr)", "-r·A", "dL = -r·A is"},
		{"the capped policy gradient", "-min(r, c)·A", "plain has no method rule"},
		{"L = -sg[min(r, c)]·A·logp, r = exp(lr)", "-min(r, c·A", "plain has no method rule"},
	} {
		Registry = append(before[:len(before):len(before)], method.Entry[Loss]{
			Spec: method.Spec{Name: "plain", Formula: c.formula, Gradient: c.gradient}, New: func() Loss { return method.New[plain]() }})
		_, _, err := Explain(method.New[plain](), workedBatch())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.formula, c.gradient, err, c.want)
		}
	}
	Registry = before
	if _, _, err := Explain(method.New[plain](), workedBatch()); err == nil {
		t.Error("a loss that is in no registry and has no rule is explained")
	}
}
