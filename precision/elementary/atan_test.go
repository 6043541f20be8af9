package elementary

import (
	"math"
	"testing"
)

func TestAtan(t *testing.T) {
	for x := 1e-9; x < 1e9; x *= 1.0007 {
		for _, v := range []float64{x, -x} {
			if got, want := Atan(v), math.Atan(v); math.Abs(got-want) > 2.3e-16*math.Abs(want)*2 {
				t.Fatalf("Atan(%v) = %v, want %v", v, got, want)
			}
		}
	}
	for _, v := range []float64{0, math.Inf(1), math.Inf(-1)} {
		if Atan(v) != math.Atan(v) {
			t.Errorf("Atan(%v) = %v", v, Atan(v))
		}
	}
	if !math.IsNaN(Atan(math.NaN())) {
		t.Error("Atan(NaN) is a number")
	}
}
