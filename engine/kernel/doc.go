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
// Every kernel is plain Go that defines it. The inner loops also exist as assembly
// for AVX2 with FMA, for AVX-512 and for arm64's NEON, written by the generator in
// gen, committed, and chosen when the program starts by what the processor has;
// [SetPath] overrides the choice, and the build tag purego leaves plain Go alone.
// All give the same bits, which tests check over odd lengths, hostile values and
// guard words, and against a committed file. What Go's assembler for arm64 lacks,
// which is most of its vector arithmetic, the generator encodes itself. The Go compiler may fuse a product with a
// later sum, even across statements, on arm64 and with GOAMD64=v3, so wherever
// a product is to be rounded it stands in a conversion, float32(a*b).
//
// The plain product emulates the fused step in float64: a test for 28 zero bits
// finds the sums that two roundings may have spoilt (fma32 has the proof). It walks
// tiles of eight chains over operands copied to float64. Where the compiler fuses
// anyway, as on arm64, a test at start finds that out and the product uses the
// machine's own instruction. The build tag purego leaves all assembly out.
//
// # Speed, and what bounds it
//
// Two cores of a virtual Zen 4 server at about 3.7 GHz, 32 KiB and 1 MiB of cache
// each, 32 MiB shared. Peak: 32 operations per cycle, 118 GFLOP/s a core, with
// either instruction set. Copying, read and written: 93 GB/s a core in the
// second-level cache, 53 in the third, 27 from memory, 42 for both cores
// together. One core (go test -bench Ladder):
//
//	               naive  gonum   go  avx2  avx512   GFLOP/s
//	1024x64x256      0.7     19  1.3   107   105-113
//	64x64x64         0.7     12  1.4    79   100-112
//
// A tile of 8 rows by 32 columns takes 16 multiply-adds and 10 loads per k, so
// the multipliers are the bound, and nine tenths of their peak is reached. A
// single row is one dependent chain per 16 columns, four cycles a step; up to
// eight such chains run side by side, and decode of one row at width 64 takes
// 0.2 µs, 40 GFLOP/s. In-order sums (norms, softmax) are chains too: they cost
// four cycles per element alone and half a cycle with eight rows together.
//
// One step of reinforcement learning, simulate bench: 431,424 parameters, 256
// responses of 16+48 tokens, fp32. Medians of six runs of five steps, one and two
// threads in turns, and the range of the runs, on a machine shared with strangers:
//
//	                         1 thread           2 threads
//	generate, tok/s   126k  114-137k     230k  192-264k
//	score, tok/s      219k  200-229k     413k  318-451k
//	train, tok/s       64k    61-70k     120k   91-133k
//	step, seconds     0.43 0.40-0.46     0.23 0.21-0.30
//
// The most memory the process held, resident, was 254 MiB with one thread and 256
// with two.
//
// Where the time of one thread goes, by profile: matrix products 57 % (attention's
// among them), SiLU and its gradient 5 %, copies between layouts 4 %, the
// softmax of attention 3 %, rotary positions 3 %, router, gates and dispatch 4 %,
// norms 3 %, log-softmax and drawing 1 %, AdamW 1 %, calls and the rest. A fifth
// of the products are gradients of weights.
//
// The roofline. A row costs 0.28 MFLOP forward and twice that backward. The step
// is 4.2 GFLOP of generation (prompts included), 4.1 of scoring, 12.4 of training:
// 0.18 s of one core's peak, 0.09 s of two. So a step runs at two fifths of the
// peak, scoring at half. The other half is arithmetic that is no multiply-add, at
// one tenth of the speed per element (an exponential takes 0.5 ns, 27 operations),
// and short calls. Memory is not the bound any more where it can be avoided:
// kept activations, 6.2 KB per row and layer, are written once and read once, 0.4
// GB a step or a hundredth of a second; whatever else a block of 256 rows writes
// is found again in cache. Weights, 1.7 MB, come from the third level once per
// block; decode, with 32 rows per core, reads them and 1 KB per earlier position
// and token for every step, 3 MB or 0.06 of its 0.25 ms.
//
// On arm64 nothing was timed: its assembly was tested under emulation. neon.md
// counts its loops instead, and says what they allow on Apple's M1 and on Neoverse
// N1: the tiles of four and six rows, and those of two by 32 columns, are bound by
// the multipliers alone, at 102 and 40 GFLOP/s a core; a single row of 64 columns by
// its loads, at 71 and 94 % of that. An exponential is 8 instructions per element.
//
// The goals, and what is between them and the figures:
//
//   - Eager PyTorch could not be run beside it. Its figures on two cores are those
//     the goals were set with, for the same model and batch: 10-18 thousand
//     tokens/s generating, 60-85 scoring, 17-28 training, so 1.5 to 2.5 s a step.
//     They are of another hour; read the ratios as such. By the medians generation
//     is 13 to 23 times as fast (goal 10), scoring 5 to 7 (goal 3), training 4 to 7
//     (goal 3), a step 6.5 to 11 (goal 6); our slowest run against the fastest end of
//     theirs is 11, 3.7, 3.3 and 5.
//   - OpenBLAS could not be run either; 90-110 GFLOP/s is its published figure for
//     such a core. Against that both shapes reach 0.9 and more (goal 0.6).
//   - Two threads against one (goal 1.8), both in one process and step by step in
//     turns, which cancels most of what the neighbours do. Medians of six runs of
//     21 pairs, in an hour in which single steps differed by a quarter: a step is
//     1.75 to 1.94 times as fast, 1.83 in the middle; generation 1.69 to 1.95,
//     scoring 1.84 to 2.03, training 1.69 to 1.91. So the goal is met in the middle
//     and not every time. Two processes of one thread each, side by side, do 1.9 to
//     2.07 times the work of one: that is what the machine has to give.
//   - Before workers decoded in lanes a step was 1.64 to 1.87 times as fast, 1.78 in
//     the middle of five such runs, and generation 1.4 to 1.78. Calls of three
//     engines in turns, 57 each, say more: where every step of a decode waits for
//     both workers, some 200 times a batch, generation takes 0.58 to 0.61 of one
//     worker's time, and with a lane for each 0.51 (responses of ragged lengths:
//     0.60 and 0.50; with 256 slots in place of 64, where there are fewer steps to
//     wait for: 0.47 and 0.45). Lanes end 4 ms of 60 apart in the middle, for a core
//     that the host slows down gives nothing away. Batch-variant numerics and
//     drafting still go in step.
//   - Training still meets some 200 times a batch, at every stage of every round of
//     blocks, because a gradient is one sum over the rows in order; a core that the
//     host slows down slows both. Serial on the caller remain packing the weights
//     (1 ms each for sampler and learner), the loss, entropies and the gradient's
//     norm, about 4 ms of a step; log-softmax and AdamW, 5 ms more on one core, are
//     shared.
//   - bf16, fp16 and fp8-w8a8 take 0.9 to 1.13 times the time of fp32 (goal 1.25).
//   - 512 responses cost, per token, 0.9 to 1.02 times what 64 cost (goal 1).
//   - A context of 1,024 (16 responses of 16+1008 tokens): 0.7 s a step, 308 MiB.
//     A model of 13.7 million parameters (width 256, 4 layers, 8 experts of 512),
//     64 responses: 1.7 s a step, 914 MiB. With --recompute, which computes
//     activations again in the backward pass instead of keeping them: 131 and 582
//     MiB, for 10 to 29 % more time in training on one thread and 8 to 20 % on two.
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
