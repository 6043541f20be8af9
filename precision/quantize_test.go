package precision

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"driftlab/precision/must"

	"pgregory.net/rapid"
)

// Worked by hand from the rules in the comment of Quantize.
func TestQuantizeByHand(t *testing.T) {
	for _, c := range []struct {
		quantizer string
		cols      int // one row per cols elements
		src       []float32
		values    []float32
		scales    []float32
	}{
		// 63.5 and 0.5 are ties: 64 and 0 are even.
		{"int8/channel", 4, []float32{127, -63.5, 0.5, 1.6, -254, 1, 3, 100}, []float32{127, -64, 0, 2, -127, 0, 2, 50}, []float32{1, 2}},
		{"int8/tensor", 2, []float32{127, 5, -254, 5}, []float32{64, 2, -127, 2}, []float32{2}},
		{"int4/1x2", 4, []float32{7, 3.5, -14, 1}, []float32{7, 4, -7, 0}, []float32{1, 2}},
		// 448 is the top: scale 1. 17 lies between 16 and 18, 19 between 18 and 20.
		{"fp8_e4m3/tensor", 4, []float32{448, 17, 19, -0.1}, []float32{448, 16, 20, -0.1015625}, []float32{1}},
		{"fp8_e4m3/1x2", 4, []float32{448, 17, 896, 17}, []float32{448, 16, 448, 8.5 - 0.5}, []float32{1, 2}},
		{"fp8_e4m3/2x2", 3, []float32{448, 1, 224, 2, 3, 112}, []float32{448, 1, 448, 2, 3, 224}, []float32{1, 0.5}},
		// ⌊log2 5⌋ = 2: scale 2^(2-2). 7.9 has the same scale and saturates.
		{"fp4_e2m1/mx", 3, []float32{5, 1.2, -0.3}, []float32{4, 1, -0.5}, []float32{1}},
		{"fp4_e2m1/mx", 3, []float32{7.9, 2.6, 0.2}, []float32{6, 3, 0}, []float32{1}},
		{"fp4_e2m1/mx", 2, []float32{12, 1}, []float32{6, 0.5}, []float32{2}},
		{"fp4_e2m1/mx", 2, []float32{0.25, 0.07}, []float32{4, 1}, []float32{0x1p-4}},
		// e5m2 has emax 15: amax 61440·4 = 1.875·2^17 gives scale 2^2, and saturates.
		{"fp8_e5m2/mx", 2, []float32{245760, 4}, []float32{57344, 1}, []float32{4}},
		{"fp8_e4m3/mx", 2, []float32{500, 2}, []float32{448, 2}, []float32{1}},
	} {
		q := mustQuantizer(t, c.quantizer)
		rows := len(c.src) / c.cols
		values, scales := make([]float32, len(c.src)), make([]float32, q.ScaleCount(rows, c.cols))
		q.Quantize(values, scales, c.src, rows, c.cols)
		mustEqualBits(t, c.quantizer+" scales", scales, c.scales)
		mustEqualBits(t, c.quantizer+" values", values, c.values)
	}
}

// NVFP4 by hand: amax 2688 = 6·448 makes the tensor scale 1, so the scale of a
// block is the e4m3 rounding of its amax/6.
func TestNVByHand(t *testing.T) {
	q := mustQuantizer(t, "fp4_e2m1/nv")
	src := make([]float32, 5*nvBlock)
	src[0] = -2688                             // scale 448
	src[nvBlock], src[nvBlock+1] = 6, 2.4      // scale 1
	src[2*nvBlock], src[2*nvBlock+1] = 102, 50 // 17 rounds to 16, so 102/16 saturates
	src[3*nvBlock], src[3*nvBlock+1] = -0.005, 0.005
	values, scales := make([]float32, len(src)), make([]float32, q.ScaleCount(1, len(src)))
	q.Quantize(values, scales, src, 1, len(src))
	mustEqualBits(t, "scales", scales, []float32{448, 1, 16, 0, 1}) // 0.005/6 is below half of 2^-9
	want := make([]float32, len(src))
	want[0], want[nvBlock], want[nvBlock+1] = -6, 6, 2
	want[2*nvBlock], want[2*nvBlock+1] = 6, 3
	want[3*nvBlock] = float32(math.Copysign(0, -1))
	mustEqualBits(t, "values", values, want)
}

