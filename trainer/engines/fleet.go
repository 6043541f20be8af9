// Package engines makes the two engines of a recipe: the rollout side, which is one
// engine or a fleet, and the policy and settings of a learner. Training and
// measuring have the same ones.
package engines

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/recipe"
)

// Fleet is the rollout side of a run: one engine, or several that share the
// responses of a step. All have the weights of the same sync, unless it does not reach all.
type Fleet struct {
	recipe  recipe.Rollout
	engines []*rollout.Engine // the main one first
	// numerics are the engines'.
	numerics []engine.Numerics
	shares   []float64        // of the responses, by engine; the first has the rest
	parts    []*batch.Sampled // what each sampled, where there are several
	noisy    *model.Params    // the weights with noise on the norms

	published *model.Params // what the first engine has
	sync      *Sync         // of the last engine, or of all
}

// NewFleet returns the engines of a recipe, with the main one's numerics given.
// Unless the recipe says how many responses each decodes at a time, it is all of
// a step.
func NewFleet(r recipe.Recipe, main engine.Numerics, workers int) *Fleet {
	f, slots := &Fleet{recipe: r.Rollout, sync: NewSync(r.Rollout)}, cmp.Or(r.Rollout.Slots, r.Rollout.Responses())
	add := func(n engine.Numerics, share float64) {
		e := rollout.New(r.Model, n, slots, workers)
		e.SetPrefill(rollout.Prefill{Chunk: r.Rollout.PrefillChunk, PrefixCache: r.Rollout.PrefixCache, RecordAgain: r.Rollout.RecomputedRoutes})
		e.SetRetention(Retention(r.Rollout))
		e.SetSharedPrefixCache(SharedPrefixes(r.Rollout))
		f.engines, f.numerics, f.parts = append(f.engines, e), append(f.numerics, n), append(f.parts, new(batch.Sampled))
		f.shares = append(f.shares, share)
	}
	add(main, 0)
	for _, m := range r.Rollout.Fleet {
		add(m.Numerics, m.Share)
	}
	if f.sync != nil && r.Rollout.WeightSync.Workers < 1 {
		add(main, r.Rollout.WeightSync.Workers)
	}
	return f
}

// Close ends the engines' workers.
func (f *Fleet) Close() {
	for _, e := range f.engines {
		e.Close()
	}
}

// Main is the engine that samples the first responses.
func (f *Fleet) Main() *rollout.Engine { return f.engines[0] }

// Noisy are the weights as the engines have them while there is noise on them,
// nil where there never was.
func (f *Fleet) Noisy() *model.Params { return f.noisy }

// DraftWith makes every engine draft with those weights, of the given version.
// The drafter has the numerics of the recipe, or the engine's own; scales of a
// static KV cache are not its.
func (f *Fleet) DraftWith(s *recipe.Speculative, p *model.Params, version int) {
	for i, e := range f.engines {
		e.SetSpeculative(rollout.Speculative{Draft: s.Draft, Verify: rollout.Verify(s.Verify), Tau: s.Tau, LogProbs: rollout.DraftLogProbs(s.LogProbs)},
			p.Config, DrafterNumerics(s, f.numerics[i]))
	}
	f.PublishDrafter(p, version, s.Draft)
}

// PublishDrafter gives every engine the drafter's weights, and the number of
// tokens to draft.
func (f *Fleet) PublishDrafter(p *model.Params, version, draft int) {
	for _, e := range f.engines {
		e.PublishDrafter(p, version)
		e.SetDraft(draft)
	}
}

// FuseWith lets the main engine mix a second model into its own: in the recipe's numerics
// for it, or the engine's.
func (f *Fleet) FuseWith(s *recipe.Fusion, p *model.Params) {
	n := f.numerics[0]
	if s.Numerics != nil {
		n = *s.Numerics
	}
	f.Main().SetPartner(p.Config, n)
	if s.Mix == recipe.MixProbabilities {
		f.Main().SetMixture(rollout.MixProbabilities)
	}
	f.Main().PublishPartner(p)
}

// Publish gives every engine the weights of the given version in the sync of that number:
// those that miss a part of it keep what they have of the part. Whole weights come with noise of
// that standard deviation on the gains of all norms. The weights themselves stay
// as they are: noise is drawn anew each time and never adds up.
func (f *Fleet) Publish(sync int, p *model.Params, version int, sigma float64, rng *rand.Rand) {
	if sigma > 0 {
		if f.noisy == nil {
			f.noisy = p.Clone()
		}
		f.noisy.CopyFrom(p)
		addNoise(f.noisy, sigma, rng)
		p = f.noisy
	}
	arrived, actual := f.sync.Arrives(sync, p, version)
	whole := 0 // engines that miss nothing
	if f.sync != nil && f.recipe.WeightSync.Workers < 1 {
		whole = len(f.engines) - 1
	}
	f.published = arrived
	for i, e := range f.engines {
		if i < whole {
			f.published = p
			e.Publish(p, version)
		} else {
			e.PublishMixed(arrived, version, actual)
		}
	}
}

