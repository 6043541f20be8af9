package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	// of Parts ranks takes ceil(leaves/Parts) consecutive leaves, adds its own
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
	// Promote adds a narrow accumulator's running sum into a float32 one every Promote
	// steps of k and starts it again, as kernels do around the accumulators of fp8
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

var kindNames = [kinds]string{"canonical", "pairwise", "split_k", "tensor_parallel", "tree"}

var topologyNames = [...]string{Ring: "ring", TreeAllReduce: "tree"}

// String returns "ring" or "tree".
func (t Topology) String() string { return topologyNames[t] }

// forms are the valid spellings, indexed by Kind, that an error names.
var forms = [kinds]string{"canonical", "pairwise:8", "split_k:4", "tensor_parallel:4:ring:bf16", "tree:8 or tree:8:4"}

const (
	unfusedName      = "unfused"
	batchVariantName = "batch_variant"
	promoteName      = "promote"
)

// ParseReduction reads the form that String writes: "canonical", "unfused",
// "pairwise:LEAF", "split_k:PARTS", "tensor_parallel:RANKS:ring|tree:FORMAT" or
// "tree:LEAF" or "tree:LEAF:RANKS", each optionally followed by "+unfused",
// "+promote:K" and "+batch_variant".
// "unfused" alone is "canonical+unfused".
func ParseReduction(s string) (Reduction, error) {
	var r Reduction
	parts := strings.Split(strings.TrimSpace(s), "+")
	for _, m := range parts[1:] {
		switch m {
		case unfusedName:
			r.Unfused = true
		case batchVariantName:
			r.BatchVariant = true
		default:
			name, count, _ := strings.Cut(m, ":")
			if name != promoteName {
				return Reduction{}, fmt.Errorf("reduction %q: unknown modifier %q; did you mean +%s?", s, m,
					precision.NearestName(m, []string{unfusedName, batchVariantName, promoteName + ":128"}))
			}
			k, err := strconv.Atoi(count)
			if err != nil || k < 1 {
				return Reduction{}, fmt.Errorf("reduction %q: %q is not a number of k, 1 or more; the form is +%s:128", s, count, promoteName)
			}
			r.Promote = k
		}
	}
	fields := strings.Split(parts[0], ":")
	if fields[0] == unfusedName && len(fields) == 1 {
		r.Unfused = true
		return r, nil
	}
	kind := slices.Index(kindNames[:], fields[0])
	if kind < 0 {
		form := precision.NearestName(fields[0], append([]string{unfusedName}, kindNames[:]...))
		if i := slices.Index(kindNames[:], form); i >= 0 {
			form = forms[i]
		}
		return Reduction{}, fmt.Errorf("reduction %q: unknown order %q; did you mean %q?", s, fields[0], form)
	}
	r.Kind = Kind(kind)
	if err := r.parseFields(fields[1:]); err != nil {
		return Reduction{}, fmt.Errorf("reduction %q: %w; the form is %q", s, err, forms[kind])
	}
	return r, nil
}

// parseFields reads what follows the kind's name.
func (r *Reduction) parseFields(f []string) error {
	want := map[Kind]int{Canonical: 0, TensorParallel: 3}
	n, ok := want[r.Kind]
	if !ok {
		n = 1
	}
	if len(f) != n && !(r.Kind == Tree && len(f) == 2) {
		return fmt.Errorf("%d fields after the name, not %d", len(f), n)
	}
	if n == 0 {
		return nil
	}
	v, err := strconv.Atoi(f[0])
	if err != nil {
		return fmt.Errorf("%q is not a whole number", f[0])
	}
	switch r.Kind {
	case Pairwise, Tree:
		r.Leaf = v
		if len(f) == 2 {
			if r.Parts, err = strconv.Atoi(f[1]); err != nil {
				return fmt.Errorf("%q is not a whole number", f[1])
			}
			if r.Parts == 1 {
				r.Parts = 0 // one rank: the tree as it is
			}
		}
	default:
		r.Parts = v
	}
	if r.Kind == TensorParallel {
		topology := slices.Index(topologyNames[:], f[1])
		if topology < 0 {
			return fmt.Errorf("unknown topology %q; did you mean %q?", f[1], precision.NearestName(f[1], topologyNames[:]))
		}
		r.Topology = Topology(topology)
		if err := r.Wire.UnmarshalText([]byte(f[2])); err != nil {
			return err
		}
	}
	return r.Validate()
}

// String writes r in the form ParseReduction reads.
func (r Reduction) String() string {
	var b strings.Builder
	if r.Kind >= kinds {
		return fmt.Sprintf("reduction(%d)", r.Kind)
	}
	if r.Kind == Canonical && r.Unfused {
		b.WriteString(unfusedName)
	} else {
		b.WriteString(kindNames[r.Kind])
	}
	switch r.Kind {
	case Pairwise, Tree:
		fmt.Fprintf(&b, ":%d", r.Leaf)
		if r.Parts > 0 {
			fmt.Fprintf(&b, ":%d", r.Parts)
		}
	case SplitK:
		fmt.Fprintf(&b, ":%d", r.Parts)
	case TensorParallel:
		fmt.Fprintf(&b, ":%d:%s:%s", r.Parts, r.Topology, cmp.Or(r.Wire, precision.FP32))
	}
	if r.Unfused && r.Kind != Canonical {
		b.WriteString("+" + unfusedName)
	}
	if r.Promote > 0 {
		fmt.Fprintf(&b, "+%s:%d", promoteName, r.Promote)
	}
	if r.BatchVariant {
		b.WriteString("+" + batchVariantName)
	}
	return b.String()
}

// MarshalText writes r as String does; an invalid r is an error.
func (r Reduction) MarshalText() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads what ParseReduction reads.
func (r *Reduction) UnmarshalText(text []byte) (err error) {
	*r, err = ParseReduction(string(text))
	return err
}

// Numerics declares the arithmetic of one operation. Inputs are taken as they
// are: whoever produced them rounded them. The zero value is float32 throughout
// in the canonical order.
type Numerics struct {
	// Accumulator is the format of the running sum. The zero Format and FP32
	// are the ordinary case; a narrower one rounds after every step and every
	// combination of partial sums, in plain Go.
	Accumulator precision.Format
	// Output is the format to which each result is rounded once, after the
	// scale. The zero Format means FP32.
	Output precision.Format
	// Reduction is the order of the sum.
	Reduction Reduction
	// Eager rounds a norm to Output before the gain multiplies it, too.
	Eager bool
}
