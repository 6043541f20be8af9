package engine

import (
	"fmt"

	"driftlab/model"
)

// Cache keeps keys and values of a fixed number of sequences, by slot. Keys
// are stored transposed, [head dim][position], so that the scores of one query
// against all keys are one vector loop; values are [position][head dim].
type Cache struct {
	capacity int // positions per slot, a multiple of 16
	slots    int
	perSlot  int // floats per slot, layer and side
	headDim  int
	keys     [][]float32
	values   [][]float32 // by layer
}

// NewCache returns a cache for slots sequences of at most the model's context.
func NewCache(c model.Config, slots int) *Cache {
	capacity := roundUp16(c.Context)
	k := &Cache{capacity: capacity, slots: slots, perSlot: c.KVHeads * c.HeadDim() * capacity, headDim: c.HeadDim()}
	for range c.Layers {
		k.keys = append(k.keys, make([]float32, slots*k.perSlot))
		k.values = append(k.values, make([]float32, slots*k.perSlot))
	}
	return k
}

// Slots returns the number of sequences the cache can hold.
func (k *Cache) Slots() int { return k.slots }

// CopyPrefix gives slot dst the keys and values of the first n positions of
// slot src, in every layer. What dst held beyond them is lost.
func (k *Cache) CopyPrefix(dst, src, n int) {
	if n < 0 || n > k.capacity {
		panic(fmt.Sprintf("engine: %d positions to copy, slots hold %d", n, k.capacity))
	}
	// Heads lie one behind the other, and keys in panels of 16 positions.
	head, keys, values := k.capacity*k.headDim, roundUp16(n)*k.headDim, n*k.headDim
	for layer := range k.keys {
		toKeys, toValues := k.at(layer, dst)
		fromKeys, fromValues := k.at(layer, src)
		for at := 0; at < k.perSlot; at += head {
			copy(toKeys[at:at+keys], fromKeys[at:])
			copy(toValues[at:at+values], fromValues[at:])
		}
	}
}

// at returns keys and values of one slot in one layer, all heads.
func (k *Cache) at(layer, slot int) (keys, values []float32) {
	from := slot * k.perSlot
	return k.keys[layer][from : from+k.perSlot], k.values[layer][from : from+k.perSlot]
}

func roundUp16(n int) int { return (n + 15) &^ 15 }
