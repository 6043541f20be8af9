package rollout

import (
	"fmt"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
	"driftlab/precision/elementary"
)

// DraftLogProbs says whose log-prob is recorded with a drafted token.
type DraftLogProbs string

const (
	// FromVerifier records the verifier's, the log-prob under exact verification.
	FromVerifier DraftLogProbs = "verifier"
	// FromDrafter records the drafter's where its token was accepted: what a
	// server returns that forgets which of its two models it asked.
	FromDrafter DraftLogProbs = "drafter"
	// FromLaw records the log-prob under the distribution the token was really drawn from.
	FromLaw DraftLogProbs = "law"
)

// Speculative says how tokens are drafted and verified (ReSpec,
// arXiv:2510.26475). A drafter proposes tokens one by one; the engine reads them
// in one pass and keeps the longest beginning that passes the test, and one
// token of its own after it.
type Speculative struct {
	// Draft is the number of tokens drafted for a pass; 0 drafts none.
	Draft int
	// Verify is the test.
	Verify Verify
	// Tau is the leniency of Lossy, 0 for the others.
	Tau float64
	// LogProbs says what LogpRoll is. With FromDrafter and FromLaw the recorded
	// distributions are from the same source, after truncation.
	LogProbs DraftLogProbs
}

// SetSpeculative drafts from now on with a model of that shape, whose vocabulary
// is the engine's, in those numerics. The drafter needs weights (PublishDrafter)
// before. Given and greedy responses are not drafted. It panics for an engine with
// a compressed cache or a partner, or with something in progress.
func (e *Engine) SetSpeculative(s Speculative, c model.Config, n engine.Numerics) {
	known := s.Verify == Exact || s.Verify == Lossy || s.Verify == Greedy
	read := s.LogProbs == FromVerifier || s.LogProbs == FromDrafter || s.LogProbs == FromLaw
	if !known || !read || s.Draft < 0 || s.Tau < 0 || s.Tau > 0 && s.Verify != Lossy {
		panic(fmt.Sprintf("rollout: impossible speculation %+v", s))
	}
	e.idle("SetSpeculative")
	if linear := model.LinearAttention; e.config.HasLayer(linear) || c.HasLayer(linear) {
		panic("rollout: drafts are taken back, and a state of linear attention cannot be")
	}
	if e.indexed || c.HasLayer(model.SparseAttention) {
		panic("rollout: drafts with sparse attention, whose choices are recorded with each response")
	}
	if c.Vocab != e.config.Vocab || e.retainer != nil || e.partner != nil {
		panic(fmt.Sprintf("rollout: drafter with a vocabulary of %d for one of %d, compressed cache %t, partner %t",
			c.Vocab, e.config.Vocab, e.retainer != nil, e.partner != nil))
	}
	e.drafter.close()
	e.drafter = &drafter{setting: s, engine: e, secondModel: e.newSecondModel(c, n), slots: make([]draft, len(e.slots)), samplers: make([]sampler, len(e.together.samplers))}
}

// secondModel is a model that reads what an engine does, with a pass and a cache of its own.
type secondModel struct {
	config  model.Config
	weights *engine.Weights
	pass    *engine.Pass
	cache   *engine.Cache
	pack    engine.Pack
	ids     []int
	targets []int32
}

func (e *Engine) newSecondModel(c model.Config, n engine.Numerics) secondModel {
	return secondModel{config: c, weights: engine.NewForwardWeights(c, n), pass: engine.NewPass(c, len(e.together.samplers)),
		cache: engine.NewCache(c, n, len(e.slots)), targets: []int32{}}
}

// reset empties the pack.
func (m *secondModel) reset() {
	m.pack.Reset()
	m.ids, m.targets = m.ids[:0], m.targets[:0]
}

// add appends the positions from..end-1 of a response to the pack.
func (m *secondModel) add(r *response, from, end int) {
	prompt := r.request.Prompt
	n := len(prompt)
	m.pack.Add(from, prompt[min(from, n):min(end, n)], r.Token[max(from-n, 0):max(end-n, 0)])
}

// forward runs the pass over the pack.
func (m *secondModel) forward(follow engine.Follower) {
	m.pack.Targets = m.targets
	m.pass.Begin(m.weights, &m.pack, engine.Options{Cache: m.cache, Slots: m.ids, Follow: follow})
	m.pass.Forward()
}

