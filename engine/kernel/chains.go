package kernel

// In-order sums of several rows at once. Each row is one chain that continues
// from sums[r]; rows do not touch each other. Row r begins at a[r*stride] (and
// b[r*stride]) and has n elements.

// chainSet is what a step adds; assembly has the kinds in this order.
type chainSet int

const (
	sumChain      chainSet = iota // a
	squareChain                   // fma(a, a, sum)
	dotChain                      // float32(a·b), unfused
	weightedChain                 // float32(float32(c·a)·b), unfused; c is one row for all
)

// add continues sums[r] over row r of a and, where the kind reads them, of b and c.
func (k chainSet) add(sums, a, b, c []float32, stride, rows, n int) {
	if rows == 0 || n == 0 {
		return
	}
	last := (rows-1)*stride + n - 1
	_, _, c = a[last], b[last], c[:n]
	if runChains(k, sums, a, b, c, stride, rows, n) {
		return
	}
	for r := range rows {
		x, y, sum := a[r*stride:][:n], b[r*stride:][:n], sums[r]
		switch k {
		case sumChain:
			for _, v := range x {
				sum += v
			}
		case squareChain:
			for _, v := range x {
				sum = fma32(v, v, sum)
			}
		case dotChain:
			for i, v := range x {
				sum += float32(v * y[i])
			}
		case weightedChain:
			for i, w := range c {
				sum += float32(float32(w*x[i]) * y[i])
			}
		}
		sums[r] = sum
	}
}
