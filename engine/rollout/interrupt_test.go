package rollout_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// setting is a way to sample that interruption has to respect.
type setting struct {
	name, numerics string
	model          string
	retention      rollout.Retention
	prefill        rollout.Prefill
	draft          int
	tool           bool
	topP           float64
}

// settings cover what a response carries: dense and MoE, gates, environments,
// compressed caches, drafts, chunks, and numerics whose bits belong to the company.
var settings = []setting{
	{name: "dense", numerics: "fp32", model: "dense", topP: 1},
	{name: "moe with tools", numerics: "bf16-tp4", model: "moe-biased", tool: true, topP: 0.9},
	{name: "fp8 in chunks", numerics: "fp8-w8a8", model: "moe", prefill: rollout.Prefill{Chunk: 2}, tool: true, topP: 1},
	{name: "window", numerics: "fp32", model: "moe", retention: policies[0], tool: true, topP: 1},
	{name: "heavy hitters", numerics: "bf16", model: "moe", retention: policies[len(policies)-1], topP: 1},
	{name: "drafts", numerics: "fp32", model: "moe", draft: 3, tool: true, topP: 1},
	{name: "flash decoding", numerics: "bf16-flash-decoding", model: "dense", topP: 1},
	{name: "batch-variant", numerics: "fp32-batch-variant", model: "dense", topP: 1},
}

// engine makes an engine of a setting, without weights.
func (c setting) engine(t testing.TB, p *model.Params, slots, workers int) *rollout.Engine {
	n := preset(t, c.numerics)
	e := rollout.New(p.Config, n, slots, workers)
	e.SetPrefill(c.prefill)
	e.SetRetention(c.retention)
	if c.draft > 0 {
		e.SetSpeculative(rollout.Speculative{Draft: c.draft, Verify: rollout.Exact, LogProbs: rollout.FromVerifier}, p.Config, n)
		e.PublishDrafter(enginetest.Named(c.model).Params, 0)
	}
	t.Cleanup(e.Close)
	return e
}

// sampling is the setting's.
func (c setting) sampling() rollout.Sampling {
	s := roomy
	s.TopP, s.Gates = c.topP, true
	return s
}

// requests are groups and single prompts, each with its place as its name.
func (c setting) requests(n, vocab int) []rollout.Request {
	list := append(groups(1, 3, 3, vocab, 7), requests(2, n-9, vocab)...)
	if c.tool {
		list = withTool(list, echo{int32(vocab)})
	}
	for i := range list {
		list[i].ID, list[i].Group = i, i/3
	}
	return list
}

// tool is the one of the setting's requests.
func (c setting) answers(vocab int) rollout.Tool {
	if c.tool {
		return echo{int32(vocab)}
	}
	return nil
}

// history makes weights that differ more at each version, packed, by version.
func history(p *model.Params, n engine.Numerics, versions int) (params []*model.Params, packed []*engine.Weights) {
	for v := range versions {
		q, rng := p.Clone(), rand.New(rand.NewPCG(uint64(v), 3))
		for i := range q.Theta {
			q.Theta[i] *= 1 + 0.2*float32(v)*(rng.Float32()-0.5)
		}
		w := engine.NewWeights(p.Config, n)
		w.Publish(q, v)
		params, packed = append(params, q), append(packed, w)
	}
	return params, packed
}

// gathered collects responses in the order of their names.
type gathered struct {
	parts map[int]*column.Sampled
	log   []string // what was complete, and when
	steps int
}

// collect takes what is complete.
func (g *gathered) collect(e *rollout.Engine, steps int) {
	var b column.Sampled
	ids := e.Collect(&b, nil)
	g.steps += steps
	if g.parts == nil {
		g.parts = map[int]*column.Sampled{}
	}
	for i, id := range ids {
		part := new(column.Sampled)
		b.Select(part, []int{i})
		g.parts[id] = part
		g.log = append(g.log, fmt.Sprint(g.steps, id))
	}
}

// all are the n responses.
func (g *gathered) all(t *testing.T, n int) *column.Sampled {
	t.Helper()
	var list []*column.Sampled
	for i := range n {
		if g.parts[i] == nil {
			t.Fatalf("response %d of %d is lost", i, n)
		}
		list = append(list, g.parts[i])
	}
	var b column.Sampled
	column.Join(&b, list)
	return &b
}

