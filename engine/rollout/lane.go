package rollout

import (
	"slices"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision/elementary"
)

// workerPool is the workers of an engine, or of several that take turns: together
// decodes all slots in step, lanes each their own (see drain).
type workerPool struct {
	together lane
	lanes    lanes
	team     *kernel.Team
}

func newWorkerPool(c model.Config, n engine.Numerics, workers int) *workerPool {
	k := new(workerPool)
	k.together.begin(c, workers)
	if n.BatchInvariant() && workers > 1 {
		k.lanes, k.team = make(lanes, workers), kernel.NewTeam(workers)
		for i := range k.lanes {
			k.lanes[i].begin(c, 1)
		}
	}
	return k
}

// lane decodes a share of an engine's slots, step by step, with a pass of its
// own.
type lane struct {
	engine   *Engine
	pass     *engine.Pass
	samplers []sampler // by worker of the pass

	first, stride, end int   // its slots
	dealt              int   // of them have their first request
	pending            []int // slots whose turn in the current step is to come

	weights *engine.Weights // of the pack's sequences
	pack    engine.Pack
	ids     []int   // cache slots of the pack's sequences
	targets []int32 // the last row of each
	kept    engine.Retention
	_       [64]byte // the next lane's is another cache line
}

func (l *lane) begin(c model.Config, workers int) {
	l.pass, l.samplers = engine.NewPass(c, workers), make([]sampler, max(workers, 1))
	l.targets = []int32{} // to a pack, nil would mean every row
}

// drain decodes until nothing is in progress. A step of all slots takes as long as
// the slowest worker's part of it, and there are hundreds in a call. So where a
// response does not depend on its company, every worker has a lane: it takes what
// waits from the common queue for slots of its own, and waits for the others only
// at the end. Who decodes what then depends on the moment, and no bit does. Nor does
// one on how many slots a lane uses: see sideBySide.
//
// Four things keep the workers in step: batch-variant numerics, whose bits belong
// to the company; prompts shared under numerics that notice which of them are; the
// drafter, which proposes for all slots at once; and the partner, which reads for them.
func (e *Engine) drain() {
	first := min(len(e.slots), len(e.queue.rest()))
	numerics := &e.weights.Numerics
	if !numerics.BatchInvariant() || e.speculates || e.asks || e.prefill.PrefixCache && !numerics.DecodesAsScored() {
		e.together.share(e, 0, 1, len(e.slots))
		e.together.decode()
		return
	}
	n := max(1, min(len(e.lanes), first))
	first = min(first, n*e.sideBySide((first+n-1)/n))
	if n < 2 {
		e.together.share(e, 0, 1, first)
		e.together.decode()
		return
	}
	e.deal(first, n)
	for i := range n {
		e.lanes[i].share(e, i, n, first)
	}
	e.team.Run(n, &e.lanes)
}

// deal gives the first requests to n lanes, each of which has every n-th slot: neighbours
// with one prompt to the same lane, as far as it has slots, since that is where a
// prompt is shared; then the next to the lane that has the fewest.
func (e *Engine) deal(first, n int) {
	lane := -1
	for i := range n {
		e.lanes[i].dealt = 0
	}
	for i, r := range e.queue.rest()[:first] {
		again := i > 0 && slices.Equal(r.request.Prompt, e.begun[i-1].request.Prompt)
		if !again || lane+n*e.lanes[lane].dealt >= first {
			lane = 0
			for j := range n {
				if e.lanes[j].dealt < e.lanes[lane].dealt {
					lane = j
				}
			}
		}
		e.take(lane + n*e.lanes[lane].dealt)
		e.lanes[lane].dealt++
	}
}

// lanes are one per worker, a kernel.Job for all of them.
type lanes []lane

func (l *lanes) Part(i int) { (*l)[i].decode() }

func (l *lane) share(e *Engine, first, stride, end int) {
	l.engine, l.first, l.stride, l.end = e, first, stride, end
}

// decode runs until the lane's slots are free and nothing waits.
func (l *lane) decode() {
	for l.fill() {
		l.step(true)
	}
}

// fill gives the lane's free slots what waits, and reports whether any has work.
func (l *lane) fill() bool {
	l.pending = l.pending[:0]
	for i := l.first; i < l.end; i += l.stride {
		if e := l.engine; (e.slots[i].running() || e.take(i)) && !e.away(e.slots[i].response) {
			l.pending = append(l.pending, i)
		}
	}
	return len(l.pending) > 0
}

// step advances every running sequence by what it has not read: its prompt or a
// chunk of it, the last token, or with it the reply of a tool. It reports whether a
// response is complete with that.
//
// Sequences of one version share a pass. One that waits for an earlier one to read
// their prompt has its turn in a later pass of the step, or, in a drain, in the
// next step.
func (l *lane) step(drains bool) (completed bool) {
	e := l.engine
	if e.speculates {
		e.drafter.propose()
	}
	for l.layOut(drains) {
		if e.asks {
			e.partner.read(l)
		}
		options := engine.Options{Cache: e.cache, Slots: l.ids, KeepGates: e.sampling.Gates, Follow: l}
		l.plan(&options)
		l.pass.Begin(l.weights, &l.pack, options)
		l.pass.Forward()
		for _, i := range l.ids {
			if e.prefixes != nil {
				e.file(i)
			}
			completed = completed || e.slots[i].done
		}
	}
	return completed
}

// layOut packs what shares the next pass of the step, and reports whether there
// is anything.
func (l *lane) layOut(drains bool) bool {
	if len(l.pending) == 0 {
		return false
	}
	e, shares := l.engine, l.engine.shares()
	l.pack.Reset()
	l.targets, l.ids = l.targets[:0], l.ids[:0]
	later := l.pending[:0]
	for _, i := range l.pending {
		k := e.slots[i].response
		if len(l.ids) > 0 && k.weights != l.weights {
			later = append(later, i)
			continue
		}
		if k.length == 0 && !e.serve(i) && shares && !l.reuse(i) {
			if !drains {
				later = append(later, i)
			}
			continue
		}
		l.weights = k.weights
		l.add(i)
	}
	l.pending = later
	l.pack.Targets = l.targets
	return len(l.ids) > 0
}

func (l *lane) add(i int) {
	e := l.engine
	k := e.slots[i].response
	l.ids = append(l.ids, i)
	prompt, tokens := e.next(k)
	drafts := e.drafted(i)
	l.pack.Add(k.length, prompt, tokens, drafts)
	if k.length+len(prompt)+len(tokens) < k.known() {
		return
	}
	for row := l.pack.Rows() - len(drafts) - 1; row < l.pack.Rows(); row++ {
		l.targets = append(l.targets, int32(row))
	}
}

// sideBySide is how many of a lane's slots decode at a time where a response does not
// depend on its company: fewer than there are if keys and values of fewer stay in the
// second-level cache, and that saves more than reading the weights more often costs. It
// goes by the sizes of the model, the cache and the responses, and changes no bit.
//
// The cost is in bytes per token, of keys and values and of weights, once if a step's fit
// into the cache, twice if they do not, and three times if they are eight times as many:
// about what was measured. One slot alone would lend its prompt to no other, so two are the
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

// cost is the cost of a token where that many slots decode side by side.
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