func addNoise(p *model.Params, sigma float64, rng *rand.Rand) {
	gains := func(x []float32) {
		for i := range x {
			x[i] += float32(sigma * stream.Normal(rng))
		}
	}
	for l := range p.Config.Layers {
		gains(p.Layer(l).InputNorm)
		gains(p.Layer(l).PostNorm)
	}
	gains(p.FinalNorm)
}

// Calibrate finds the scales of static KV caches from the first prompts of a
// step, where the step's sync is one at which they are due.
func (f *Fleet) Calibrate(step int, requests []rollout.Request) {
	k := f.recipe.KVScales
	if k.Prompts == 0 || step%k.Every != 0 {
		return
	}
	prompts := CalibrationPrompts(f.recipe, requests)
	for _, e := range f.engines {
		e.Calibrate(prompts, k.Margin)
	}
}

// CalibrationPrompts are the first prompts of a step, each once.
func CalibrationPrompts(r recipe.Rollout, requests []rollout.Request) [][]int32 {
	var prompts [][]int32
	seen := map[int]bool{}
	for _, q := range requests {
		if len(prompts) < r.KVScales.Prompts && !seen[q.Group] {
			seen[q.Group] = true
			prompts = append(prompts, q.Prompt)
		}
	}
	return prompts
}

// Generate samples one response per request, in their order: the first for the
// main engine, then each member's share.
func (f *Fleet) Generate(dst *batch.Sampled, requests []rollout.Request, s rollout.Sampling) {
	if len(f.engines) == 1 {
		f.engines[0].Generate(dst, requests, s)
		return
	}
	from := 0
	for i, e := range f.engines {
		to := from + f.count(i, len(requests))
		e.Generate(f.parts[i], requests[from:to], s)
		from = to
	}
	column.Join(dst, f.parts)
}

// count is how many of n responses the engine samples: up to the sum of the
// members' shares, rounded, from the end, so that they meet without a gap.
func (f *Fleet) count(engine, n int) int {
	before := 0.0 // share of the members after this one
	for i := len(f.shares) - 1; i > engine; i-- {
		before += f.shares[i]
	}
	end := n - int(math.Round(before*float64(n)))
	if engine == 0 {
		return end
	}
	start := n - int(math.Round((before+f.shares[engine])*float64(n)))
	return end - start
}

// Name is the main engine's, with the members' and their shares.
func (f *Fleet) Name(main engine.Numerics) string {
	if len(f.recipe.Fleet) == 0 {
		return main.Name
	}
	rest := 1.0
	var names []string
	for _, m := range f.recipe.Fleet {
		rest -= m.Share
		names = append(names, fmt.Sprintf("%.0f%% %s", 100*m.Share, m.Numerics.Name))
	}
	return fmt.Sprintf("%.0f%% %s + %s", 100*rest, main.Name, strings.Join(names, " + "))
}

// ReadPrompts brings the prompts of requests into the shared prefix caches.
func (f *Fleet) ReadPrompts(requests []rollout.Request, s rollout.Sampling) {
	s.MaxTokens = 1
	var prompts []rollout.Request
	for _, q := range requests {
		prompts = append(prompts, rollout.Request{Prompt: q.Prompt, Seed: q.Seed, Stream: q.Stream})
	}
	f.Generate(new(batch.Sampled), prompts, s)
}

// AppendState appends what a sync keeps, the scales of every engine, and its shared prefix cache.
func (f *Fleet) AppendState(dst []byte) []byte {
	dst = f.sync.AppendState(dst)
	for _, e := range f.engines {
		dst = e.AppendPrefixState(dst)
	}
	for _, e := range f.engines {
		dst = method.AppendState(dst, []float32(e.KVScales()))
	}
	return dst
}

// SetState takes what AppendState appended.
func (f *Fleet) SetState(state []byte) error {
	state, err := f.sync.SetState(state)
	if err != nil {
		return err
	}
	for _, e := range f.engines {
		if state, err = e.SetPrefixState(state); err != nil {
			return err
		}
	}
	scales := make([][]float32, len(f.engines))
	into := make([]any, len(scales))
	for i := range scales {
		into[i] = &scales[i]
	}
	if err := method.ReadState(state, into...); err != nil {
		return err
	}
	for i, e := range f.engines {
		if len(scales[i]) > 0 {
			e.SetKVScales(scales[i])
		}
	}
	return nil
}
