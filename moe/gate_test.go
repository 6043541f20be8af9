package moe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/precision/must"

	"pgregory.net/rapid"
)

var (
	nan   = float32(math.NaN())
	ninf  = float32(math.Inf(-1))
	inf32 = float32(math.Inf(1))
)

// gates are all kinds of gate, for a number of experts and a top-k.
func gates(experts, topK int) []Gate {
	return []Gate{
		{Experts: experts, TopK: topK, Order: TopKThenSoftmax},
		{Experts: experts, TopK: topK, Order: SoftmaxThenTopK},
		{Experts: experts, TopK: topK, Order: SoftmaxThenTopK, Renormalise: true},
	}
}

func (g Gate) name() string {
	return fmt.Sprintf("top %d of %d, %v, renormalise %v", g.TopK, g.Experts, g.Order, g.Renormalise)
}

// Ranking: descending, ties to the lower id, NaN last, the bias in the ranking only.
func TestSelectRanks(t *testing.T) {
	tests := []struct {
		name   string
		logits []float32
		bias   []float32
		want   []uint8
	}{
		{"descending", []float32{1, 4, 2, 3}, nil, []uint8{1, 3, 2}},
		{"tie to the lower id", []float32{2, 5, 5, 5}, nil, []uint8{1, 2, 3}},
		{"all equal", []float32{0, 0, 0, 0}, nil, []uint8{0, 1, 2}},
		{"signed zeros are equal", []float32{float32(math.Copysign(0, -1)), 0, -1, -2}, nil, []uint8{0, 1, 2}},
		{"NaN last", []float32{nan, 1, 0, 2}, nil, []uint8{3, 1, 2}},
		{"NaN below -Inf", []float32{nan, ninf, nan, 2}, nil, []uint8{3, 1, 0}},
		{"all NaN", []float32{nan, nan, nan, nan}, nil, []uint8{0, 1, 2}},
		{"infinities", []float32{0, ninf, inf32, 1}, nil, []uint8{2, 3, 0}},
		{"bias", []float32{1, 4, 2, 3}, []float32{5, 0, 0, 0.5}, []uint8{0, 1, 3}},
		{"bias makes a tie", []float32{1, 4, 2, 3}, []float32{3, 0, 0, 1}, []uint8{0, 1, 3}},
	}
	for _, tt := range tests {
		for _, g := range gates(4, 3) {
			ids, weights := make([]uint8, 3), make([]float32, 3)
			g.Select(ids, weights, tt.logits, tt.bias, 1)
			if !slices.Equal(ids, tt.want) {
				t.Errorf("%s, %s: ids %v, want %v", tt.name, g.name(), ids, tt.want)
			}
		}
	}
}

// Gates worked by hand: exp(ln n) = n, so the softmax of logarithms is a ratio of integers.
func TestSelectWeights(t *testing.T) {
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	logits := []float32{ln(1), ln(6), ln(2), ln(3)} // sum 12
	tests := []struct {
		gate Gate
		want []float64
	}{
		{Gate{Experts: 4, TopK: 2, Order: TopKThenSoftmax}, []float64{6. / 9, 3. / 9}},
		{Gate{Experts: 4, TopK: 2, Order: SoftmaxThenTopK}, []float64{6. / 12, 3. / 12}},
		{Gate{Experts: 4, TopK: 2, Order: SoftmaxThenTopK, Renormalise: true}, []float64{6. / 9, 3. / 9}},
		{Gate{Experts: 4, TopK: 1, Order: TopKThenSoftmax}, []float64{1}},
		{Gate{Experts: 4, TopK: 1, Order: SoftmaxThenTopK}, []float64{0.5}},
		{Gate{Experts: 4, TopK: 4, Order: TopKThenSoftmax}, []float64{6. / 12, 3. / 12, 2. / 12, 1. / 12}},
	}
	for _, tt := range tests {
		ids, weights := make([]uint8, tt.gate.TopK), make([]float32, tt.gate.TopK)
		// The bias of expert 1 must not enter its gate.
		tt.gate.Select(ids, weights, logits, []float32{0, 100, 0, 0}, 1)
		for j, w := range weights {
			if math.Abs(float64(w)-tt.want[j]) > 1e-7 {
				t.Errorf("%s: gates %v, want %v", tt.gate.name(), weights, tt.want)
				break
			}
		}
	}
}

