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
// Without such an instruction a step takes half a nanosecond, two cycles: a product,
// a sum, two conversions and the test. Sum and conversions share two of Zen 4's
// ports, which makes one and a half cycles the least for this method. Twenty steps
// of the default recipe on one core take 6.1 s in plain Go and 0.65 with AVX-512;
// with a step that looked for both kinds of midpoint and converted its operands
// every time it was 9.7 (processor time, the least of three runs in turns on a
// machine shared with strangers).
//
// # Speed, and what bounds it
//
// Two cores of a virtual Zen 4 server at about 3.7 GHz, 32 KiB and 1 MiB of cache
// each, 32 MiB shared. Peak: 32 operations per cycle, 118 GFLOP/s a core, with
// either instruction set. Copying, read and written: 93 GB/s a core in the
// second-level cache, 53 in the third, 27 from memory, 42 for both cores
// together. One core, go test -bench Ladder, compared with OpenBLAS 0.3.21:
//
//	               naive  gonum   go  avx2  avx512  OpenBLAS   GFLOP/s
//	1024x64x256      0.6     18  2.7   107     113       101
//	64x64x64         0.6     10  2.9   106     112    92-101
//
// A tile of 8 rows by 32 columns takes 16 multiply-adds and 10 loads per k, so
// the multipliers are the bound, and nine tenths of their peak is reached. A
// single row is one dependent chain per 16 columns, four cycles a step; up to
// eight such chains run side by side, and decode of one row at width 64 takes
// 0.2 µs, 40 GFLOP/s. In-order sums (norms, softmax) are chains too: they cost
// four cycles per element alone and half a cycle with eight rows together.
//
// On arm64 nothing was timed: its assembly was tested under emulation. neon.md
// counts its loops instead, and says what they allow on Apple's M1 and on Neoverse
// N1: the tiles of four and six rows, and those of two by 32 columns, are bound by
// the multipliers alone, at 102 and 40 GFLOP/s a core; a single row of 64 columns by
// its loads, at 71 and 94 % of that. An exponential is 8 instructions per element.
//
// # A step of reinforcement learning
//
// simulate bench: 431,424 parameters, 256 responses of 16+48 tokens in groups of 8,
// fp32; medians, and the range of the runs, on a machine whose cores others wanted
// ten times over. Tokens count a prompt for each response. FLOP are two per
// multiply-add of products and attention, by two conventions: as computed, a prompt
// once for its group and one forward pass for scoring and training, 14.7 GFLOP a
// step; or as if nothing were shared, 22.9. The roofline is the first product above,
// 113 GFLOP/s a core. The shares are of one thread, in the quieter runs.
//
//	                      1 thread           2 threads   roofline   unshared
//	generate, tok/s   145k 108-159k      247k 228-275k       41 %       51 %
//	score, tok/s      225k 183-242k      403k 333-444k       46 %       57 %
//	train, tok/s      120k 101-139k      180k 144-227k       50 %       93 %
//	step, seconds     0.29 0.26-0.37     0.18 0.16-0.21
//
// Where the time of one thread goes, by profile: products 61 % (attention's among
// them), copies between layouts 7 %, SiLU and its gradient 6 %, norms 4 %, router,
// gates and dispatch 4 %, the softmax of attention 3 %, rotary positions 3 %,
// log-softmax and drawing 2 %, AdamW 1 %, calls and the rest.
//
// What bounds it: at the roofline the products would take 0.13 s. They take 0.17:
// tiles have edges, for the rows of an expert are no multiple of eight and a head is
// 16 columns wide (what that costs was not measured apart). Two thirds as much again
// is arithmetic that is no multiply-add, at one tenth of the speed per element (an
// exponential takes 0.5 ns, 27 operations), copies, and short calls. Memory is not
// the bound: kept activations, 6.2 KB per row and layer (4.1 since the inputs of projections
// are computed again), are written once and read once, 0.3 GB a step or a hundredth of a second; whatever else a block of 256 rows
// writes is found again in cache. Weights, 1.7 MB, come from the third level once per
// block; decode, with 32 rows per core, reads them and 1 KB per earlier position and
// token for every step.
//
// Two threads make a step 1.65 and 1.85 times as fast (two series in turns with one,
// at real-time priority; goal 1.8): generation, which waits once, 1.9 to 2.1, training
// 1.4 to 1.7. It meets some 200 times a batch, at every stage of every round of blocks,
// because a gradient is one sum over the rows in order, and a core that is slowed down
// slows both. Serial on the caller remain packing the weights (1 ms each for sampler
// and learner), the loss, entropies and the gradient's norm, about 4 ms of a step.
//
// Runs side by side need not wait for each other, go test -bench SideBySide
// ./experiments: two at a time, a worker each, in memory or with their folders, come
// to 0.89 to 1.06 of twice what one does alone, 0.99 in the middle of ten series
// (goal 0.95). The garbage collector takes less than one percent.
//
// # Compared with eager PyTorch
//
// The peer is what one would write instead, the same step in eager PyTorch (1.13):
// a decoder of these sizes with positions learned; the queries, keys and values of a
// layer one product; each expert applied to the rows that chose it; all responses
// decoded together from a cache of full length, without gradients; their log-probs
// once more in one pass; then a clipped and corrected loss, its gradient, the norm
// clipped, and Adam. Each phase has the median of three steps by the wall clock,
// after one that warms up. It and simulate bench --json run alternately, as
// processes on as many threads, and what counts is the median of the ratios of
// neighbours. Its products have to be OpenBLAS's: with the reference BLAS, which an
// installation may bring without a word, the peer is six times slower.
//
// Ten rounds on one thread, and ten on two, where the load was felt more:
//
//	               peer, tok/s   1 thread             2 threads          goal
//	generate           22-29k    5.6  4.9-7.0         7.9   5.2-11.6       15
//	score            99-112k     2.2  2.0-2.4         2.6   1.8-3.8         5
//	train             32-38k     3.4  3.1-3.6         2.8   2.1-4.5         6
//	a step         1.0-1.2 s     3.7  3.5-4.2         3.9   3.1-5.5         9
//
// The goals are missed, and that of scoring cannot be met against this peer: on one
// thread it scores at 29 GFLOP/s, a quarter of the roofline, and five times that would
// be 116 as we compute it, more than a core has. Six times its training is 85 % of the
// roofline.
//
// # Formats, sizes, recipes
//
//   - The default recipe takes 27 to 34 ms of processor time a step on one core; a
//     build that shares neither prompts nor the scoring pass takes 1.7 to 1.9 times
//     as much (goal 2). At its width of 32 a third of that is products; the rest is
//     attention, copies and calls for a few rows.
//   - bf16 takes 1.01 to 1.05 times the time of fp32, fp16 1.03 to 1.05, fp8-w8a8
//     1.08 to 1.11 (goal 1.15).
//   - Memory: 222 MiB, where a build that shares nothing takes 257. A context of
//     1,024 (16 responses of 16+1008 tokens): 294 MiB. A model of 13.7 million
//     parameters (width 256, 4 layers, 8 experts of 512), 64 responses: 814 MiB. With
//     --recompute, which computes activations again in the backward pass instead of
//     keeping them: 129 and 553 MiB, for a quarter more time in training.
//
// # A tour
//
// [Weight.Pack] prepares a matrix once per version of the weights; [Linear],
// [LinearInputGrad] and [LinearWeightGrad] multiply by it. [Numerics] gives the
// accumulator, output format and reduction. [AttendRows] works on a key-value
// cache for one query or consecutive ones, with the same bits, and [AttendGrad]
// on a whole sequence. A [Scratch] per worker holds temporary
// memory, and a [Team] runs parts of a job on a few workers.
package kernel
