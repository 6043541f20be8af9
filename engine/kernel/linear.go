package kernel

import "fmt"

// linearRows is how many rows are multiplied before their epilogue runs, so
// that it finds them in cache; for fewer the weights would be read again and again.
const linearRows = 256

// Linear sets dst[rows,Out] = x[rows,In]·Wᵀ: each element's reduction over In,
// times its scale, rounded once to num.Output. xScale is nil, or one factor per
// row (len rows), or for a block-scaled weight one per row and block of inputs,
// [rows][ceil(In/Block)]. Scales multiply as float32(sum*float32(xs*ws)); block
// scales multiply each block's partial sum before it is added, in block order.
// A row's result does not depend on rows unless the reduction is batch-variant;
// a caller that splits one batch among workers resolves it for the whole batch
// first, with Reduction.At.
func Linear(dst, x, xScale []float32, w *Weight, rows int, num Numerics, s *Scratch) {
	if len(dst) < rows*w.Out || len(x) < rows*w.In {
		panic(fmt.Sprintf("kernel: Linear dst %d, x %d, W [%d,%d], rows %d", len(dst), len(x), w.Out, w.In, rows))
	}
	red := num.Reduction.At(rows)
	s = s.orNew()
	blocks := 1
	if w.Block > 0 {
		blocks = ceilDiv(w.In, w.Block)
	}
	if xScale != nil && len(xScale) < rows*blocks {
		panic(fmt.Sprintf("kernel: Linear with %d input scales for %d rows of %d blocks", len(xScale), rows, blocks))
	}
	for i := 0; i < rows; i += linearRows {
		m := min(linearRows, rows-i)
		out := dst[i*w.Out:][:m*w.Out]
		var xs []float32
		if xScale != nil {
			xs = xScale[i*blocks:][:m*blocks]
		}
		p := product{c: out, a: x[i*w.In:], b: w.panels, ldc: w.Out, ais: w.In, aks: 1,
			ldb: panelWidth, group: panelWidth * w.In, m: m, n: w.Out, k: w.In}
		if w.Block > 0 {
			p.reduce(red, num.Accumulator, blockScales{size: w.Block, x: xs, w: w.BlockScale, rows: w.BlockRows}, s)
		} else {
			p.reduce(red, num.Accumulator, blockScales{}, s)
			scaleRows(out, xs, w.Scale, m, w.Out)
		}
		roundTo(num.Output, out)
	}
}

// scaleRows multiplies y[rows,n] by xs[row]*ws[column]; nil stands for ones.
func scaleRows(y, xs, ws []float32, rows, n int) {
	if xs == nil && ws == nil {
		return
	}
	for r := range rows {
		row := y[r*n:][:n]
		switch {
		case ws == nil:
			scaleInto(row, xs[r])
		case xs == nil:
			mulInto(row, row, ws)
		default:
			scaleBoth(row, ws, xs[r])
		}
	}
}

// LinearInputGrad sets dx[rows,In] = dy[rows,Out]·W with W's dequantised
// values, or adds to it: with add each chain over Out continues from dx.
// num.Accumulator and num.Reduction apply; a reduction other than the canonical
// cannot continue from dx. The result is rounded to num.Output.
func LinearInputGrad(dx, dy []float32, w *Weight, rows int, add bool, num Numerics, s *Scratch) {
	if len(dx) < rows*w.In || len(dy) < rows*w.Out || w.ForwardOnly {
		panic(fmt.Sprintf("kernel: LinearInputGrad dx %d, dy %d, W [%d,%d], forward only %v, rows %d", len(dx), len(dy), w.Out, w.In, w.ForwardOnly, rows))
	}
	s = s.orNew()
	red := num.Reduction.At(rows)
	for i := 0; i < rows; i += linearRows {
		m := min(linearRows, rows-i)
		out := dx[i*w.In:][:m*w.In]
		p := product{c: out, a: dy[i*w.Out:], b: w.gradient, ldc: w.In, ais: w.Out, aks: 1,
			ldb: panelWidth, group: panelWidth * w.Out, m: m, n: w.In, k: w.Out, add: add}
		p.reduce(red, num.Accumulator, blockScales{}, s)
		roundTo(num.Output, out)
	}
}

// LinearWeightGrad sets rows outFrom..outTo-1 of dw[out,in] to
// dyᵀ[out,rows]·x[rows,in], or adds to them: with add each chain over rows
// continues from dw. Workers may own disjoint ranges of outputs; the bounds do
// not change a bit, and neither does splitting rows into consecutive calls
// with add.
func LinearWeightGrad(dw, dy, x []float32, out, in, rows, outFrom, outTo int, add bool, s *Scratch) {
	if len(dw) < out*in || len(dy) < rows*out || len(x) < rows*in || outFrom < 0 || outTo > out {
		panic(fmt.Sprintf("kernel: LinearWeightGrad dw %d, dy %d, x %d as [%d,%d], rows %d, outputs %d..%d",
			len(dw), len(dy), len(x), out, in, rows, outFrom, outTo))
	}
	if outFrom >= outTo {
		return
	}
	p := product{c: dw[outFrom*in:], b: x, ldc: in, ais: 1, aks: out, ldb: in, group: panelWidth,
		m: outTo - outFrom, n: in, k: rows, add: add}
	if rows > 0 {
		p.a = dy[outFrom:]
	}
	p.run(s)
}
