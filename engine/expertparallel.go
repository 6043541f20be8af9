package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

// CombineOrder is the order in which the outputs of a token's experts are added.
type CombineOrder uint8

// The orders.
const (
	// ByRank adds in the order of the gates' ranks, the first choice first.
	ByRank CombineOrder = iota
	// ByExpert adds in the order of the experts' ids.
	ByExpert
	// ByRing, ByTree and ByHome add, device by device, the sums of the experts
	// that live there: passed from device to device as in a ring all-reduce or
	// reduce-scatter, added to those of a neighbour level by level, or sent to the
	// token's own device and added there in fp32, as an all-to-all combine does.
	ByRing
	ByTree
	ByHome
)

var combineNames = [...]string{"rank", "expert", "ring", "tree", "all_to_all"}

// maxDegree bounds the devices of expert parallelism.
const maxDegree = 256

// ExpertParallel declares how the outputs of a token's experts become one sum.
// The zero value adds them in fp32 by rank. It is comparable.
//
// Under expert parallelism of degree n, device g holds the experts of ids
// g·⌈E/n⌉ up to (g+1)·⌈E/n⌉ − 1. It adds the gate-weighted outputs of those it
// holds in fp32, by rank, and sends the sum in the wire format; a device without
// any adds nothing. In a ring the columns are cut into one chunk per device, and
// a chunk's sum begins at its own device and takes the others in cyclic order,
// so that a token's result does not depend on its place in the batch. Each sum
// of a ring and of a tree is rounded to the wire format. At degree 1 nothing
// travels, and the results are bit-identical to the zero value's.
//
// A top-2 model adds two numbers: no order matters, only the wire does.
//
// It acts on the forward pass. The backward pass differentiates the sum, as with
// tensor parallelism: straight-through, in fp32, by rank.
type ExpertParallel struct {
	// Order is the order; the devices' ones need a Degree and a Wire.
	Order CombineOrder
	// Degree is the number of devices, 1..256.
	Degree int
	// Wire is the format in which the sums of devices travel.
	Wire precision.Format
}

// ParseExpertParallel reads the form that String writes: "rank", "expert", or
// DEGREE:ring|tree|all_to_all:FORMAT. DEGREE:FORMAT is a ring.
func ParseExpertParallel(s string) (ExpertParallel, error) {
	fields := strings.Split(strings.TrimSpace(s), ":")
	fail := func(problem string) (ExpertParallel, error) {
		return ExpertParallel{}, fmt.Errorf("expert_parallel %q: %s; use rank, expert, or DEGREE:ring|tree|all_to_all:FORMAT such as 4:ring:bf16", s, problem)
	}
	if len(fields) == 1 {
		order := slices.Index(combineNames[:ByRing], fields[0])
		if order < 0 {
			return fail("unknown order")
		}
		return ExpertParallel{Order: CombineOrder(order)}, nil
	}
	if len(fields) == 2 {
		fields = []string{fields[0], combineNames[ByRing], fields[1]}
	}
	if len(fields) != 3 {
		return fail(fmt.Sprintf("%d fields", len(fields)))
	}
	var x ExpertParallel
	var err error
	if x.Degree, err = strconv.Atoi(fields[0]); err != nil {
		return fail(fmt.Sprintf("%q is not a whole number", fields[0]))
	}
	order := slices.Index(combineNames[:], fields[1])
	if order < int(ByRing) {
		return fail(fmt.Sprintf("unknown way %q", fields[1]))
	}
	x.Order = CombineOrder(order)
	if err := x.Wire.UnmarshalText([]byte(fields[2])); err != nil {
		return fail(err.Error())
	}
	if err := x.Validate(); err != nil {
		return fail(err.Error())
	}
	return x, nil
}

// Validate reports whether the fields go together.
func (x ExpertParallel) Validate() error {
	if x.Order > ByHome {
		return fmt.Errorf("unknown order %d", x.Order)
	}
	if x.Order < ByRing {
		if x != (ExpertParallel{Order: x.Order}) {
			return fmt.Errorf("the order %s has no devices", combineNames[x.Order])
		}
		return nil
	}
	if x.Degree < 1 || x.Degree > maxDegree {
		return fmt.Errorf("a degree of %d is outside [1, %d]", x.Degree, maxDegree)
	}
	if err := x.Wire.Validate(); err != nil {
		return fmt.Errorf("wire %w", err)
	}
	if x.Wire.Integer() {
		return fmt.Errorf("wire %s has no scale here; use a floating-point format", x.Wire)
	}
	return nil
}

// String writes x in the form ParseExpertParallel reads.
func (x ExpertParallel) String() string {
	switch {
	case x.Order > ByHome:
		return fmt.Sprintf("expert_parallel(%d)", x.Order)
	case x.Order < ByRing:
		return combineNames[x.Order]
	}
	return fmt.Sprintf("%d:%s:%s", x.Degree, combineNames[x.Order], x.Wire)
}

