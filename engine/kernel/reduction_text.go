package kernel

import (
	"fmt"
	"strconv"
	"strings"

	"driftlab/precision"
)

var kindNames = [kinds]string{"canonical", "pairwise", "split_k", "tensor_parallel", "tree"}

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
	kind := -1
	for i, n := range kindNames {
		if n == fields[0] {
			kind = i
		}
	}
	if kind < 0 {
		best := precision.NearestName(fields[0], append([]string{unfusedName}, kindNames[:]...))
		form := best
		for i, n := range kindNames {
			if n == best {
				form = forms[i]
			}
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
		switch f[1] {
		case "ring":
			r.Topology = Ring
		case "tree":
			r.Topology = TreeAllReduce
		default:
			return fmt.Errorf("unknown topology %q; did you mean %q?", f[1], precision.NearestName(f[1], []string{"ring", "tree"}))
		}
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
		topology := "ring"
		if r.Topology == TreeAllReduce {
			topology = "tree"
		}
		wire := r.Wire
		if wire == (precision.Format{}) {
			wire = precision.FP32
		}
		text, _ := wire.MarshalText()
		fmt.Fprintf(&b, ":%d:%s:%s", r.Parts, topology, text)
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
func (r *Reduction) UnmarshalText(text []byte) error {
	v, err := ParseReduction(string(text))
	if err == nil {
		*r = v
	}
	return err
}
