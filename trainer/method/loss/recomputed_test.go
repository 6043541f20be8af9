package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// The figures of these tests are computed a second time, by loops written from
// the published formulas, on random batches that have what files of cases rarely
// hold: responses without a token, holes, rejections, huge log-ratios.

// wild is such a batch; far scales its log-ratios.
func wild(rng *rand.Rand, far float64) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	for i := range 5 {
		empty := i > 0 && rng.IntN(4) == 0
		a := rng.NormFloat64()
		for range 1 + rng.IntN(6) {
			m := !empty && rng.Float64() < .8
			b.Mask = append(b.Mask, m)
			b.LossMask = append(b.LossMask, m && rng.Float64() < .7)
			b.Now.Logp = append(b.Now.Logp, -3*rng.Float64())
			b.Anchor = append(b.Anchor, -3*rng.Float64()*far)
			b.LogpRoll = append(b.LogpRoll, -3*rng.Float64())
			b.Ref.Logp = append(b.Ref.Logp, -3*rng.Float64())
			b.Advantage = append(b.Advantage, a)
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
	}
	return b
}

// rowMeans calls of for the tokens of mask and returns, for every response, the
// mean and the number of tokens.
func rowMeans(b *batch.Batch, mask []bool, of func(n int) float64) (means, counts []float64) {
	for i := range b.Len() {
		sum, n := 0.0, 0.0
		for t := range b.Where(i, mask) {
			sum, n = sum+of(t), n+1
		}
		means, counts = append(means, sum/max(n, 1)), append(counts, n)
	}
	return means, counts
}

func agrees(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func logged(t *testing.T, out *Grad, name string) float64 {
	t.Helper()
	x, ok := out.Metric(name)
	if !ok {
		t.Errorf("%s is not logged", name)
	}
	return x
}

// VESPO's approx_kl clamps each token's log-ratio; w_seq is exp of the clamped
// sum, without the floor that φ has.
func TestVESPOFiguresRecomputed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for trial := range 200 {
		b := wild(rng, []float64{1, 4, 30}[trial%3])
		b.LossMask = nil
		if trial%2 == 0 {
			for n := range b.Now.Logp {
				b.Now.Logp[n], b.Anchor[n] = b.Anchor[n], b.Now.Logp[n]
			}
		}
		out := eval(t, method.New[VESPO](), b)
		ratio := func(n int) float64 { return min(max(b.Now.Logp[n]-b.Anchor[n], -20), 20) }
		means, counts := rowMeans(b, b.Mask, ratio)
		kl, w := 0.0, newSpread()
		for i, m := range means {
			kl -= m / float64(b.Len())
			w.add(math.Exp(min(max(m*counts[i], -20), 20)))
		}
		agrees(t, "approx_kl", logged(t, out, "actor/approx_kl"), kl)
		agrees(t, "w_seq_mean", logged(t, out, "vespo/w_seq_mean"), w.sum/w.count)
		if got := logged(t, out, "vespo/w_seq_min"); math.Abs(got/w.smallest-1) > 1e-12 {
			t.Errorf("w_seq_min is %v, want %v", got, w.smallest)
		}
		agrees(t, "w_seq_max", logged(t, out, "vespo/w_seq_max"), w.largest)
	}
}

// prime-rl's figures are means over responses: those with an active token for
// ce, ref_kl and whatever has weights per token, else all.
func TestPrimeFiguresRecomputed(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for trial := range 100 {
		b := wild(rng, 1)
		b.LossMask = nil
		if trial%2 == 0 {
			for n := range b.Mask {
				w := float64(rng.IntN(3)) / 2
				b.Weight = append(b.Weight, w)
				b.Mask[n] = b.Mask[n] && w != 0
			}
		}
		k3 := func(n int) float64 {
			l := b.Now.Logp[n] - b.LogpRoll[n]
			return math.Exp(l) - l - 1
		}
		means := map[string]func(n int) float64{"ref_kl": func(n int) float64 { return b.Ref.Logp[n] - b.Now.Logp[n] },
			"nll": func(n int) float64 { return -b.Now.Logp[n] }, "mismatch_kl": k3}
		for _, c := range []struct {
			loss   Loss
			name   string
			active bool
		}{
			{method.New[CrossEntropy](), "nll", true}, {method.New[RefKL](), "ref_kl", true}, {method.New[RefKL](), "mismatch_kl", true},
			{method.New[PrimeDPPO](), "mismatch_kl", b.Weight != nil}, {method.New[IPO](), "mismatch_kl", b.Weight != nil},
		} {
			out := eval(t, c.loss, b)
			rows, counts := rowMeans(b, b.Mask, means[c.name])
			sum, n := 0.0, 0.0
			for i, m := range rows {
				if counts[i] > 0 || !c.active {
					sum, n = sum+m, n+1
				}
			}
			agrees(t, c.name, logged(t, out, c.name), sum/max(n, 1))
		}
	}
}

