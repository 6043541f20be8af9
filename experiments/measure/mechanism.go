package measure

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// mechanism is one way in which two engines differ: a switch that is either at
// the rollout engine's value or at the learner's.
type mechanism struct {
	// name is the field's, as recipes write it, where there is one.
	name string
	// rollout and learner are the two values in words.
	rollout, learner string
	// numerics copies the mechanism's fields from one engine's numerics; nil
	// where the mechanism is none of them.
	numerics func(dst, from *engine.Numerics)
}

// Mechanisms that are no single field of the numerics.
const (
	projectionsName = "weights+inputs"
	batchingName    = "batching"
	decodingName    = "decoding"
	retentionName   = "kv_retention"
	draftsName      = "drafts"
	logProbsName    = "log_probs"
	noiseName       = "noise"
	kvScalesName    = "kv_scales"
	prefixesName    = "shared_prefix_cache"
	syncName        = "weight_sync"
)

// mechanismsOf lists where the engines of a pair differ in what can act on a
// log-prob. Weights and inputs are one mechanism where the scales of one
// engine's do not go with the other's.
func mechanismsOf(r recipe.Recipe, pair Pair) []mechanism {
	var list []mechanism
	for _, f := range engine.Fields() {
		roll, learn := f.Text(&pair.Rollout), f.Text(&pair.Learner)
		if f.Name == engine.AdaptersField && r.LoRA == nil {
			continue
		}
		routed := f.Name == "router" || f.Name == engine.ExpertParallelField
		absent := routed && r.Model.Dense() || f.Name == engine.LinearAttentionField && !r.Model.HasLayer(model.LinearAttention) ||
			f.Name == engine.IndexField && (!r.Model.HasLayer(model.SparseAttention) || r.ReplaysRetention())
		if roll != learn && !absent {
			list = append(list, mechanism{f.Name, roll, learn, f.Copy})
		}
	}
	list = joinProjections(list, pair)
	if roll, learn := pair.Rollout.Reduction.BatchVariant, pair.Learner.Reduction.BatchVariant; roll || learn {
		words := map[bool]string{true: "batch_variant", false: "batch-invariant"}
		list = append(list, mechanism{batchingName, words[roll] + ", as decoded", words[learn] + ", as scored",
			func(d, f *engine.Numerics) { d.Reduction.BatchVariant = f.Reduction.BatchVariant }})
	}
	add := func(differ bool, name, rollout, learner string) {
		if differ {
			list = append(list, mechanism{name: name, rollout: rollout, learner: learner})
		}
	}
	add(!pair.Rollout.Attention.PrefillIsDecode(), decodingName, "token by token", "as a sequence")
	if k := r.Rollout.KVRetention; k != nil && !r.ReplaysRetention() {
		add(true, retentionName, retentionText(*k), "every position")
	}
	add(r.Rollout.StalePrefixes() && r.Steps > 1, prefixesName, fmt.Sprintf("prompts cached %d steps ago", r.Steps-1), "prompts read now")
	if w := r.Rollout.WeightSync; w.Partial(r.Steps - 1) {
		add(true, syncName, syncText(*w, r.Steps-1), "a whole weight sync")
	}
	sigma := r.Rollout.Noise.Start
	add(sigma > 0, noiseName, fmt.Sprintf("sigma %g on the norms", sigma), "none")
	add(r.Rollout.KVScales.Prompts > 0 && pair.Rollout.StaticKV() && pair.Learner.StaticKV(), kvScalesName, "found by the rollout engine", "found by the learner")
	if d := r.Rollout.Speculative; d != nil && d.LogProbs != recipe.VerifierLogProbs {
		add(true, draftsName, "log-prob of the "+d.LogProbs, "log-prob of the model")
	}
	recorded, scored := logProbsText(r)
	add(recorded != scored, logProbsName, recorded, scored)
	return list
}

// retentionText is what a compressed cache keeps, in words.
func retentionText(k recipe.KVRetention) string {
	kept := fmt.Sprintf("%g of the positions", k.Keep)
	if k.Budget > 0 {
		kept = fmt.Sprintf("%d positions", k.Budget)
	}
	return fmt.Sprintf("%s: %s", k.Policy, kept)
}

// syncText is what a partial sync misses, in words.
func syncText(w recipe.WeightSync, sync int) string {
	text := fmt.Sprintf("%s of %d steps ago", strings.Join(w.Missed, ", "), sync-w.Keeps())
	if w.Workers < 1 {
		text += fmt.Sprintf(" at %g of the workers", w.Workers)
	}
	return text
}

