package kernel

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "write testdata/bits.txt from the plain Go path")

// The bits equal those of the committed file, on every processor, compiler
// version and path. Each line has an operation, some of its values and a
// digest of all of them. Before committing a new file, know why it changed.
func TestBitsAreThoseOfTheFile(t *testing.T) {
	operations := operationCases()
	for name, num := range attentionNumerics() {
		operations["attention "+name] = func() []float32 { return attentionOperation(num, [4]int{29, 4, 2, 12}) }
	}
	names := slices.Sorted(maps.Keys(operations))
	render := func() string {
		var b strings.Builder
		for _, name := range names {
			x, sum := operations[name](), fnv.New64a()
			for _, v := range x {
				binary.Write(sum, binary.LittleEndian, math.Float32bits(v))
			}
			fmt.Fprintf(&b, "%-24s %6d values  %016x ", name, len(x), sum.Sum64())
			for i := range 4 {
				fmt.Fprintf(&b, " %x", x[i*(len(x)-1)/3])
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	const file = "testdata/bits.txt"
	if *update {
		inGo(func() {
			must.Do(t, os.WriteFile(file, []byte(render()), 0o644))
		})
	}
	want := must.Get(os.ReadFile(file))(t)
	for _, p := range Paths() {
		setPath(t, p)
		got := strings.Split(render(), "\n")
		for i, line := range strings.Split(string(want), "\n") {
			if i >= len(got) || got[i] != line {
				t.Errorf("path %s, line %d:\n got %s\nwant %s", p, i+1, got[min(i, len(got)-1)], line)
			}
		}
	}
}
