package loss

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"driftlab/trainer/method"
)

//go:embed testdata/variants.txt
var variantsText string

// variants are the options that change a formula, beyond the defaults that
// TestExplainEveryLoss covers.
var variants = readVariants(variantsText)

// variant is a loss, what a recipe says of it, and what else its line has.
type variant struct{ name, of, options, rest string }

// loss is a new loss with the options.
func (v variant) loss() Loss {
	e, err := Registry.Lookup(v.of)
	if err != nil {
		panic(err)
	}
	l := e.New()
	if err := yaml.Unmarshal([]byte(v.options), l); err != nil {
		panic(v.name + ": " + err.Error())
	}
	return l
}

func readVariants(text string) (list []variant) {
	for line := range strings.Lines(text) {
		if f := strings.Split(line, " | "); len(f) > 2 {
			list = append(list, variant{strings.TrimSpace(f[0]), strings.TrimSpace(f[1]), f[2], strings.Join(f[3:], " ")})
		}
	}
	return list
}

// TestGradientOfVariants is TestExplainEveryLoss away from the defaults.
func TestGradientOfVariants(t *testing.T) {
	for _, v := range variants {
		if err := method.Check(v.loss()); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		explainedOverall(t, v.name, v.loss)
	}
}

// TestLogitGradients checks the row kernels by central differences over logits
// in float64: entropy, KL in both directions.
func TestLogitGradients(t *testing.T) {
	p, q := randomTabular(21), randomTabular(22)
	for name, kernel := range map[string]func(dlogits, logp []float64) float64{
		"entropy":  func(d, logp []float64) float64 { return entropyRow(d, logp, 1) },
		"KL(p, q)": func(d, logp []float64) float64 { return klRow(d, logp, q[1][:], 1) },
		"KL(q, p)": func(d, logp []float64) float64 { return reverseKLRow(d, q[1][:], logp, 1) },
		"half KL":  func(d, logp []float64) float64 { return klRow(d, logp, q[1][:], 0.5) / 2 },
	} {
		logits := p[1]
		got := make([]float64, vocab)
		kernel(got, logits[:])
		for a := range vocab {
			const h = 1e-6
			at := func(step float64) float64 {
				z := logits
				z[a] += step
				row := make([]float64, vocab)
				return kernel(row, logSoftmax(z[:], vocab))
			}
			want := (at(h) - at(-h)) / (2 * h)
			if math.Abs(got[a]-want) > 1e-8 {
				t.Errorf("%s: d/d logit %d is %.9g, differences give %.9g", name, a, got[a], want)
			}
		}
	}
}

// TestExactKLInBatch checks value and scaling of the batch forms on one token.
func TestExactKLInBatch(t *testing.T) {
	b := workedBatch()
	k := method.New[ExactKL]()
	k.Coef, k.Aggregation.Mode = 2, "token-sum"
	out := addedTo(t, k, b)
	want := 0.0
	for n := range b.Tokens() {
		want += 2 * klRow(nil, b.Now.Dist[3*n:3*n+3], b.Ref.Dist[3*n:3*n+3], 0)
	}
	if math.Abs(out.Loss-want) > 1e-12 || len(out.DLogits) != 18 {
		t.Errorf("loss %v with %d logit gradients, want %v with 18", out.Loss, len(out.DLogits), want)
	}
	k.In = InReward
	b.Anchor = b.Now.Logp
	kl, err := k.AddReward(b)
	if err != nil || kl <= 0 || b.TokenReward[2] >= 1 {
		t.Errorf("in the reward: KL %v, rewards %v, error %v", kl, b.TokenReward, err)
	}
}

// TestRecipeSyntax reads losses and KL terms as recipes write them.
func TestRecipeSyntax(t *testing.T) {
	p := method.New[PPOClip]()
	text := "{eps_low: 0.1, eps_high: 0.28, dual_clip: 0, aggregation: seq-mean-token-sum-norm:1024@pre}"
	must(t, yaml.Unmarshal([]byte(text), p))
	want := PPOClip{EpsLow: 0.1, EpsHigh: 0.28, LogClamp: 20, Aggregation: Aggregation{Mode: "seq-mean-token-sum-norm", Horizon: 1024, Pre: true}}
	if *p != want {
		t.Errorf("read %+v, want %+v", *p, want)
	}
	k := NewKLTerm(K1)
	must(t, yaml.Unmarshal([]byte("{coef: 0.01, in: reward, controller: {target: 0.1, horizon: 100}}"), k))
	if k.Coef != 0.01 || k.In != InReward || k.Controller != (Controller{Target: 0.1, Horizon: 100}) || method.Check(k) != nil {
		t.Errorf("read %+v: %v", k, method.Check(k))
	}
	if err := yaml.Unmarshal([]byte("{aggregation: token-meen}"), method.New[PPOClip]()); err == nil || !strings.Contains(err.Error(), `"token-mean"`) {
		t.Errorf("a misspelt aggregation gives %v", err)
	}
}

// TestRulesOfTwoOptions: what tags cannot say is checked too.
func TestRulesOfTwoOptions(t *testing.T) {
	for name, l := range map[string]any{
		"mode":         &PPOClip{Aggregation: Aggregation{Mode: "x"}},
		"horizon":      &DRO{Beta: 1, Aggregation: Aggregation{Mode: "token-mean", Horizon: 5}},
		"ranks":        &DRO{Beta: 1, Aggregation: Aggregation{Ranks: 2}},
		"unbiased kl":  &UnbiasedKL{In: InReward, Anchor: Roll, Level: "token"},
		"controller":   &KLTerm{In: InLoss, Controller: Controller{Target: 1, Horizon: 1}},
		"no horizon":   &KLTerm{In: InReward, Controller: Controller{Target: 1}},
		"live mean":    &STPPO{TurnRatio: "mean", Gradient: "live", CTN: "none"},
		"length_norm":  &PrimeMasked{High: 1, LengthNorm: true},
		"clip_cov low": &ClipCov{Share: 0.1, Low: 2, High: 1},
		"lambda_max":   &R2VPO{Delta: 1, Lambda: 2, LambdaMax: 1, Variant: "primal_dual", Anchor: Old},
	} {
		if method.CheckTags(l) != nil || method.Check(l) == nil {
			t.Errorf("%s: no fault found in %+v, or by the tags alone", name, l)
		}
	}
	b := workedBatch()
	b.Anchor = nil
	if err := method.New[PPOClip]().Eval(&Grad{}, b); err == nil || !strings.Contains(err.Error(), "Anchor") {
		t.Errorf("a missing column gives %v", err)
	}
}

func FuzzAggregationText(f *testing.F) {
	for _, s := range []string{"token-mean", "dr_grpo:16", "grpo@pre", "seq-mean-token-sum-norm:9@post", ":", "@", "token-mean:-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var a, again Aggregation
		if a.UnmarshalText([]byte(s)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(a.String())); err != nil || again.String() != a.String() || again.Horizon != a.Horizon || again.Pre != a.Pre {
			t.Errorf("%q reads as %+v, prints as %q, reads as %+v: %v", s, a, a.String(), again, err)
		}
	})
}

// logSoftmax normalises rows of logits of the given width.
func logSoftmax(logits []float64, vocab int) []float64 {
	logp := make([]float64, len(logits))
	for at := 0; at < len(logits); at += vocab {
		row := logits[at : at+vocab]
		largest, sum := slices.Max(row), 0.0
		for _, z := range row {
			sum += math.Exp(z - largest)
		}
		for a, z := range row {
			logp[at+a] = z - largest - math.Log(sum)
		}
	}
	return logp
}