// brokenOff generates responses twice: in one engine, and in three of them, from a snapshot in the
// second and resumed in the third, which it returns as it then is.
func brokenOff(t *testing.T, p *model.Params, n engine.Numerics, how rollout.Continuation) (want, got *column.Sampled, e *rollout.Engine) {
	t.Helper()
	list := append(groups(1, 2, 3, p.Config.Vocab, 7), requests(2, 6, p.Config.Vocab)...)
	for i := range list {
		list[i].ID = i
	}
	begin := func(slots int) *rollout.Engine {
		e := rollout.New(p.Config, n, slots, 1)
		t.Cleanup(e.Close)
		return e
	}
	e = begin(4)
	e.Publish(p, 0)
	want = new(column.Sampled)
	e.Generate(want, list, roomy)
	e = begin(4)
	e.Publish(p, 0)
	e.Begin(list, roomy)
	var g gathered
	g.collect(e, e.Advance(3))
	state := e.AppendState(nil)
	w := engine.NewWeights(p.Config, n)
	w.Publish(p, 0)
	e = begin(3)
	e.Load(w, rollout.Pin)
	must.Do(t, e.SetState(state, roomy, func(int, int) *engine.Weights { return w }, nil))
	g.collect(e, e.Advance(2))
	partials := e.Interrupt(nil)
	e = begin(7)
	e.Load(w, rollout.Pin)
	e.Resume(partials, roomy, how)
	for running, waiting := e.InProgress(); running+waiting > 0; running, waiting = e.InProgress() {
		g.collect(e, e.Advance(9))
	}
	return want, g.all(t, len(list)), e
}

// refuse checks that each of the calls panics.
func refuse(t *testing.T, calls map[string]func()) {
	t.Helper()
	for what, call := range calls {
		must.Panic(t, what, call)
	}
}

// same compares every column.
func same(t *testing.T, how string, want, got *column.Sampled) {
	t.Helper()
	if !bytes.Equal(want.AppendState(nil), got.AppendState(nil)) {
		sameResponses(t, how, want, got, nil)
		t.Errorf("%s: other columns", how)
	}
}

// In any portions of steps, on any workers, with requests that come in one by one
// and responses that leave early, the columns are Generate's; and what is complete
// after how many steps does not depend on the workers.
func TestAdvanceInAnyPortions(t *testing.T) {
	for _, c := range settings {
		p := enginetest.Named(c.model).Params
		list := c.requests(21, p.Config.Vocab)
		for _, slots := range []int{len(list), 5} {
			e := c.engine(t, p, slots, 1)
			e.Publish(p, 3)
			var want column.Sampled
			e.Generate(&want, list, c.sampling())
			var log []string
			for portion := range 5 {
				how := fmt.Sprintf("%s, %d slots, portion %d", c.name, slots, portion)
				e := c.engine(t, p, slots, 1+portion%3)
				e.Publish(p, 3)
				var g gathered
				rng := rand.New(rand.NewPCG(uint64(portion), 1))
				rest := list
				if portion < 3 { // all at once
					e.Begin(rest, c.sampling())
					rest = nil
				}
				for running, waiting := e.InProgress(); running+waiting+len(rest) > 0; running, waiting = e.InProgress() {
					n := min(len(rest), rng.IntN(4))
					e.Begin(rest[:n], c.sampling())
					rest = rest[n:]
					g.collect(e, e.Advance(1+rng.IntN(1+4*portion)))
				}
				if preset(t, c.numerics).BatchInvariant() || portion < 3 {
					same(t, how, &want, g.all(t, len(list)))
				}
				if portion < 3 && portion > 0 && !slices.Equal(log, g.log) {
					t.Errorf("%s: complete\n%v after\n%v", how, g.log, log)
				}
				log = g.log
			}
		}
	}
}

