package rollout_test

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// pair is an engine with a partner.
type pair struct {
	own, partner   *model.Params
	numerics       engine.Numerics
	others         engine.Numerics
	slots, workers int
	prefill        rollout.Prefill
	mixture        rollout.Mixture
}

func (p pair) engine() *rollout.Engine {
	e := rollout.New(p.own.Config, p.numerics, p.slots, p.workers)
	e.SetPartner(p.partner.Config, p.others)
	e.SetMixture(p.mixture)
	e.SetPrefill(p.prefill)
	e.Publish(p.own, 3)
	e.PublishPartner(p.partner)
	return e
}

// generate gives every request that share of the partner's logits.
func (p pair) generate(list []rollout.Request, alpha float64, s rollout.Sampling) *column.Sampled {
	e := p.engine()
	defer e.Close()
	var b column.Sampled
	e.Generate(&b, fusing(list, alpha), s)
	return &b
}

func fusing(list []rollout.Request, alpha float64) []rollout.Request {
	list = slices.Clone(list)
	for i := range list {
		list[i].Fuse = alpha
	}
	return list
}

// sameLaw fails unless two batches have the same tokens, drawn from the same distributions.
func sameLaw(t *testing.T, how string, got, want *column.Sampled) {
	t.Helper()
	if !slices.Equal(got.Token, want.Token) || !slices.Equal(got.LogpRoll, want.LogpRoll) || !slices.Equal(got.KeptMass, want.KeptMass) ||
		!slices.Equal(got.DistRoll, want.DistRoll) || !slices.EqualFunc(got.Support, want.Support, slices.Equal) {
		t.Fatalf("%s: other tokens, or other laws", how)
	}
}

// With none of the partner's logits an engine is the same as without a partner, with all
// of them its distribution is the partner's, and equal models change nothing whatever the share:
// to the bit, in chunks, with environments, truncated and greedy.
func TestFusionAtItsEnds(t *testing.T) {
	all := enginetest.Models(enginetest.Small)
	for i, m := range all {
		own, other := m.Params, nearby(m.Params, 0.5)
		if p := all[(i+1)%len(all)].Params; p.Config.Vocab == own.Config.Vocab { // of another shape, too
			other = p
		}
		n, coarse := preset(t, []string{"fp32", "bf16"}[i%2]), preset(t, []string{"fp8-w8a8", "fp32"}[i%2])
		p := pair{own: own, partner: other, numerics: n, others: coarse, slots: 7, workers: 1 + i%3, prefill: rollout.Prefill{Chunk: 3 * (i % 2)}, mixture: rollout.Mixture(i / 2 % 2)}
		list := append(requests(uint64(i), 20, own.Config.Vocab), groups(1, 3, 4, own.Config.Vocab, 5)...)
		s := roomy
		switch i % 4 {
		case 1:
			list = withTool(list, echo{int32(own.Config.Vocab)})
		case 2:
			s.TopP, s.TopK, s.OnSupport = 0.8, 9, true
		case 3:
			s.Temperature = 0
		}
		mine, others := generate(own, n, 7, 1, list, s), generate(other, coarse, 7, 1, list, s)
		none := p.generate(list, 0, s)
		sameLaw(t, m.Name+", none of the partner's", none, mine)
		sameResponses(t, m.Name, mine, none, nil)
		sameLaw(t, m.Name+", all of the partner's", p.generate(list, 1, s), others)
		p.partner, p.others = own, n
		for _, alpha := range []float64{0.3, 1} {
			got := p.generate(list, alpha, s)
			sameLaw(t, m.Name+", two equal models", got, mine)
			if !slices.Equal(got.RoutesRoll, mine.RoutesRoll) || slices.Max(got.LawTV) != 0 {
				t.Fatalf("%s: equal models differ in routes, or by %v", m.Name, slices.Max(got.LawTV))
			}
		}
	}
}

// A token's distribution is the mixture of the two models' for what stands before it, geometric
// and normalised or of probabilities, and its shift the distance of that and the engine's own.
func TestFusionIsAMixture(t *testing.T) {
	const alpha = 0.35
	isMixture(t, rollout.MixLogits, alpha, func(own, other float64) float64 { return math.Exp((1-alpha)*own + alpha*other) })
	isMixture(t, rollout.MixProbabilities, alpha, func(own, other float64) float64 { return (1-alpha)*math.Exp(own) + alpha*math.Exp(other) })
}