// What is not a number stays visible in the gates, and nothing panics.
func TestSelectNotFinite(t *testing.T) {
	tests := []struct {
		name    string
		logits  []float32
		chosen  bool // the gates of the softmax over the chosen are NaN
		overall bool // the gates of the softmax over all are NaN
	}{
		{"NaN left out", []float32{nan, 1, 2, 3}, false, true},
		{"NaN chosen", []float32{nan, nan, nan, 3}, true, true},
		{"one +Inf", []float32{0, 1, inf32, 3}, true, true},
		{"all -Inf", []float32{ninf, ninf, ninf, ninf}, true, true},
		{"one -Inf chosen", []float32{ninf, ninf, ninf, 3}, false, false},
		{"huge", []float32{math.MaxFloat32, -math.MaxFloat32, 0, 0}, false, false},
	}
	for _, tt := range tests {
		for _, g := range gates(4, 2) {
			ids, weights, grad := make([]uint8, 2), make([]float32, 2), make([]float32, 4)
			g.Select(ids, weights, tt.logits, nil, 1)
			want := tt.overall
			if g.overChosen() {
				want = tt.chosen
			}
			if got := weights[0] != weights[0]; got != want {
				t.Errorf("%s, %s: gates %v, want NaN %v", tt.name, g.name(), weights, want)
			}
			g.Grad(grad, []float32{1, 2}, weights, tt.logits, ids, 1)
			if got := grad[ids[0]] != grad[ids[0]]; got != want {
				t.Errorf("%s, %s: gradient %v, want NaN %v", tt.name, g.name(), grad, want)
			}
		}
	}
}

// drawLogits draws logits with ties, extremes and values that are not finite.
func drawLogits(t *rapid.T, n int) []float32 {
	odd := rapid.SampledFrom([]float32{0, 1, -1, 1e-30, -300, 300, nan, inf32, ninf, math.MaxFloat32})
	return rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-8, 8), odd), n, n).Draw(t, "logits")
}

func drawGate(t *rapid.T) Gate {
	experts := rapid.IntRange(1, 20).Draw(t, "experts")
	return rapid.SampledFrom(gates(experts, rapid.IntRange(1, experts).Draw(t, "topK"))).Draw(t, "gate")
}

// Select agrees with a stable sort, and replaying its choice gives its bits.
func TestSelectProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGate(t)
		rows := rapid.IntRange(0, 5).Draw(t, "rows")
		logits := drawLogits(t, rows*g.Experts)
		ids, weights := make([]uint8, rows*g.TopK), make([]float32, rows*g.TopK)
		g.Select(ids, weights, logits, nil, rows)

		for r := range rows {
			row := logits[r*g.Experts : (r+1)*g.Experts]
			order := make([]uint8, g.Experts)
			for e := range order {
				order[e] = uint8(e)
			}
			slices.SortStableFunc(order, func(a, b uint8) int {
				x, y := row[a], row[b]
				switch {
				case x > y || (y != y && x == x):
					return -1
				case x < y || (x != x && y == y):
					return 1
				}
				return 0
			})
			if got := ids[r*g.TopK : (r+1)*g.TopK]; !slices.Equal(got, order[:g.TopK]) {
				t.Fatalf("row %v: chose %v, a stable sort %v", row, got, order[:g.TopK])
			}
		}

		replayed := make([]float32, len(weights))
		g.Replay(replayed, logits, ids, rows)
		if !sameBits(weights, replayed) {
			t.Fatalf("replay of its own choice: %v, select gave %v", replayed, weights)
		}
		holes := slices.Clone(ids)
		for r := range rows {
			if rapid.Bool().Draw(t, "hole") {
				for j := range g.TopK {
					holes[r*g.TopK+j] = NoRoute
				}
			}
		}
		g.Fill(holes, replayed, logits, nil, rows)
		if !slices.Equal(holes, ids) || !sameBits(weights, replayed) {
			t.Fatalf("fill gave %v %v, select %v %v", holes, replayed, ids, weights)
		}
		for r := range rows {
			one, w := make([]uint8, g.TopK), make([]float32, g.TopK)
			g.Select(one, w, logits[r*g.Experts:(r+1)*g.Experts], nil, 1)
			if !sameBits(w, weights[r*g.TopK:(r+1)*g.TopK]) {
				t.Fatalf("row %d alone gives %v, in the batch %v", r, w, weights)
			}
		}
	})
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) || (x != x && y != y) })
}

