//go:build !amd64 || purego

package precision

func bestPath() path { return pathGo }

// slice rounds slices of one length.
func (r *Rounder) slice(dst, src []float32) { r.sliceGo(dst, src) }
