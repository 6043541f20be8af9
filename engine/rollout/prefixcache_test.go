package rollout_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// sharing runs an engine with a shared prefix cache over several calls, with the weights
// of each, and returns what each call sampled.
func sharing(t *testing.T, packed []*engine.Weights, c model.Config, cache rollout.SharedPrefixCache, how rollout.Prefill, slots, workers int, calls [][]rollout.Request) []*column.Sampled {
	t.Helper()
	e := rollout.New(c, packed[0].Numerics, slots, workers)
	defer e.Close()
	e.SetPrefill(how)
	e.SetSharedPrefixCache(cache)
	s := roomy
	s.Gates, s.MaxTokens = true, 9
	var out []*column.Sampled
	for i, list := range calls {
		e.Load(packed[i], rollout.Reprefill)
		b := new(column.Sampled)
		e.Generate(b, list, s)
		out = append(out, b)
	}
	return out
}

// epochs are calls whose prompts recur, each with random numbers of its own.
func epochs(n, vocab int) (calls [][]rollout.Request) {
	list := append(groups(1, 4, 3, vocab, 19), requests(2, 5, vocab)...)
	for i := range n {
		again := slices.Clone(list)
		for k := range again {
			again[k].Seed += uint64(i)
		}
		calls = append(calls, again)
	}
	return calls
}

// uncached is a copy without the columns of the cache.
func uncached(b *column.Sampled) *column.Sampled {
	c := *b
	c.CachedTokens, c.CachedVersion = nil, nil
	return &c
}

// cachedTokens is the sum of what came from the cache.
func cachedTokens(b *column.Sampled) (n int) {
	for _, tokens := range b.CachedTokens {
		n += int(tokens)
	}
	return n
}

// A cache that is flushed or salted, and any under weights that stay, changes no bit of
// what is recorded: in any capacity, blocks, slots and chunks, on any workers. Under weights
// that stay, prompts that recur are found.
func TestSharedPrefixesChangeNoBit(t *testing.T) {
	const calls = 4
	for i, numerics := range []string{"fp32", "bf16-tp4", "fp8-w8a8", "fp32-online"} {
		p := enginetest.Models(enginetest.Small)[i%4].Params
		_, moving := history(p, preset(t, numerics), calls)
		still := slices.Repeat(moving[1:2], calls)
		list := epochs(calls, p.Config.Vocab)
		for name, packed := range map[string][]*engine.Weights{"moving": moving, "still": still} {
			want := sharing(t, packed, p.Config, rollout.SharedPrefixCache{}, rollout.Prefill{}, 5, 1, list)
			for k, cache := range []rollout.SharedPrefixCache{
				{Policy: rollout.FlushPrefixes, Blocks: 1000, BlockTokens: 4}, {Policy: rollout.SaltPrefixes, Blocks: 1000, BlockTokens: 3},
				{Policy: rollout.SaltPrefixes, Blocks: 7, BlockTokens: 1}, {Policy: rollout.KeepPrefixes, Blocks: 9, BlockTokens: 2}, {Policy: rollout.KeepPrefixes, Blocks: 1000, BlockTokens: 4},
			} {
				if name == "moving" && cache.Policy == rollout.KeepPrefixes {
					continue
				}
				got := sharing(t, packed, p.Config, cache, prefills[k%len(prefills)], 1+6*(k%3), 1+k%3, list)
				for call := range got {
					same(t, fmt.Sprintf("%s, %s, %+v, call %d", numerics, name, cache, call), want[call], uncached(got[call]))
					found := cachedTokens(got[call])
					if call > 0 && (found > 0) != (name == "still" && cache.Policy != rollout.FlushPrefixes) || call == 0 && found > 0 {
						t.Errorf("%s, %s, %+v, call %d: %d cached tokens", numerics, name, cache, call, found)
					}
				}
			}
		}
	}
}