// The order of the two divisions is part of the definition: here amax/6/t is a
// tie that goes to 9, while amax/(6·t) lies above it and would give 10.
func TestNVDividesTwice(t *testing.T) {
	q := mustQuantizer(t, "fp4_e2m1/nv")
	src := make([]float32, 2*nvBlock)
	src[0], src[nvBlock] = 3989, 84.588165
	scales := make([]float32, 2)
	q.Quantize(make([]float32, len(src)), scales, src, 1, len(src))
	tensor := float32(3989) / 2688
	mustEqualBits(t, "scales", scales, []float32{448 * tensor, 9 * tensor})
}

// slowQuantize is the definition once more, one element at a time, with the
// arithmetic on big integers for rounding and no bit tricks anywhere.
func slowQuantize(q Quantizer, src []float32, rows, cols int) (values, scales []float32) {
	if !q.Scaled() {
		for _, x := range src {
			values = append(values, bigRound(q.Format, x, NearestEven, 0))
		}
		return values, nil
	}
	tileRows, tileCols := map[Granularity]int{PerTensor: rows, PerChannel: 1, Block: q.BlockRows, MX: 1, NV: 1}[q.Granularity],
		map[Granularity]int{PerTensor: cols, PerChannel: cols, Block: q.BlockCols, MX: 32, NV: 16}[q.Granularity]
	gridCols := (cols + tileCols - 1) / tileCols
	group := func(i, j int) int { return i/tileRows*gridCols + j/tileCols }
	amax := make([]float64, (rows+tileRows-1)/tileRows*gridCols)
	total := 0.0
	for i := range rows {
		for j := range cols {
			magnitude := math.Abs(float64(src[i*cols+j]))
			if math.IsInf(magnitude, 0) {
				magnitude = math.NaN()
			}
			g := &amax[group(i, j)]
			*g, total = math.Max(*g, magnitude), math.Max(total, magnitude) // NaN stays
		}
	}

	saturating := q.Format
	saturating.Overflow = Saturate
	nan := math.Float32frombits(quietNaN)
	for _, a := range amax {
		s := max(float32(a)/q.Format.Max, 0x1p-126)
		switch {
		case a != a, q.Granularity == NV && total != total:
			s = nan
		case a == 0:
			s = 1
		case q.Granularity == MX:
			_, top := math.Frexp(float64(q.Format.Max))
			_, e := math.Frexp(a)
			s = float32(math.Ldexp(1, max(e-top, -127)))
		case q.Granularity == NV:
			tensor := max(float32(total)/2688, 0x1p-126)
			s = bigRound(E4M3, float32(a)/6/tensor, NearestEven, 0) * tensor
		}
		scales = append(scales, s)
	}
	for n, x := range src {
		s := scales[group(n/cols, n%cols)]
		switch {
		case s != s:
			values = append(values, nan)
		case s == 0:
			values = append(values, float32(math.Copysign(0, float64(x))))
		default:
			values = append(values, bigRound(saturating, x/s, NearestEven, 0))
		}
	}
	return values, scales
}

// matrix draws a small matrix whose magnitudes span a few or all binades, with
// zeros, and sometimes a NaN or an infinity.
func matrix(t *rapid.T) (src []float32, rows, cols int) {
	rows, cols = rapid.IntRange(1, 6).Draw(t, "rows"), rapid.IntRange(1, 70).Draw(t, "cols")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	center, spread := rapid.IntRange(-149, 125).Draw(t, "center"), rapid.SampledFrom([]float64{1, 4, 60}).Draw(t, "spread")
	src = make([]float32, rows*cols)
	for i := range src {
		if rng.IntN(8) > 0 {
			src[i] = float32(math.Ldexp(rng.NormFloat64(), min(center+int(rng.NormFloat64()*spread), 125)))
		}
	}
	switch rapid.IntRange(0, 9).Draw(t, "special") {
	case 0:
		src[rng.IntN(len(src))] = math.Float32frombits(0xff800123)
	case 1:
		src[rng.IntN(len(src))] = float32(math.Inf(-1))
	case 2:
		clear(src)
	}
	return src, rows, cols
}

