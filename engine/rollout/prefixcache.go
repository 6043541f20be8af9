package rollout

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// PrefixPolicy says what a weight sync means for a shared prefix cache.
type PrefixPolicy string

const (
	// FlushPrefixes empties the cache at each weight sync.
	FlushPrefixes PrefixPolicy = "flush"
	// SaltPrefixes makes the version of the weights a part of the key: new weights find
	// nothing that others computed, which stays until it is evicted.
	SaltPrefixes PrefixPolicy = "salt"
	// KeepPrefixes finds a prefix by its tokens alone, whichever weights computed it:
	// stale keys and values after a weight sync.
	KeepPrefixes PrefixPolicy = "none"
)

// SharedPrefixCache is a cache of keys, values and routes of prompts that outlives
// responses and calls: automatic prefix caching, as in vLLM. It holds whole blocks, each
// found by the tokens from the beginning of the prompt to the block's end. The last token
// of a prompt is always read, for its logits. Blocks of responses are not kept.
//
// A response looks for its prompt when it begins to read it. What it has read goes into
// the cache at the end of the call of Generate, or of the step of Advance, in the order in
// which responses were begun: hits, and what is evicted, do not depend on the number of
// workers. Under FlushPrefixes and SaltPrefixes no bit of a response changes if the
// numerics decode as they score.
type SharedPrefixCache struct {
	// Policy is empty for no such cache.
	Policy PrefixPolicy
	// Blocks is the capacity, 1 or more. The block that was used least recently is evicted
	// first; of a prompt's blocks the last one.
	Blocks int
	// BlockTokens is the number of tokens of a block, 1 or more.
	BlockTokens int
}

// SetSharedPrefixCache puts an empty cache in place, or none. It does not go with a
// retention that ranks positions by their attention, nor with sparse attention, nor with linear attention, whose state
// has no blocks. Nothing may be in progress.
func (e *Engine) SetSharedPrefixCache(c SharedPrefixCache) {
	e.idle("SetSharedPrefixCache")
	if c.Policy == "" {
		e.prefixes = nil
		return
	}
	known := c.Policy == FlushPrefixes || c.Policy == SaltPrefixes || c.Policy == KeepPrefixes
	if !known || c.Blocks < 1 || c.BlockTokens < 1 || !e.cache.Cuts() || e.indexed || e.retainer != nil && e.retainer.mass != nil {
		panic(fmt.Sprintf("rollout: impossible prefix cache %+v", c))
	}
	e.prefixes = &prefixStore{SharedPrefixCache: c, blocks: map[string]*list.Element{}}
}

// prefixStore is a SharedPrefixCache with its blocks.
type prefixStore struct {
	SharedPrefixCache
	blocks map[string]*list.Element // a *prefixBlock by its key
	used   list.List                // the most recently used first
}

// prefixBlock is keys, values and visits of BlockTokens positions. It does not change:
// responses that use it may outlive its place in the cache.
type prefixBlock struct {
	key     string
	version int       // of the weights that read it
	oldest  int       // of the weights whose keys these rows attended to
	keys    []float32 // and values, as engine.Cache appends them
	visits
}

func (s *prefixStore) synced() {
	if s != nil && s.Policy == FlushPrefixes {
		clear(s.blocks)
		s.used.Init()
	}
}

// salt begins the key of a prompt. A flushed cache has one too: responses that are pinned
// read with older weights after the flush.
func (s *prefixStore) salt(dst []byte, version int) []byte {
	if s.Policy == KeepPrefixes {
		return dst
	}
	return binary.AppendVarint(dst, int64(version))
}

// extend goes on with a key: tokens, which say the positions by their number.
func extend(key []byte, tokens []int32) []byte {
	for _, t := range tokens {
		key = binary.LittleEndian.AppendUint32(key, uint32(t))
	}
	return key
}

// whole is the number of tokens of a prompt that the cache may hold.
func (s *prefixStore) whole(prompt []int32) int {
	return (len(prompt) - 1) / s.BlockTokens * s.BlockTokens
}

// serve gives a slot whose response has read nothing the blocks that the cache has of its
// prompt, and reports whether there were any. It changes nothing but the response.
func (e *Engine) serve(slot int) bool {
	s, r := e.prefixes, e.slots[slot].response
	if s == nil {
		return false
	}
	prompt := r.request.Prompt
	r.chain, r.key, r.mixed = r.chain[:0], s.salt(r.key[:0], r.weights.Version), false
	for from := 0; from < s.whole(prompt); from += s.BlockTokens {
		to := from + s.BlockTokens
		r.key = extend(r.key, prompt[from:to])
		found := s.blocks[string(r.key)]
		if found == nil {
			break
		}
		b := found.Value.(*prefixBlock)
		if e.sampling.Gates && len(b.gates) < len(b.routes) {
			break
		}
		e.cache.SetRange(slot, from, to, b.keys)
		if r.read < to {
			r.putPrompt(from, b.visits)
		}
		r.chain, r.length, r.read = append(r.chain, b), to, max(r.read, to)
		if b.oldest != r.weights.Version {
			r.mixed = true
		}
		if oldest := &r.CachedVersion[0]; *oldest < 0 || b.oldest < int(*oldest) {
			*oldest = int32(b.oldest)
		}
	}
	r.CachedTokens[0] = max(r.CachedTokens[0], int32(r.length))
	return r.length > 0
}

