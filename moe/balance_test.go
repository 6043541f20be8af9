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

// No rows have no gradient; the gradient pushes the crowded expert down and the others up.
func TestBalanceLimits(t *testing.T) {
	var b Balance
	b.AddGrad(nil, 1, nil, nil, 0, 2, 4)
	grad, logits := make([]float32, 4), []float32{0.5, 0, 0, 0}
	b.AddGrad(grad, 1, logits, []uint8{0}, 1, 1, 4)
	if grad[0] <= 0 || grad[1] >= 0 {
		t.Errorf("gradient %v does not relieve expert 0", grad)
	}
}
