//go:build (amd64 || arm64) && !purego

package kernel

//go:noescape
func packPanels8(dst, src *float32, rows, columns, ld, step, panel uintptr)

//go:noescape
func packPanels16(dst, src *float32, rows, columns, ld, step, panel uintptr)
