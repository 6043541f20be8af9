package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

// TestNumberAsJSON: what JSON has no number for is a word.
func TestNumberAsJSON(t *testing.T) {
	text, err := json.Marshal([]Number{0.5, Number(math.Inf(1)), Number(math.Inf(-1)), Number(math.NaN())})
	if want := `[0.5,"+Inf","-Inf","NaN"]`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// Of two figures of one name the later is shown, and the branch stands at the loss.
func Example() {
	t := New([]int{0, 1, 3})
	t.Add(2, "A", 1)
	t.Add(2, "A", -0.5)
	t.Add(2, Share, -0.2)
	t.Add(2, Grad, 0)
	t.Tokens[2].Branch = ClippedLow
	fmt.Println(t.Tokens[2].Response, t.Tokens[2].Position)
	for _, line := range t.Tokens[2].Lines() {
		fmt.Println(line)
	}
	// Output:
	// 1 1
	// A = -0.5
	// loss = -0.2   (clipped below)
	// grad = 0
}