// The gates of finite logits are probabilities.
func TestWeightsSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGate(t)
		logits := rapid.SliceOfN(rapid.Float32Range(-1e4, 1e4), g.Experts, g.Experts).Draw(t, "logits")
		ids, weights := make([]uint8, g.TopK), make([]float32, g.TopK)
		g.Select(ids, weights, logits, nil, 1)
		var sum float64
		for j, w := range weights {
			if w < 0 || w > 1 || (j > 0 && w > weights[j-1]) {
				t.Fatalf("gates %v are not descending probabilities", weights)
			}
			sum += float64(w)
		}
		if g.overChosen() || g.TopK == g.Experts {
			if math.Abs(sum-1) > 1e-6 {
				t.Fatalf("gates %v sum to %v", weights, sum)
			}
		} else if sum > 1+1e-6 {
			t.Fatalf("gates %v sum to %v", weights, sum)
		}
	})
}

// reference computes the gates in float64 straight from the definition.
func (g Gate) reference(logits []float64, ids []uint8) []float64 {
	var all, chosen float64
	for _, s := range logits {
		all += math.Exp(s)
	}
	for _, id := range ids {
		chosen += math.Exp(logits[id])
	}
	w := make([]float64, len(ids))
	for j, id := range ids {
		p := math.Exp(logits[id])
		switch {
		case g.Order == TopKThenSoftmax:
			w[j] = p / chosen
		case g.Renormalise:
			w[j] = (p / all) / (chosen / all)
		default:
			w[j] = p / all
		}
	}
	return w
}

// Gradients against central differences in float64 of an independent
// definition, for the choice of Select and for experts given by Replay.
func TestGradFiniteDifference(t *testing.T) {
	const rows, h = 4, 1e-5
	for _, shape := range [][2]int{{8, 2}, {4, 1}, {5, 5}, {7, 3}, {1, 1}} {
		for _, g := range gates(shape[0], shape[1]) {
			for _, replay := range []bool{false, true} {
				rng := rand.New(rand.NewPCG(1, uint64(g.Experts)))
				logits, dw := normals(rng, rows*g.Experts), normals(rng, rows*g.TopK)
				ids, w := make([]uint8, rows*g.TopK), make([]float32, rows*g.TopK)
				g.Select(ids, w, logits, nil, rows)
				if replay {
					for r := range rows {
						for j, e := range rng.Perm(g.Experts)[:g.TopK] {
							ids[r*g.TopK+j] = uint8(e)
						}
					}
					g.Replay(w, logits, ids, rows)
				}
				grad := make([]float32, len(logits))
				grad[0] = 99 // Grad overwrites
				g.Grad(grad, dw, w, logits, ids, rows)
				for i := range logits {
					r := i / g.Experts
					loss := func(shift float64) (sum float64) {
						s := make([]float64, g.Experts)
						for e := range s {
							s[e] = float64(logits[r*g.Experts+e])
						}
						s[i%g.Experts] += shift
						for j, x := range g.reference(s, ids[r*g.TopK:(r+1)*g.TopK]) {
							sum += x * float64(dw[r*g.TopK+j])
						}
						return sum
					}
					want := (loss(h) - loss(-h)) / (2 * h)
					// Gates and gradient are float32: 2^-23 of values of order one.
					if math.Abs(float64(grad[i])-want) > 1e-6 {
						t.Fatalf("%s, replay %v: gradient of logit %d is %v, differences give %v", g.name(), replay, i, grad[i], want)
					}
				}
			}
		}
	}
}