// Without a flush or a salt, a prefix has the keys of the weights that read it first: the
// log-probs and routes equal those of a pass that reads the cached tokens with the recorded
// version and the rest with the new weights, on any number of workers. Whoever uses a block
// renews it: it never gets any younger.
func TestStalePrefixes(t *testing.T) {
	const calls = 4
	for _, numerics := range []string{"fp32", "bf16"} {
		p := enginetest.Named("moe-biased").Params
		_, packed := history(p, preset(t, numerics), calls)
		list := epochs(calls, p.Config.Vocab)
		cache := rollout.SharedPrefixCache{Policy: rollout.KeepPrefixes, Blocks: 1000, BlockTokens: 4}
		want := sharing(t, packed, p.Config, cache, rollout.Prefill{}, 5, 1, list)
		for workers := 2; workers < 4; workers++ {
			for call, got := range sharing(t, packed, p.Config, cache, rollout.Prefill{Chunk: workers}, 4, workers, list) {
				same(t, fmt.Sprintf("%s, %d workers, call %d", numerics, workers, call), want[call], got)
			}
		}
		for call, b := range want[1:] {
			stale := 0
			for i, n := range b.CachedTokens {
				whole := int32((len(b.Prompt[i]) - 1) / 4 * 4)
				if version := b.CachedVersion[i]; n != whole || (version != 0) != (whole == 0) {
					t.Errorf("call %d: %d tokens of version %d are cached of a prompt of %d, want %d of version 0", call+1, n, version, len(b.Prompt[i]), whole)
				}
				stale += int(n)
			}
			if stale == 0 {
				t.Error("no prompt is long enough")
			}
			logp, routes := hybrid(p.Config, packed[0], packed[call+1], b)
			if !slices.Equal(logp, b.LogpRoll) || !slices.Equal(routes, b.RoutesRoll) {
				t.Errorf("%s, call %d: the bits are not those of old prefixes under new weights", numerics, call+1)
			}
		}
	}
}

// hybrid scores responses whose cached tokens were read with other weights.
func hybrid(c model.Config, prefix, rest *engine.Weights, b *column.Sampled) (logp []float64, routes []uint8) {
	pass, cache := engine.NewPass(c, 1), engine.NewCache(c, rest.Numerics, 1)
	defer pass.Close()
	row, per := make([]float32, c.Vocab), c.Layers*c.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		n, first := int(b.CachedTokens[i]), len(b.Prompt[i])-1
		all := append(slices.Clone(b.Prompt[i]), b.Token[from:to-1]...)
		read := func(w *engine.Weights, at int, tokens []int32) {
			var pack engine.Pack
			pack.Add(at, tokens)
			pass.Begin(w, &pack, engine.Options{Cache: cache, Slots: []int{0}})
			pass.Forward()
		}
		if n > 0 {
			read(prefix, 0, all[:n])
		}
		read(rest, n, all[n:])
		for k := from; k < to; k++ {
			at := first - n + k - from
			kernel.LogSoftmax(row, pass.Logits()[at*c.Vocab:(at+1)*c.Vocab], c.Vocab, float32(1/roomy.Temperature))
			logp = append(logp, float64(row[b.Token[k]]))
			routes = append(routes, pass.Routes()[at*per:(at+1)*per]...)
		}
	}
	return logp, routes
}

// The least recently used prompt is evicted, its last block first, and what is used stays.
func TestPrefixesAreEvicted(t *testing.T) {
	p := enginetest.Named("dense").Params
	_, packed := history(p, preset(t, "fp32"), 1)
	ask := func(first int32) []rollout.Request {
		return []rollout.Request{{Prompt: []int32{first, 3, 4, 5, 6, 7, 8, 2, 2}}} // 4 blocks of 2
	}
	var calls [][]rollout.Request
	for _, first := range []int32{1, 2, 1, 3, 1, 2} {
		calls = append(calls, ask(first))
	}
	for capacity, want := range map[int][]int32{100: {0, 0, 8, 0, 8, 8}, 8: {0, 0, 8, 0, 8, 0}, 6: {0, 0, 4, 0, 4, 0}, 4: {0, 0, 0, 0, 0, 0}, 1: {0, 0, 0, 0, 0, 0}} {
		got := sharing(t, slices.Repeat(packed, len(calls)), p.Config, rollout.SharedPrefixCache{Policy: rollout.SaltPrefixes, Blocks: capacity, BlockTokens: 2}, rollout.Prefill{}, 1, 1, calls)
		var found []int32
		for _, b := range got {
			found = append(found, b.CachedTokens[0])
		}
		if !slices.Equal(found, want) {
			t.Errorf("%d blocks: %v cached tokens, want %v", capacity, found, want)
		}
	}
}