// Quantize, on every path, against the slow definition; RoundTrip against
// Quantize and Dequantize; both against themselves in place.
func TestQuantizeAgainstDefinition(t *testing.T) {
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		t.Run(text, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				src, rows, cols := matrix(r)
				wantValues, wantScales := slowQuantize(q, src, rows, cols)
				for _, p := range paths() {
					onPath(p, func() { checkQuantize(t, q, src, rows, cols, wantValues, wantScales) })
				}
			})
		})
	}
}

// checkQuantize compares the three operations with the values and scales wanted
// and with each other.
func checkQuantize(t *testing.T, q Quantizer, src []float32, rows, cols int, wantValues, wantScales []float32) {
	t.Helper()
	values, scales := make([]float32, len(src)), make([]float32, q.ScaleCount(rows, cols))
	q.Quantize(values, scales, src, rows, cols)
	mustEqualBits(t, "scales", scales, wantScales)
	mustEqualBits(t, "values", values, wantValues)
	back, trip := make([]float32, len(src)), make([]float32, len(src))
	q.Dequantize(back, values, scales, rows, cols)
	q.RoundTrip(trip, src, rows, cols)
	mustEqualBits(t, "round trip", trip, back)

	q.Dequantize(values, values, scales, rows, cols)
	mustEqualBits(t, "dequantised in place", values, back)
	again := append([]float32(nil), src...)
	q.RoundTrip(again, again, rows, cols)
	mustEqualBits(t, "round trip in place", again, trip)
	again = append(again[:0], src...)
	q.Quantize(again, scales, again, rows, cols)
	q.Dequantize(again, again, scales, rows, cols)
	mustEqualBits(t, "quantised in place", again, trip)
}

func TestQuantizeDoesNotAllocate(t *testing.T) {
	const rows, cols = 3, 130
	src, dst := benchSlice(rows*cols, 1), make([]float32, rows*cols)
	for _, text := range testQuantizers {
		q := mustQuantizer(t, text)
		scales := make([]float32, q.ScaleCount(rows, cols))
		for _, p := range paths() {
			usePath(t, p)
			if n := testing.AllocsPerRun(20, func() {
				q.RoundTrip(dst, src, rows, cols)
				q.Quantize(dst, scales, src, rows, cols)
				q.Dequantize(dst, dst, scales, rows, cols)
			}); n != 0 {
				t.Errorf("%s, %s: %v allocations", q, p, n)
			}
		}
	}
}

func TestQuantizeShapes(t *testing.T) {
	ten := make([]float32, 10)
	for _, text := range testQuantizers { // empty matrices are fine
		q := mustQuantizer(t, text)
		q.RoundTrip(nil, nil, 0, 7)
		q.Quantize(nil, nil, nil, 7, 0)
		q.Dequantize(nil, nil, nil, 0, 0)
	}
	q := mustQuantizer(t, "int8/channel")
	for name, call := range map[string]func(){
		"src":        func() { q.RoundTrip(ten, ten[:9], 2, 5) },
		"dst":        func() { q.RoundTrip(ten[:9], ten, 2, 5) },
		"negative":   func() { q.RoundTrip(ten, ten, -2, -5) },
		"scales":     func() { q.Quantize(ten, make([]float32, 3), ten, 2, 5) },
		"no scales":  func() { q.Dequantize(ten, ten, nil, 2, 5) },
		"zero block": func() { Quantizer{Format: E4M3, Granularity: Block}.RoundTrip(ten, ten, 2, 5) },
		"granule":    func() { Quantizer{Format: E4M3, Granularity: 99}.RoundTrip(ten, ten, 2, 5) },
		"zero value": func() { Quantizer{}.RoundTrip(ten, ten, 2, 5) },
	} {
		if message := fmt.Sprint(must.Panic(t, name, call)); !strings.HasPrefix(message, "precision: ") {
			t.Errorf("%s: want a panic that explains itself, got %q", name, message)
		}
	}
}
