package kernel

import (
	"math"
	"testing"
)

// ulps is the distance of got from the exact value in units of its last place.
func ulps(got float32, exact float64) float64 {
	a := math.Abs(exact)
	_, e := math.Frexp(a)
	return math.Abs(float64(got)-exact) / math.Ldexp(1, max(e-24, -149))
}

func TestExp32Accuracy(t *testing.T) {
	worst := 0.0
	check := func(x float32) {
		if u := ulps(Exp32(x), math.Exp(float64(x))); u > worst {
			worst = u
			if u > 1.1 {
				t.Fatalf("Exp32(%g) = %g is %.2f units off", x, Exp32(x), u)
			}
		}
	}
	for x := -104.0; x < 88.7; x += 0.00037 {
		check(float32(x))
	}
	rng := newRand(11)
	for range 200000 {
		check(float32(rng.NormFloat64()))
	}
	t.Logf("worst error %.3f units in the last place", worst)
}

func TestExp32Ends(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {float32(math.Copysign(0, -1)), 1}, {inf, inf}, {-inf, 0}, {88.8, inf}, {1e30, inf}, {-104, 0}, {-1e30, 0},
		{88.72283, float32(math.Exp(float64(float32(88.72283))))}, {0x1p-149, 1},
	} {
		if got := Exp32(c.x); got != c.want {
			t.Errorf("Exp32(%g) = %g, want %g", c.x, got, c.want)
		}
	}
	if x := Exp32(-103.9); x != 0x1p-149 {
		t.Errorf("Exp32(-103.9) = %g, want the least subnormal", x)
	}
	if x := Exp32(float32(math.NaN())); x == x {
		t.Errorf("Exp32(NaN) = %g", x)
	}
}

func TestLog32(t *testing.T) {
	rng := newRand(12)
	for range 200000 {
		x := math.Float32frombits(rng.Uint32() >> 1)
		if x != x || math.IsInf(float64(x), 0) || x == 0 {
			continue
		}
		if u := ulps(Log32(x), math.Log(float64(x))); u > 0.5001 {
			t.Fatalf("Log32(%g) = %g is %.4f units off", x, Log32(x), u)
		}
		if got, want := Log32(x), float32(log64(float64(x))); got != want {
			t.Fatalf("Log32(%g) = %g, and log64 rounds to %g", x, got, want)
		}
		y := 1 + float32(rng.NormFloat64())*1e-3
		if u := ulps(Log32(y), math.Log(float64(y))); u > 0.5001 {
			t.Fatalf("Log32(%g) = %g is %.4f units off", y, Log32(y), u)
		}
	}
	if got := Log32(0); !math.IsInf(float64(got), -1) {
		t.Errorf("Log32(0) = %g", got)
	}
	if got := Log32(float32(math.Inf(1))); !math.IsInf(float64(got), 1) {
		t.Errorf("Log32(Inf) = %g", got)
	}
	if got := Log32(-1); got == got {
		t.Errorf("Log32(-1) = %g", got)
	}
	if got := Log32(1); got != 0 {
		t.Errorf("Log32(1) = %g", got)
	}
}

// The float64 functions that fill tables agree with the standard library's to a
// few units in the last place.
func TestElementaryFloat64(t *testing.T) {
	rng := newRand(13)
	for range 100000 {
		x := rng.Float64() * 5000
		s, c := sincos64(x)
		if math.Abs(s-math.Sin(x)) > 4e-16 || math.Abs(c-math.Cos(x)) > 4e-16 {
			t.Fatalf("sincos64(%g) = %g, %g; want %g, %g", x, s, c, math.Sin(x), math.Cos(x))
		}
		y := -rng.Float64() * 20
		if e := math.Exp(y); math.Abs(exp64(y)/e-1) > 4e-16 {
			t.Fatalf("exp64(%g) = %g, want %g", y, exp64(y), e)
		}
		z := rng.Float64() * 1e6
		if l := math.Log(z); math.Abs(log64(z)-l) > 4e-16*max(1, math.Abs(l)) {
			t.Fatalf("log64(%g) = %.17g, want %.17g", z, log64(z), l)
		}
	}
}

// Four logarithms side by side are four logarithms.
func TestLogInto(t *testing.T) {
	rng := newRand(13)
	inf := float32(math.Inf(1))
	hostile := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), -1, 1, 0x1p-149, 0x1p-126, math.MaxFloat32}
	for n := range 40 {
		for range 200 {
			x := make([]float32, n)
			for i := range x {
				if x[i] = math.Float32frombits(rng.Uint32() >> 1); rng.IntN(9) == 0 {
					x[i] = hostile[rng.IntN(len(hostile))]
				}
			}
			want := make([]float32, n)
			for i, v := range x {
				want[i] = Log32(v)
			}
			logInto(x)
			sameBits(t, "logInto", x, want)
		}
	}
}
