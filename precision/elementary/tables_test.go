package elementary

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write tables.txt")

// tables is the text of tables.txt, from the functions in 320 bits.
func tables() string {
	split := func(x *big.Float, high float64) (float64, float64) {
		low, _ := newBig(0).Sub(x, newBig(high)).Float64()
		return high, low
	}
	var b strings.Builder
	for i := range steps {
		x := bigExp(newBig(0).Mul(bigLn2, newBig(float64(i)/steps)))
		nearest, _ := x.Float64()
		high, low := split(x, nearest)
		fmt.Fprintf(&b, "%x %x\n", high, low)
	}
	for i := range uint64(128) {
		lower, upper := math.Float64frombits(zLowest+i<<45), math.Float64frombits(zLowest+(i+1)<<45)
		inverse := math.RoundToEven(2/(lower+upper)*(1<<16)) / (1 << 16)
		if lower == 1 || upper == 1 {
			inverse = 1
		}
		x := newBig(0).Neg(bigLog(newBig(inverse)))
		nearest, _ := x.Float64()
		high, low := split(x, math.RoundToEven(nearest*(1<<42))/(1<<42))
		fmt.Fprintf(&b, "%x %x %x\n", inverse, high, low)
	}
	return b.String()
}

// TestTables computes the tables anew; with -update it writes them.
func TestTables(t *testing.T) {
	want := tables()
	if *update {
		if err := os.WriteFile("tables.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("tables.txt"); err != nil || string(got) != want {
		t.Error("tables.txt is not what go test -update writes", err)
	}
}
