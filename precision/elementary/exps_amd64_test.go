//go:build !purego

package elementary

// eachWidth calls f with every width of registers that this processor has.
func eachWidth(f func(width int)) {
	has := vectors
	for vectors = none; vectors <= has; vectors++ {
		f(vectors)
	}
	vectors = has
}
