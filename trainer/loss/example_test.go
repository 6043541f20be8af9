package loss

import (
	"fmt"

	"driftlab/trainer/batch"
	"driftlab/trainer/method"
)

// Adding a loss takes one file and one line of the registry. This is the whole
// file for TanhPG, a made-up loss whose importance weight saturates softly:
//
//	L = -sg[1 + tanh(lr)]·A·logp
//
// 1. The parameter struct, with the recipe's field names.
type TanhPG struct {
	// Scale multiplies the log-ratio.
	Scale float64 `yaml:"scale"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// 2. What `simulate methods` prints about it.
var tanhPGSpec = method.Spec{
	Name: "tanh_pg", Group: "loss", Unit: method.Token, Source: "this example",
	Formula:  "L = -sg[2σ(2·scale·lr)]·A·logp, lr = logp - old",
	Gradient: "-2σ(2·scale·lr)·A",
	Needs:    []string{"LogpOld", "Advantage"},
}

// 3. Validate reports options out of range; recipes are checked before a run.
func (p *TanhPG) Validate() error {
	return check(p.Scale > 0, "scale %v: must be above 0", p.Scale)
}

// 4. Eval returns value and derivative side by side. f.sg is the log-prob where
// the method detaches it; start has checked the columns, and eachToken takes
// care of masks, importance weights, gates and the aggregation.
func (p *TanhPG) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, "LogpOld", "Advantage")
	if err != nil {
		return err
	}
	f.eachToken(func(n int) (value, dlogp float64) {
		w := 2 * sigmoid(2*p.Scale*(f.sg[n]-in.LogpOld[n])) // 1 + tanh(scale·lr)
		return -w * in.Advantage[n] * in.Logp[n], -w * in.Advantage[n]
	})
	f.addKL(in.LogpOld, 0)
	return nil
}

// Example_addLoss registers the loss above and runs it by its name, as a recipe
// would: loss: {name: tanh_pg, scale: 1}.
func Example_addLoss() {
	// 5. The line of the registry.
	registry := append(Registry[:len(Registry):len(Registry)],
		method.Entry[Loss]{Spec: tanhPGSpec, New: func() Loss { return &TanhPG{Scale: 1} }})

	entry, err := registry.Lookup("tanh_pg")
	if err != nil {
		fmt.Println(err)
		return
	}
	in := &batch.Batch{
		Offsets: []int{0, 2},
		Mask:    []bool{true, true},
		Logp:    []float64{-0.5, -1.2}, LogpOld: []float64{-0.7, -1.0},
		Advantage: []float64{1, 1},
	}
	var out Grad
	if err := entry.New().Eval(&out, in); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: loss %.4f, d loss/d logp %.4f\n", entry.Name, out.Loss, out.DLogp)

	_, err = registry.Lookup("tanh_gp")
	fmt.Println(err.Error()[:50])
	// Output:
	// tanh_pg: loss 0.7809, d loss/d logp [-0.5987 -0.4013]
	// unknown name "tanh_gp": did you mean "tanh_pg"? (k
}

func ExampleEvaluate() {
	in := &batch.Batch{
		Offsets: []int{0, 3},
		Mask:    []bool{true, true, true},
		Logp:    []float64{-0.5, -1.2, -2.0}, LogpOld: []float64{-0.7, -1.0, -2.5},
		LogpRef:   []float64{-0.9, -0.8, -2.1},
		Advantage: []float64{-1, -1, -1},
	}
	policy, kl := NewPPOClip(), NewKLTerm(K3)
	policy.DualClip = 1.5
	kl.Coef = 0.1
	var out Grad
	if err := Evaluate(&out, in, policy, kl); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.6f\n", out.Loss)
	fmt.Printf("d loss/d logp %.6f\n", out.DLogp)
	for _, m := range out.Metrics {
		fmt.Printf("%s %.6f\n", m.Name, m.Value)
	}
	// Output:
	// loss 1.185611
	// d loss/d logp [0.418124 0.256516 0.003172]
	// actor/pg_clipfrac 0.000000
	// actor/ppo_kl -0.166667
	// actor/pg_clipfrac_lower 0.333333
	// actor/kl_loss 0.055661
	// actor/kl_coef 0.100000
}

func ExampleEstimator_At() {
	d := 0.4 // logp - ref
	for _, e := range []Estimator{K1, K2, K3, K3Plus} {
		value, derivative := e.At(d, VerlBounds)
		fmt.Printf("%-3s %.4f %.4f\n", e, value, derivative)
	}
	// Output:
	// k1  0.4000 1.0000
	// k2  0.0800 0.4000
	// k3  0.0703 0.3297
	// k3+ 0.0703 0.4000
}