// file takes a copy of what a slot has read of its prompt, once all of it is there. It
// changes nothing but the response.
func (e *Engine) file(slot int) {
	s, r := e.prefixes, e.slots[slot].response
	prompt := r.request.Prompt
	if r.filed || r.length < s.whole(prompt) {
		return
	}
	r.filed = true
	oldest, key := r.weights.Version, s.salt(r.key[:0], r.weights.Version)
	if r.mixed {
		oldest = min(oldest, int(r.CachedVersion[0]))
	}
	for i, from := 0, 0; from < s.whole(prompt); i, from = i+1, from+s.BlockTokens {
		to := from + s.BlockTokens
		key = extend(key, prompt[from:to])
		if i < len(r.chain) {
			continue
		}
		b := &prefixBlock{key: string(key), version: r.weights.Version, oldest: oldest,
			keys: e.cache.AppendRange(make([]float32, 0, e.cache.SlotSize(s.BlockTokens)), slot, from, to)}
		b.visits = r.promptVisits().rows(from, to)
		b.routes, b.gates = slices.Clone(b.routes), slices.Clone(b.gates)
		r.chain = append(r.chain, b)
	}
	r.key = key
}

// settle puts what responses have used and read into the cache.
func (e *Engine) settle() {
	if e.prefixes == nil {
		return
	}
	for _, r := range e.begun {
		if r.filed {
			e.prefixes.put(r.chain)
			clear(r.chain) // the blocks are the cache's alone
			r.chain = r.chain[:0]
		}
	}
}

// put makes the blocks of a prompt the most recently used, the last one after all others.
// One that is there stays: a stale block is renewed by whoever uses it.
func (s *prefixStore) put(chain []*prefixBlock) {
	for _, b := range slices.Backward(chain) {
		if at := s.blocks[b.key]; at != nil {
			s.used.MoveToFront(at)
			continue
		}
		if s.used.Len() == s.Blocks {
			last := s.used.Remove(s.used.Back()).(*prefixBlock)
			delete(s.blocks, last.key)
		}
		s.blocks[b.key] = s.used.PushFront(b)
	}
}

// blockHeader is what is saved of a block next to its numbers.
type blockHeader struct {
	Version, Oldest int64
	Counts          [4]uint32 // of what follows: key, keys, routes, gates
}

// AppendPrefixState appends what the shared prefix cache holds to dst, nothing for none.
func (e *Engine) AppendPrefixState(dst []byte) []byte {
	s := e.prefixes
	if s == nil {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.used.Len()))
	for at := s.used.Back(); at != nil; at = at.Prev() {
		b := at.Value.(*prefixBlock)
		top := blockHeader{int64(b.version), int64(b.oldest),
			[4]uint32{uint32(len(b.key)), uint32(len(b.keys)), uint32(len(b.routes)), uint32(len(b.gates))}}
		for _, x := range []any{top, []byte(b.key), b.keys, b.routes, b.gates} {
			dst, _ = binary.Append(dst, binary.LittleEndian, x) // numbers of fixed sizes
		}
	}
	return dst
}

// SetPrefixState takes what AppendPrefixState appended in an engine of the same settings,
// and returns what stands after it.
func (e *Engine) SetPrefixState(state []byte) (rest []byte, err error) {
	s := e.prefixes
	if s == nil {
		return state, nil
	}
	count, rest, err := take[uint64](state, 1, nil)
	if err == nil && count[0] > uint64(s.Blocks) {
		err = fmt.Errorf("%d blocks in a cache of %d", count[0], s.Blocks)
	}
	clear(s.blocks)
	s.used.Init()
	for range s.Blocks {
		if err != nil || uint64(s.used.Len()) == count[0] {
			break
		}
		b, top := new(prefixBlock), []blockHeader(nil)
		if top, rest, err = take[blockHeader](rest, 1, err); err != nil {
			break
		}
		var key []byte
		key, rest, err = take[byte](rest, int(top[0].Counts[0]), err)
		b.keys, rest, err = take[float32](rest, int(top[0].Counts[1]), err)
		b.routes, rest, err = take[uint8](rest, int(top[0].Counts[2]), err)
		if n := int(top[0].Counts[3]); n > 0 {
			b.gates, rest, err = take[float32](rest, n, err)
		}
		b.perRow = e.config.Layers * e.config.TopK
		rows := s.BlockTokens * b.perRow
		if err == nil && (len(b.keys) != e.cache.SlotSize(s.BlockTokens) || len(b.routes) != rows || len(b.gates) > 0 && len(b.gates) != rows || s.blocks[string(key)] != nil) {
			err = errors.New("a block of another cache")
		}
		b.key, b.version, b.oldest = string(key), int(top[0].Version), int(top[0].Oldest)
		s.blocks[b.key] = s.used.PushFront(b)
	}
	if err != nil {
		return nil, fmt.Errorf("a prefix cache: %w", err)
	}
	return rest, nil
}

