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
func (r *response) begin(e *Engine, q *Request) {
	*r = response{Sampled: r.Sampled, ids: r.ids[:0], chain: r.chain[:0], key: r.key, request: *q, order: e.order}
	r.rng.Seed(q.Seed, q.Stream)
	r.reserve(e, true)
	r.Offsets = append(r.Offsets[:0], 0, 0)
	r.Prompt, r.Finished = append(r.Prompt, q.Prompt), append(r.Finished, false)
	r.Group, r.PromptID = append(r.Group, q.Group), append(r.PromptID, q.PromptID)
}

// chooseColumns has recorded say which columns the engine records with its sampling.
func (e *Engine) chooseColumns() {
	s, all := &e.sampling, &e.recorded
	all.Clear()
	all.ActualVersion, all.DistRoll = wanted(all.ActualVersion, s.ActualVersions), wanted(all.DistRoll, s.Distributions)
	all.GatesRoll, all.PromptGates = wanted(all.GatesRoll, s.Gates), wanted(all.PromptGates, s.Gates)
	all.KVKept, all.PromptKept = wanted(all.KVKept, e.keeps()), wanted(all.PromptKept, e.indexed)
	all.CachedTokens, all.CachedVersion = wanted(all.CachedTokens, e.prefixes != nil), wanted(all.CachedVersion, e.prefixes != nil)
	all.LawTV = wanted(all.LawTV, e.speculates || e.partner != nil)
	if !e.speculates {
		all.Draft, all.Window, all.DrafterVersion, all.LogpVerifier, all.LogpLaw, all.DraftTV = nil, nil, nil, nil, nil, nil
	}
}

// wanted is a column where it is recorded, and nil elsewhere.
func wanted[T any](x []T, recorded bool) []T {
	if recorded {
		return x
	}
	return nil
}

// reserve makes room for the longest response in the columns that an engine
// records, so that nothing grows with it, and takes the others away. It may empty them first.
func (r *response) reserve(e *Engine, empty bool) {
	c := &e.config
	r.Layers, r.TopK, r.Vocab, r.KVPlanes, r.KVWords = c.Layers, c.TopK, c.Vocab, 0, 0
	if k := e.retainer; k != nil {
		r.KVPlanes, r.KVWords = k.planes, k.words
	}
	if e.indexed {
		r.KVPlanes, r.KVWords = c.Layers, engine.RetentionWords(c.Context)
	}
	r.again = e.prefill.RecordAgain
	r.Reserve(&e.recorded, e.sampling.MaxTokens, empty)
	prompt := len(r.request.Prompt) - 1
	r.PromptRoutes = reserveFirst(r.PromptRoutes, prompt*c.Layers*c.TopK)
	r.PromptGates = reserveFirst(r.PromptGates, prompt*c.Layers*c.TopK)
	r.PromptKept = reserveFirst(r.PromptKept, prompt*r.KVPlanes*r.KVWords)
	if len(r.CachedTokens) == 0 {
		r.uncache()
	}
}

// reserveFirst makes room for n entries in the one row of a recorded column of prompts.
func reserveFirst[T any](x [][]T, n int) [][]T {
	if x == nil {
		return nil
	}
	if len(x) == 0 {
		x = x[:1]
		if x[0] = x[0][:0]; x[0] == nil || cap(x[0]) < n {
			x[0] = make([]T, 0, n)
		}
	}
	return x
}

// uncache notes that nothing of the prompt was found in the shared prefix cache.
func (r *response) uncache() {
	if r.CachedTokens != nil {
		r.CachedTokens, r.CachedVersion = append(r.CachedTokens[:0], 0), append(r.CachedVersion[:0], -1)
	}
}

// known is the number of tokens that are there to be read: the prompt and the
// response so far.
func (r *response) known() int { return len(r.request.Prompt) + len(r.Token) }

// visits are the experts that rows visited, [row][layer][rank], perRow of them, and their gates
// if those are recorded; of sparse attention, the positions that they attended to, some
// words per row.
type visits struct {
	routes        []uint8
	gates         []float32
	kept          []uint64
	perRow, words int
}

// rows are the visits of some of the rows.
func (v visits) rows(from, to int) visits {
	v.routes = v.routes[from*v.perRow : to*v.perRow]
	if v.gates != nil {
		v.gates = v.gates[from*v.perRow : to*v.perRow]
	}
	if v.kept != nil {
		v.kept = v.kept[from*v.words : to*v.words]
	}
	return v
}

// put writes rows at a place in a column that may end before they do.
func put[T any](dst []T, at int, rows []T) []T {
	n := copy(dst[at:], rows)
	return append(dst, rows[n:]...)
}

// putFirst is put for a column of prompts, if it is recorded.
func putFirst[T any](x [][]T, at int, rows []T) {
	if len(x) > 0 {
		x[0] = put(x[0], at, rows)
	}
}

// putPrompt records the visits of rows that read the prompt, from a position on: all but its last,
// which belongs to the first response token.
func (r *response) putPrompt(position int, v visits) {
	putFirst(r.PromptRoutes, position*v.perRow, v.routes)
	putFirst(r.PromptGates, position*v.perRow, v.gates)
	putFirst(r.PromptKept, position*v.words, v.kept)
}

// promptVisits are those that have been recorded of the prompt.
func (r *response) promptVisits() visits {
	v := visits{routes: r.PromptRoutes[0], perRow: r.Layers * r.TopK}
	if r.PromptGates != nil {
		v.gates = r.PromptGates[0]
	}
	return v
}

// forgetPrompt takes back what is recorded of the prompt's rows.
func (r *response) forgetPrompt() {
	r.PromptRoutes[0] = r.PromptRoutes[0][:0]
	if r.PromptGates != nil {
		r.PromptGates[0] = r.PromptGates[0][:0]
	}
	if r.PromptKept != nil {
		r.PromptKept[0] = r.PromptKept[0][:0]
	}
}

// reads notes that n more rows have been read, whose visits are given. What stands
// after a row of the prompt or of a tool's reply is known: the row's visits are
// recorded here, and its version, unless it was read before by other weights (then its
// visits alone, where they are recorded again). The row that reads the newest token waits for the one to be drawn.
func (r *response) reads(n int, v visits) {
	end := min(r.length+n, r.known()-1)
	first := max(r.length, r.read)
	if r.again {
		first = r.length
	}
	for position := first; position < end; position++ {
		row := v.rows(position-r.length, position-r.length+1)
		t := position + 1 - len(r.request.Prompt)
		if t < 0 {
			r.putPrompt(position, row)
			continue
		}
		copy(r.RoutesRoll[t*len(row.routes):], row.routes)
		copy(r.GatesRoll[t*len(row.gates):], row.gates)
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
