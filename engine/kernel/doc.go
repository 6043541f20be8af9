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
// # A tour
//
// [Weight.Pack] prepares a matrix once per version of the weights; [Linear],
// [LinearInputGrad] and [LinearWeightGrad] multiply by it. [Numerics] gives the
// accumulator, output format and reduction. [Attend] works on a key-value cache
// for one query, [AttendRows] for consecutive ones, with the same bits, and
// [AttendGrad] on a whole sequence. A [Scratch] per worker holds temporary
// memory, and a [Team] runs parts of a job on a few workers.
package kernel