// Interrupted and resumed with the weights they have, responses do not notice: as
// they are or through bytes, some or all, in another engine, in every continuation.
func TestInterruptionChangesNoBit(t *testing.T) {
	for _, c := range settings {
		p := enginetest.Named(c.model).Params
		n := preset(t, c.numerics)
		_, packed := history(p, n, 1)
		list := c.requests(15, p.Config.Vocab)
		e := c.engine(t, p, len(list), 1)
		e.Publish(p, 0)
		var want column.Sampled
		e.Generate(&want, list, c.sampling())
		for _, how := range []rollout.Continuation{rollout.Reprefill, rollout.KeepStale, rollout.Pin} {
			if how.Check(c.retention, false) != nil || how == rollout.Reprefill && !n.DecodesAsScored() {
				continue
			}
			rng := rand.New(rand.NewPCG(1, 2))
			all := n.BatchInvariant() // else company counts
			slots := len(list)
			if all {
				slots = 6
			}
			e := c.engine(t, p, slots, 1)
			e.Load(packed[0], how)
			var g gathered
			for e.Begin(list, c.sampling()); len(g.parts) < len(list); {
				g.collect(e, e.Advance(1+rng.IntN(8))) // seldom enough to read a prefix in chunks
				var some func(id int) bool
				if third := rng.IntN(3); all && rng.IntN(2) == 0 {
					some = func(id int) bool { return id%3 == third }
				}
				partials := e.Interrupt(some)
				if rng.IntN(3) == 0 {
					partials = throughBytes(t, partials, packed, c.answers(p.Config.Vocab))
				}
				if all && some == nil && rng.IntN(6) == 0 {
					e = c.engine(t, p, 4+rng.IntN(len(list)), 1)
					e.Load(packed[0], how)
				}
				e.Resume(partials, c.sampling(), how)
			}
			same(t, c.name+", "+string(how), &want, g.all(t, len(list)))
		}
	}
}

// throughBytes writes partial responses and reads them back.
func throughBytes(t *testing.T, partials []*rollout.Partial, packed []*engine.Weights, tool rollout.Tool) []*rollout.Partial {
	t.Helper()
	var state []byte
	for _, p := range partials {
		state = p.AppendState(state)
	}
	var out []*rollout.Partial
	for len(state) > 0 {
		p, rest, err := rollout.ReadPartial(state, func(v, _ int) *engine.Weights { return packed[v] }, tool)
		must.Do(t, err)
		out, state = append(out, p), rest
	}
	return out
}

// drifting samples while weights are loaded every few steps, with the continuations
// in turn.
func drifting(t *testing.T, c setting, p *model.Params, packed []*engine.Weights, list []rollout.Request, how ...rollout.Continuation) *column.Sampled {
	t.Helper()
	e := c.engine(t, p, 8, 2)
	e.Load(packed[0], rollout.Pin)
	var g gathered
	e.Begin(list, c.sampling())
	for version := 0; len(g.parts) < len(list); {
		g.collect(e, e.Advance(2))
		if g.steps/3 > version && version+1 < len(packed) {
			version++
			e.Load(packed[version], how[version%len(how)])
		}
	}
	return g.all(t, len(list))
}