// SetDraft changes the number of tokens drafted for a pass; 0 drafts none.
func (e *Engine) SetDraft(k int) { e.drafter.setting.Draft = max(k, 0) }

// PublishDrafter takes the parameters as the drafter's weights of the given
// version. It reads what is in progress again.
func (e *Engine) PublishDrafter(p *model.Params, version int) {
	e.drafter.weights.Publish(p, version)
	for i := range e.drafter.slots {
		e.drafter.slots[i].length = 0
	}
}

// drafter proposes tokens. It follows its pass as a lane does the engine's.
type drafter struct {
	secondModel
	setting  Speculative
	engine   *Engine
	slots    []draft
	samplers []sampler
}

// close releases the workers of a drafter, if there is one.
func (d *drafter) close() {
	if d != nil {
		d.pass.Close()
	}
}

// draft is what the drafter knows of one slot.
type draft struct {
	length int       // tokens whose keys are in its cache
	want   int       // tokens to draft for this pass
	tokens []int32   // drafted
	laws   []float64 // [drafted][vocab] the distributions they were drawn from
	logp   []float64 // [drafted] log-prob of each, as the drafter records it
	rows   []float32 // [drafted][vocab] and of the whole vocabulary
}

// propose drafts tokens for every slot that is about to read its newest token and
// nothing else for the first time: as many as asked for, as long as they and the
// token after them have room.
func (d *drafter) propose() {
	e, most := d.engine, 0
	for i := range e.slots {
		k, w := e.slots[i].response, &d.slots[i]
		w.want, w.tokens, w.laws, w.logp, w.rows = 0, w.tokens[:0], w.laws[:0], w.logp[:0], w.rows[:0]
		again := k.running() && k.length < k.read && e.prefill.Chunk > 0 // in several passes
		if !k.running() || k.request.Given != nil || len(k.Token) == 0 || k.read != k.known()-1 || again {
			continue
		}
		room := min(e.sampling.MaxTokens-len(k.Token)-1, e.config.Context-k.known(), d.config.Context-k.known())
		w.want = max(min(d.setting.Draft, room), 0)
		most = max(most, w.want)
	}
	for j := range most {
		d.extend(j)
	}
}

// extend drafts the token of index j for every slot that wants it.
func (d *drafter) extend(j int) {
	e := d.engine
	d.reset()
	for i := range d.slots {
		w := &d.slots[i]
		if w.want <= j {
			continue
		}
		if j > 0 {
			d.pack.Add(w.length, w.tokens[j-1:])
		} else {
			r := e.slots[i].response
			d.add(r, w.length, r.known())
		}
		d.ids, d.targets = append(d.ids, i), append(d.targets, int32(d.pack.Rows()-1))
	}
	d.forward(d)
}

// Follow implements engine.Follower: it draws a token for each sequence of the
// drafter's pack, with the response's own random stream.
func (d *drafter) Follow(worker, from, to, target int) {
	m, v, s := &d.samplers[worker], d.config.Vocab, d.engine.sampling
	logits := d.pass.Logits()
	for n := from; n < to; n++ {
		w, k := &d.slots[d.ids[n]], d.engine.slots[d.ids[n]].response
		w.length += d.pack.Offsets[n+1] - d.pack.Offsets[n]
		row := logits[target*v : (target+1)*v]
		target++
		x, at := m.distribution(row, s), len(w.laws)
		w.laws = append(w.laws, m.law(x)...)
		x = m.settle(x, drawFrom(w.laws[at:], uniform(&k.rng)), row, s)
		w.tokens, w.logp, w.rows = append(w.tokens, x.token), append(w.logp, x.logp), append(w.rows, m.logp...)
	}
}

// law is the distribution that was prepared last, as probabilities that sum to
// one; valid until the next call.
func (m *sampler) law(d drawn) []float64 {
	m.exact = column.Zeroed(m.exact, len(m.probs))
	total := 0.0
	if d.support == nil {
		for a, p := range m.probs {
			m.exact[a] = float64(p)
			total += float64(p)
		}
	}
	for _, a := range d.support {
		m.exact[a] = float64(m.probs[a])
		total += float64(m.probs[a])
	}
	for a := range m.exact {
		m.exact[a] /= total
	}
	return m.exact
}

