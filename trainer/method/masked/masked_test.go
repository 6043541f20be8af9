package masked

import (
	"fmt"
	"math"
	"testing"
)

// x has an infinity and a NaN under the mask: 1, 2 and 6 count.
var (
	x    = []float64{1, math.Inf(-1), 2, math.NaN(), 6}
	mask = []bool{true, false, true, false, true}
)

func TestReductions(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"count", float64(Count(mask)), 3},
		{"sum", Sum(x, mask), 9},
		{"mean", Mean(x, mask), 9 / (3 + Epsilon)},
		{"mean of nothing", Mean(x, make([]bool, 5)), 0},
	} {
		if math.Abs(c.got-c.want) > 1e-7 {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestWhiten(t *testing.T) {
	y := append([]float64(nil), x...)
	WhitenWith(y, mask, 0)
	mean, squares := 0.0, 0.0
	for n, m := range mask {
		if m {
			mean += y[n] / 3
			squares += y[n] * y[n] / 2
		}
	}
	if math.Abs(mean) > 1e-15 || math.Abs(squares-1) > 1e-8 {
		t.Errorf("mean %v and variance %v after whitening", mean, squares)
	}
	if !math.IsInf(y[1], -1) || !math.IsNaN(y[3]) {
		t.Error("whitening touched entries behind the mask")
	}
	two := []float64{1, 3}
	WhitenWith(two, []bool{true, true}, 0)
	if math.Abs(two[0]+math.Sqrt(.5)) > 1e-8 || math.Abs(two[1]-math.Sqrt(.5)) > 1e-8 {
		t.Errorf("two entries become %v, want ±√½", two)
	}
	one := []float64{5, 7}
	Whiten(one, []bool{true, false})
	if one[0] != 0 || one[1] != 7 {
		t.Errorf("one entry becomes %v", one)
	}
}

func ExampleMean() {
	fmt.Printf("%.3f\n", Mean([]float64{1, 100, 3}, []bool{true, false, true}))
	// Output: 2.000
}
