package rollout

import (
	"driftlab/engine/kernel"
	"driftlab/precision/elementary"
)

// sideBySide is how many of a lane's slots decode at a time where a response does not
// depend on its company: fewer than there are if keys and values of fewer stay in the
// second-level cache, and that saves more than reading the weights more often costs. It
// goes by the sizes of the model, the cache and the responses, and changes no bit.
//
// The cost is in bytes per token, of keys and values and of weights, once if a step's fit
// into the cache, twice if they do not, and three times if they are eight times as many:
// about what was measured. One slot alone would lend its prompt to nobody, so two are the
// least.
func (e *Engine) sideBySide(slots int) int {
	prompt := 0
	for _, r := range e.queue.rest() {
		prompt = max(prompt, len(r.request.Prompt))
	}
	longest := min(prompt+e.sampling.MaxTokens, e.config.Context)
	size := decodeSize{keys: 4 * float64(e.cache.SlotSize((prompt+longest)/2)), cache: float64(kernel.SecondLevelCache())}
	c := &e.config
	size.top, size.experts = float64(max(c.TopK, 1)), float64(c.FFNs())
	size.expert = 4 * 3 * float64(c.Layers) * float64(c.DModel) * float64(c.DFF)
	size.shared = float64(4*(c.LayerProducts()+float64(c.HeadProducts()))) - float64(size.top*size.expert)
	return size.best(slots)
}

// decodeSize is what a step of decoding reads, in bytes.
type decodeSize struct {
	keys         float64 // and values, of a slot
	shared       float64 // weights that each row reads
	expert       float64 // those of one expert of every layer
	experts, top float64 // experts of a layer, and of a row
	cache        float64
}

// cost is that of a token where so many slots decode side by side.
func (s decodeSize) cost(slots float64) float64 {
	visited := s.experts * (1 - elementary.Pow(1-s.top/s.experts, slots))
	weights := s.shared + float64(visited*s.expert)
	all, cost := weights+float64(slots*s.keys), s.keys+weights/slots
	switch {
	case all > 8*s.cache:
		return 3 * cost
	case all > 0.75*s.cache:
		return 2 * cost
	}
	return cost
}

// best is the number of slots, of all or of a power of two from 2, that costs the least.
func (s decodeSize) best(slots int) int {
	best, least := slots, s.cost(float64(slots))
	for n := 2; n < slots; n *= 2 {
		if cost := s.cost(float64(n)); cost < least {
			best, least = n, cost
		}
	}
	return best
}
