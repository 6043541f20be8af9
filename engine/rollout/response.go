package rollout

import (
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
)

// response is one response while it grows: what has been recorded of it, and what
// it takes to go on.
type response struct {
	column.Sampled // of it alone; Support lies in ids
	request        Request
	order          int             // in which it was begun
	weights        *engine.Weights // that it goes by; nil before it begins
	length         int             // positions whose keys are in the cache
	read           int             // positions that have been read, by whichever weights
	stale          bool            // the cache has keys of other weights
	rereads        bool            // it has only keys of what had been read before
	again          bool            // visits of what is read again are recorded: Prefill.RecordAgain
	done           bool            // complete
	rng            rand.PCG
	windows        int32   // passes of the verifier that made tokens of it
	ids            []int32 // the supports, end to end
	held           *held   // what was in the cache, while it is not

	chain []*prefixBlock // of the prompt, until they are put into the shared prefix cache
	key   []byte         // memory for that of a block
	filed bool           // the chain has all of the prompt
	mixed bool           // the slot has keys of a shared block that other weights computed
}

// running reports whether a slot has work to do with it.
func (r *response) running() bool { return r != nil && !r.done }

// begin makes an empty response to a request, in the memory it has.
func (r *response) begin(q *Request, order int) {
	r.request, r.order = *q, order
	r.weights, r.length, r.read, r.stale, r.rereads, r.done, r.windows, r.held = nil, 0, 0, false, false, false, 0, nil
	r.chain, r.filed, r.mixed = r.chain[:0], false, false
	r.rng.Seed(q.Seed, q.Stream)
	r.Offsets = append(r.Offsets[:0], 0, 0)
	r.Prompt, r.Finished = append(r.Prompt[:0], q.Prompt), append(r.Finished[:0], false)
	r.Group, r.PromptID = append(r.Group[:0], q.Group), append(r.PromptID[:0], q.PromptID)
	r.Token, r.Mask, r.Turn = r.Token[:0], r.Mask[:0], r.Turn[:0]
	r.LogpRoll, r.KeptMass, r.Version, r.Stale = r.LogpRoll[:0], r.KeptMass[:0], r.Version[:0], r.Stale[:0]
	r.ActualVersion = r.ActualVersion[:0]
	r.Support, r.ids, r.RoutesRoll = r.Support[:0], r.ids[:0], r.RoutesRoll[:0]
	if r.PromptRoutes == nil {
		r.PromptRoutes = make([][]uint8, 1)
	}
	r.forgetPrompt()
	r.PromptKept = r.PromptKept[:0]
	r.DistRoll, r.GatesRoll = r.DistRoll[:0], r.GatesRoll[:0]
	r.KVKept, r.Draft, r.Window, r.DrafterVersion = r.KVKept[:0], r.Draft[:0], r.Window[:0], r.DrafterVersion[:0]
	r.CachedTokens, r.CachedVersion = r.CachedTokens[:0], r.CachedVersion[:0]
	r.LogpVerifier, r.LogpLaw, r.DraftTV, r.LawTV = r.LogpVerifier[:0], r.LogpLaw[:0], r.DraftTV[:0], r.LawTV[:0]
}