// Prefill says how prompts are read. With numerics that decode as they score it
// changes no bit of a response; with batch-variant ones it does, since it decides
// how many rows share a pass.
type Prefill struct {
	// Chunk is the largest number of tokens of a prompt, or of a tool's reply,
	// that one pass reads, together with the decoding of other responses (chunked
	// prefill); 0 reads them whole.
	Chunk int
	// PrefixCache takes keys and values of a prompt's beginning over from another
	// response of the same call that has read the same tokens. The last token of a
	// prompt is always read, for its logits. Responses to one prompt that begin
	// together wait for the first of them. Where it changes no bit it is always done.
	PrefixCache bool
	// RecordAgain records the visits of what is read again under new weights in the place of
	// those of the pass that sampled: a server whose retracted requests return new routes next
	// to old log-probs (miles #3277). Log-probs and versions stay those of the sampling.
	RecordAgain bool
}

// SetPrefill says how prompts are read from now on. Nothing may be in progress.
func (e *Engine) SetPrefill(p Prefill) {
	e.idle("SetPrefill")
	if p.Chunk < 0 {
		panic("rollout: negative chunk of a prompt")
	}
	if p.PrefixCache && !e.cache.Cuts() {
		panic("rollout: a prefix cache with linear attention, whose state is that of all that a slot has read")
	}
	if p.PrefixCache && e.indexed {
		panic("rollout: a prefix cache with sparse attention, whose choices are recorded with each response")
	}
	e.prefill = p
}

// next returns what a response reads in the next pass: of its prompt, and of what
// stands after it.
func (e *Engine) next(r *response) (prompt, tokens []int32) {
	prompt = r.request.Prompt
	tokens = r.Token[max(r.length-len(prompt), 0):]
	prompt = prompt[min(r.length, len(prompt)):]
	if c := e.prefill.Chunk; c > 0 {
		prompt = prompt[:min(len(prompt), c)]
		tokens = tokens[:min(len(tokens), c-len(prompt))]
	}
	return prompt, tokens
}

// shares reports whether a slot takes over what another has read. A retention
// that ranks positions needs the attention that each prompt gives them, and a state of
// linear attention summarises all that its slot has read; the choices of sparse attention
// are recorded with each response.
func (e *Engine) shares() bool {
	ranks := e.retainer != nil && e.retainer.mass != nil
	if !e.cache.Cuts() || e.indexed {
		return false
	}
	return e.prefill.PrefixCache || e.weights.Numerics.DecodesAsScored() && !ranks
}

// reuse gives slot i, which has read nothing, the longest beginning of its
// prompt that another slot of the lane has read, whether that one is still in use
// or complete. It reports false if the slot has to wait for an earlier response to
// the same prompt; the earliest never waits.
func (l *lane) reuse(i int) bool {
	e := l.engine
	k := e.slots[i].response
	prompt := k.request.Prompt
	most := len(prompt) - 1
	longest, donor := 0, -1
	for j := l.first; j < l.end; j += l.stride {
		d := e.slots[j].response
		if j == i || d == nil || !d.lends(k) || e.away(d) {
			continue
		}
		n := commonPrefix(prompt[:most], d.request.Prompt[:len(d.request.Prompt)-1])
		if n == most && n > d.length && !d.done && d.order < k.order {
			return false
		}
		if n = min(n, d.length); n > longest {
			longest, donor = n, j
		}
	}
	if donor >= 0 {
		e.cache.CopyPrefix(i, donor, longest)
		if k.read == 0 || k.again {
			k.putPrompt(0, e.slots[donor].response.promptVisits().rows(0, longest))
		}
		k.length, k.read = longest, max(k.read, longest)
	}
	return true
}

// lends reports whether the keys of a response's prompt are those that another
// would compute, and the visits recorded with them those that it would record.
func (r *response) lends(to *response) bool {
	return r.weights == to.weights && !r.stale && !r.mixed &&
		(len(to.Token) > 0 || len(r.Token) == 0 || int(r.Version[0]) == r.weights.Version)
}

func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
