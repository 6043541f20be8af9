// Package precision describes binary number formats and rounds float32 numbers
// to them, exactly, over the whole range.
//
// A Format says how many exponent and mantissa bits a number has, its bias, its
// largest finite value, and what happens above it: fp32, tf32, bf16, fp16, the
// two fp8 formats, fp6, fp4, small integers, and any "e5m7" one likes. Every
// format here is a subset of float32, so a rounded number is a float32 that
// happens to lie on a coarser grid. Nothing is stored in fewer bits.
//
// A Quantizer adds scales: one per tensor, per row, per block, the OCP
// microscaling blocks of 32 with power-of-two scales (mx), or NVIDIA's fp4
// blocks of 16 (nv), or ggml's blocks of 32 with fp16 scales (q8_0, q4_0).
//
// # Rules of rounding
//
// Round behaves as if the exponent had no upper limit: it finds the nearest
// number of the format, ties to the one with an even mantissa, and only then
// asks whether the result exceeds Max. If so, Format.Overflow decides:
// infinity, the largest finite number, or NaN. An infinite input follows the
// same rule. The sign of zero is kept (integers have one zero). A NaN comes
// back bit for bit. Subnormals are full citizens: never flushed.
//
// RoundSlice is the one entry for slices, and the fast one; a Rounder is the one
// for loops that round number by number. All give the same bits.
//
// # Assembly
//
// On amd64 the loops over slices are assembly for AVX2 or AVX-512, whichever the
// processor has, and on arm64 for NEON, which engine/kernel/gen writes; elsewhere,
// and with the build tag purego, they are plain Go. The bits equal those of plain
// Go. GODEBUG=cpu.avx512f=off or cpu.avx2=off hides the instructions from one run.
//
// # What it is not
//
// It does no arithmetic in a format: kernels compute in float32 and round where
// the hardware would. It keeps no state and draws no random numbers of its own;
// stochastic rounding takes a generator from the caller.
//
// # A short tour
//
//	f, err := precision.ParseFormat("bf16")       // or precision.BF16
//	y := f.Round(x)                               // one number
//	f.RoundSlice(dst, src)                        // many, dst may be src
//	r := f.Rounder()                              // prepared, for inner loops
//	sum = r.Round(sum + y)
//	bits := precision.E4M3.Encode(x)              // the byte itself
//	z := f.RoundMode(x, precision.TowardZero, 0)  // other directions
//
//	q, err := precision.ParseQuantizer("fp8_e4m3/128x128")
//	scales := make([]float32, q.ScaleCount(rows, cols))
//	q.Quantize(values, scales, weights, rows, cols)    // grid numbers, scales
//	q.Dequantize(weights, values, scales, rows, cols)  // grid number times scale
//	q.RoundTrip(dst, src, rows, cols)                  // both, keeping neither
//
// Sources: IEEE 754-2019 (binary16, binary32); OCP 8-bit Floating Point
// Specification (OFP8) revision 1.0; OCP Microscaling Formats (MX) version 1.0,
// arXiv 2310.10537; NVFP4 two-level scaling, arXiv 2509.25149.
package precision
