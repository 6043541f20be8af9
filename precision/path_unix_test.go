//go:build unix

package precision

import (
	"syscall"
	"testing"
	"unsafe"
)

// Slices that end where readable memory ends, and that begin where it begins:
// whatever reads or writes one element too many is stopped by the processor.
func TestNothingBeyondTheSlice(t *testing.T) {
	page := syscall.Getpagesize()
	edge := func() (ends, begins []float32) {
		all, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { syscall.Munmap(all) })
		for _, outer := range [][]byte{all[:page], all[2*page:]} {
			if err := syscall.Mprotect(outer, syscall.PROT_NONE); err != nil {
				t.Skip(err)
			}
		}
		cells := unsafe.Slice((*float32)(unsafe.Pointer(&all[page])), page/4)
		return cells[len(cells)-67:], cells[:67]
	}
	srcEnd, srcBegin := edge()
	dstEnd, dstBegin := edge()
	values := benchSlice(67, 1)
	scales := make([]float32, 67)
	for _, p := range paths() {
		usePath(t, p)
		for n := range 68 {
			for _, at := range []struct{ dst, src []float32 }{
				{dstEnd[67-n:], srcEnd[67-n:]}, {dstBegin[:n], srcBegin[:n]}, {dstEnd[67-n:], srcBegin[:n]},
			} {
				copy(at.src, values)
				for _, f := range []Format{BF16, FP16, E4M3, INT8, {"bf16:sat", 8, 7, 127, BF16.Max, Saturate, IEEE}} {
					f.RoundSlice(at.dst, at.src)
				}
				for _, text := range []string{"fp8_e4m3/channel", "int8/1x32", "fp4_e2m1/nv"} {
					q := mustQuantizer(t, text)
					s := scales[:q.ScaleCount(1, n)]
					q.Quantize(at.dst, s, at.src, 1, n)
					q.Dequantize(at.src, at.dst, s, 1, n)
					q.RoundTrip(at.dst, at.src, 1, n)
				}
			}
		}
	}
}
