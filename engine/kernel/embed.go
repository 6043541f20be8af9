package kernel

import "fmt"

// Embed copies row ids[r] of table[vocab,d] to row r of dst[len(ids),d].
func Embed(dst, table []float32, ids []int32, d int) {
	for r, id := range ids {
		if id < 0 || int(id+1)*d > len(table) {
			panic(fmt.Sprintf("kernel: token %d outside an embedding of %d rows", id, len(table)/d))
		}
		copy(dst[r*d:][:d], table[int(id)*d:][:d])
	}
}

// EmbedGrad adds each row of dy[len(ids),d] to row ids[r] of dtable, rows in
// order. Only tokens idFrom <= id < idTo are taken, so that workers may own
// disjoint parts of the table; the bounds do not change a bit.
func EmbedGrad(dtable, dy []float32, ids []int32, d, idFrom, idTo int) {
	for r, id := range ids {
		if int(id) < idFrom || int(id) >= idTo {
			continue
		}
		addInto(dtable[int(id)*d:][:d], dy[r*d:])
	}
}
