package rollout

import (
	"fmt"
	"math"
	"math/bits"

	"driftlab/engine"
)

// Policy says which positions a compressed cache gives up.
type Policy string

const (
	// Window keeps the first positions and the newest ones (attention sinks,
	// StreamingLLM, arXiv:2309.17453). All layers and heads hold the same.
	Window Policy = "window"
	// HeavyHitter keeps the first, the newest, and of the rest those that have
	// received the most attention so far (H2O, arXiv:2306.14048), for each layer
	// and key head by itself. Of equals the older goes first.
	HeavyHitter Policy = "heavy_hitter"
)

// Retention says how much of the KV cache the engine keeps while it decodes.
// Prompts are read with full attention, and replies of tools with what is left
// before them: positions are given up when the engine reads a token that it has
// drawn itself. At a length of L positions, the one being read
// included, a slot holds
//
//	min(L, max(Sinks+Recent, Budget or ⌈Keep·L⌉))
//
// of them, and what has been given up never comes back.
type Retention struct {
	// Policy chooses what goes; empty means that nothing does.
	Policy Policy
	// Keep is the share of the positions that stay, 0 to 1. Budget, if it is above
	// 0, is their number and takes the place of Keep.
	Keep   float64
	Budget int
	// Sinks and Recent are the first and the newest positions, which always stay.
	// Recent counts the position being read: 1 or more.
	Sinks, Recent int
}

func (r Retention) held(length int) int {
	n := r.Budget
	if n == 0 {
		// A share such as 0.1 of 30 is not a little more than 3.
		n = int(math.Ceil(float64(r.Keep*float64(length)) - 1e-9))
	}
	return min(length, max(n, r.Sinks+r.Recent))
}

// SetRetention compresses the cache from now on: each response then records which
// positions its tokens saw (KVKept). Nothing may be in progress.
func (e *Engine) SetRetention(r Retention) {
	e.idle("SetRetention")
	if r.Policy == "" {
		e.retainer = nil
		return
	}
	if e.indexed {
		panic("rollout: a compressed cache with sparse attention, whose index chooses among all positions")
	}
	if r.Policy != Window && r.Policy != HeavyHitter || r.Keep < 0 || r.Keep > 1 || r.Budget < 0 || r.Sinks < 0 || r.Recent < 1 {
		panic(fmt.Sprintf("rollout: impossible retention %+v", r))
	}
	k := &retainer{Retention: r, layers: e.config.Layers, kvHeads: e.config.KVHeads}
	k.planes, k.words = 1, engine.RetentionWords(e.config.Context)
	if r.Policy == HeavyHitter {
		k.planes = k.layers * k.kvHeads
		k.mass = engine.NewMass(e.cache)
	}
	k.sets = make([]uint64, len(e.slots)*k.perRow())
	e.retainer = k
}

// keeps reports whether responses record which positions their tokens saw.
func (e *Engine) keeps() bool { return e.retainer != nil || e.indexed }

// retainer holds the positions that each slot still has.
type retainer struct {
	Retention
	layers, kvHeads int
	planes, words   int          // of a row, as in engine.Retention
	sets            []uint64     // [slot][plane][word]
	mass            *engine.Mass // nil where the policy does not read it
}

func (k *retainer) perRow() int { return k.planes * k.words }

// plan lays out what every row of the pack may see, and adds it to the options.
func (l *lane) plan(o *engine.Options) {
	e := l.engine
	k := e.retainer
	if k == nil {
		return
	}
	l.kept.Planes, l.kept.Words, l.kept.Kept = k.planes, k.words, l.kept.Kept[:0]
	per := k.perRow()
	for n, i := range l.ids {
		set, r := k.sets[i*per:(i+1)*per], e.slots[i].response
		for row := l.pack.Offsets[n]; row < l.pack.Offsets[n+1]; row++ {
			position := int(l.pack.Positions[row])
			if position == 0 && k.mass != nil {
				k.mass.Clear(i)
			}
			for plane := range k.planes {
				words := set[plane*k.words:][:k.words]
				if position < len(r.request.Prompt) {
					for w := range words {
						words[w] = engine.FirstBits(position + 1 - w*64)
					}
					continue
				}
				words[position/64] |= 1 << (position % 64)
				if r.Mask[position-len(r.request.Prompt)] {
					k.evict(words, i, plane, position+1)
				}
			}
			l.kept.Kept = append(l.kept.Kept, set...)
			if t := position + 1 - len(r.request.Prompt); t >= 0 {
				r.KVKept = put(r.KVKept, t*len(set), set)
			}
		}
	}
	o.Retention, o.Mass = &l.kept, k.mass
}

// evict gives up positions of one plane of a slot until it holds no more than
// it may at that length.
func (k *retainer) evict(words []uint64, slot, plane, length int) {
	held := 0
	for _, w := range words {
		held += bits.OnesCount64(w)
	}
	for ; held > k.held(length); held-- {
		victim := k.victim(words, slot, plane, length)
		words[victim/64] &^= 1 << (victim % 64)
	}
}

// victim is the position that goes next: the oldest beyond the sinks or, of
// those that are not among the newest, the one with the least attention.
func (k *retainer) victim(words []uint64, slot, plane, length int) int {
	var mass []float32
	if k.mass != nil {
		mass = k.mass.Of(slot, plane/k.kvHeads, plane%k.kvHeads)
	}
	least := -1
	for position := k.Sinks; position < length-k.Recent; position++ {
		if words[position/64]>>(position%64)&1 == 0 {
			continue
		}
		if mass == nil {
			return position
		}
		if least < 0 || mass[position] < mass[least] {
			least = position
		}
	}
	return least
}
