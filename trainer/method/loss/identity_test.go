package loss

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// eval returns value and gradient of a loss on a batch.
func eval(t *testing.T, l Loss, in *batch.Batch) *Grad {
	t.Helper()
	out := &Grad{}
	must(t, l.Eval(out, in))
	return out
}

// adder is a KL term, or another term of the loss.
type adder interface {
	AddLoss(out *Grad, in *batch.Batch) error
}

// addedTo returns value and gradient of a term alone.
func addedTo(t *testing.T, term adder, in *batch.Batch) *Grad {
	t.Helper()
	out := &Grad{}
	out.Reset(in.Tokens())
	must(t, term.AddLoss(out, in))
	return out
}

// same asserts equal gradients to rounding.
func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for n := range want {
		if !(math.Abs(got[n]-want[n]) <= 1e-12*(1+math.Abs(want[n]))) {
			t.Errorf("%s: entry %d is %.15g, want %.15g", what, n, got[n], want[n])
			return
		}
	}
}

// onPolicy makes all three policies the same, with one advantage per response
// of the sign of its reward.
func onPolicy(seed uint64) *batch.Batch {
	b := nastyBatch(seed, false)
	b.Anchor, b.LogpRoll, b.Weight = b.Now.Logp, b.Now.Logp, nil
	b.DistRoll = b.Now.Dist
	for i := range b.Len() {
		from, to := b.Span(i)
		a := rand.New(rand.NewPCG(seed, uint64(i))).NormFloat64()
		for n := from; n < to; n++ {
			b.Advantage[n] = a
		}
	}
	return b
}

// TestOnPolicyReducesToPolicyGradient: with all ratios one, these losses have
// the gradient -A·agg of REINFORCE, dual and other clips notwithstanding.
func TestOnPolicyReducesToPolicyGradient(t *testing.T) {
	agg := Aggregation{Mode: "seq-mean-token-mean"}
	for seed := range uint64(3) {
		b := onPolicy(seed)
		want := eval(t, &Reinforce{Anchor: Old, Aggregation: agg}, b).DLogp
		for _, name := range []string{"ppo_clip", "importance_sampling", "rollout_is", "aipo", "topr", "decoupled_ppo", "a3po", "m2po", "m2_mask",
			"st_ppo", "dispo", "minpro", "espo", "acr", "logit_fusion", "gpg", "cispo", "gspo_token", "dppo_tv", "dppo_kl", "dppo_topk",
			"ppo_mask", "dro", "prime_dppo", "ipo", "prime_masked", "prime_geo", "vespo", "aspo", "ctpo", "trm", "kimi", "gspo", "tbpo", "sapo", "sat", "sao", "bapo", "mipu"} {
			e, err := Registry.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			l := e.New()
			setAggregation(l, agg)
			same(t, name+" on-policy", eval(t, l, b).DLogp, want)
		}
		// A mean over all rows, empty ones too, in place of the mean over non-empty ones.
		rows, nonEmpty := float64(b.Len()), 0.0
		for i := range b.Len() {
			f := frame{in: b, active: b.Active()}
			nonEmpty += count(f.length(i) > 0)
		}
		scaled := slices.Clone(want)
		for n := range scaled {
			scaled[n] *= nonEmpty / rows
		}
		got := eval(t, method.New[GMPO](), b).DLogp
		for n := range scaled {
			if math.Abs(got[n]-scaled[n]) > 1e-8 {
				t.Fatalf("gmpo on-policy: entry %d is %g, want %g", n, got[n], scaled[n])
			}
		}
	}
}

// setAggregation sets the Aggregation of the losses that have one.
func setAggregation(l Loss, agg Aggregation) {
	if f := reflect.ValueOf(l).Elem().FieldByName("Aggregation"); f.IsValid() {
		f.Set(reflect.ValueOf(agg))
	}
}

