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
// rows next to it; so assembly and plain Go, prefill and decode, one core and
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
// Every kernel is plain Go that defines it. The inner loops also exist as assembly
// for AVX2 with FMA, for AVX-512 and for arm64's NEON, written by the generator in
// gen, committed, and chosen when the program starts by what the processor has;
// [SetPath] overrides the choice, and the build tag purego leaves plain Go alone.
// All give the same bits, which tests check over odd lengths, hostile values and
// guard words, and against a committed file. What Go's assembler for arm64 lacks,
// which is most of its vector arithmetic, the generator encodes itself. The Go
// compiler may fuse a product with a later sum, even across statements, on arm64
// and with GOAMD64=v3, so wherever a product is to be rounded it stands in a
// conversion, float32(a*b).
//
// The plain product emulates the fused step in float64: a test for 28 zero bits
// finds the sums that two roundings may have spoilt (fma32 has the proof). It walks
// tiles of eight chains over operands copied to float64. Where the compiler fuses
// anyway, as on arm64, a test at start finds that out and the product uses the
// machine's own instruction.
//
// # Speed
//
// Figures, with their machine and date, are in experiments/bench/README.md; go test
// -bench . gives those of this package. arm64's loops were never timed. What the code
// is built for:
//
//   - A tile of 8 rows by 32 columns takes 16 multiply-adds and 10 loads per k, so the
//     multipliers bound it. A single row is one dependent chain per 16 columns, and up
//     to eight of these run side by side.
//   - In-order sums (norms, softmax, the gradient of gates) are chains of additions. One
//     alone waits for itself, so rows are taken together. Attention of consecutive
//     queries gives each a lane of a register: what one query adds up key by key is a
//     lane-wise sum then, and its maximum needs no step across lanes.
//   - An exponential is a chain of 25 operations, of which a processor holds about four
//     at a time: assembly with registers for it takes four side by side.
//   - What reads memory a row at a time (a decoded token's keys and values, the
//     activations kept for the backward pass) is bound by that. Queries, keys and
//     values stay where the fused projection left them. The operands of SiLU's
//     gradient, the keys and values of the next sequence and the next columns of weights
//     are asked for in advance.
//   - Rows that lie far apart defeat caches and prefetchers: a large product whose operands
//     are such copies them first, in assembly that asks for the rows ahead.
//
// # A tour
//
// [Weight.Pack] prepares a matrix once per version of the weights; [Linear],
// [LinearInputGrad] and [LinearWeightGrad] multiply by it. [Numerics] gives the
// accumulator, output format and reduction. [Attention.Attend] works on a key-value
// cache for one query or consecutive ones, with the same bits, and
// [Attention.AttendGrad] on a whole sequence. A [Scratch] per worker holds temporary
// memory, and a [Team] runs parts of a job on a few workers.
package kernel