// With reprefill and pin, the weights of a token's version give it its log-prob and
// distribution bit for bit when its whole response is scored: with every numerics
// that decode as they score. A pinned response has one version; others have several.
func TestVersionsAreExact(t *testing.T) {
	for i, name := range []string{"fp32", "bf16", "fp8-w8a8", "bf16-tp4", "int8-w8a8"} {
		m := enginetest.Models(enginetest.Small)[i%4]
		c := setting{name: name, numerics: name, model: m.Name, tool: i%2 == 0, topP: 1, prefill: rollout.Prefill{Chunk: 5 * (i % 2)}}
		if i == 0 {
			c.draft = 2
		}
		p, n := m.Params, preset(t, name)
		params, packed := history(p, n, 5)
		for _, how := range []rollout.Continuation{rollout.Reprefill, rollout.Pin} {
			b := drifting(t, c, p, packed, c.requests(20, p.Config.Vocab), how)
			mixed := 0
			for i := range b.Len() {
				from, to := b.Span(i)
				if b.Version[from] != b.Version[to-1] {
					mixed++
				}
			}
			if (mixed == 0) != (how == rollout.Pin) || slices.Contains(b.Stale, true) {
				t.Errorf("%s, %s: %d responses of several versions, stale %t", name, how, mixed, slices.Contains(b.Stale, true))
			}
			s := learner.NewScorer(p.Config, n, 1)
			var scored column.Scored
			tokens := 0
			for v, q := range params {
				s.Publish(q, v)
				s.Score(&scored, b, learner.ScoreOptions{Policy: learner.Policy{Temperature: roomy.Temperature}, Distributions: true})
				wrong := 0
				for i := range b.Len() {
					if first := b.Offsets[i]; int(b.Version[first]) == v && !slices.Equal(b.PromptRoutes[i], scored.PromptRoutes[i]) {
						t.Errorf("%s, %s: version %d does not visit the experts of prompt %d", name, how, v, i)
					}
				}
				for k := range b.Token {
					if int(b.Version[k]) != v || !b.Mask[k] {
						continue
					}
					tokens++
					if from, to := k*b.Vocab, (k+1)*b.Vocab; b.LogpRoll[k] != scored.Logp[k] || !slices.Equal(b.DistRoll[from:to], scored.Dist[from:to]) {
						wrong++
					}
				}
				if wrong > 0 {
					t.Errorf("%s, %s: version %d does not give %d tokens their log-probs", name, how, v, wrong)
				}
			}
			if masked := slices.DeleteFunc(slices.Clone(b.Mask), func(m bool) bool { return !m }); tokens != len(masked) {
				t.Errorf("%s, %s: %d of %d tokens have a version that was loaded", name, how, tokens, len(masked))
			}
			s.Close()
		}
	}
}

// With keep_stale, alone or among the others, a replay of the version trace gives
// every token its log-prob and every row its routes: each position computed once,
// by the weights of its row, on the keys that stood before it.
func TestStaleKeysReplay(t *testing.T) {
	for i, name := range []string{"fp32", "bf16", "fp8-w8a8", "bf16-tp4"} {
		m := enginetest.Models(enginetest.Small)[i%4]
		c := setting{name: name, numerics: name, model: m.Name, tool: i%2 == 0, topP: 1, prefill: rollout.Prefill{Chunk: 4 * (i % 2)}}
		if i == 2 {
			c.draft = 2
		}
		p, n := m.Params, preset(t, name)
		params, packed := history(p, n, 6)
		for _, how := range [][]rollout.Continuation{
			{rollout.KeepStale},
			{rollout.Reprefill, rollout.KeepStale},
			{rollout.KeepStale, rollout.Pin, rollout.KeepStale, rollout.Reprefill},
		} {
			b := drifting(t, c, p, packed, c.requests(20, p.Config.Vocab), how...)
			logp, routes, prompts := replayed(p.Config, packed, b)
			for k := range b.Token {
				if b.Mask[k] && logp[k] != b.LogpRoll[k] {
					t.Fatalf("%s, %v: token %d has log-prob %v, its trace %v", name, how, k, b.LogpRoll[k], logp[k])
				}
			}
			if !slices.Equal(routes, b.RoutesRoll) || !slices.EqualFunc(prompts, b.PromptRoutes, slices.Equal) {
				t.Errorf("%s, %v: the trace visits other experts", name, how)
			}
			wholly, partly := byVersion(p.Config, n, params, b)
			if wholly > 0 {
				t.Errorf("%s, %v: %d tokens are not stale, and their version does not give their log-probs", name, how, wholly)
			}
			if partly == 0 {
				t.Errorf("%s, %v: stale keys change nothing", name, how)
			}
		}
	}
}

// byVersion counts the tokens to which the weights of their version do not give the
// log-prob that was recorded: those that are not stale, and those that are.
func byVersion(c model.Config, n engine.Numerics, params []*model.Params, b *column.Sampled) (fresh, stale int) {
	s := learner.NewScorer(c, n, 1)
	defer s.Close()
	var scored column.Scored
	for v, q := range params {
		s.Publish(q, v)
		s.Score(&scored, b, learner.ScoreOptions{Policy: learner.Policy{Temperature: roomy.Temperature}})
		for k := range b.Token {
			switch {
			case !b.Mask[k] || int(b.Version[k]) != v || scored.Logp[k] == b.LogpRoll[k]:
			case b.Stale[k]:
				stale++
			default:
				fresh++
			}
		}
	}
	return fresh, stale
}