// logProbsText says which log-prob is recorded and which one is scored; the
// same text if the two mean the same.
func logProbsText(r recipe.Recipe) (recorded, scored string) {
	o := r.Rollout
	truncates := o.TopP < 1 || o.TopK > 0 && o.TopK < r.Model.Vocab
	scored = fmt.Sprintf("temperature %g, whole vocabulary", r.LearnerTemperature())
	if r.Support.Replay && truncates {
		scored = fmt.Sprintf("temperature %g, sampling support", r.LearnerTemperature())
	}
	switch {
	case o.LogProbs == recipe.RawLogProbs:
		return "temperature 1, whole vocabulary", scored
	case truncates && o.LogProbs == recipe.ProcessedLogProbs:
		return fmt.Sprintf("temperature %g, sampling support", o.Temperature), scored
	}
	return fmt.Sprintf("temperature %g, whole vocabulary", o.Temperature), scored
}

// joinProjections makes one mechanism of weights and inputs if a mixture of the
// engines' is not valid.
func joinProjections(list []mechanism, pair Pair) []mechanism {
	if len(list) < 2 || list[0].name != "weights" || list[1].name != "inputs" {
		return list
	}
	one, other := pair.Rollout, pair.Learner
	one.Inputs, other.Inputs = pair.Learner.Inputs, pair.Rollout.Inputs
	if one.Validate() == nil && other.Validate() == nil {
		return list
	}
	w, x := list[0], list[1]
	joined := mechanism{projectionsName, w.rollout + ", " + x.rollout, w.learner + ", " + x.learner,
		func(d, f *engine.Numerics) { d.Weights, d.Inputs = f.Weights, f.Inputs }}
	return slices.Concat([]mechanism{joined}, list[2:])
}

// subset is a set of mechanisms, by their index: those at the rollout engine's value.
type subset uint64

func (s subset) has(i int) bool { return s>>i&1 != 0 }

func (s subset) count() int { return bits.OnesCount64(uint64(s)) }

// only and without are the sets of one mechanism and of all but one.
func only(i int) subset               { return 1 << i }
func (s subset) without(i int) subset { return s &^ only(i) }

// mixture is the learner's numerics with the mechanisms of a set at the rollout
// engine's value.
func mixture(pair Pair, list []mechanism, s subset) engine.Numerics {
	n := pair.Learner
	// A wire is kept where nothing travels until all mechanisms have had their
	// turn: the order that makes use of it may come first or last.
	n.Reduction.Wire = engine.Wire(n.Reduction)
	for i, m := range list {
		if s.has(i) && m.numerics != nil {
			m.numerics(&n, &pair.Rollout)
		}
	}
	if n.Reduction.Kind != kernel.TensorParallel {
		n.Reduction.Wire = precision.Format{}
	}
	return n
}

// mixed is the gap of one mixture to the learner.
type mixed struct {
	free     GapSize
	replayed *GapSize // with the learner on the mixture's routes; nil unless measured
	flips    float64  // share of tokens with other routes than the learner's
}

// mixer scores the tokens of one sampled batch in mixtures of two engines.
type mixer struct {
	Probe                    // with the responses given
	noisy      *model.Params // with the rollout engine's noise; the current ones without any
	pair       Pair
	mechanisms []mechanism

	batch    batch.Batch // as sampled; LogpOld is the learner's
	fault    error       // of what was sampled, if it is not finite
	learner  *learner.Scorer
	restrict engine.Support
	scales   engine.KVScales // of the rollout engine's static KV cache
}

// newMixer samples, and scores in the learner.
func newMixer(r recipe.Recipe, w trainer.Weights, pair Pair, workers int) *mixer {
	r.Rollout.Fleet = nil // a pair is two engines
	r.Rollout.Numerics = pair.Rollout
	_, requests := measureRequests(r)
	m := &mixer{Probe: Probe{r, w, requests, workers}, noisy: w.Current, pair: pair, mechanisms: mechanismsOf(r, pair)}
	sampler := m.fleet()
	defer sampler.Close()
	sampler.Generate(&m.batch.Sampled, m.Requests, m.Sampling())
	m.fault = sampler.Check(&m.batch)
	if sampler.Noisy() != nil {
		m.noisy = sampler.Noisy()
	}
	m.scales = sampler.Main().KVScales()
	for i := range m.Requests {
		from, to := m.batch.Span(i)
		m.Requests[i].Given = m.batch.Token[from:to]
	}
	m.learner = m.scorer(pair.Learner)
	m.learner.Score(&m.batch.Old, &m.batch.Sampled, m.scoring(0))
	return m
}

func (m *mixer) close() { m.learner.Close() }

