package precision

import "fmt"

// grouping is how a matrix falls into groups that share a scale: tiles in a
// grid, cut off at the right and lower edge. Without scales, or without
// elements, there are no groups.
type grouping struct {
	rows, cols   int // of a tile
	down, across int // tiles in the grid
}

// count is the number of scales.
func (g *grouping) count() int { return g.down * g.across }

// inRuns reports whether the elements of each group follow each other in
// memory, and the groups do too; only the last may be short.
func (g *grouping) inRuns(cols int) bool {
	return g.across == 1 || g.rows == 1 && g.across*g.cols == cols
}

// group returns the grouping of a rows×cols matrix.
func (q *Quantizer) group(rows, cols int) grouping {
	if q.Granularity == None || rows == 0 || cols == 0 {
		return grouping{}
	}
	switch q.Granularity {
	case PerTensor:
		return grouping{rows, cols, 1, 1}
	case PerChannel, Asymmetric:
		return grouping{1, cols, rows, 1}
	case MX:
		return grouping{1, min(mxBlock, cols), rows, (cols + mxBlock - 1) / mxBlock}
	case NV:
		return grouping{1, min(nvBlock, cols), rows, (cols + nvBlock - 1) / nvBlock}
	case Q8_0, Q8_0X86, Q4_0:
		return grouping{1, min(ggmlBlock, cols), rows, (cols + ggmlBlock - 1) / ggmlBlock}
	case Block:
		r, c := q.BlockRows, q.BlockCols
		if r < 1 || c < 1 {
			panic(fmt.Sprintf("precision: blocks of %d×%d elements", r, c))
		}
		g := grouping{r, min(c, cols), rows, 1}
		if r > 1 {
			g.down = (rows + r - 1) / r
		}
		if c < cols { // spares short rows a division
			g.across = (cols + c - 1) / c
		}
		return g
	}
	panic(fmt.Sprintf("precision: granularity %d has no scales", q.Granularity))
}

// ScaleCount returns the number of scales of a rows×cols matrix: none for an
// unscaled quantiser, 1 per tensor, rows per channel and asymmetric, ⌈rows/R⌉·⌈cols/C⌉ for
// blocks of R×C, rows·⌈cols/32⌉ for MX, Q8_0 and Q4_0, rows·⌈cols/16⌉ for NV. Scales are stored
// row-major over the grid of groups.
func (q Quantizer) ScaleCount(rows, cols int) int {
	g := q.group(rows, cols)
	return g.count()
}

// mustFit returns the grouping of a matrix and panics if the slices do not
// match it. scales < 0 means that there is no slice of scales.
func (q *Quantizer) mustFit(what string, dst, src, scales, rows, cols int) grouping {
	if rows < 0 || cols < 0 || dst != rows*cols || src != rows*cols {
		panic(fmt.Sprintf("precision: %s: destination of %d and source of %d elements for a %d×%d matrix", what, dst, src, rows, cols))
	}
	g := q.group(rows, cols)
	if want := g.count(); scales >= 0 && scales != want {
		panic(fmt.Sprintf("precision: %s: %d scales for a %d×%d matrix; %s has %d", what, scales, rows, cols, *q, want))
	}
	return g
}