// TestZeroAdvantage: without advantage there is no gradient, but for methods
// whose penalty or whose own advantage does not depend on the column.
func TestZeroAdvantage(t *testing.T) {
	own := []string{"oapl", "a2po", "quatro", "online_dpo", "maxrl", "ref_kl", "iw_opd", "cross_entropy", // rewards, references or data
		"kl_cov", "dro", "kimi", "gvpo", "flowrl", "r2vpo", "prime_dppo", "ipo"} // penalties
	for _, e := range Registry {
		b := nastyBatch(3, false)
		clear(b.Advantage)
		out := eval(t, e.New(), b)
		zero := !slices.ContainsFunc(out.DLogp, func(d float64) bool { return d != 0 })
		if e.Name == "kl_cov" { // all covariances are 0: nothing is selected
			if !zero {
				t.Error("kl_cov selects tokens although no covariance is above 0")
			}
			continue
		}
		if zero == slices.Contains(own, e.Name) {
			t.Errorf("%s: gradient is zero: %v", e.Name, zero)
		}
	}
}

// TestNothingToLearn: with every token rejected, losses and gradients are zero
// and every metric is a number.
func TestNothingToLearn(t *testing.T) {
	for _, e := range Registry {
		b := nastyBatch(6, true)
		b.LossMask = make([]bool, b.Tokens())
		out := eval(t, e.New(), b)
		if slices.ContainsFunc(out.DLogp, func(d float64) bool { return d != 0 }) {
			t.Errorf("%s: a gradient without tokens", e.Name)
		}
		if e.Name != "oapl" && e.Name != "a2po" && e.Name != "online_dpo" && out.Loss != 0 {
			t.Errorf("%s: loss %v without tokens", e.Name, out.Loss) // those three compare rewards
		}
		for _, m := range out.Metrics {
			if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
				t.Errorf("%s: metric %s is %v", e.Name, m.Name, m.Value)
			}
		}
	}
}

// TestClosedGateDropsThePolicyTerm: with all gates closed there is no policy
// gradient; the denominators of open tokens do not change when others close.
func TestClosedGateDropsThePolicyTerm(t *testing.T) {
	for _, e := range Registry {
		b := nastyBatch(7, false)
		b.Gate = make([]bool, b.Tokens())
		out := eval(t, e.New(), b)
		if e.Name != "online_dpo" && slices.ContainsFunc(out.DLogp, func(d float64) bool { return d != 0 }) {
			t.Errorf("%s: gradient behind closed gates", e.Name)
		}
	}
	b := nastyBatch(7, false)
	want := eval(t, method.New[PPOClip](), b).DLogp
	b.Gate = make([]bool, b.Tokens())
	for n := range b.Gate {
		b.Gate[n] = n%2 == 0
	}
	for n, d := range eval(t, method.New[PPOClip](), b).DLogp {
		if b.Gate[n] && d != want[n] || !b.Gate[n] && d != 0 {
			t.Fatalf("token %d: %v behind gate %v, want %v", n, d, b.Gate[n], want[n])
		}
	}
}