// decoder is a rollout engine of other numerics that decodes as the pair's does,
// without drafts; with the noise on its weights, the stale prefixes in its cache and the
// tensors that a sync misses, as the set has them.
func (m *mixer) decoder(n engine.Numerics, s subset) *engines.Fleet {
	q := m.Probe
	q.Recipe.Rollout.Numerics, q.Recipe.Rollout.Speculative = n, nil
	if !m.at(s, prefixesName) {
		q.Recipe.Rollout.SharedPrefixCache = nil
	}
	if !m.at(s, syncName) {
		q.Recipe.Rollout.WeightSync = nil
	}
	if !m.at(s, noiseName) {
		q.Recipe.Rollout.Noise.Start = 0
	}
	return q.fleet()
}

// kvScales are the scales of a mixture's KV cache: those that come with the
// rollout engine's, unless the learner has its own.
func (m *mixer) kvScales(n engine.Numerics, s subset) engine.KVScales {
	switch {
	case m.Recipe.Rollout.KVScales.Prompts == 0 || !n.StaticKV():
		return nil
	case m.pair.Learner.StaticKV() && !m.at(s, kvScalesName):
		return m.learner.KVScales()
	}
	return m.scales
}

func (m *mixer) at(s subset, name string) bool {
	i := slices.IndexFunc(m.mechanisms, func(own mechanism) bool { return own.name == name })
	return i >= 0 && s.has(i)
}

// scoring is how the log-probs of a set's mixture are taken from its logits.
func (m *mixer) scoring(s subset) learner.ScoreOptions {
	r := &m.Recipe
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: r.LearnerTemperature(), Support: r.Support.Replay}}
	o.Retention = r.ReplaysRetention() || m.at(s, retentionName)
	switch {
	case !m.at(s, logProbsName):
	case r.Rollout.LogProbs == recipe.RawLogProbs:
		o.Temperature = 1
	default:
		o.Temperature, o.Support = r.Rollout.Temperature, r.Rollout.LogProbs == recipe.ProcessedLogProbs
	}
	return o
}

// gap measures one mixture. Its routes are replayed in the learner where a
// report needs that: for one mechanism alone, and for all.
func (m *mixer) gap(s subset) (mixed, error) {
	n := mixture(m.pair, m.mechanisms, s)
	if err := n.Validate(); err != nil {
		return mixed{}, fmt.Errorf("mixture of %s and %s: %w", m.pair.Rollout.Name, m.pair.Learner.Name, err)
	}
	b := m.score(n, s)
	all := subset(1)<<len(m.mechanisms) - 1
	if s == all {
		if err := m.reproduces(b); err != nil {
			return mixed{}, err
		}
	}
	if m.at(s, draftsName) { // as far from the mixture's as what was recorded of drafted tokens was when they were sampled
		for n := range b.LogpRoll {
			b.LogpRoll[n] += m.batch.LogpRoll[n] - m.batch.LogpVerifier[n]
		}
	}
	g := metrics.Compare(b)
	if s == 0 && g.Unequal != 0 {
		return mixed{}, fmt.Errorf("zero-update test of %s: scored twice, %g of the log-probs differ", m.pair.Learner.Name, g.Unequal)
	}
	out := mixed{free: sizeOf(&g), flips: g.FlipToken}
	if !m.Recipe.Model.Dense() && (s == all || s.count() == 1) {
		b.Old = batch.Scored{}
		o := m.scoring(0)
		o.Replay = learner.ReplayRollout
		m.learner.Score(&b.Old, &b.Sampled, o)
		g = metrics.Compare(b)
		out.replayed = new(sizeOf(&g))
	}
	return out, nil
}

func sizeOf(g *metrics.Gap) GapSize { return GapSize{K3: g.K3, MeanAbsDlogp: g.MeanAbsDlogp} }

// score runs a mixture over the sampled tokens. The result has the mixture in
// the columns of the rollout engine and the learner in its own.
func (m *mixer) score(n engine.Numerics, s subset) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: m.batch.Offsets, Prompt: m.batch.Prompt, Token: m.batch.Token, Mask: m.batch.Mask, Support: m.batch.Support, KVKept: m.batch.KVKept, PromptKept: m.batch.PromptKept, KVPlanes: m.batch.KVPlanes, KVWords: m.batch.KVWords}}
	if m.at(s, batchingName) && !n.BatchInvariant() || m.at(s, decodingName) && !n.Attention.PrefillIsDecode() || m.at(s, prefixesName) || m.at(s, syncName) {
		m.decode(b, n, s)
	} else {
		// One pass over all rows: the learner's batching, and everyone's where
		// the batch does not matter.
		scorer := learner.NewScorer(m.Recipe.Model, n, m.Workers)
		defer scorer.Close()
		p := m.Weights.Current
		if m.at(s, noiseName) {
			p = m.noisy
		}
		scorer.Publish(p, 0)
		scorer.SetKVScales(m.kvScales(n, s))
		var mixed batch.Scored
		scorer.Score(&mixed, &b.Sampled, m.scoring(s))
		b.LogpRoll, b.RoutesRoll, b.PromptRoutes = mixed.Logp, mixed.Routes, mixed.PromptRoutes
	}
	b.Old.Logp, b.Old.Routes, b.Old.PromptRoutes = m.batch.Old.Logp, m.batch.Old.Routes, m.batch.Old.PromptRoutes
	return b
}