// MarshalText writes x as String does; an invalid x is an error.
func (x ExpertParallel) MarshalText() ([]byte, error) {
	if err := x.Validate(); err != nil {
		return nil, err
	}
	return []byte(x.String()), nil
}

// UnmarshalText reads what ParseExpertParallel reads.
func (x *ExpertParallel) UnmarshalText(text []byte) (err error) {
	*x, err = ParseExpertParallel(string(text))
	return err
}

// essential is x without what decides nothing: on one device nothing travels.
func (x ExpertParallel) essential() ExpertParallel {
	if x.Order >= ByRing && x.Degree == 1 {
		return ExpertParallel{}
	}
	return x
}

// combiner adds the outputs of one token's experts. Each worker has its own.
type combiner struct {
	eager  bool             // each product and each sum by rank or by expert is rounded to format
	format precision.Format // of the activations
	order  []int            // ranks, by expert
	plane  []int            // per device, where its sum is, -1 without any
	sums   []float32        // [devices in use, d]
	held   int              // the number of devices in use
	slots  []int32          // the token's slots in out, by rank
	out    []float32        // the experts' outputs, [slots, d]
}

func (k *combiner) output(rank, d int) []float32 { return k.out[int(k.slots[rank])*d:][:d] }

// sum sets dst to gates[rank] times the output of that rank, summed over all ranks.
func (k *combiner) sum(dst []float32, x *ExpertParallel, all int, experts []uint8, gates []float32) {
	if x.Order <= ByExpert {
		k.inOrder(dst, x.Order == ByExpert, experts, gates)
		return
	}
	per := (all + x.Degree - 1) / x.Degree
	d := len(dst)
	k.plane, k.held = grown(k.plane, x.Degree), 0
	for g := range k.plane {
		k.plane[g] = -1
	}
	k.sums = grown(k.sums, len(experts)*d)
	for rank, id := range experts {
		g := int(id) / per
		if k.plane[g] < 0 {
			k.plane[g] = k.held
			k.held++
			clear(k.at(g, d))
		}
		kernel.AddScaled(k.at(g, d), k.output(rank, d), gates[rank])
	}
	round(x.Wire, k.sums[:k.held*d])
	switch x.Order {
	case ByTree:
		k.byTree(dst, x)
	case ByRing:
		k.byRing(dst, x)
	default:
		clear(dst)
		for _, at := range k.plane {
			if at >= 0 {
				kernel.Add(dst, dst, k.sums[at*d:][:d])
			}
		}
	}
}

func (k *combiner) at(device, d int) []float32 { return k.sums[k.plane[device]*d:][:d] }

// inOrder adds by rank, or by the ids of the experts.
func (k *combiner) inOrder(dst []float32, byExpert bool, experts []uint8, gates []float32) {
	k.order = k.order[:0]
	for rank := range experts {
		k.order = append(k.order, rank)
		for i := rank; byExpert && i > 0 && experts[k.order[i-1]] > experts[k.order[i]]; i-- {
			k.order[i-1], k.order[i] = k.order[i], k.order[i-1]
		}
	}
	clear(dst)
	for _, rank := range k.order {
		if k.eager {
			kernel.AddScaledEager(dst, k.output(rank, len(dst)), gates[rank], k.format)
		} else {
			kernel.AddScaled(dst, k.output(rank, len(dst)), gates[rank])
		}
	}
}

// byTree adds neighbouring devices' sums level by level.
func (k *combiner) byTree(dst []float32, x *ExpertParallel) {
	d := len(dst)
	for step := 1; step < x.Degree; step *= 2 {
		for g := 0; g+step < x.Degree; g += 2 * step {
			switch other := k.plane[g+step]; {
			case other < 0:
			case k.plane[g] < 0:
				k.plane[g] = other
			default:
				into := k.at(g, d)
				kernel.Add(into, into, k.sums[other*d:][:d])
				round(x.Wire, into)
			}
		}
	}
	copy(dst, k.at(0, d))
}

// byRing starts each chunk of columns at its own device.
func (k *combiner) byRing(dst []float32, x *ExpertParallel) {
	d := len(dst)
	chunk := (d + x.Degree - 1) / x.Degree
	for from := 0; from < d; from += chunk {
		to := min(from+chunk, d)
		part, owner, first := dst[from:to], from/chunk, true
		for h := range x.Degree {
			at := k.plane[(owner+h)%x.Degree]
			switch {
			case at < 0:
			case first:
				copy(part, k.sums[at*d+from:at*d+to])
				first = false
			default:
				kernel.Add(part, part, k.sums[at*d+from:at*d+to])
				round(x.Wire, part)
			}
		}
	}
}