// GSPO-token's s is the mean over all generated tokens with ratio_mask pre
// (SkyRL), over those the correction left with post; the gradient of a token
// that is left is -A·s/(N·T), or 0 where s is clipped.
func TestGSPOTokenRatioMaskRecomputed(t *testing.T) {
	rng, differ := rand.New(rand.NewPCG(11, 12)), 0
	for range 200 {
		b := wild(rng, 1)
		of := map[string][]float64{}
		for _, which := range []string{"pre", "post"} {
			l := &GSPOToken{EpsLow: .3, EpsHigh: .4, LogCap: 10, RatioMask: which, Aggregation: Aggregation{Mode: "token-sum"}}
			out := eval(t, l, b)
			mask := map[string][]bool{"pre": b.Mask, "post": b.LossMask}[which]
			means, _ := rowMeans(b, mask, func(n int) float64 { return b.Now.Logp[n] - b.Anchor[n] })
			for i, m := range means {
				s := math.Exp(m)
				of[which] = append(of[which], s)
				from, to := b.Span(i)
				for n := from; n < to; n++ {
					a, want := b.Advantage[n], 0.0
					if b.LossMask[n] && !(a > 0 && s > 1.4) && !(a < 0 && s < .7) {
						want = -a * s
					}
					agrees(t, which, out.DLogp[n], want)
				}
			}
		}
		for i, s := range of["pre"] {
			differ += int(count(s != of["post"][i]))
		}
	}
	if differ == 0 {
		t.Error("rejection changes no ratio")
	}
	if method.Check(&GSPOToken{RatioMask: "before"}) == nil {
		t.Error("ratio_mask before is accepted")
	}
}

// Where the reference is far more certain than the policy, exp(ref - logp) is
// huge, and the two halves of the product rule cancel all digits of the
// derivative x·(logp - ref).
func TestUnbiasedKLKeepsItsDigits(t *testing.T) {
	for u := -30.0; u <= 60; u += 1.25 {
		b := &batch.Batch{
			Sampled:   batch.Sampled{Offsets: []int{0, 1}, Mask: []bool{true}},
			Now:       batch.Scored{Logp: []float64{-61}},
			Ref:       batch.Scored{Logp: []float64{-61 + u}},
			Corrected: batch.Corrected{Anchor: []float64{-61.5}},
		}
		out := addedTo(t, (&UnbiasedKL{Coef: 1, In: InLoss, Anchor: Old, Level: "token"}), b)
		want := math.Exp(.5) * -u
		if !(math.Abs(out.DLogp[0]-want) <= 1e-14*math.Abs(want)) {
			t.Errorf("ref - logp = %v: derivative %v, want %v", u, out.DLogp[0], want)
		}
	}
}

// Beyond its cap the weight is a constant: the value is cap·k3 and the derivative cap·(1 - exp(u)).
func TestUnbiasedKLCap(t *testing.T) {
	for _, lr := range []float64{-1, .1, 1} {
		const u, cap = .7, 1.2
		b := &batch.Batch{
			Sampled:   batch.Sampled{Offsets: []int{0, 1}, Mask: []bool{true}},
			Now:       batch.Scored{Logp: []float64{-2}},
			Ref:       batch.Scored{Logp: []float64{-2 + u}},
			Corrected: batch.Corrected{Anchor: []float64{-2 - lr}},
		}
		out := addedTo(t, (&UnbiasedKL{Coef: 1, In: InLoss, Anchor: Old, Level: "token", Cap: cap}), b)
		value, derivative := math.Exp(lr)*(math.Exp(u)-u-1), -u*math.Exp(lr)
		if math.Exp(lr) > cap {
			value, derivative = cap*(math.Exp(u)-u-1), cap*(1-math.Exp(u))
		}
		if math.Abs(out.Loss-value) > 1e-12 || math.Abs(out.DLogp[0]-derivative) > 1e-12 {
			t.Errorf("log-ratio %v: loss %v and derivative %v, want %v and %v", lr, out.Loss, out.DLogp[0], value, derivative)
		}
	}
}

// pre-rows takes the rows of the mask before rejection and the tokens of each
// after it: ROLL's seq-mean forms.
func TestAggregationPreRowsRecomputed(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 100 {
		b := wild(rng, 1)
		for _, mode := range []string{"seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm:7"} {
			var a Aggregation
			must(t, a.UnmarshalText([]byte(mode+"@pre-rows")))
			if a.String() != mode+"@pre-rows" {
				t.Errorf("%s is written as %s", mode, a)
			}
			got := make([]float64, b.Len())
			must(t, a.RowWeights(got, b, &batch.Groups{}))
			_, before := rowMeans(b, b.Mask, func(int) float64 { return 0 })
			_, after := rowMeans(b, b.LossMask, func(int) float64 { return 0 })
			rows, left := 0.0, 0.0
			for i := range before {
				rows += count(before[i] > 0)
				left += after[i]
			}
			for i, w := range got {
				want := map[string]float64{"seq-mean-token-mean": 1 / (rows * (after[i] + 1e-8)), "seq-mean-token-sum": 1 / rows,
					"seq-mean-token-sum-norm:7": 1 / (rows * 7)}[mode]
				if left == 0 {
					want = 0
				}
				agrees(t, mode, w, want)
			}
		}
	}
	for _, bad := range []string{"token-mean@pre-rows", "grpo@pre-rows", "token-sum@rows"} {
		if (&Aggregation{}).UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// ref_kl distils from the teacher where there is one: with the reference in the
// teacher's column the result is the same, and the reference is not read.
func TestRefKLReadsTheTeacher(t *testing.T) {
	b := wild(rand.New(rand.NewPCG(15, 16)), 1)
	want := eval(t, method.New[RefKL](), b)
	b.Teacher.Logp, b.Ref.Logp = b.Ref.Logp, make([]float64, b.Tokens())
	got := eval(t, method.New[RefKL](), b)
	same(t, "derivative", got.DLogp, want.DLogp)
	agrees(t, "loss", got.Loss, want.Loss)
}