// isMixture compares the distribution with what mix makes of two log-probs, up to a factor.
func isMixture(t *testing.T, mixture rollout.Mixture, alpha float64, mix func(own, other float64) float64) {
	t.Helper()
	m := enginetest.Named("moe")
	n, coarse := preset(t, "bf16"), preset(t, "fp32")
	p := pair{own: m.Params, partner: nearby(m.Params, 0.5), numerics: n, others: coarse, slots: 5, workers: 2, mixture: mixture}
	s := roomy
	s.Temperature, s.Distributions = 0.7, true
	list := requests(4, 30, m.Params.Config.Vocab)
	b := p.generate(list, alpha, s)
	for k := range list {
		from, to := b.Span(k)
		list[k].Given = b.Token[from:to]
	}
	mine, others := generate(p.own, n, 5, 1, list, s), generate(p.partner, coarse, 5, 1, list, s)
	v := m.Params.Config.Vocab
	for k := range b.Token {
		mixed, total, shift := make([]float64, v), 0.0, 0.0
		for a := range mixed {
			mixed[a] = mix(float64(mine.DistRoll[k*v+a]), float64(others.DistRoll[k*v+a]))
			total += mixed[a]
		}
		for a := range mixed {
			if x := math.Exp(float64(b.DistRoll[k*v+a])); math.Abs(x-mixed[a]/total) > 1e-5 {
				t.Fatalf("token %d: entry %d has probability %g, the mixture %g", k, a, x, mixed[a]/total)
			}
			shift += math.Abs(mixed[a]/total-math.Exp(float64(mine.DistRoll[k*v+a]))) / 2
		}
		if math.Abs(b.LogpRoll[k]-math.Log(mixed[b.Token[k]]/total)) > 1e-4 || math.Abs(b.LawTV[k]-shift) > 1e-4 {
			t.Fatalf("token %d: log-prob %g of %g, shift %g of %g", k, b.LogpRoll[k], math.Log(mixed[b.Token[k]]/total), b.LawTV[k], shift)
		}
	}
}

// Who shares the slots, how many workers there are and whether the share differs
// from one response to the next change no response; nor does an interruption.
func TestFusionDependsOnTheRequestAlone(t *testing.T) {
	m := enginetest.Named("moe")
	n := preset(t, "bf16")
	p := pair{own: m.Params, partner: nearby(m.Params, 0.5), numerics: n, others: n, slots: 9, workers: 1}
	list := withTool(requests(2, 25, m.Params.Config.Vocab), echo{int32(m.Params.Config.Vocab)})
	for i := range list {
		list[i].Fuse, list[i].ID = float64(i%4)/3, i
	}
	generated := func() *column.Sampled {
		e := p.engine()
		defer e.Close()
		var b column.Sampled
		e.Generate(&b, list, roomy)
		return &b
	}
	want := generated()
	p.slots, p.workers = 3, 2
	got := generated()
	sameLaw(t, "three slots", got, want)
	if !slices.Equal(got.LawTV, want.LawTV) {
		t.Fatal("three slots: other shifts")
	}
	e := p.engine()
	defer e.Close()
	e.Begin(list, roomy)
	e.Advance(4)
	e.Resume(e.Interrupt(nil), roomy, rollout.KeepStale)
	for e.Advance(1000) > 0 {
	}
	var b column.Sampled
	ids := e.Collect(&b, nil)
	for at, id := range ids {
		from, to := want.Span(id)
		start, end := b.Span(at)
		if !slices.Equal(b.LogpRoll[start:end], want.LogpRoll[from:to]) || !slices.Equal(b.LawTV[start:end], want.LawTV[from:to]) {
			t.Fatalf("response %d goes on otherwise when it was interrupted", id)
		}
	}
}

// Once its memory is there, a partner allocates nothing per token.
func TestFusionAllocatesNothingPerToken(t *testing.T) {
	m := enginetest.Named("moe")
	n := preset(t, "fp32")
	e := pair{own: m.Params, partner: nearby(m.Params, 0.5), numerics: n, others: n, slots: 4, workers: 1}.engine()
	defer e.Close()
	list := fusing(requests(3, 8, m.Params.Config.Vocab), 0.5)
	var b column.Sampled
	allocs := func(most int) (float64, int) {
		s := roomy
		s.MaxTokens, s.Stop = most, -1
		n := testing.AllocsPerRun(5, func() { e.Generate(&b, list, s) })
		return n, b.Tokens()
	}
	allocs(16)
	few, short := allocs(4)
	many, long := allocs(16)
	if many > few || long <= short {
		t.Errorf("%v allocations for %d tokens, %v for %d", few, short, many, long)
	}
}

// What cannot be is refused.
func TestImpossibleFusion(t *testing.T) {
	m := enginetest.Named("moe")
	n := preset(t, "fp32")
	p := pair{own: m.Params, partner: m.Params, numerics: n, others: n, slots: 2, workers: 1}
	for name, f := range map[string]func(e *rollout.Engine){
		"a share above 1": func(e *rollout.Engine) { e.Begin(fusing(requests(1, 1, m.Params.Config.Vocab), 1.1), plain) },
		"a drafter": func(e *rollout.Engine) {
			e.SetSpeculative(rollout.Speculative{Draft: 1, Verify: rollout.Exact, LogProbs: rollout.FromVerifier}, m.Params.Config, n)
		},
		"weights under way": func(e *rollout.Engine) {
			e.Begin(requests(1, 1, m.Params.Config.Vocab), plain)
			e.PublishPartner(m.Params)
		},
	} {
		e := p.engine()
		must.Panic(t, name, func() { f(e) })
		e.Close()
	}
	e := rollout.New(m.Params.Config, n, 1, 1)
	defer e.Close()
	must.Panic(t, "a share of no partner is taken", func() { e.Begin(fusing(requests(1, 1, m.Params.Config.Vocab), 0.5), plain) })
}
