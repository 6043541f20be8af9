package moe

import (
	"math"
	"math/rand/v2"
	"testing"
)

// referenceBalance is the definition, in float64.
func referenceBalance(logits []float64, ids []uint8, rows, topK, experts int) float64 {
	total := 0.0
	for e := range experts {
		f, p := 0.0, 0.0
		for _, id := range ids {
			if int(id) == e {
				f += 1 / float64(len(ids))
			}
		}
		for r := range rows {
			sum := 0.0
			for _, s := range logits[r*experts : (r+1)*experts] {
				sum += math.Exp(s)
			}
			p += math.Exp(logits[r*experts+e]) / sum / float64(rows)
		}
		total += f * p
	}
	return float64(experts) * total
}

func TestBalanceGradient(t *testing.T) {
	const rows, topK, experts, h, scale = 6, 2, 5, 1e-5, 0.3
	rng := rand.New(rand.NewPCG(6, 6))
	logits := normals(rng, rows*experts)
	ids, w := make([]uint8, rows*topK), make([]float32, rows*topK)
	Gate{Experts: experts, TopK: topK}.Select(ids, w, logits, nil, rows)
	x := make([]float64, len(logits))
	for i, s := range logits {
		x[i] = float64(s)
	}
	var b Balance
	if got, want := b.Loss(logits, ids, rows, topK, experts), referenceBalance(x, ids, rows, topK, experts); math.Abs(got-want) > 1e-12 {
		t.Errorf("loss %v, want %v", got, want)
	}
	grad := make([]float32, len(logits))
	for i := range grad {
		grad[i] = 1 // AddGrad adds
	}
	b.AddGrad(grad, scale, logits, ids, rows, topK, experts)
	for i := range x {
		at := x[i]
		x[i] = at + h
		up := referenceBalance(x, ids, rows, topK, experts)
		x[i] = at - h
		down := referenceBalance(x, ids, rows, topK, experts)
		x[i] = at
		if want := 1 + scale*(up-down)/(2*h); math.Abs(float64(grad[i])-want) > 2e-7 {
			t.Errorf("gradient of logit %d is %v, differences give %v", i, grad[i], want)
		}
	}
}

// Reference: arXiv:2101.03961 section 2.2: the loss is minimised under a uniform
// routing; here scaled so that the minimum is 1, and E when one expert takes all.
func TestBalanceLimits(t *testing.T) {
	var b Balance
	even := make([]float32, 4*4)
	if got := b.Loss(even, []uint8{0, 1, 2, 3, 1, 0, 3, 2}, 4, 2, 4); math.Abs(got-1) > 1e-15 {
		t.Errorf("even load: %v, want 1", got)
	}
	crowded := []float32{100, 0, 0, 0, 100, 0, 0, 0}
	if got := b.Loss(crowded, []uint8{0, 0}, 2, 1, 4); math.Abs(got-4) > 1e-12 {
		t.Errorf("one expert takes all: %v, want 4", got)
	}
	if got := b.Loss(nil, nil, 0, 2, 4); got != 0 {
		t.Errorf("no rows: %v", got)
	}
	b.AddGrad(nil, 1, nil, nil, 0, 2, 4)
	// The gradient pushes the crowded expert down and the others up.
	grad, logits := make([]float32, 4), []float32{0.5, 0, 0, 0}
	b.AddGrad(grad, 1, logits, []uint8{0}, 1, 1, 4)
	if grad[0] <= 0 || grad[1] >= 0 {
		t.Errorf("gradient %v does not relieve expert 0", grad)
	}
}
