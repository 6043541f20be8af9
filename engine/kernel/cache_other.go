//go:build !amd64 || purego

package kernel

// toldCache: nobody is asked.
func toldCache() int { return 0 }