// reserve makes room for the longest response in the columns that an engine
// records, so that nothing grows with it, and takes the others away.
func (r *response) reserve(e *Engine) {
	c, s := &e.config, &e.sampling
	n, perRow := s.MaxTokens, c.Layers*c.TopK
	r.Layers, r.TopK, r.Vocab, r.KVPlanes, r.KVWords = c.Layers, c.TopK, c.Vocab, 0, 0
	if k := e.retainer; k != nil {
		r.KVPlanes, r.KVWords = k.planes, k.words
	}
	if e.indexed {
		r.KVPlanes, r.KVWords = c.Layers, engine.RetentionWords(c.Context)
	}
	r.again = e.prefill.RecordAgain
	r.Token, r.Mask, r.Turn = withCapacity(r.Token, n), withCapacity(r.Mask, n), withCapacity(r.Turn, n)
	r.LogpRoll, r.KeptMass = withCapacity(r.LogpRoll, n), withCapacity(r.KeptMass, n)
	r.Version, r.Stale, r.Support = withCapacity(r.Version, n), withCapacity(r.Stale, n), withCapacity(r.Support, n)
	r.ActualVersion = optional(r.ActualVersion, s.ActualVersions, n)
	r.RoutesRoll = withCapacity(r.RoutesRoll, n*perRow)
	r.DistRoll = optional(r.DistRoll, s.Distributions, n*c.Vocab)
	r.GatesRoll = optional(r.GatesRoll, s.Gates, n*perRow)
	r.KVKept = optional(r.KVKept, e.keeps(), n*r.KVPlanes*r.KVWords)
	prompt := (len(r.request.Prompt) - 1) * perRow
	r.PromptRoutes[0] = withCapacity(r.PromptRoutes[0], prompt)
	if r.PromptGates = optional(r.PromptGates, s.Gates, 1); s.Gates {
		r.PromptGates = r.PromptGates[:1]
		r.PromptGates[0] = withCapacity(r.PromptGates[0], prompt)
	}
	if r.PromptKept = optional(r.PromptKept, e.indexed, 1); e.indexed {
		r.PromptKept = r.PromptKept[:1]
		r.PromptKept[0] = withCapacity(r.PromptKept[0], (len(r.request.Prompt)-1)*r.KVPlanes*r.KVWords)
	}
	r.reserveDrafts(e.speculates, n)
	r.LawTV = optional(r.LawTV, e.speculates || e.partner != nil, n)
	r.CachedTokens, r.CachedVersion = optional(r.CachedTokens, e.prefixes != nil, 1), optional(r.CachedVersion, e.prefixes != nil, 1)
	if e.prefixes != nil && len(r.CachedTokens) == 0 {
		r.uncache()
	}
}

// uncache notes that nothing of the prompt was found in the shared prefix cache.
func (r *response) uncache() {
	if r.CachedTokens != nil {
		r.CachedTokens, r.CachedVersion = append(r.CachedTokens[:0], 0), append(r.CachedVersion[:0], -1)
	}
}

func withCapacity[T any](x []T, n int) []T {
	if x != nil && cap(x) >= n {
		return x
	}
	return append(make([]T, 0, n), x...)
}

// optional is room for a column that is wanted, and nil for any other.
func optional[T any](x []T, wanted bool, n int) []T {
	if !wanted {
		return nil
	}
	return withCapacity(x, n)
}

// known is the number of tokens that are there to be read: the prompt and the
// response so far.
func (r *response) known() int { return len(r.request.Prompt) + len(r.Token) }

// visits are the experts that rows visited, [row][layer][rank], and their gates
// if those are recorded; of sparse attention, the positions that they attended to, some
// words per row.
type visits struct {
	routes []uint8
	gates  []float32
	kept   []uint64
	words  int
}

func (v visits) row(i, perRow int) visits {
	out := visits{routes: v.routes[i*perRow : (i+1)*perRow]}
	if v.gates != nil {
		out.gates = v.gates[i*perRow : (i+1)*perRow]
	}
	if v.kept != nil {
		out.kept = v.kept[i*v.words : (i+1)*v.words]
	}
	return out
}

func (v visits) from(i, perRow int) visits {
	out := visits{routes: v.routes[i*perRow:]}
	if v.gates != nil {
		out.gates = v.gates[i*perRow:]
	}
	if v.kept != nil {
		out.kept, out.words = v.kept[i*v.words:], v.words
	}
	return out
}

// reads notes that n more rows have been read, whose visits are given. What stands
// after a row of the prompt or of a tool's reply is known: the row's visits are
// recorded here, and its version, unless it was read before by other weights (then its
// visits alone, where they are recorded again). The row that reads the newest token waits for the one to be drawn.
func (r *response) reads(n int, v visits, perRow int) {
	end := min(r.length+n, r.known()-1)
	first := max(r.length, r.read)
	if r.again {
		first = r.length
	}
	for position := first; position < end; position++ {
		row := v.row(position-r.length, perRow)
		t := position + 1 - len(r.request.Prompt)
		if t < 0 {
			r.recordPrompt(position, row)
			continue
		}
		copy(r.RoutesRoll[t*perRow:], row.routes)
		if row.gates != nil {
			copy(r.GatesRoll[t*perRow:], row.gates)
		}
		copy(r.KVKept[t*len(row.kept):], row.kept)
		if position < r.read {
			continue
		}
		r.Version[t], r.Stale[t] = int32(r.weights.Version), r.stale
		if r.ActualVersion != nil {
			r.ActualVersion[t] = int32(r.weights.ActualVersion)
		}
	}
	if r.length += n; r.length > r.read {
		r.read, r.rereads = r.length, false
	}
}

