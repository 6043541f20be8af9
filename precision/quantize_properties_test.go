package precision

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The error of a round trip is at most half a step of the grid, scaled; what
// saturates (MX and NV choose their scale so that the top may) is cut.
func TestRoundTripError(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	const rows, cols = 5, 67
	src, seen := make([]float32, rows*cols), make([]float32, rows*cols)
	for i := range src {
		src[i] = float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()))
	}
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		if !q.Scaled() {
			continue
		}
		values, scales := make([]float32, len(src)), make([]float32, q.ScaleCount(rows, cols))
		q.Quantize(values, scales, src, rows, cols)
		q.RoundTrip(seen, src, rows, cols)
		// The scale of an element, by dequantising ones.
		ones, scale := make([]float32, len(src)), make([]float32, len(src))
		for i := range ones {
			ones[i] = 1
		}
		q.Dequantize(scale, ones, scales, rows, cols)
		f := q.Format
		for i, x := range src {
			magnitude, s := math.Abs(float64(x)), float64(scale[i])
			half := max(magnitude*math.Ldexp(1, -f.MantissaBits-1), s*math.Ldexp(1, -f.Bias-f.MantissaBits))
			if f.Integer() {
				half = s / 2
			}
			half = max(half, magnitude-float64(f.Max)*s) // the part cut off
			if e := math.Abs(float64(seen[i]) - float64(x)); e > half*(1+1e-6) {
				t.Errorf("%s: %g is seen as %g: error %g, half a step is %g", q, x, seen[i], e, half)
			}
		}
	}
}

// A NaN or an infinity turns its whole group into NaN, never into a number, and
// leaves the other groups alone.
func TestNonFiniteIsNotHidden(t *testing.T) {
	const rows, cols = 4, 64
	clean := benchSlice(rows*cols, 1)
	const at = 1*cols + 40 // row 1, second block of 32, third of 16
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		if !q.Scaled() {
			continue
		}
		want := make([]float32, len(clean))
		q.RoundTrip(want, clean, rows, cols)
		g := q.group(rows, cols)
		tileRows, tileCols := g.rows, g.cols
		if q.Granularity == NV {
			tileRows, tileCols = rows, cols // through the tensor's scale
		}
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(0xff800001)} {
			src := append([]float32(nil), clean...)
			src[at] = bad
			seen, values, scales := make([]float32, len(src)), make([]float32, len(src)), make([]float32, q.ScaleCount(rows, cols))
			q.RoundTrip(seen, src, rows, cols)
			q.Quantize(values, scales, src, rows, cols)
			for n := range src {
				poisoned := n/cols/tileRows == at/cols/tileRows && n%cols/tileCols == at%cols/tileCols
				if poisoned && (math.Float32bits(seen[n]) != quietNaN || math.Float32bits(values[n]) != quietNaN) {
					t.Fatalf("%s with %g: element %d shares its scale but is %g", q, bad, n, seen[n])
				}
				if !poisoned && math.Float32bits(seen[n]) != math.Float32bits(want[n]) {
					t.Fatalf("%s with %g: element %d of another group changed from %g to %g", q, bad, n, want[n], seen[n])
				}
			}
		}
	}
}

// Groups of zeros, and numbers near the smallest of float32, divide by no zero
// and give no NaN; the sign of zero stays, except for integers.
func TestTinyAndZeroGroups(t *testing.T) {
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		if !q.Scaled() {
			continue
		}
		for _, amax := range []float32{0, 0x1p-149, 0x1.8p-148, 0x1p-140, 0x1p-127, 0x1p-126, 0x1p-118, 0x1p-100, 0x1.fffffp127} {
			src := []float32{amax, float32(math.Copysign(0, -1)), 0, -amax / 2}
			seen, values, scales := make([]float32, 4), make([]float32, 4), make([]float32, q.ScaleCount(2, 2))
			q.RoundTrip(seen, src, 2, 2)
			q.Quantize(values, scales, src, 2, 2)
			for i, x := range src {
				if seen[i]-seen[i] != 0 || math.Abs(float64(values[i])) > float64(q.Format.Max) {
					t.Errorf("%s: %g is seen as %g, value %g", q, x, seen[i], values[i])
				}
			}
			if !q.Format.Integer() && (seen[1] != 0 || !math.Signbit(float64(seen[1])) || math.Signbit(float64(seen[2]))) {
				t.Errorf("%s: zeros -0, 0 became %g, %g", q, seen[1], seen[2])
			}
			for _, s := range scales {
				if amax == 0 && s != 1 {
					t.Errorf("%s: zeros have scale %g", q, s)
				}
			}
		}
	}
}

// Scaling the matrix by a power of two scales the result, far from the limits
// of float32; and a row-local quantiser treats a row the same alone or in
// company.
func TestRoundTripInvariances(t *testing.T) {
	const rows, cols = 6, 70
	src := benchSlice(rows*cols, 1)
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		want := make([]float32, len(src))
		q.RoundTrip(want, src, rows, cols)
		if q.Scaled() {
			scaled, seen := make([]float32, len(src)), make([]float32, len(src))
			for i, x := range src {
				scaled[i] = x * 0x1p20
			}
			q.RoundTrip(seen, scaled, rows, cols)
			for i := range seen {
				seen[i] *= 0x1p-20
			}
			mustEqualBits(t, text+" times 2^20", seen, want)
		}
		same := true
		for i := range rows {
			seen := make([]float32, cols)
			q.RoundTrip(seen, src[i*cols:][:cols], 1, cols)
			for j := range seen {
				same = same && math.Float32bits(seen[j]) == math.Float32bits(want[i*cols+j])
			}
		}
		if same != q.RowLocal() {
			t.Errorf("%s: rows alone give the same bits: %v, but RowLocal() is %v", q, same, q.RowLocal())
		}
	}
}
