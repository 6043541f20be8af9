package moe

import "fmt"

// Dispatch is a batch of tokens sorted by expert: each (row, rank) pair of a
// routing decision gets a slot, the slots of one expert are consecutive, and
// within an expert rows ascend. So each expert runs once, on a dense block of
// rows, and the order of its rows does not depend on the other experts.
//
// The zero value is ready; Plan may be called again and again, and allocates
// only when the plan grows.
type Dispatch struct {
	// Experts and TopK are the values of the last plan.
	Experts, TopK int
	// Offsets has Experts+1 entries: expert e owns the slots Offsets[e]..Offsets[e+1].
	Offsets []int32
	// Row is the token row of each slot, [rows*TopK].
	Row []int32
	// Pair is the index row*TopK+rank of each slot, the place of its gate in
	// the weights, [rows*TopK].
	Pair []int32
	// Slot is the inverse of Pair: the slot of each (row, rank), [rows, TopK].
	Slot []int32

	next []int32
}

// Plan sorts rows tokens with the given expert ids, [rows, topK]. It panics on
// an id outside the experts and on a shape that does not fit.
func (d *Dispatch) Plan(ids []uint8, rows, topK, experts int) {
	if len(ids) != rows*topK || topK < 1 || experts < 1 || experts > MaxExperts {
		panic(fmt.Sprintf("moe: Plan of %d ids for %d rows, top %d of %d experts", len(ids), rows, topK, experts))
	}
	d.Experts, d.TopK = experts, topK
	d.Offsets = grown(d.Offsets, experts+1)
	d.next = grown(d.next, experts)
	d.Row, d.Pair, d.Slot = grown(d.Row, len(ids)), grown(d.Pair, len(ids)), grown(d.Slot, len(ids))
	clear(d.Offsets)
	for i, id := range ids {
		if int(id) >= experts {
			panic(fmt.Sprintf("moe: Plan with expert %d at row %d, there are %d", id, i/topK, experts))
		}
		d.Offsets[id+1]++
	}
	for e := range experts {
		d.next[e] = d.Offsets[e]
		d.Offsets[e+1] += d.Offsets[e]
	}
	pair := int32(0)
	for row := range int32(rows) {
		for range topK {
			id := ids[pair]
			slot := d.next[id]
			d.next[id]++
			d.Row[slot], d.Pair[slot], d.Slot[pair] = row, pair, slot
			pair++
		}
	}
}

// Grow makes room for plans of the given number of (row, rank) pairs, so that
// they allocate nothing.
func (d *Dispatch) Grow(pairs, experts int) {
	d.Offsets, d.next = grown(d.Offsets, experts+1), grown(d.next, experts)
	d.Row, d.Pair, d.Slot = grown(d.Row, pairs), grown(d.Pair, pairs), grown(d.Slot, pairs)
}

// grown returns a slice of length n, reusing the memory of s where it suffices.
// New memory has an eighth to spare: the sizes of batches wander.
func grown(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n, n+n/8)
	}
	return s[:n]
}

// Span is the half-open range of the slots of expert e.
func (d *Dispatch) Span(e int) (from, to int) { return int(d.Offsets[e]), int(d.Offsets[e+1]) }

// Gather copies the rows of x, [rows, width], into slot order: dst is [Slots, width].
func (d *Dispatch) Gather(dst, x []float32, width int) {
	for slot, row := range d.Row {
		copy(dst[slot*width:(slot+1)*width], x[int(row)*width:(int(row)+1)*width])
	}
}