// A run with weights that are loaded in the middle of responses goes on from its state with
// the same bits, blocks and evictions, in every continuation.
func TestPrefixesInState(t *testing.T) {
	p := enginetest.Named("moe").Params
	_, packed := history(p, preset(t, "fp32"), 6)
	at := func(v, _ int) *engine.Weights { return packed[v] }
	for _, policy := range []rollout.PrefixPolicy{rollout.FlushPrefixes, rollout.SaltPrefixes, rollout.KeepPrefixes} {
		for _, how := range []rollout.Continuation{rollout.Reprefill, rollout.KeepStale, rollout.Pin} {
			run := func(kill int) (*column.Sampled, []byte) {
				fresh := func(workers int) *rollout.Engine {
					e := rollout.New(p.Config, packed[0].Numerics, 3, workers)
					t.Cleanup(e.Close)
					e.SetSharedPrefixCache(rollout.SharedPrefixCache{Policy: policy, Blocks: 11, BlockTokens: 2})
					return e
				}
				e, calls, g := fresh(1), epochs(2, p.Config.Vocab), gathered{}
				e.Load(packed[0], how)
				waiting := slices.Concat(calls...)
				for i := range waiting {
					waiting[i].ID = i
				}
				for step := 0; ; step++ {
					if step%4 == 3 && step/4 < len(packed) {
						e.Load(packed[step/4], how)
					}
					if n := min(len(waiting), 2); step%2 == 0 && n > 0 {
						e.Begin(waiting[:n], roomy)
						waiting = waiting[n:]
					}
					g.collect(e, e.Advance(1))
					if running, queued := e.InProgress(); running+queued+len(waiting) == 0 {
						return g.all(t, len(calls)*len(calls[0])), e.AppendPrefixState(nil)
					}
					if step == kill {
						state := e.AppendState(nil)
						e = fresh(2)
						e.Load(packed[max(min((step+1)/4, len(packed))-1, 0)], rollout.Pin)
						must.Do(t, e.SetState(state, roomy, at, nil))
					}
				}
			}
			want, blocks := run(-1)
			stale := 0
			for i, v := range want.CachedVersion {
				if from, _ := want.Span(i); v >= 0 && v < want.Version[from] {
					stale++
				}
			}
			if (stale > 0) != (policy == rollout.KeepPrefixes) {
				t.Errorf("%s, %s: %d responses on stale prefixes", policy, how, stale)
			}
			kills := []int{0, 1, 4, 9, 14, 22}
			if !*exhaustive {
				kills = []int{1, 9}
			}
			for _, kill := range kills {
				got, left := run(kill)
				same(t, fmt.Sprintf("%s, %s, killed after step %d", policy, how, kill), want, got)
				if !bytes.Equal(left, blocks) {
					t.Errorf("%s, %s, killed after step %d: the cache holds other blocks", policy, how, kill)
				}
			}
		}
	}
}

// A state that is cut, or of another cache, is refused.
func TestPrefixStateIsChecked(t *testing.T) {
	p := enginetest.Named("moe").Params
	with := func(blocks, tokens int) *rollout.Engine {
		e := rollout.New(p.Config, preset(t, "fp32"), 3, 1)
		t.Cleanup(e.Close)
		e.SetSharedPrefixCache(rollout.SharedPrefixCache{Policy: rollout.KeepPrefixes, Blocks: blocks, BlockTokens: tokens})
		e.Publish(p, 0)
		return e
	}
	e := with(9, 2)
	e.Generate(new(column.Sampled), epochs(1, p.Config.Vocab)[0], plain)
	state := e.AppendPrefixState(nil)
	for cut := 0; cut < len(state); cut += 1 + len(state)/300 {
		if _, err := with(9, 2).SetPrefixState(state[:cut]); err == nil {
			t.Fatalf("%d bytes of %d are taken", cut, len(state))
		}
	}
	for _, shape := range [][2]int{{8, 2}, {9, 3}} {
		if _, err := with(shape[0], shape[1]).SetPrefixState(state); err == nil {
			t.Errorf("blocks of a cache of 9 by 2 are taken into %v", shape)
		}
	}
	if rest, err := with(9, 2).SetPrefixState(append(state, 7)); err != nil || !slices.Equal(rest, []byte{7}) {
		t.Errorf("%v is left, %v", rest, err)
	}
}
