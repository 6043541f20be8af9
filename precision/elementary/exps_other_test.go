//go:build !amd64 || purego

package elementary

// eachWidth calls f once: there is no assembly.
func eachWidth(f func(width int)) { f(0) }