// verify goes through the rows of a slot that read its newest token and its
// drafts, from the first of them on. It emits the drafts that pass and one token
// after them, and takes back what the cache holds beyond.
func (l *lane) verify(m *sampler, slot int, logits []float32, v visits) {
	e, s := l.engine, l.engine.sampling
	k, w := e.slots[slot].response, &e.drafter.slots[slot]
	vocab := e.config.Vocab
	for j := 0; ; j++ {
		row := logits[j*vocab : (j+1)*vocab]
		k.reads(1, visits{})
		var x drawn
		t := tested{flag: column.Undrafted}
		if j < len(w.tokens) {
			x = m.distribution(row, s)
			t = e.drafter.setting.test(m, m.law(x), w.laws[j*vocab:(j+1)*vocab], w.tokens[j], k)
			x = m.settle(x, t.token, row, s)
		} else {
			x = m.draw(row, s, &k.rng)
		}
		t.verifier = x.logp
		if t.flag == column.Undrafted || e.drafter.setting.unbiased() {
			t.law = m.processed(x, s)
		}
		if t.flag != column.Undrafted {
			t.relabel(m, &x, e.drafter.setting, w.logp[j], w.rows[j*vocab:(j+1)*vocab])
		}
		k.tested(t, k.windows, e.drafter.weights.Version)
		k.add(x, v.rows(j, j+1), m.logp)
		length := len(k.Token)
		e.finish(m, k, x.token)
		if k.done || t.flag != column.Accepted || len(k.Token) != length {
			break
		}
	}
	k.windows++
	// The drafter has read its own tokens up to the last but one.
	w.length = min(w.length, k.length)
}

// tested is the outcome of one place of a window.
type tested struct {
	token         int32
	flag          column.DraftFlag
	law, verifier float64 // log-probs of the token
	tv, shift     float64 // distance of the drafter's distribution, and of the emitted token's, from the verifier's
}

// test accepts or replaces a token that was drafted from q where the verifier's
// distribution is p.
func (s Speculative) test(m *sampler, p, q []float64, token int32, k *response) tested {
	t := tested{token: token, flag: column.Accepted, tv: Distance(p, q)}
	m.emitted = column.Resized(m.emitted, len(p))
	if !(uniform(&k.rng) < s.Accept(p, q, int(token))) {
		s.Residual(m.emitted, p, q)
		t.token, t.flag = drawFrom(m.emitted, uniform(&k.rng)), column.Replaced
	}
	if !s.unbiased() {
		s.Law(m.emitted, p, q)
		t.shift, t.law = Distance(m.emitted, p), engine.LogOfMass(m.emitted[t.token])
	}
	return t
}

// relabel makes the log-prob and the distribution recorded of a token that was
// put to the test the drafter's or those the token was really drawn by, if LogProbs asks for it.
func (t *tested) relabel(m *sampler, x *drawn, s Speculative, drafted float64, row []float32) {
	switch {
	case s.LogProbs == FromDrafter && t.flag == column.Accepted:
		x.logp = drafted
		copy(m.logp, row)
	case s.LogProbs == FromLaw && !s.unbiased():
		for a, p := range m.emitted {
			m.logp[a] = float32(engine.LogOfMass(p))
		}
		x.logp = t.law
	}
}

// drafted are the tokens drafted for a slot's next pass.
func (e *Engine) drafted(slot int) []int32 {
	if !e.speculates {
		return nil
	}
	return e.drafter.slots[slot].tokens
}

// processed is the log-prob of a settled token under the distribution it was drawn from,
// whichever one is recorded.
func (m *sampler) processed(d drawn, s Sampling) float64 {
	if s.LogProbs == "" || s.LogProbs == Processed {
		return d.logp
	}
	logp := float64(m.logp[d.token])
	if d.support != nil && !s.OnSupport {
		logp -= engine.LogOfMass(d.kept)
	}
	return logp
}

// tested records the outcome of the place of a response's next token.
func (r *response) tested(t tested, window int32, version int) {
	if t.flag == column.Undrafted {
		version = -1
	}
	r.Draft, r.Window, r.DrafterVersion = append(r.Draft, t.flag), append(r.Window, window), append(r.DrafterVersion, int32(version))
	r.LogpVerifier, r.LogpLaw = append(r.LogpVerifier, t.verifier), append(r.LogpLaw, t.law)
	r.DraftTV, r.LawTV = append(r.DraftTV, t.tv), append(r.LawTV, t.shift)
}

