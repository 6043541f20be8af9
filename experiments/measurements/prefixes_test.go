package measurements

import (
	"math"
	"testing"
)

// TestPearson: of a line it is the line's sign, and of (0,0), (1,1), (2,0) nothing.
func TestPearson(t *testing.T) {
	x := []float64{1, 2, 4}
	if got := pearson(x, []float64{5, 3, -1}); math.Abs(got+1) > 1e-12 {
		t.Errorf("correlation of a falling line: %v", got)
	}
	if got := pearson([]float64{0, 1, 2}, []float64{0, 1, 0}); math.Abs(got) > 1e-7 {
		t.Errorf("correlation of a tent: %v", got)
	}
}

// Values that only grow along a response earn nothing within a length: at one length the
// ranks agree, at the other, of twice as many prefixes, they are opposite.
func TestWithinLengths(t *testing.T) {
	var x, y []float64
	var length []int
	for i := range siblings {
		x, y, length = append(x, float64(i)), append(y, float64(i)), append(length, 1)
	}
	for i := range 2 * siblings {
		x, y, length = append(x, 100+float64(i)), append(y, 100-float64(i)), append(length, 2)
	}
	// The beginning and what is too rare to rank are left out.
	x, y, length = append(x, 1, 2), append(y, 5, 9), append(length, 0, 3)
	if got, want := withinLengths(x, y, length), (1.-2)/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("within lengths %v, want %v", got, want)
	}
}
