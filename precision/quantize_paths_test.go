package precision

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// quantized is all that a Quantizer makes of a matrix.
type quantized struct {
	values, scales, back, trip, inPlace []float32
}

// quantizeGuarded runs the three operations between guards at an odd offset.
func quantizeGuarded(t *testing.T, q Quantizer, src []float32, rows, cols, offset int) quantized {
	t.Helper()
	var checks []func() bool
	room := func(n int) []float32 {
		cells, intact := guarded(n, offset)
		checks = append(checks, intact)
		return cells
	}
	from := room(len(src))
	copy(from, src)
	r := quantized{room(len(src)), room(q.ScaleCount(rows, cols)), room(len(src)), room(len(src)), room(len(src))}
	q.Quantize(r.values, r.scales, from, rows, cols)
	q.Dequantize(r.back, r.values, r.scales, rows, cols)
	q.RoundTrip(r.trip, from, rows, cols)
	mustEqualBits(t, q.String()+" source", from, src)
	copy(r.inPlace, src)
	q.Quantize(r.inPlace, r.scales, r.inPlace, rows, cols)
	q.Dequantize(r.inPlace, r.inPlace, r.scales, rows, cols)
	q.RoundTrip(from, from, rows, cols)
	mustEqualBits(t, q.String()+" round trip in place", from, r.trip)
	for _, intact := range checks {
		if !intact() {
			t.Fatalf("%s, %d×%d: wrote outside a slice", q, rows, cols)
		}
	}
	return r
}

// Every path gives the bits of plain Go and touches nothing else: widths 0 to
// 67 and around the blocks, groups that are cut off, more groups than a round
// trip holds scales for; activations, extremes, and groups with a NaN, an
// infinity or zeros in them.
func TestQuantizePaths(t *testing.T) {
	type shape struct{ rows, cols int }
	shapes := []shape{{2, 127}, {2, 128}, {2, 129}, {3, 200}, {1, 256}, {40, 33}, {70, 16}, {129, 131}}
	for cols := range 68 {
		shapes = append(shapes, shape{1 + cols%3, cols})
	}
	rng := rand.New(rand.NewPCG(31, 32))
	bits := adversarial()
	draws := []func() float32{
		func() float32 { return float32(rng.NormFloat64()) },
		func() float32 { return math.Float32frombits(bits[rng.IntN(len(bits)-34)]) }, // the last 34 are not finite
		func() float32 {
			if rng.IntN(40) == 0 {
				return math.Float32frombits(specials[rng.IntN(len(specials))])
			}
			return float32(rng.IntN(3)) // ties and zeros
		},
	}
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		for n, s := range shapes {
			for d, draw := range draws {
				src := make([]float32, s.rows*s.cols)
				for i := range src {
					src[i] = draw()
				}
				var want quantized
				onPath(pathGo, func() { want = quantizeGuarded(t, q, src, s.rows, s.cols, n%3) })
				mustEqualBits(t, text+" round trip", want.trip, want.back)
				mustEqualBits(t, text+" in place", want.inPlace, want.back)
				for _, p := range assembled() {
					var got quantized
					onPath(p, func() { got = quantizeGuarded(t, q, src, s.rows, s.cols, (n+d)%4) })
					what := fmt.Sprintf("%s, %d×%d, draw %d, %s: ", text, s.rows, s.cols, d, p)
					mustEqualBits(t, what+"scales", got.scales, want.scales)
					mustEqualBits(t, what+"values", got.values, want.values)
					mustEqualBits(t, what+"dequantised", got.back, want.back)
					mustEqualBits(t, what+"round trip", got.trip, want.trip)
					mustEqualBits(t, what+"in place", got.inPlace, want.inPlace)
				}
			}
		}
	}
}
