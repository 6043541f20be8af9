package kernel

import (
	"fmt"
	"testing"

	"driftlab/precision"
	"driftlab/precision/must"
)

// reductions is every declared order, with odd sizes among them.
func reductions() []Reduction {
	var all []Reduction
	for _, text := range []string{"canonical", "unfused", "pairwise:8", "pairwise:3", "pairwise:1", "split_k:2", "split_k:4", "split_k:7+unfused",
		"tensor_parallel:2:ring:fp32", "tensor_parallel:4:ring:bf16", "tensor_parallel:4:tree:bf16", "tensor_parallel:3:tree:fp32",
		"tensor_parallel:5:ring:fp16+unfused", "tree:8", "tree:5+unfused", "tree:1"} {
		r, err := ParseReduction(text)
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

// everyReduction is reductions, whose bits are on file, and those that came later.
func everyReduction() []Reduction {
	all := reductions()
	for _, text := range []string{"tree:4:2", "tree:2:4", "tree:3:3+unfused", "canonical+promote:5", "unfused+promote:4",
		"split_k:2+promote:3", "tensor_parallel:2:ring:bf16+promote:8", "tree:4+promote:3"} {
		r, err := ParseReduction(text)
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

// dumbDot is the definition of one element under any reduction: column j of
// out, one scalar at a time. scale gives the factor of each block of k, or nil.
func dumbDot(a, b []float32, j, out int, red Reduction, acc precision.Format, block int, scale func(b int) float32) float32 {
	k := len(a)
	round := func(f precision.Format, x float32) float32 {
		if f == (precision.Format{}) {
			return x
		}
		return f.Round(x)
	}
	mac := func(f precision.Format, x, y, c float32) float32 {
		if red.Unfused {
			return round(f, float32(x*y)+c)
		}
		return round(f, slowFMA(x, y, c))
	}
	chain := func(from, to int) (sum float32) {
		for i := from; i < to; i++ {
			sum = mac(acc, a[i], b[i], sum)
		}
		return sum
	}
	partial := acc // of sums that are put together from chains
	if short := chain; red.Promote > 0 {
		partial = precision.Format{}
		if acc != (precision.Format{}) {
			chain = func(from, to int) (sum float32) {
				for i := from; i < to; i += red.Promote {
					sum += short(i, min(i+red.Promote, to))
				}
				return sum
			}
		}
	}
	unit := 1
	sumRange := chain
	if block > 0 {
		unit = block
		sumRange = func(from, to int) (sum float32) {
			for i := from; i < to; i += block {
				sum = mac(partial, chain(i, min(i+block, to)), scale(i/block), sum)
			}
			return sum
		}
	}
	units := (k + unit - 1) / unit
	var parts []float32
	cut := func(size, count int) {
		for i := range count {
			parts = append(parts, sumRange(min(i*size*unit, k), min((i+1)*size*unit, k)))
		}
	}
	var halves func(p []float32) float32
	halves = func(p []float32) float32 {
		if len(p) == 1 {
			return p[0]
		}
		mid := (len(p) + 1) / 2
		return round(partial, halves(p[:mid])+halves(p[mid:]))
	}
	levels := func(p []float32, f precision.Format) float32 {
		for len(p) > 1 {
			var next []float32
			for i := 0; i < len(p); i += 2 {
				if i+1 < len(p) {
					next = append(next, round(f, p[i]+p[i+1]))
				} else {
					next = append(next, p[i])
				}
			}
			p = next
		}
		return p[0]
	}
	switch red.Kind {
	case SplitK:
		cut((units+red.Parts-1)/red.Parts, red.Parts)
		sum := parts[0]
		for _, p := range parts[1:] {
			sum = round(partial, sum+p)
		}
		return sum
	case Pairwise, Tree:
		leaf := (red.Leaf + unit - 1) / unit
		cut(leaf, max(1, (units+leaf-1)/leaf))
		if red.Kind == Pairwise {
			return halves(parts)
		}
		var ranks []float32
		per := (len(parts) + max(red.Parts, 1) - 1) / max(red.Parts, 1)
		for i := 0; i < len(parts); i += per {
			ranks = append(ranks, levels(parts[i:min(i+per, len(parts))], partial))
		}
		return levels(ranks, partial)
	case TensorParallel:
		cut((units+red.Parts-1)/red.Parts, red.Parts)
		for i := range parts {
			parts[i] = round(red.Wire, parts[i])
		}
		if red.Topology == TreeAllReduce {
			return levels(parts, red.Wire)
		}
		owner := j / ((out + red.Parts - 1) / red.Parts)
		sum := parts[owner]
		for h := 1; h < red.Parts; h++ {
			sum = round(red.Wire, sum+parts[(owner+h)%red.Parts])
		}
		return sum
	}
	return sumRange(0, k)
}

func TestLinearMatchesItsDefinition(t *testing.T) {
	rng := newRand(3)
	for _, red := range everyReduction() {
		for _, acc := range []precision.Format{{}, precision.BF16} {
			for _, d := range [][3]int{{1, 1, 1}, {3, 17, 9}, {9, 33, 16}, {2, 70, 37}} {
				rows, out, in := d[0], d[1], d[2]
				x, data := normals(rng, rows*in), normals(rng, out*in)
				xs, ws := normals(rng, rows), normals(rng, out)
				for scaling := range 4 {
					var xScale, wScale []float32
					if scaling&1 != 0 {
						xScale = xs
					}
					if scaling&2 != 0 {
						wScale = ws
					}
					var w Weight
					w.Pack(data, out, in, wScale)
					num := Numerics{Accumulator: acc, Output: precision.FP16, Reduction: red}
					got := newGuarded("dst", rows*out)
					Linear(got.x, x, xScale, &w, rows, num, nil)
					got.intact(t)
					want := make([]float32, rows*out)
					for i := range rows {
						for j := range out {
							y := dumbDot(x[i*in:][:in], data[j*in:][:in], j, out, red, acc, 0, nil)
							switch scaling {
							case 1:
								y *= xs[i]
							case 2:
								y *= ws[j]
							case 3:
								s := xs[i] * ws[j]
								y *= s
							}
							want[i*out+j] = precision.FP16.Round(y)
						}
					}
					sameBits(t, fmt.Sprintf("%v acc %v %v scaling %d", red, acc.Name, d, scaling), got.x, want)
				}
			}
		}
	}
}

func TestLinearBlockScaled(t *testing.T) {
	rng := newRand(4)
	for _, red := range everyReduction() {
		for _, d := range []struct{ rows, out, in, blockRows, block int }{{3, 20, 21, 8, 4}, {2, 70, 9, 128, 16}, {9, 5, 16, 1, 8}} {
			blocks := (d.in + d.block - 1) / d.block
			x, data := normals(rng, d.rows*d.in), normals(rng, d.out*d.in)
			xs, ws := normals(rng, d.rows*blocks), normals(rng, (d.out+d.blockRows-1)/d.blockRows*blocks)
			var w Weight
			w.PackBlocks(data, d.out, d.in, d.blockRows, d.block, ws)
			got, want := make([]float32, d.rows*d.out), make([]float32, d.rows*d.out)
			Linear(got, x, xs, &w, d.rows, Numerics{Reduction: red}, nil)
			for i := range d.rows {
				for j := range d.out {
					want[i*d.out+j] = dumbDot(x[i*d.in:][:d.in], data[j*d.in:][:d.in], j, d.out, red, precision.Format{}, d.block,
						func(b int) float32 { return xs[i*blocks+b] * ws[j/d.blockRows*blocks+b] })
				}
			}
			sameBits(t, fmt.Sprintf("%v %+v", red, d), got, want)
			identity, dense := make([]float32, d.out*d.out), make([]float32, d.out*d.in)
			for o := range d.out {
				identity[o*d.out+o] = 1
			}
			LinearInputGrad(dense, identity, &w, d.out, false, Numerics{}, nil)
			for o := range d.out {
				for i := range d.in {
					if v := data[o*d.in+i] * ws[o/d.blockRows*blocks+i/d.block]; dense[o*d.in+i] != v {
						t.Fatalf("%+v: the input gradient multiplies by (%d,%d) = %g, want %g", d, o, i, dense[o*d.in+i], v)
					}
				}
			}
		}
	}
}

// A row's bits depend on nothing but the row: not on how many rows there are,
// nor which, nor where they stand.
func TestLinearRowsAreIndependent(t *testing.T) {
	rng := newRand(5)
	const rows, out, in = 67, 41, 29
	x := normals(rng, rows*in)
	var w Weight
	w.Pack(normals(rng, out*in), out, in, nil)
	for _, red := range everyReduction() {
		num := Numerics{Reduction: red}
		all := make([]float32, rows*out)
		Linear(all, x, nil, &w, rows, num, nil)
		for n := 1; n <= rows; n += 1 + rng.IntN(9) {
			first := rng.IntN(rows - n + 1)
			got := make([]float32, n*out)
			Linear(got, x[first*in:], nil, &w, n, num, nil)
			sameBits(t, fmt.Sprintf("%v rows %d..%d", red, first, first+n), got, all[first*out:(first+n)*out])
		}
	}
}

func TestBatchVariantDependsOnRows(t *testing.T) {
	rng := newRand(6)
	const rows, out, in = 64, 8, 64
	x := normals(rng, rows*in)
	var w Weight
	w.Pack(normals(rng, out*in), out, in, nil)
	num := Numerics{Reduction: Reduction{BatchVariant: true}}
	all, few, want := make([]float32, rows*out), make([]float32, 4*out), make([]float32, 4*out)
	Linear(all, x, nil, &w, rows, num, nil)
	Linear(few, x, nil, &w, 4, num, nil)
	Linear(want, x, nil, &w, 4, Numerics{Reduction: Reduction{Kind: SplitK, Parts: 4}}, nil)
	sameBits(t, "four rows", few, want)
	differ := 0
	for i := range few {
		if few[i] != all[i] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("four rows alone and among 64 agree in every bit under a batch-variant order")
	}
}

// Ranks that add their own partial sums and then one another's, as tensor
// parallelism does, give other bits for every number of them. Those that
// continue one tree do not: 1, 2, 4 and 8 ranks agree in every bit, and three,
// which hold no whole subtrees, do not. Reference: arXiv 2511.17826.
func TestTreeOfRanks(t *testing.T) {
	rng := newRand(17)
	const rows, out, in = 5, 33, 64
	x := normals(rng, rows*in)
	var w Weight
	w.Pack(normals(rng, out*in), out, in, nil)
	run := func(text string, acc precision.Format) string {
		red := must.Get(ParseReduction(text))(t)
		y := make([]float32, rows*out)
		Linear(y, x, nil, &w, rows, Numerics{Accumulator: acc, Reduction: red}, nil)
		return fmt.Sprint(y)
	}
	for _, acc := range []precision.Format{precision.FP32, precision.BF16} {
		naive, tree := map[string]bool{}, map[string]bool{}
		for _, ranks := range []int{2, 4, 8} {
			naive[run(fmt.Sprintf("tensor_parallel:%d:tree:fp32", ranks), acc)] = true
			tree[run(fmt.Sprintf("tree:4:%d", ranks), acc)] = true
		}
		naive[run("canonical", acc)] = true
		tree[run("tree:4", acc)] = true
		if len(naive) != 4 || len(tree) != 1 {
			t.Errorf("accumulator %s: naive order has %d results for 4 numbers of ranks, the tree %d", acc, len(naive), len(tree))
		}
		if tree[run("tree:4:3", acc)] {
			t.Errorf("accumulator %s: 3 ranks of 16 leaves continue the tree of one", acc)
		}
	}
}

// The tree order holds whole subtrees on each rank, so any power of two of
// ranks gives the bits of one.
func TestTreeDoesNotDependOnRanks(t *testing.T) {
	rng := newRand(7)
	const in, leaf = 64, 4
	a, b := normals(rng, in), normals(rng, in)
	whole := dumbDot(a, b, 0, 1, Reduction{Kind: Tree, Leaf: leaf}, precision.Format{}, 0, nil)
	for _, ranks := range []int{2, 4, 8} {
		n := in / ranks
		var sums []float32
		for r := range ranks {
			sums = append(sums, dumbDot(a[r*n:][:n], b[r*n:][:n], 0, 1, Reduction{Kind: Tree, Leaf: leaf}, precision.Format{}, 0, nil))
		}
		for len(sums) > 1 {
			for i := range len(sums) / 2 {
				sums[i] = sums[2*i] + sums[2*i+1]
			}
			sums = sums[:len(sums)/2]
		}
		if sums[0] != whole {
			t.Errorf("%d ranks: %g, one: %g", ranks, sums[0], whole)
		}
	}
}

func TestLinearGradsAreChains(t *testing.T) {
	rng := newRand(8)
	for _, d := range [][3]int{{1, 1, 1}, {5, 19, 33}, {67, 34, 8}, {0, 3, 4}} {
		rows, out, in := d[0], d[1], d[2]
		x, dy, data, scale := normals(rng, rows*in), normals(rng, rows*out), normals(rng, out*in), normals(rng, out)
		var w Weight
		w.Pack(data, out, in, scale)
		for _, add := range []bool{false, true} {
			dx, dw := normals(rng, rows*in), normals(rng, out*in)
			wantX, wantW := make([]float32, rows*in), make([]float32, out*in)
			if add {
				copy(wantX, dx)
				copy(wantW, dw)
			}
			for r := range rows {
				for o := range out {
					for i := range in {
						wantX[r*in+i] = fma32(dy[r*out+o], data[o*in+i]*scale[o], wantX[r*in+i])
						wantW[o*in+i] = fma32(dy[r*out+o], x[r*in+i], wantW[o*in+i])
					}
				}
			}
			for i := range wantX {
				wantX[i] = precision.BF16.Round(wantX[i])
			}
			LinearInputGrad(dx, dy, &w, rows, add, Numerics{Output: precision.BF16}, nil)
			sameBits(t, fmt.Sprintf("dx %v add %v", d, add), dx, wantX)
			if !add {
				clear(dw)
			}
			half := rows / 2
			LinearWeightGrad(dw, dy, x, out, in, half, nil)
			LinearWeightGrad(dw, dy[half*out:], x[half*in:], out, in, rows-half, nil)
			sameBits(t, fmt.Sprintf("dw %v add %v", d, add), dw, wantW)
		}
	}
}

func TestPackReusesMemory(t *testing.T) {
	rng := newRand(9)
	data, scale := normals(rng, 48*32), normals(rng, 48)
	var w Weight
	w.Pack(data, 48, 32, scale)
	first := &w.gradient[0]
	if n := testing.AllocsPerRun(10, func() { w.Pack(data, 48, 32, scale); w.Pack(data[:40*32], 40, 32, nil) }); n != 0 {
		t.Errorf("packing again allocates %g times", n)
	}
	w.Pack(data, 48, 32, nil)
	if &w.gradient[0] != first {
		t.Error("Pack moved the values")
	}
	data[0]++
	if w.gradient[0] == data[0] {
		t.Error("Pack aliases its source")
	}
}