// decode scores in the rollout engine, token by token in the company in which
// the tokens were sampled.
func (m *mixer) decode(b *batch.Batch, n engine.Numerics, s subset) {
	sampler := m.decoder(n, s)
	defer sampler.Close()
	sampler.Main().SetKVScales(m.kvScales(n, s))
	o := m.scoring(s)
	if !o.Retention && m.batch.PromptKept == nil {
		sampler.Main().SetRetention(rollout.Retention{})
	}
	var decoded batch.Sampled
	sampler.Generate(&decoded, m.Requests, rollout.Sampling{
		Temperature: o.Temperature, TopP: 1, MaxTokens: m.Recipe.Rollout.MaxTokens, Stop: task.EOS, Distributions: o.Support})
	b.LogpRoll, b.RoutesRoll, b.PromptRoutes = decoded.LogpRoll, decoded.RoutesRoll, decoded.PromptRoutes
	b.Layers, b.TopK = decoded.Layers, decoded.TopK
	if !o.Support {
		return
	}
	v := decoded.Vocab
	probs := make([]float32, v)
	for i, kept := range b.Support {
		if kept != nil {
			logp := decoded.DistRoll[i*v : (i+1)*v]
			kernel.Exp(probs, logp)
			b.LogpRoll[i] -= m.restrict.LogMass(logp, probs, kept)
		}
	}
}

// reproduces is the zero-update test: what the rollout engine recorded and what
// its numerics give for the same tokens are the same bits.
func (m *mixer) reproduces(b *batch.Batch) error {
	recorded := m.batch.LogpRoll
	if m.batch.LogpVerifier != nil { // whatever was recorded of drafts
		recorded = m.batch.LogpVerifier
	}
	for i := range m.batch.Len() {
		from, to := m.batch.Span(i)
		for n := from; n < to; n++ {
			if x, y := recorded[n], b.LogpRoll[n]; math.Float64bits(x) != math.Float64bits(y) {
				return fmt.Errorf("zero-update test of %s: response %d, token %d: recorded log-prob %v, scored %v",
					m.pair.Rollout.Name, i, n-from, x, y)
			}
		}
	}
	if !slices.Equal(m.batch.RoutesRoll, b.RoutesRoll) || !slices.EqualFunc(m.batch.PromptRoutes, b.PromptRoutes, slices.Equal) {
		return fmt.Errorf("zero-update test of %s: the same log-probs on other routes", m.pair.Rollout.Name)
	}
	return nil
}

// Learner learns from probed batches, with AdamW, on weights of its own: Params are these by now, and Grad the last gradient of all of them.
type Learner struct{ *learner.Learner }

// NewLearner begins at a copy of the weights.
func NewLearner(p *model.Params, n engine.Numerics) *Learner {
	return &Learner{learner.New(p.Clone(), learner.Settings{Numerics: n, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, ClipNorm: 1}}, 1)}
}

// Gradient takes the gradient of a loss over a batch, whose Now it fills.
func (l *Learner) Gradient(b *batch.Batch, objective loss.Loss) error {
	o := learner.StepOptions{Policy: learner.Policy{Temperature: 1}, Distributions: len(b.Teacher.Dist) > 0}
	_, err := l.Learner.Gradient(&b.Now, &b.Sampled, &loss.Objective{Loss: objective, Batch: b}, o)
	return err
}

// Update makes one gradient step per minibatch and round.
func (l *Learner) Update(parts []*batch.Batch, objective loss.Loss, rate float64, rounds int) error {
	for range rounds {
		for _, m := range parts {
			if err := l.Gradient(m, objective); err != nil {
				return err
			}
			l.Learner.Update(rate)
		}
	}
	return nil
}