// recordPrompt records the visits of a row of the prompt, which may have been read before.
func (r *response) recordPrompt(position int, v visits) {
	if position >= r.read {
		r.readPrompt(v)
		return
	}
	at := position * len(v.routes)
	copy(r.PromptRoutes[0][at:], v.routes)
	if v.gates != nil {
		copy(r.PromptGates[0][at:], v.gates)
	}
	if v.kept != nil {
		copy(r.PromptKept[0][position*len(v.kept):], v.kept)
	}
}

// readPrompt records the visits of rows that read the prompt, all but its last,
// which belongs to the first response token.
func (r *response) readPrompt(v visits) {
	r.PromptRoutes[0] = append(r.PromptRoutes[0], v.routes...)
	if v.gates != nil {
		r.PromptGates[0] = append(r.PromptGates[0], v.gates...)
	}
	if v.kept != nil {
		r.PromptKept[0] = append(r.PromptKept[0], v.kept...)
	}
}

// forgetPrompt takes back what is recorded of the prompt's rows.
func (r *response) forgetPrompt() {
	r.PromptRoutes[0] = r.PromptRoutes[0][:0]
	if len(r.PromptGates) > 0 {
		r.PromptGates[0] = r.PromptGates[0][:0]
	}
	if len(r.PromptKept) > 0 {
		r.PromptKept[0] = r.PromptKept[0][:0]
	}
}

func (r *response) add(d drawn, v visits, logp []float32) {
	n, turn := len(r.Token), int32(0)
	if n > 0 {
		turn = r.Turn[n-1]
		if !r.Mask[n-1] {
			turn++ // a turn begins after a reply
		}
	}
	r.Token, r.Mask, r.Turn = append(r.Token, d.token), append(r.Mask, true), append(r.Turn, turn)
	r.LogpRoll, r.KeptMass = append(r.LogpRoll, d.logp), append(r.KeptMass, d.kept)
	r.Version, r.Stale = append(r.Version, int32(r.weights.Version)), append(r.Stale, r.stale)
	if r.ActualVersion != nil {
		r.ActualVersion = append(r.ActualVersion, int32(r.weights.ActualVersion))
	}
	var support []int32 // nil says that there was no truncation
	if from := len(r.ids); len(d.support) > 0 {
		r.ids = append(r.ids, d.support...)
		support = r.ids[from:len(r.ids):len(r.ids)]
	}
	r.Support = append(r.Support, support)
	r.RoutesRoll, r.GatesRoll = append(r.RoutesRoll, v.routes...), append(r.GatesRoll, v.gates...)
	r.KVKept = append(r.KVKept, v.kept...)
	if r.DistRoll != nil {
		r.DistRoll = append(r.DistRoll, logp...)
	}
	r.Offsets[1] = n + 1
}

// store packs responses into a batch, in the memory the batch has. Supports and
// prompt routes, slices of slices that a selection from the batch shares, are new
// memory, one piece each.
func store(b *column.Sampled, responses []*column.Sampled, c model.Config) {
	if len(responses) == 0 {
		responses = append(responses, &column.Sampled{Layers: c.Layers, TopK: c.TopK, Vocab: c.Vocab, Offsets: []int{0}})
	}
	column.Join(b, responses)
	own(b.Support)
	own(b.PromptRoutes)
	own(b.PromptGates)
	own(b.PromptKept)
}

func own[T any](list [][]T) {
	n := 0
	for _, x := range list {
		n += len(x)
	}
	all := make([]T, 0, n)
	for i, x := range list {
		if x != nil {
			from := len(all)
			all = append(all, x...)
			list[i] = all[from:len(all):len(all)]
		}
	}
}
