package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/precision"
	"driftlab/precision/must"
)

// plainSum is the definition, one column at a time over all devices.
func plainSum(x ExpertParallel, all, column, width int, experts []uint8, gates []float32, outputs [][]float32) float32 {
	term := func(rank int) float32 { return float32(gates[rank] * outputs[rank][column]) }
	if x.Order < ByRing {
		var sum float32
		for e := range all {
			for rank, id := range experts {
				if x.Order == ByRank && rank == e || x.Order == ByExpert && int(id) == e {
					sum += term(rank)
				}
			}
		}
		return sum
	}
	per := (all + x.Degree - 1) / x.Degree
	sums := make([]float32, x.Degree)
	for rank, id := range experts {
		sums[int(id)/per] += term(rank)
	}
	for g := range sums {
		sums[g] = x.Wire.Round(sums[g])
	}
	switch x.Order {
	case ByTree:
		for len(sums) > 1 {
			var next []float32
			for g := 0; g < len(sums); g += 2 {
				v := sums[g]
				if g+1 < len(sums) {
					v = x.Wire.Round(v + sums[g+1])
				}
				next = append(next, v)
			}
			sums = next
		}
		return sums[0]
	case ByRing:
		owner := column / ((width + x.Degree - 1) / x.Degree)
		v := sums[owner]
		for h := 1; h < x.Degree; h++ {
			v = x.Wire.Round(v + sums[(owner+h)%x.Degree])
		}
		return v
	}
	var v float32
	for _, s := range sums {
		v += s
	}
	return v
}

// TestCombiner compares every order with its definition, for odd widths,
// experts that do not divide by the devices, and devices without any.
func TestCombiner(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var k combiner
	for trial := range 400 {
		all := 1 + rng.IntN(12)
		top, width := 1+rng.IntN(all), 1+rng.IntN(37)
		x := ExpertParallel{Order: CombineOrder(1 + rng.IntN(4))}
		if x.Order >= ByRing {
			x.Degree, x.Wire = 1+rng.IntN(9), []precision.Format{precision.FP32, precision.BF16, precision.E4M3}[rng.IntN(3)]
		}
		must.Do(t, x.Validate())
		var experts []uint8
		for _, e := range rng.Perm(all)[:top] {
			experts = append(experts, uint8(e))
		}
		gates, outputs := make([]float32, top), make([][]float32, top)
		k.out, k.slots = k.out[:0], k.slots[:0]
		slots := rng.Perm(top)
		k.out = make([]float32, top*width)
		for rank := range top {
			gates[rank] = rng.Float32()
			k.slots = append(k.slots, int32(slots[rank]))
			outputs[rank] = k.out[slots[rank]*width:][:width]
			for j := range outputs[rank] {
				outputs[rank][j] = float32(rng.NormFloat64())
			}
		}
		got := make([]float32, width)
		k.sum(got, &x, all, experts, gates)
		for j, v := range got {
			// Zeros may differ in sign: a device without an expert adds nothing.
			if want := plainSum(x, all, j, width, experts, gates, outputs); v != want && !(math.IsNaN(float64(v)) && math.IsNaN(float64(want))) {
				t.Fatalf("trial %d, %v, top %d of %d, column %d of %d: %g, want %g", trial, x, top, all, j, width, v, want)
			}
		}
	}
}

// TestCombinerAllocations: none in steady state.
func TestCombinerAllocations(t *testing.T) {
	k := combiner{slots: []int32{0, 1}, out: make([]float32, 64)}
	dst, experts, gates := make([]float32, 32), []uint8{5, 1}, []float32{0.6, 0.4}
	for _, text := range []string{"expert", "4:ring:bf16", "8:tree:bf16", "4:all_to_all:fp16"} {
		x := must.Get(ParseExpertParallel(text))(t)
		k.sum(dst, &x, 8, experts, gates)
		if n := testing.AllocsPerRun(20, func() { k.sum(dst, &x, 8, experts, gates) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// TestParseExpertParallel: every form comes back, and an error says what the
// forms are.
func TestParseExpertParallel(t *testing.T) {
	for text, want := range map[string]string{
		"rank": "rank", "expert": "expert", "4:ring:bf16": "4:ring:bf16", "4:bf16": "4:ring:bf16",
		" 8:tree:fp32": "8:tree:fp32", "2:all_to_all:fp8_e4m3": "2:all_to_all:fp8_e4m3", "1:ring:e8m5": "1:ring:e8m5",
	} {
		x, err := ParseExpertParallel(text)
		if err != nil || x.String() != want {
			t.Errorf("%q: %v, %v", text, x, err)
		}
		if again, err := ParseExpertParallel(x.String()); err != nil || again != x {
			t.Errorf("%q comes back as %v: %v", text, again, err)
		}
	}
	for _, text := range []string{"", "ranks", "4", "0:ring:bf16", "257:ring:bf16", "4:star:bf16", "4:rank:bf16", "4:ring:bf17", "4:ring:int8", "4:ring:bf16:x", "four:bf16"} {
		x, err := ParseExpertParallel(text)
		if err == nil {
			t.Errorf("%q is read as %v", text, x)
		}
	}
	for _, x := range []ExpertParallel{{Order: 9}, {Order: ByRing}, {Order: ByExpert, Degree: 2}, {Order: ByTree, Degree: 2}} {
		if x.Validate() == nil {
			t.Errorf("%+v is valid", x)
		}
		if _, err := x.MarshalText(); err == nil {
			t.Errorf("%+v is written", x)
		}
	}
}

// ExampleParseExpertParallel shows the forms.
func ExampleParseExpertParallel() {
	for _, text := range []string{"rank", "4:bf16", "8:tree:fp16", "4:star:bf16"} {
		x, err := ParseExpertParallel(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(x)
	}
	// Output:
	// rank
	// 4:ring:bf16
	// 8:tree:fp16
	// expert_parallel "4:star:bf16": unknown way "star"; use rank, expert, or DEGREE:ring|tree|all_to_all:FORMAT such as 4:ring:bf16
}