// Score fills dst with what the weights say now; earlier is the pass whose routes
// they follow, nil for their own.
func (l *Learner) Score(dst *batch.Scored, b *batch.Batch, earlier *batch.Scored) {
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true, Earlier: earlier}
	if earlier != nil {
		o.Replay = learner.ReplayOld
	}
	l.Learner.Score(dst, &b.Sampled, o)
}

// SpeculativeGap is what speculative decoding does to a gap.
type SpeculativeGap struct {
	metrics.Speculation
	// Draft is the number of tokens drafted for a pass, Cost what one costs as a
	// share of a pass, and Speedup the speed predicted from these and Acceptance.
	Draft   int     `json:"draft"`
	Cost    float64 `json:"cost"`
	Speedup float64 `json:"speedup"`
	// Verifier is the gap of the learner to the verifier's log-probs, and Law to
	// those of the distribution by which tokens were drawn, on the same tokens; Gap itself
	// is to what was recorded, with distributions.
	Verifier metrics.Gap `json:"verifier"`
	Law      metrics.Gap `json:"law"`
}

// speculativeGap measures what became of the drafts of a scored batch.
func (q *Probe) speculativeGap(b *batch.Batch) *SpeculativeGap {
	s, recorded := metrics.CompareDrafts(b)
	if !recorded {
		return nil
	}
	set := q.Recipe.Rollout.Speculative
	g := &SpeculativeGap{Speculation: s, Draft: set.Draft, Cost: engines.DraftCost(set, q.Weights.Drafter, q.Weights.Current, q.Recipe.Rollout.Numerics)}
	g.Speedup = rollout.Speedup(s.Acceptance, g.Cost, set.Draft)
	view := *b
	view.DistRoll = nil // that of what was recorded
	view.LogpRoll = b.LogpVerifier
	g.Verifier = metrics.Compare(&view)
	view.LogpRoll = b.LogpLaw
	g.Law = metrics.Compare(&view)
	return g
}

// States runs the responses through one engine and hands the pass to visit: the
// residual stream of every layer is then at hand. rows[n] is the row of the
// pass that predicts response token n. replay follows the rollout's routes.
func States(b *batch.Batch, p *model.Params, n engine.Numerics, replay bool, visit func(pass *engine.Pass, rows []int)) {
	w := engine.NewForwardWeights(p.Config, n)
	w.Publish(p, 0)
	pass := engine.NewPass(p.Config, 1)
	defer pass.Close()
	var pack engine.Pack
	var rows []int
	var routes []uint8
	per := p.Config.Layers * p.Config.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		first := pack.Rows() + len(b.Prompt[i]) - 1
		pack.Add(0, b.Prompt[i], b.Token[from:to-1])
		for t := range to - from {
			rows = append(rows, first+t)
		}
		routes = append(append(routes, b.PromptRoutes[i]...), b.RoutesRoll[from*per:to*per]...)
	}
	o := engine.Options{Save: true}
	if replay {
		o.Replay = routes
	}
	pass.Begin(w, &pack, o)
	pass.Forward()
	visit(pass, rows)
}

// RouterMargins returns, for every response token and layer, by how much the
// last chosen expert beats the first one left out, in the logits of a router
// computed in float64 from the pass's residual stream: [token][layer].
func RouterMargins(pass *engine.Pass, p *model.Params, rows []int) []float64 {
	c := p.Config
	logits := RouterLogits(pass, p, rows)
	out := make([]float64, len(rows)*c.Layers)
	for i := range out {
		logit := logits[i*c.Experts : (i+1)*c.Experts]
		slices.Sort(logit)
		k := c.Experts - c.TopK
		out[i] = logit[k] - logit[k-1]
	}
	return out
}

// RouterLogits returns the logits of a router computed in float64 from the
// pass's residual stream: [token][layer][expert].
func RouterLogits(pass *engine.Pass, p *model.Params, rows []int) []float64 {
	c := p.Config
	out := make([]float64, len(rows)*c.Layers*c.Experts)
	h := make([]float64, c.DModel)
	for l := range c.Layers {
		layer, middle := p.Layer(l), pass.Middle(l)
		for n, row := range rows {
			x := middle[row*c.DModel : (row+1)*c.DModel]
			square := 0.0
			for _, v := range x {
				square += float64(float64(v) * float64(v))
			}
			scale := 1 / math.Sqrt(square/float64(c.DModel)+c.NormEps)
			for i, v := range x {
				h[i] = float64(v) * scale * float64(layer.PostNorm[i])
			}
			logit := out[(n*c.Layers+l)*c.Experts:][:c.Experts]
			for e := range logit {
				for i, v := range h {
					logit[e] += float64(v * float64(layer.Router[e*c.DModel+i]))
				}
			}
		}
	}
	return out
}
