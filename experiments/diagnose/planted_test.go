package diagnose

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Every case is drawn alike twice, its tokens fit together, its parts add up, and its
// ratios average 1 but for what the weights know of the advantage.
func TestCases(t *testing.T) {
	for _, c := range Cases {
		w := c.Draw(7)
		w.Push = 0
		rows, shares := w.Rows()
		again, _ := w.Rows()
		total, n, ratio, squares := 0.0, 0.0, 0.0, 0.0
		for _, part := range shares {
			total += part
		}
		for i, r := range rows {
			if !slices.Equal(r.Token, again[i].Token) || !slices.Equal(r.Old, again[i].Old) {
				t.Fatalf("%s: drawn again, response %d is another", c.Name, i)
			}
			if len(r.Roll) != len(r.Token) || len(r.Old) != len(r.Token) || len(r.Mask) != len(r.Token) || len(r.Advantage) != len(r.Token) {
				t.Fatalf("%s: columns of %d, %d, %d, %d, %d", c.Name, len(r.Token), len(r.Roll), len(r.Old), len(r.Mask), len(r.Advantage))
			}
			for i, roll := range r.Roll {
				rho := math.Exp(r.Old[i] - roll)
				n, ratio, squares = n+1, ratio+rho, squares+rho*rho
			}
		}
		mean := ratio / n
		z := (mean - 1) / math.Sqrt((squares/n-mean*mean)/n)
		if math.Abs(total-1) > 1e-9 || math.Abs(z) > 3.5 {
			t.Errorf("%s: parts add to %v, the mean ratio is %v (z %v)", c.Name, total, mean, z)
		}
		if c.Cause != "" && shares[c.Cause] < 0.5 {
			t.Errorf("%s: %s has only %v", c.Name, c.Cause, shares[c.Cause])
		}
	}
}

func ExampleSyntheticDump() {
	for _, c := range Cases[:4] {
		rows, shares := c.Draw(1).Rows()
		fmt.Printf("%s: %d responses, %s %.2f\n", c.Name, len(rows), c.Cause, shares[c.Cause])
	}
	// Output:
	// bf16: 32 responses, precision 1.00
	// fp8: 32 responses, precision 1.00
	// fp4: 32 responses, precision 1.00
	// routing: 32 responses, routing 0.74
}