// Verify says what becomes of a drafted token.
type Verify string

const (
	// Exact accepts a token a with probability min(1, p(a)/q(a)) and draws from
	// (p-q)+, normalised, where it rejects: the result has the verifier's distribution p
	// whatever the drafter's distribution q (arXiv:2211.17192, arXiv:2302.01318).
	Exact Verify = "exact"
	// Lossy accepts with probability min(1, (1+tau)·p(a)/q(a)), and so more often;
	// the distribution leans towards q. A tau of 0 is Exact.
	Lossy Verify = "lossy"
	// Greedy accepts a token that is the verifier's most likely one, of equals the
	// first, and draws from p in place of any other; the distribution leans towards that token.
	Greedy Verify = "greedy"
)

// Accept is the probability of accepting token a, drafted from q, in a state in
// which the verifier's distribution is p.
func (s Speculative) Accept(p, q []float64, a int) float64 {
	switch s.Verify {
	case Greedy:
		if a == slices.Index(p, slices.Max(p)) {
			return 1
		}
		return 0
	case Lossy:
		return min(1, (1+s.Tau)*p[a]/q[a])
	}
	return min(1, p[a]/q[a])
}

// Residual sets dst to the distribution of the token that takes the place of a rejected one.
func (s Speculative) Residual(dst, p, q []float64) {
	total := 0.0
	if s.Verify != Greedy {
		for a := range p {
			dst[a] = max(p[a]-q[a], 0)
			total += dst[a]
		}
	}
	if total == 0 { // equal distributions, of which nothing is rejected but by rounding
		copy(dst, p)
		return
	}
	for a := range dst[:len(p)] {
		dst[a] /= total
	}
}

// Law sets dst to the distribution of the token that is emitted where one drafted from q
// was put to the test:
//
//	law(a) = q(a)·accept(a) + Σ q·(1 - accept)·residual(a)
//
// For Exact that is p up to rounding.
func (s Speculative) Law(dst, p, q []float64) {
	rejected := 0.0
	for a := range p {
		if q[a] > 0 {
			rejected += float64(q[a] * (1 - s.Accept(p, q, a)))
		}
	}
	s.Residual(dst, p, q)
	for a := range p {
		dst[a] *= rejected
		if q[a] > 0 {
			dst[a] += float64(q[a] * s.Accept(p, q, a))
		}
	}
}

// Distance is the total variation ½·Σ|p - q| of two distributions.
func Distance(p, q []float64) float64 { return distance(p, q) }

func distance[T float32 | float64](p, q []T) float64 {
	sum := 0.0
	for a := range p {
		sum += math.Abs(float64(p[a]) - float64(q[a]))
	}
	return sum / 2
}

// Speedup is the predicted speed of drafting k tokens per pass, relative to no
// drafting, where a drafted token is accepted with the given rate and drafting
// one costs the given share of a pass of the verifier (arXiv:2211.17192,
// theorem 3.8):
//
//	(1 - acceptance^(k+1)) / ((1 - acceptance)·(cost·k + 1))
func Speedup(acceptance, cost float64, k int) float64 {
	expected := float64(k + 1)
	if acceptance < 1 {
		expected = (1 - elementary.Pow(acceptance, float64(k+1))) / (1 - acceptance)
	}
	return expected / (float64(cost*float64(k)) + 1)
}

// drawFrom returns the index at which the running sum of a distribution exceeds u; what
// rounding leaves belongs to the last possible one.
func drawFrom[T float32 | float64](law []T, u float64) int32 {
	sum, last := 0.0, int32(0)
	for a, x := range law {
		if x > 0 {
			last = int32(a)
		}
		if sum += float64(x); u < sum {
			return int32(a)
		}
	}
	return last
}

// unbiased reports that the distribution of what is emitted is the verifier's own, by
// theorem: nothing is then computed of it, nor rounded.
func (s Speculative) unbiased() bool {
	return s.Verify == Exact || s.Verify == Lossy && s.Tau == 0
}