// TestFamiliesCoincide: limits in which one method is another.
func TestFamiliesCoincide(t *testing.T) {
	for seed := range uint64(4) {
		b := nastyBatch(seed, false)
		agg := Aggregation{Mode: "seq-mean-token-mean"}
		token := eval(t, &GSPOToken{EpsLow: 0.1, EpsHigh: 0.1, LogCap: 10, Aggregation: agg}, b).DLogp
		one := &ESPO{Buckets: 1, Eps: 0.1, Aggregation: agg}
		same(t, "ESPO with one bucket is GSPO-token", eval(t, one, b).DLogp, token)

		for n := range b.Now.Entropy {
			b.Now.Entropy[n] = 1
		}
		ppo := eval(t, &PPOClip{EpsLow: 0.2, EpsHigh: 0.2, LogClamp: 20, Aggregation: agg}, b).DLogp
		same(t, "ESPO with a bucket per token is PPO", eval(t, &ESPO{Buckets: 1000, Eps: 0.2, Aggregation: agg}, b).DLogp, ppo)
		same(t, "ASPO of negatives is PPO without dual clip", onNegatives(b, eval(t, &ASPO{LowEntropyEpsNeg: 0.2, HighEntropyEpsNeg: 0.2, LowEntropyEpsPos: 0.2,
			HighEntropyEpsPos: 0.2, CapNeg: 1e9, CapPos: 1e9, Aggregation: agg}, b).DLogp), onNegatives(b, ppo))
		same(t, "kl_cov without penalty is importance sampling", eval(t, &KLCov{Share: 0.5, LogClamp: 20, Aggregation: agg}, b).DLogp,
			eval(t, &ImportanceSampling{Level: "token", Anchor: Old, LogClamp: 20, Aggregation: agg}, b).DLogp)
		same(t, "PPO with infinite bounds is importance sampling", eval(t, &PPOClip{EpsLow: 1e9, EpsHigh: 1e9, LogClamp: 20, Aggregation: agg}, b).DLogp,
			eval(t, &ImportanceSampling{Level: "token", Anchor: Old, LogClamp: 20, Aggregation: agg}, b).DLogp)
		same(t, "Kimi per token is DRO", eval(t, &Kimi{Tau: 0.7, Level: "token", Anchor: Old, Aggregation: agg}, b).DLogp,
			eval(t, &DRO{Beta: 0.7, Aggregation: agg}, b).DLogp)
		same(t, "DISPO with one band is CISPO", eval(t, &DISPO{CorrectLow: 0.3, CorrectHigh: 0.4, IncorrectLow: 0.3, IncorrectHigh: 0.4, Aggregation: agg}, b).DLogp,
			eval(t, &CISPO{EpsLow: 0.3, EpsHigh: 0.4, Level: "token", Anchor: Old, LogClamp: 20, Aggregation: agg}, b).DLogp)
		same(t, "ACR below its cap is weighted PPO", eval(t, &ACR{EpsLow: 0.2, EpsHigh: 0.2, Cap: 1e9, Aggregation: agg}, b).DLogp,
			eval(t, &DecoupledPPO{EpsLow: 0.2, EpsHigh: 0.2, Prox: "recompute", Behave: "token_truncate", LogClamp: 20, Aggregation: agg}, b).DLogp)
		same(t, "A-3PO at lag 1 clips around roll", eval(t, a3poAtLag(b, 1, agg), b).DLogp, eval(t, &DecoupledPPO{EpsLow: 0.2, EpsHigh: 0.2, Prox: "rollout", Behave: "none", LogClamp: 20, Aggregation: agg}, b).DLogp)

		flat := onPolicy(seed) // one advantage per response
		flat.Anchor = slices.Clone(flat.Now.Logp)
		for n := range flat.Anchor {
			flat.Anchor[n] -= 0.05
		}
		same(t, "GSPO with one advantage is GSPO-token", eval(t, &GSPO{EpsLow: 0.1, EpsHigh: 0.1, LogCap: 10, Aggregation: agg}, flat).DLogp,
			eval(t, &GSPOToken{EpsLow: 0.1, EpsHigh: 0.1, LogCap: 10, Aggregation: agg}, flat).DLogp)
		turns := &STPPO{EpsLow: 0.1, EpsHigh: 0.1, TurnRatio: "geo", Gradient: "token", CTN: "none", LogCap: 10, Aggregation: agg}
		clear(flat.Turn)
		same(t, "a single turn is GSPO-token", eval(t, turns, flat).DLogp, eval(t, &GSPOToken{EpsLow: 0.1, EpsHigh: 0.1, LogCap: 10, Aggregation: agg}, flat).DLogp)
	}
}