// replayed computes the log-prob of every token and the routes of every row by
// the rules of column.Sampled alone.
func replayed(c model.Config, packed []*engine.Weights, b *column.Sampled) (logp []float64, routes []uint8, prompts [][]uint8) {
	pass, cache := engine.NewPass(c, 1), engine.NewCache(c, packed[0].Numerics, 1)
	defer pass.Close()
	row := make([]float32, c.Vocab)
	per := c.Layers * c.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		for k := from; k < to; k++ {
			all := append(slices.Clone(b.Prompt[i]), b.Token[from:k]...)
			first := len(all) - 1
			if k == from || !b.Stale[k] && (b.Version[k] != b.Version[k-1] || b.Stale[k-1]) {
				first = 0 // the prefix is computed again
			}
			var pack engine.Pack
			pack.Add(first, all[first:])
			pack.Targets = []int32{int32(pack.Rows() - 1)}
			pass.Begin(packed[b.Version[k]], &pack, engine.Options{Cache: cache, Slots: []int{0}})
			pass.Forward()
			kernel.LogSoftmax(row, pass.Logits(), c.Vocab, float32(1/roomy.Temperature))
			logp = append(logp, float64(row[b.Token[k]]))
			routes = append(routes, pass.Routes()[(pack.Rows()-1)*per:]...)
			if k == from {
				prompts = append(prompts, slices.Clone(pass.Routes()[:(pack.Rows()-1)*per]))
			}
		}
	}
	return logp, routes, prompts
}

var exhaustive = flag.Bool("exhaustive", false, "kill at every step, as in nightly tests, in place of one in thirteen")

// A run killed after any step and resumed from its bytes completes the same
// responses after the same steps, bit for bit, while weights are loaded, responses
// begin and others wait, in every continuation.
func TestStateAtEveryStep(t *testing.T) {
	for i, c := range settings {
		p := enginetest.Named(c.model).Params
		n := preset(t, c.numerics)
		_, packed := history(p, n, 6)
		list := c.requests(13, p.Config.Vocab)
		at := func(v, _ int) *engine.Weights { return packed[v] }
		for _, how := range [][]rollout.Continuation{{rollout.Reprefill}, {rollout.KeepStale}, {rollout.Pin}, {rollout.KeepStale, rollout.Reprefill}} {
			if slices.ContainsFunc(how, func(h rollout.Continuation) bool { return h.Check(c.retention, false) != nil }) {
				continue
			}
			run := func(kill int) *gathered {
				e := c.engine(t, p, 5, 1+kill%2)
				e.Load(packed[0], rollout.Pin)
				var g gathered
				e.Begin(list[:9], c.sampling())
				for step := 1; len(g.parts) < len(list); step++ {
					if step == 5 {
						e.Begin(list[9:], c.sampling())
					}
					if v := step / 4; step%4 == 0 && v < len(packed) {
						e.Load(packed[v], how[v%len(how)])
					}
					g.collect(e, e.Advance(1))
					if step != kill {
						continue
					}
					state := e.AppendState(nil)
					if again := e.AppendState(nil); !bytes.Equal(state, again) {
						t.Fatalf("%s: a state disturbs the engine", c.name)
					}
					e = c.engine(t, p, 5, 1+i%2)
					e.Load(packed[min(step/4, len(packed)-1)], rollout.Pin)
					must.Do(t, e.SetState(state, c.sampling(), at, c.answers(p.Config.Vocab)))
				}
				return &g
			}
			want := run(-1)
			whole := want.all(t, len(list))
			every := 13
			if *exhaustive {
				every = 1
			}
			for kill := 1; kill <= want.steps; kill += every {
				how := fmt.Sprintf("%s, %v, killed after step %d of %d", c.name, how, kill, want.steps)
				got := run(kill)
				same(t, how, whole, got.all(t, len(list)))
				if !slices.Equal(want.log, got.log) {
					t.Fatalf("%s: complete\n%v, not\n%v", how, got.log, want.log)
				}
			}
		}
	}
}

