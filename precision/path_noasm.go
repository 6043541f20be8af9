//go:build (!amd64 && !arm64) || purego

package precision

// Without assembly plain Go is the only path.

func assembled() []path { return nil }

func (r *Rounder) slice(dst, src []float32) { r.sliceGo(dst, src) }

func magnitudes(amax, src []float32, n int) { magnitudesGo(amax, src, n) }

func (r *Rounder) divide(dst, src, scales []float32, n int, restore bool) {
	r.divideGo(dst, src, scales, n, restore)
}

func multiply(dst, src, scales []float32, n int) { multiplyGo(dst, src, scales, n) }
