// Package kernel holds the arithmetic of a transformer on flat float32 slices:
// linear layers and their gradients, RMSNorm, rotary positions, attention,
// softmax, the SiLU gate and embeddings. Both engines call it, so that they
// differ only in what they declare.
//
// It is not a tensor library: no shapes beyond arguments, no graph, no
// allocation. It knows nothing of models, experts or sequences.
//
// # The canonical order
//
// Every element of a matmul is one chain over k in increasing order,
//
//	acc = +0;  acc = fma(a[k], b[k], acc)  for k = 0, 1, ...
//
// each step a float32 fused multiply-add, then the scale, then one rounding to
// the output format. The order belongs to the element alone. It does not depend
// on vector width, blocking, the number of workers, the number of rows or the
// rows beside it; so assembly and plain Go, prefill and decode, one core and
// two give the same bits. NaNs are the exception: that a result is NaN is
// promised, its payload and sign are not.
//
// # Declared variations
//
// A [Reduction] names another order:
//
//	canonical                    one chain
//	unfused                      products rounded to float32 before they are added
//	pairwise:L                   chains over leaves of L, halved top down
//	split_k:P                    P contiguous chains, added in order
//	tensor_parallel:R:ring:F     R chains, rounded to F, then a ring all-reduce in F
//	tensor_parallel:R:tree:F     the same over a binary tree
//	tree:L                       chains over leaves of L, neighbours added level by level
//
// with "+unfused" for the chains and "+batch_variant" for an order that changes
// with the number of rows ([Reduction.At] has the table). Sums outside the
// matmuls state their order where they are defined; most are unfused chains,
// because those cost the same everywhere.
//
// # Implementations
//
// Every kernel is plain Go that defines it. On amd64 the inner loops also exist
// as assembly for AVX2 with FMA and for AVX-512, written by the generator in
// gen, committed, and chosen when the program starts by what the processor has;
// [SetPath] overrides the choice. All give the same bits, which tests check
// over odd lengths, hostile values and guard words, and against a committed
// file that arm64 reproduces too. The Go compiler may fuse a product with a
// later sum, even across statements, on arm64 and with GOAMD64=v3, so wherever
// a product is to be rounded it stands in a conversion, float32(a*b).
//
// The plain product emulates the fused step in float64 (fma32). Where the
// compiler fuses anyway, as on arm64, a test at start finds that out and the
// product uses the machine's own instruction.
//
// # Speed, and what bounds it
//
// One core of a Zen 4 server at about 3.7 GHz, whose peak is 32 operations per
// cycle, 118 GFLOP/s, with either instruction set (go test -bench Ladder):
//
//	               naive  gonum   go  avx2  avx512   GFLOP/s
//	1024x64x256      0.6     12  1.3    90     105
//	64x64x64         0.7     15  1.4    76     108
//
// A tile of 8 rows by 32 columns takes 16 multiply-adds and 10 loads per k, so
// the multipliers are the bound and nine tenths of their peak is reached. A
// single row is one dependent chain per 16 columns, four cycles a step; up to
// eight such chains run side by side, and decode of one row at width 64 takes
// 0.2 µs, 40 GFLOP/s. In-order sums (norms, softmax) are chains too: they cost
// four cycles per element alone and half a cycle with eight rows together.
// Attention of many cached sequences is bound by memory: one token of width 64
// reads 512 bytes per earlier position and layer, and with hundreds of
// sequences the caches exceed the second-level cache; fewer slots at a time
// decode faster.
//
// # A tour
//
// [Weight.Pack] prepares a matrix once per version of the weights; [Linear],
// [LinearInputGrad] and [LinearWeightGrad] multiply by it. [Numerics] gives the
// accumulator, output format and reduction. [Attend] works on a key-value cache
// for one query, [AttendRows] for consecutive ones, with the same bits, and
// [AttendGrad] on a whole sequence. A [Scratch] per worker holds temporary
// memory, and a [Team] runs parts of a job on a few workers.
package kernel
