package results

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestStudentQuantile(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 9, 10, 19, 20, 29, 30, 99, 100, 1000, 1001} {
		want := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n)}.Quantile(0.975)
		if got := studentQuantile(n); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d degrees of freedom: %.12g, want %.12g", n, got, want)
		}
	}
	if want := 12.706204736174694; math.Abs(studentQuantile(1)-want) > 1e-12*want { // tan(0.475π)
		t.Errorf("one degree of freedom: %v, want %v", studentQuantile(1), want)
	}
}
