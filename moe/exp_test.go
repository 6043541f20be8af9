package moe

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestExpSpecial(t *testing.T) {
	for _, tt := range []struct{ x, want float64 }{
		{0, 1},
		{math.Copysign(0, -1), 1},
		{math.Inf(1), math.Inf(1)},
		{math.Inf(-1), 0},
		{710, math.Inf(1)},
		{-746, 0},
		{1, math.E},
		{-745.1332191019411, math.SmallestNonzeroFloat64}, // the last x above the underflow
	} {
		if got := exp(tt.x); got != tt.want {
			t.Errorf("exp(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
	if got := exp(math.NaN()); got == got {
		t.Errorf("exp(NaN) = %v", got)
	}
}

// slowExp is e**x to 200 bits: the Taylor series of e**(x/2^k), squared k times.
func slowExp(x float64) *big.Float {
	const bits, k = 300, 16
	newFloat := func() *big.Float { return new(big.Float).SetPrec(bits) }
	z := newFloat().SetFloat64(x)
	z.SetMantExp(z, -k)
	sum, term := newFloat().SetInt64(1), newFloat().SetInt64(1)
	for i := int64(1); i < 40; i++ {
		term.Mul(term, z)
		term.Quo(term, newFloat().SetInt64(i))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// The error stays below one unit in the last place of the exact value.
func TestExpAgainstSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	check := func(x float64) {
		t.Helper()
		got, exact := exp(x), slowExp(x)
		near, _ := exact.Float64()
		ulp := math.Nextafter(near, math.Inf(1)) - near
		diff := new(big.Float).Sub(exact, new(big.Float).SetFloat64(got))
		if d, _ := diff.Float64(); math.Abs(d) >= ulp {
			t.Errorf("exp(%v) = %v, exactly %v, %.2f units in the last place away", x, got, near, d/ulp)
		}
	}
	for range 3000 {
		check(-rng.Float64() * 40)
		check(rng.NormFloat64())
		check(rng.NormFloat64() * 1e-8)
	}
	for range 300 {
		check(rng.Float64()*1453 - 744)
	}
}

// Some values pinned to the bit: they must be the same on every machine.
func TestExpBits(t *testing.T) {
	for _, tt := range []struct {
		x    float64
		want uint64
	}{
		{-0.1, 0x3fecf46d99d52b3a}, {-1, 0x3fd78b56362cef38}, {-2.7182818284590452, 0x3fb0e49787e20548}, {-20.25, 0x3e1b93de1e27ca3b},
		{-300.125, 0x24e01fc80984719d}, {-740, 0x55}, {0.3, 0x3ff599058c8c1a96},
	} {
		if got := math.Float64bits(exp(tt.x)); got != tt.want {
			t.Errorf("exp(%v) has bits %#x, want %#x", tt.x, got, tt.want)
		}
	}
}

var sink float64

func BenchmarkExp(b *testing.B) {
	x := -0.5
	for b.Loop() {
		sink = exp(x)
	}
}
