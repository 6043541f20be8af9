package engine

import (
	"driftlab/model"
)

// Cache keeps keys and values of a fixed number of sequences, by slot. Keys
// are stored transposed, [head dim][position], so that the scores of one query
// against all keys are one vector loop; values are [position][head dim].
type Cache struct {
	capacity int // positions per slot, a multiple of 16
	slots    int
	perSlot  int // floats per slot, layer and side
	keys     [][]float32
	values   [][]float32 // by layer
}

// NewCache returns a cache for slots sequences of at most the model's context.
func NewCache(c model.Config, slots int) *Cache {
	capacity := roundUp16(c.Context)
	k := &Cache{capacity: capacity, slots: slots, perSlot: c.KVHeads * c.HeadDim() * capacity}
	for range c.Layers {
		k.keys = append(k.keys, make([]float32, slots*k.perSlot))
		k.values = append(k.values, make([]float32, slots*k.perSlot))
	}
	return k
}

// Slots returns the number of sequences the cache can hold.
func (k *Cache) Slots() int { return k.slots }

// at returns keys and values of one slot in one layer, all heads.
func (k *Cache) at(layer, slot int) (keys, values []float32) {
	from := slot * k.perSlot
	return k.keys[layer][from : from+k.perSlot], k.values[layer][from : from+k.perSlot]
}

func roundUp16(n int) int { return (n + 15) &^ 15 }
