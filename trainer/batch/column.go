package batch

// Column returns a column of n zeroes, in x's memory where it suffices: what a
// stage fills, batch after batch, without allocating.
func Column[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	x = x[:n]
	clear(x)
	return x
}
