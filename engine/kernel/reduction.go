package kernel

import (
	"fmt"

	"driftlab/precision"
)

// Kind names the order in which the products of one output element are added.
type Kind uint8

const (
	// Canonical is one chain of multiply-adds over k in increasing order.
	Canonical Kind = iota
	// Pairwise halves the range of leaf blocks top down, the left half taking
	// the odd block, and adds the two halves' sums.
	Pairwise
	// SplitK cuts k into Parts contiguous ranges, one chain each, and adds the
	// partial sums in order.
	SplitK
	// TensorParallel cuts k among Parts ranks and all-reduces the partial sums
	// over a wire format.
	TensorParallel
	// Tree adds the sums of leaf blocks pairwise, neighbours first, level by
	// level. Ranks that own an aligned power of two of leaves hold whole
	// subtrees, so the result does not depend on how many ranks there are: the
	// tree-based invariant kernels (TBIK) of arXiv 2511.17826. With Parts set, each
	// of so many ranks takes ceil(leaves/Parts) consecutive leaves, adds its own
	// pairwise, and the ranks' sums are then added pairwise in float32.
	Tree
	kinds
)

// Topology is the shape of a tensor-parallel all-reduce.
type Topology uint8

const (
	// Ring passes the sum from rank to rank. The columns are cut into one chunk
	// per rank; a chunk's sum starts at the rank that owns it and takes the
	// ranks' partials in cyclic order, rounded to the wire format at each hop.
	Ring Topology = iota
	// TreeAllReduce adds neighbouring ranks' sums level by level, each sum
	// rounded to the wire format.
	TreeAllReduce
)

// Reduction declares how a sum over k is ordered and rounded. The zero value
// is the canonical reduction. It is comparable; fields that a kind does not
// use must be zero for two equal orders to compare equal.
type Reduction struct {
	// Kind is the order.
	Kind Kind
	// Parts is the number of ranges of k (SplitK) or ranks (TensorParallel),
	// 2..256. Each takes ceil(K/Parts) consecutive k; the last may be short or
	// empty, and an empty one adds +0. Of Tree it is the ranks; 0 is one rank.
	Parts int
	// Leaf is the number of consecutive k in one leaf chain (Pairwise, Tree),
	// 1 or more. The last leaf may be short.
	Leaf int
	// Topology is the all-reduce's shape (TensorParallel).
	Topology Topology
	// Wire is the format in which partial sums travel (TensorParallel): every
	// rank's partial and every sum on the way is rounded to it.
	Wire precision.Format
	// Unfused rounds each product to float32 before it is added.
	Unfused bool
	// Promote adds a narrow accumulator's running sum into a float32 one every so
	// many k and starts it again, as kernels do around the accumulators of fp8
	// tensor cores: 128 in DeepSeek-V3 (arXiv 2412.19437, section 3.3.2). Partial
	// sums are then combined in float32. 0 never does; a float32 accumulator
	// takes no notice.
	Promote int
	// BatchVariant makes the order depend on the number of rows in the call, as
	// serving kernels do to fill a device. At gives the table.
	BatchVariant bool
}

// Numbers of rows below which a batch-variant reduction takes another order.
// Serving kernels split k when a batch has too few rows to occupy the device,
// the more the fewer the rows (Thinking Machines, "Defeating nondeterminism in
// LLM inference", 2025); the thresholds stand for tiles of 16 and 64 rows.
const (
	variantFewRows  = 16
	variantSomeRows = 64
)

// At returns the reduction that a batch of rows uses; the result is never
// batch-variant.
//
//	rows    TensorParallel                     every other kind
//	< 16    binary-tree all-reduce             split_k:4
//	< 64    binary-tree all-reduce             split_k:2
//	else    as declared                        as declared
//
// Communication libraries choose the topology by message size in the same way:
// a tree while latency dominates, a ring when bandwidth does.
func (r Reduction) At(rows int) Reduction {
	if !r.BatchVariant {
		return r
	}
	r.BatchVariant = false
	if rows >= variantSomeRows {
		return r
	}
	if r.Kind == TensorParallel {
		r.Topology = TreeAllReduce
		return r
	}
	parts := 2
	if rows < variantFewRows {
		parts = 4
	}
	return Reduction{Kind: SplitK, Parts: parts, Unfused: r.Unfused, Promote: r.Promote}
}

// Local is the reduction of an operation that is never split across ranks:
// tensor-parallel becomes canonical, and a tree has one rank.
func (r Reduction) Local() Reduction {
	switch r.Kind {
	case TensorParallel:
		return Reduction{Unfused: r.Unfused, Promote: r.Promote, BatchVariant: r.BatchVariant}
	case Tree:
		r.Parts = 0
	}
	return r
}

// Validate reports whether the fields fit the kind.
func (r Reduction) Validate() error {
	switch {
	case r.Kind >= kinds:
		return fmt.Errorf("kernel: unknown reduction kind %d", r.Kind)
	case (r.Kind == SplitK || r.Kind == TensorParallel) && (r.Parts < 2 || r.Parts > maxParts):
		return fmt.Errorf("kernel: %s needs 2 to %d parts, not %d", kindNames[r.Kind], maxParts, r.Parts)
	case (r.Kind == Pairwise || r.Kind == Tree) && r.Leaf < 1:
		return fmt.Errorf("kernel: %s needs a leaf of 1 or more, not %d", kindNames[r.Kind], r.Leaf)
	case r.Kind == Tree && (r.Parts < 0 || r.Parts == 1 || r.Parts > maxParts):
		return fmt.Errorf("kernel: tree takes 2 to %d ranks, or none, not %d", maxParts, r.Parts)
	case r.Promote < 0:
		return fmt.Errorf("kernel: sums are promoted every 1 or more k, not %d", r.Promote)
	case r.Topology > TreeAllReduce:
		return fmt.Errorf("kernel: unknown all-reduce topology %d", r.Topology)
	}
	return nil
}

// maxParts bounds split-k parts and tensor-parallel ranks.
const maxParts = 256

// chunk returns how many consecutive k each part or leaf takes when a cut may
// fall only between units (the blocks of a block-scaled weight; otherwise 1).
func (r Reduction) chunk(k, unit int) int {
	switch r.Kind {
	case SplitK, TensorParallel:
		return ceilDiv(ceilDiv(k, unit), r.Parts) * unit
	case Pairwise, Tree:
		return ceilDiv(r.Leaf, unit) * unit
	}
	return k
}

// segments returns how many chains a sum over k has under r.
func (r Reduction) segments(k, unit int) int {
	switch r.Kind {
	case SplitK, TensorParallel:
		return r.Parts
	case Pairwise, Tree:
		return max(1, ceilDiv(k, r.chunk(k, unit)))
	}
	return 1
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
