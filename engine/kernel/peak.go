package kernel

// peakRows, peakCols and peakDepth are a product that every path cuts into whole tiles.
const peakRows, peakCols, peakDepth = 24, 32, 256

// MultiplyAdds makes the given rounds of 24·32·256 fused multiply-adds whose operands are
// always the same few cache lines, and returns the number: the most that a core can do,
// which no product exceeds, for benchmarks.
func MultiplyAdds(rounds int, s *Scratch) int {
	s = s.orNew()
	c, x := grown(&s.scores, peakRows*peakCols), grown(&s.rows, peakCols)
	clear(x)
	p := product{c: c, a: x, b: x, ldc: peakCols, group: panelWidth, m: peakRows, n: peakCols, k: peakDepth}
	for range rounds {
		p.run(s)
	}
	return rounds * peakRows * peakCols * peakDepth
}