// A drafter that gets other weights reads what is in progress again, as one does
// that has never read it.
func TestDrafterReadsAgain(t *testing.T) {
	c := settings[5]
	p := enginetest.Named(c.model).Params
	params, packed := history(p, preset(t, c.numerics), 3)
	list := c.requests(12, p.Config.Vocab)
	var runs [2]gathered
	for moves := range runs {
		e, g := c.engine(t, p, len(list), 1), &runs[moves]
		e.Load(packed[0], rollout.Pin)
		e.Begin(list, c.sampling())
		for range 3 {
			g.collect(e, e.Advance(1))
		}
		if moves == 1 {
			partials := e.Interrupt(nil)
			e = c.engine(t, p, len(list), 1)
			e.Load(packed[0], rollout.Pin)
			e.Resume(partials, c.sampling(), rollout.Pin)
		}
		for e.PublishDrafter(params[2], 2); len(g.parts) < len(list); {
			g.collect(e, e.Advance(1))
		}
	}
	same(t, "a drafter that knows the old keys", runs[1].all(t, len(list)), runs[0].all(t, len(list)))
	if !slices.Contains(runs[0].all(t, len(list)).DrafterVersion, 2) {
		t.Error("the new weights draft nothing")
	}
}

// A state that is cut, bent or another engine's is an error, and panics nowhere.
func TestBrokenState(t *testing.T) {
	c := settings[1]
	p := enginetest.Named(c.model).Params
	_, packed := history(p, preset(t, c.numerics), 2)
	at := func(v, _ int) *engine.Weights {
		if v < 0 || v > 1 {
			return nil
		}
		return packed[v]
	}
	e := c.engine(t, p, 2, 1)
	e.Load(packed[1], rollout.Pin)
	e.Begin(c.requests(10, p.Config.Vocab)[:3], c.sampling())
	e.Advance(3)
	e.Collect(&column.Sampled{}, nil)
	state := e.AppendState(nil)
	for cut := 0; cut < len(state); cut += 1 + len(state)/500 {
		if err := c.engine(t, p, 2, 1).SetState(state[:cut], c.sampling(), at, nil); err == nil {
			t.Fatalf("%d bytes of %d are taken", cut, len(state))
		}
	}
	fresh := func(s rollout.Sampling, c setting, at func(version, actual int) *engine.Weights) error {
		return c.engine(t, p, 2, 1).SetState(state, s, at, nil)
	}
	shorter, columns, window := c.sampling(), c.sampling(), c
	shorter.MaxTokens, columns.Distributions, window.retention = 2, false, policies[0]
	for name, err := range map[string]error{
		"room":      fresh(shorter, c, at),
		"columns":   fresh(columns, c, at),
		"retention": fresh(c.sampling(), window, at),
		"version 1": fresh(c.sampling(), c, func(int, int) *engine.Weights { return nil }),
		"behind":    c.engine(t, p, 2, 1).SetState(append(slices.Clone(state), 0), c.sampling(), at, nil),
	} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := fresh(c.sampling(), c, at); err != nil {
		t.Error(err)
	}
}

// Engines beside each other share workers and weights, and hold versions of their
// own: each samples as if it were alone, and responses may move between them.
func TestEnginesBesideEachOther(t *testing.T) {
	c := settings[1]
	p := enginetest.Named(c.model).Params
	params, packed := history(p, preset(t, c.numerics), 3)
	list := c.requests(12, p.Config.Vocab)
	first := c.engine(t, p, len(list), 2)
	fleet := []*rollout.Engine{first, first.Sibling(2 * len(list)), first.Sibling(5)}
	for i, e := range fleet {
		e.Load(packed[i], rollout.Pin)
		for k := range list {
			list[k].ID = i*len(list) + k
		}
		e.Begin(list, c.sampling())
	}
	var got gathered
	for round := 0; len(got.parts) < 3*len(list); round++ {
		for _, e := range fleet {
			got.collect(e, e.Advance(2))
		}
		if round == 1 { // what waits goes on waiting
			fleet[2].Resume(fleet[2].Interrupt(func(id int) bool { return id%2 == 0 }), c.sampling(), rollout.Pin)
		}
		if round == 2 { // the first's go on beside the second's, with their own version
			fleet[1].Resume(fleet[0].Interrupt(nil), c.sampling(), rollout.Pin)
		}
	}
	all := got.all(t, 3*len(list))
	for v := range params {
		e := c.engine(t, p, 4, 1)
		e.Publish(params[v], v)
		var want, part column.Sampled
		e.Generate(&want, list, c.sampling())
		rows := make([]int, len(list))
		for k := range rows {
			rows[k] = v*len(list) + k
		}
		all.Select(&part, rows)
		same(t, fmt.Sprintf("version %d", v), &want, &part)
	}
}