func normals(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// A constant added to all logits of a row changes no gate, so the gradient of a
// row sums to zero; and with one gate over the chosen there is no gradient.
func TestGradIdentities(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, g := range gates(8, 2) {
		logits, dw := normals(rng, 8), normals(rng, 2)
		ids, w, grad := make([]uint8, 2), make([]float32, 2), make([]float32, 8)
		g.Select(ids, w, logits, nil, 1)
		g.Grad(grad, dw, w, logits, ids, 1)
		var sum float64
		for e, d := range grad {
			sum += float64(d)
			if g.overChosen() && !slices.Contains(ids, uint8(e)) && d != 0 {
				t.Errorf("%s: expert %d was not chosen, its logit has gradient %v", g.name(), e, d)
			}
		}
		if math.Abs(sum) > 1e-7 {
			t.Errorf("%s: gradient of a row sums to %v", g.name(), sum)
		}
	}
	g := Gate{Experts: 8, TopK: 1}
	logits := normals(rng, 8)
	ids, w, grad := make([]uint8, 1), make([]float32, 1), make([]float32, 8)
	g.Select(ids, w, logits, nil, 1)
	g.Grad(grad, []float32{3}, w, logits, ids, 1)
	if w[0] != 1 || slices.Max(grad) != 0 || slices.Min(grad) != 0 {
		t.Errorf("a single gate is the constant one: weight %v, gradient %v", w, grad)
	}
}

func TestParseOrder(t *testing.T) {
	for _, o := range []Order{TopKThenSoftmax, SoftmaxThenTopK} {
		if got, err := ParseOrder(o.String()); got != o || err != nil {
			t.Errorf("ParseOrder(%v) = %v, %v", o, got, err)
		}
	}
	if _, err := ParseOrder("topk"); err == nil {
		t.Error("ParseOrder accepted an unknown name")
	}
}

func TestShapesPanic(t *testing.T) {
	g := Gate{Experts: 4, TopK: 2}
	for name, f := range map[string]func(){
		"short ids":      func() { g.Select(make([]uint8, 3), make([]float32, 4), make([]float32, 8), nil, 2) },
		"short bias":     func() { g.Select(make([]uint8, 2), make([]float32, 2), make([]float32, 4), make([]float32, 3), 1) },
		"unknown expert": func() { g.Replay(make([]float32, 2), make([]float32, 4), []uint8{0, 4}, 1) },
		"top 5 of 4":     func() { Gate{Experts: 4, TopK: 5}.Replay(make([]float32, 5), make([]float32, 4), make([]uint8, 5), 1) },
		"short gradient": func() {
			g.Grad(make([]float32, 3), make([]float32, 2), make([]float32, 2), make([]float32, 4), make([]uint8, 2), 1)
		},
		"plan of expert": func() { new(Dispatch).Plan([]uint8{9}, 1, 1, 4) },
		"plan of shape":  func() { new(Dispatch).Plan([]uint8{1, 2}, 1, 1, 4) },
	} {
		must.Panic(t, name, f)
	}
}

func TestGateAllocations(t *testing.T) {
	const rows = 16
	for _, g := range gates(8, 2) {
		rng := rand.New(rand.NewPCG(3, 3))
		logits, dw, grad := normals(rng, rows*8), normals(rng, rows*2), make([]float32, rows*8)
		ids, w := make([]uint8, rows*2), make([]float32, rows*2)
		var d Dispatch
		var b Balance
		step := func() {
			g.Select(ids, w, logits, nil, rows)
			g.Replay(w, logits, ids, rows)
			g.Grad(grad, dw, w, logits, ids, rows)
			d.Plan(ids, rows, 2, 8)
			b.AddGrad(grad, 0.01, logits, ids, rows, 2, 8)
		}
		step()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%s: %v allocations per step", g.name(), n)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	const rows = 512
	g := Gate{Experts: 8, TopK: 2}
	rng := rand.New(rand.NewPCG(4, 4))
	logits, dw, grad := normals(rng, rows*8), normals(rng, rows*2), make([]float32, rows*8)
	ids, w := make([]uint8, rows*2), make([]float32, rows*2)
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/token")
	}
	b.Run("select", func(b *testing.B) {
		for b.Loop() {
			g.Select(ids, w, logits, nil, rows)
		}
		perRow(b)
	})
	b.Run("replay", func(b *testing.B) {
		for b.Loop() {
			g.Replay(w, logits, ids, rows)
		}
		perRow(b)
	})
	b.Run("grad", func(b *testing.B) {
		for b.Loop() {
			g.Grad(grad, dw, w, logits, ids, rows)
		}
		perRow(b)
	})
	b.Run("plan", func(b *testing.B) {
		var d Dispatch
		for b.Loop() {
			d.Plan(ids, rows, 2, 8)
		}
		perRow(b)
	})
}
