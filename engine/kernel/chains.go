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

// sumChains continues sums[r] over the elements of row r.
func sumChains(sums, a []float32, stride, rows, n int) {
	checkRows(a, stride, rows, n)
	if runChains(sumChain, sums, a, a, a, stride, rows, n) {
		return
	}
	for r := range rows {
		for _, v := range a[r*stride:][:n] {
			sums[r] += v
		}
	}
}

// squareChains continues sums[r] = fma(a, a, sums[r]) over row r.
func squareChains(sums, a []float32, stride, rows, n int) {
	checkRows(a, stride, rows, n)
	if runChains(squareChain, sums, a, a, a, stride, rows, n) {
		return
	}
	for r := range rows {
		for _, v := range a[r*stride:][:n] {
			sums[r] = fma32(v, v, sums[r])
		}
	}
}

// dotChains continues sums[r] += float32(a·b) over row r.
func dotChains(sums, a, b []float32, stride, rows, n int) {
	checkRows(a, stride, rows, n)
	checkRows(b, stride, rows, n)
	if runChains(dotChain, sums, a, b, a, stride, rows, n) {
		return
	}
	for r := range rows {
		y := b[r*stride:][:n]
		for i, v := range a[r*stride:][:n] {
			sums[r] += float32(v * y[i])
		}
	}
}

// weightedChains continues sums[r] += float32(float32(c·a)·b) over row r, where
// c is the same row for all.
func weightedChains(sums, a, b, c []float32, stride, rows, n int) {
	checkRows(a, stride, rows, n)
	checkRows(b, stride, rows, n)
	c = c[:n]
	if runChains(weightedChain, sums, a, b, c, stride, rows, n) {
		return
	}
	for r := range rows {
		x, y := a[r*stride:][:n], b[r*stride:][:n]
		for i, w := range c {
			sums[r] += float32(float32(w*x[i]) * y[i])
		}
	}
}

// checkRows touches the last element.
func checkRows(a []float32, stride, rows, n int) {
	if rows > 0 && n > 0 {
		_ = a[(rows-1)*stride+n-1]
	}
}