// A decode step allocates nothing, with several versions in progress either.
func TestAdvanceAllocatesNothing(t *testing.T) {
	for _, c := range []setting{settings[0], settings[3]} {
		c.tool = false
		p := enginetest.Named(c.model).Params
		_, packed := history(p, preset(t, c.numerics), 2)
		e := c.engine(t, p, 8, 2)
		s := c.sampling()
		s.Stop, s.TopP = -1, 1
		e.Load(packed[0], rollout.Pin)
		list := c.requests(12, p.Config.Vocab)
		var b column.Sampled
		for range 3 {
			e.Begin(list[:4], s)
			e.Advance(2)
			e.Load(packed[1], rollout.Pin)
			e.Begin(list[4:8], s)
			e.Advance(5)
			if got := testing.AllocsPerRun(5, func() { e.Advance(1) }); got != 0 {
				t.Errorf("%s: a step allocates %v times", c.name, got)
			}
			for running, _ := e.InProgress(); running > 0; running, _ = e.InProgress() {
				e.Advance(100)
				e.Collect(&b, nil)
			}
		}
	}
}

// What cannot be continued says so, in one line that names the way out.
func TestRefusedContinuations(t *testing.T) {
	for _, test := range []struct {
		how          rollout.Continuation
		retention    rollout.Retention
		recalibrates bool
		want         string
	}{
		{rollout.Reprefill, policies[0], false, "keep_stale or pin"},
		{rollout.KeepStale, rollout.Retention{}, true, "calibrate once"},
		{"restart", rollout.Retention{}, false, "reprefill, keep_stale and pin"},
		{rollout.KeepStale, policies[0], false, ""},
		{rollout.Pin, policies[0], true, ""},
		{rollout.Reprefill, rollout.Retention{}, true, ""},
	} {
		err := test.how.Check(test.retention, test.recalibrates)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s, %+v, %t: %v", test.how, test.retention, test.recalibrates, err)
		}
	}
}

// Programmers' faults panic: what is in progress has one sampling and one
// setting, and a compressed cache is not read again.
func TestMisusedWhileInProgress(t *testing.T) {
	c := settings[3]
	p := enginetest.Named(c.model).Params
	_, packed := history(p, preset(t, c.numerics), 2)
	other := engine.NewWeights(p.Config, preset(t, "bf16"))
	for name, fault := range map[string]func(e *rollout.Engine){
		"Generate":     func(e *rollout.Engine) { e.Generate(&column.Sampled{}, nil, c.sampling()) },
		"Publish":      func(e *rollout.Engine) { e.Publish(p, 1) },
		"SetPrefill":   func(e *rollout.Engine) { e.SetPrefill(rollout.Prefill{}) },
		"SetRetention": func(e *rollout.Engine) { e.SetRetention(rollout.Retention{}) },
		"another sampling": func(e *rollout.Engine) {
			e.Begin(nil, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 3})
		},
		"reprefill":      func(e *rollout.Engine) { e.Load(packed[1], rollout.Reprefill) },
		"other numerics": func(e *rollout.Engine) { e.Load(other, rollout.Pin) },
		"uncollected":    func(e *rollout.Engine) { e.Advance(1000); e.AppendState(nil) },
		"resumed twice": func(e *rollout.Engine) {
			p := e.Interrupt(nil)
			e.Resume(p, c.sampling(), rollout.Pin)
			e.Resume(p, c.sampling(), rollout.Pin)
		},
	} {
		e := c.engine(t, p, 2, 1)
		e.Load(packed[0], rollout.Pin)
		e.Begin(c.requests(10, p.Config.Vocab), c.sampling())
		e.Advance(1)
		must.Panic(t, name, func() { fault(e) })
	}
}