func a3poAtLag(b *batch.Batch, lag int, agg Aggregation) *DecoupledPPO {
	for n := range b.Version {
		b.Version[n] = int32(b.LearnerVersion - lag)
	}
	p := NewA3PO()
	p.Behave, p.Aggregation = "none", agg
	return p
}

// onNegatives keeps the entries of tokens with A < 0.
func onNegatives(b *batch.Batch, d []float64) []float64 {
	kept := slices.Clone(d)
	for n := range kept {
		if b.Advantage[n] >= 0 {
			kept[n] = 0
		}
	}
	return kept
}

// TestLengthOneMakesLevelsEqual: for responses of one token the token, prefix,
// sequence and geometric forms are one.
func TestLengthOneMakesLevelsEqual(t *testing.T) {
	b := nastyBatch(1, false)
	n := b.Tokens()
	b.Offsets = b.Offsets[:0]
	for i := 0; i <= n; i++ {
		b.Offsets = append(b.Offsets, i)
		b.Mask[min(i, n-1)] = true
	}
	b.Group, b.Reward = make([]int, n), make([]float64, n)
	agg := Aggregation{Mode: "grpo"}
	want := eval(t, &PPOClip{EpsLow: 0.2, EpsHigh: 0.2, LogClamp: 20, Aggregation: agg}, b).DLogp
	for name, l := range map[string]Loss{
		"GSPO":         &GSPO{EpsLow: 0.2, EpsHigh: 0.2, Aggregation: agg},
		"GSPO-token":   &GSPOToken{EpsLow: 0.2, EpsHigh: 0.2, Aggregation: agg},
		"CTPO":         &CTPO{Low: -math.Log(0.8), High: math.Log(1.2), Dual: 50, Power: 0.5, Form: "product", Aggregation: agg},
		"MinPRO clip":  &MinPRO{Variant: "clip", EpsLow: 0.2, EpsHigh: 0.2, Anchor: Old, Aggregation: agg},
		"LUSPO":        &LUSPO{EpsLow: 0.2, EpsHigh: 0.2},
		"turns":        &STPPO{EpsLow: 0.2, EpsHigh: 0.2, TurnRatio: "product", Gradient: "live", CTN: "none", Aggregation: agg},
		"TBPO, c open": &TBPO{EpsLow: 0.2, EpsHigh: 0.2, Dual: 1e9, Aggregation: agg},
	} {
		same(t, name, eval(t, l, b).DLogp, want)
	}
}

// TestOrderAndPaddingChangeNothing: responses in another order, within groups and of whole groups, and with
// anything at masked tokens have the same value, gradients and metrics.
func TestOrderAndPaddingChangeNothing(t *testing.T) {
	for _, e := range Registry {
		b, dirty := nastyBatch(9, false), nastyBatch(9, false)
		for n, m := range dirty.Mask {
			if !m {
				for _, column := range [][]float64{dirty.Now.Logp, dirty.Anchor, dirty.LogpRoll, dirty.Ref.Logp, dirty.Teacher.Logp, dirty.Advantage, dirty.Weight, dirty.Now.Entropy} {
					column[n] = math.NaN()
				}
			}
		}
		order := []int{7, 6, 4, 5, 9, 8, 11, 10, 0, 2, 1, 3} // groups 1, 2, 0
		if e.Name == "clip_cov" {
			slices.Sort(order) // it draws tokens by index
		}
		var moved batch.Batch
		dirty.Select(&moved, order)
		want, got := eval(t, e.New(), b), eval(t, e.New(), &moved)
		same(t, e.Name+": loss", []float64{got.Loss}, []float64{want.Loss})
		for k, i := range order {
			from, to := b.Span(i)
			at, _ := moved.Span(k)
			same(t, e.Name+": gradients", got.DLogp[at:at+to-from], want.DLogp[from:to])
		}
		for i, m := range want.Metrics {
			same(t, e.Name+": "+m.Name, []float64{got.Metrics[i].Value}, []float64{m.Value})
		}
	}
}

// must stops the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
