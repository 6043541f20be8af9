package rollout_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/engine/rollout"
	"driftlab/model"
)

// drafting is an engine that speculates.
type drafting struct {
	verifier, drafter *model.Params
	numerics, coarse  engine.Numerics
	setting           rollout.Speculative
	slots, workers    int
	prefill           rollout.Prefill
}

// engine returns it with weights of version 3, the drafter's of version 1.
func (d drafting) engine() *rollout.Engine {
	e := rollout.New(d.verifier.Config, d.numerics, d.slots, d.workers)
	e.SetSpeculative(d.setting, d.drafter.Config, d.coarse)
	e.SetPrefill(d.prefill)
	e.Publish(d.verifier, 3)
	e.PublishDrafter(d.drafter, 1)
	return e
}

func (d drafting) generate(list []rollout.Request, s rollout.Sampling) *column.Sampled {
	e := d.engine()
	defer e.Close()
	var b column.Sampled
	e.Generate(&b, list, s)
	return &b
}

// nearby are the parameters moved a little, as by a few updates.
func nearby(p *model.Params, by float32) *model.Params {
	q := p.Clone()
	noise := enginetest.NewParams(p.Config, 99)
	for i := range q.Theta {
		q.Theta[i] += by * noise.Theta[i]
	}
	return q
}

// drafted says how windows of a given drafter are verified.
func drafted(p, q *model.Params, n engine.Numerics, v rollout.Verify, tau float64) drafting {
	return drafting{verifier: p, drafter: q, numerics: n, coarse: n, slots: 16, workers: 1,
		setting: rollout.Speculative{Draft: 3, Verify: v, Tau: tau, LogProbs: rollout.FromVerifier}}
}

// counts are places of a batch by what became of them.
func counts(b *column.Sampled) (n [3]int) {
	for _, f := range b.Draft {
		n[f]++
	}
	return n
}

// A drafter that is the verifier is never refused: every window is complete, and
// no distribution is any distance from another.
func TestEqualDrafterIsAlwaysAccepted(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Small) {
		n := preset(t, []string{"fp32", "bf16", "fp8-w8a8", "fp32-online"}[i%4])
		s := plain
		if i%2 == 1 {
			s.TopP, s.TopK = 0.8, 9
		}
		d := drafted(m.Params, m.Params, n, []rollout.Verify{rollout.Exact, rollout.Lossy}[i%2], 0.5*float64(i%2))
		b := d.generate(requests(uint64(i), 40, m.Params.Config.Vocab), s)
		c := counts(b)
		if c[column.Replaced] != 0 || c[column.Accepted] < b.Tokens()/2 {
			t.Errorf("%s: %v places", m.Name, c)
		}
		for k := range b.Token {
			if b.DraftTV[k] != 0 || b.LawTV[k] != 0 {
				t.Fatalf("%s: laws are %g and %g apart", m.Name, b.DraftTV[k], b.LawTV[k])
			}
		}
		for i := range b.Len() {
			from, to := b.Span(i)
			for k := from; k < to; k++ { // the first token comes from the prompt, then windows of four
				if want := int32((k - from + 3) / 4); b.Window[k] != want || (b.Draft[k] == column.Undrafted) != (b.DrafterVersion[k] == -1) {
					t.Fatalf("%s: token %d is of window %d", m.Name, k-from, b.Window[k])
				}
			}
		}
	}
}

// Whatever the drafter and the test, log-probs, distributions and routes are
// the same as when these tokens are read one by one: what was rejected leaves no trace
// in the cache. A tool's replies are read between windows.
func TestRejectionLeavesNoTrace(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Small) {
		n := preset(t, []string{"fp32", "bf16", "fp8-kv8"}[i%3])
		d := drafted(m.Params, nearby(m.Params, 0.4), n, []rollout.Verify{rollout.Exact, rollout.Lossy, rollout.Greedy}[i%3], []float64{0, 0.7, 0}[i%3])
		list := requests(uint64(i), 40, m.Params.Config.Vocab)
		if i%2 == 1 {
			list = withTool(list, echo{int32(m.Params.Config.Vocab)})
		}
		b := d.generate(list, roomy)
		if c := counts(b); c[column.Replaced] < 5 || c[column.Accepted] < 20 || c[column.Undrafted] < 20 {
			t.Errorf("%s: %v places", m.Name, c)
		}
		for k := range list {
			from, to := b.Span(k)
			list[k].Given = b.Token[from:to]
		}
		want := generate(m.Params, n, 16, 1, list, roomy)
		for k := range want.Token {
			if want.LogpRoll[k] != b.LogpVerifier[k] || b.LogpRoll[k] != b.LogpVerifier[k] {
				t.Fatalf("%s: token %d has log-prob %g in windows, %g by itself", m.Name, k, b.LogpRoll[k], want.LogpRoll[k])
			}
		}
		if !slices.Equal(want.DistRoll, b.DistRoll) || !slices.Equal(want.RoutesRoll, b.RoutesRoll) || !slices.Equal(want.Mask, b.Mask) || !slices.Equal(want.Turn, b.Turn) {
			t.Errorf("%s: distributions, routes or turns differ", m.Name)
		}
	}
}

// A response depends on its request alone with drafting too.
func TestDraftsDependOnTheRequestAlone(t *testing.T) {
	m := enginetest.Named("moe")
	d := drafted(m.Params, nearby(m.Params, 0.4), preset(t, "bf16"), rollout.Exact, 0)
	d.coarse = preset(t, "fp8-w8a8")
	list := requests(8, 40, m.Params.Config.Vocab)
	s := plain
	s.TopP = 0.9
	want := d.generate(list, s)
	for _, c := range []drafting{{slots: 1, workers: 1}, {slots: 7, workers: 3}, {slots: 40, workers: 2, prefill: rollout.Prefill{Chunk: 2, PrefixCache: true}}} {
		d.slots, d.workers, d.prefill = c.slots, c.workers, c.prefill
		got := d.generate(list, s)
		sameResponses(t, fmt.Sprintf("%d slots, %d workers", c.slots, c.workers), want, got, nil)
		if !slices.Equal(want.Draft, got.Draft) || !slices.Equal(want.Window, got.Window) || !slices.Equal(want.DraftTV, got.DraftTV) {
			t.Errorf("%d slots: other windows", c.slots)
		}
	}
}

// Without drafts there is no trace of the drafter.
func TestDraftingNothing(t *testing.T) {
	p := enginetest.Named("moe").Params
	list := requests(8, 20, p.Config.Vocab)
	d := drafted(p, nearby(p, 1), preset(t, "fp32"), rollout.Exact, 0)
	d.setting.Draft = 0
	sameResponses(t, "no drafts", generate(p, d.numerics, 16, 1, list, plain), d.generate(list, plain), nil)
	e := d.engine()
	defer e.Close()
	var b column.Sampled
	e.SetDraft(2)
	e.Generate(&b, list, plain)
	if len(b.Draft) != b.Tokens() || len(b.LogpVerifier) != b.Tokens() || len(b.LogpLaw) != b.Tokens() || counts(&b)[column.Accepted] == 0 {
		t.Error("switching on does nothing")
	}
	greedy := plain
	greedy.Temperature = 0
	e.Generate(&b, list, greedy)
	if b.Draft != nil || b.LogpLaw != nil {
		t.Error("greedy responses are drafted")
	}
}

// frequencies counts the sequences of three tokens that an engine makes, and
// holds them against the float64 reference by chi-squared; cells of an expected
// count below 5 are one. The result is in standard deviations of the statistic.
func frequencies(t *testing.T, d drafting, responses int) (deviations float64, b *column.Sampled) {
	t.Helper()
	c := d.verifier.Config
	prompt := []int32{1, 2, 3}
	var list []rollout.Request
	for i := range responses {
		list = append(list, rollout.Request{Prompt: prompt, Seed: 5, Stream: uint64(i)})
	}
	b = d.generate(list, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: 3, Stop: -1})
	count := map[[3]int32]int{}
	for i := range b.Len() {
		from, _ := b.Span(i)
		count[[3]int32(b.Token[from:from+3])]++
	}
	ref := reference.New(d.verifier)
	law := func(tokens ...int32) []float64 {
		logits := ref.Forward(append(slices.Clone(prompt), tokens...), nil).Logits
		return reference.LogSoftmax(logits[len(logits)-1], 1)
	}
	chi, cells, rest, restCount := 0.0, 0, 0.0, 0
	v := int32(c.Vocab)
	first := law()
	for x := range v {
		second := law(x)
		for y := range v {
			third := law(x, y)
			for z := range v {
				want := float64(responses) * math.Exp(first[x]+second[y]+third[z])
				have := count[[3]int32{x, y, z}]
				if want < 5 {
					rest, restCount = rest+want, restCount+have
					continue
				}
				chi += (float64(have) - want) * (float64(have) - want) / want
				cells++
			}
		}
	}
	if rest > 5 {
		chi += (float64(restCount) - rest) * (float64(restCount) - rest) / rest
		cells++
	}
	free := float64(cells - 1)
	return (chi - free) / math.Sqrt(2*free), b
}

// The empirical distribution of exact verification is the verifier's, with a drafter
// far away; that of lenient and of greedy verification is not. The rate of
// acceptance is 1 - TV where verification is exact.
func TestEmpiricalLaw(t *testing.T) {
	p := enginetest.Models(enginetest.Tiny)[2].Params
	for i := range p.Theta {
		p.Theta[i] *= 2 // distributions far from uniform
	}
	q := nearby(p, 1.5)
	const responses = 9000
	for _, c := range []struct {
		verify rollout.Verify
		tau    float64
		exact  bool
	}{{rollout.Exact, 0, true}, {rollout.Lossy, 0, true}, {rollout.Lossy, 2, false}, {rollout.Greedy, 0, false}} {
		d := drafted(p, q, preset(t, "fp32"), c.verify, c.tau)
		d.slots, d.setting.Draft = 512, 2
		deviations, b := frequencies(t, d, responses)
		n := counts(b)
		tests := float64(n[column.Accepted] + n[column.Replaced])
		rate, tv, shift := float64(n[column.Accepted])/tests, 0.0, 0.0
		for k := range b.Token {
			tv, shift = tv+b.DraftTV[k]/tests, shift+b.LawTV[k]/tests
		}
		t.Logf("%s, tau %g: chi-squared %.2f deviations off, acceptance %.4f, 1-TV %.4f, shift %.4f", c.verify, c.tau, deviations, rate, 1-tv, shift)
		if c.exact != (deviations < 4) || c.exact != (shift == 0) || tv < 0.05 {
			t.Errorf("%s, tau %g: %g deviations, shift %g, TV %g", c.verify, c.tau, deviations, shift, tv)
		}
		if off := (rate - (1 - tv)) / math.Sqrt(tv*(1-tv)/tests); c.exact && math.Abs(off) > 4 || c.verify == rollout.Lossy && !c.exact && off < 4 {
			t.Errorf("%s, tau %g: acceptance %g is %g deviations from %g", c.verify, c.tau, rate, off, 1-tv)
		}
	}
}

// What LogpRoll is follows the setting: the verifier's log-prob, the drafter's
// on accepted tokens, or that of the sampled distribution; the distributions go with it.
func TestWhoseLogProb(t *testing.T) {
	m := enginetest.Named("moe")
	n := preset(t, "fp32")
	list := requests(9, 60, m.Params.Config.Vocab)
	for _, s := range []rollout.Sampling{plain, {Temperature: 0.9, TopP: 0.8, MaxTokens: 14, Distributions: true, OnSupport: true}} {
		for _, verify := range []rollout.Verify{rollout.Exact, rollout.Lossy, rollout.Greedy} {
			d := drafted(m.Params, nearby(m.Params, 0.4), n, verify, 0)
			if verify == rollout.Lossy {
				d.setting.Tau = 1
			}
			verifier := d.generate(list, s)
			for _, of := range []rollout.DraftLogProbs{rollout.FromDrafter, rollout.FromLaw} {
				d.setting.LogProbs = of
				b := d.generate(list, s)
				if !slices.Equal(b.Token, verifier.Token) || !slices.Equal(b.LogpVerifier, verifier.LogpRoll) || !slices.Equal(b.LogpLaw, verifier.LogpLaw) {
					t.Fatalf("%s, %s: what is recorded changes what is drawn", verify, of)
				}
				differ := 0
				for k, logp := range b.LogpRoll {
					want := b.LogpVerifier[k]
					if of == rollout.FromLaw {
						want = b.LogpLaw[k]
					}
					if of == rollout.FromLaw && logp != want || of == rollout.FromDrafter && b.Draft[k] != column.Accepted && logp != want {
						t.Fatalf("%s, %s: log-prob %g, want %g", verify, of, logp, want)
					}
					if logp != b.LogpVerifier[k] {
						differ++
						if math.Abs(logp-float64(b.DistRoll[k*b.Vocab+int(b.Token[k])])) > 1e-6 {
							t.Fatalf("%s, %s: log-prob %g beside a distribution of %g", verify, of, logp, b.DistRoll[k*b.Vocab+int(b.Token[k])])
						}
						total := 0.0
						for _, lp := range b.DistRoll[k*b.Vocab : (k+1)*b.Vocab] {
							total += math.Exp(float64(lp))
						}
						if math.Abs(total-1) > 1e-5 {
							t.Fatalf("%s, %s: a distribution sums to %g", verify, of, total)
						}
					}
				}
				if (differ > 50) != (of == rollout.FromDrafter || verify != rollout.Exact) {
					t.Errorf("%s, %s: %d log-probs are not the verifier's", verify, of, differ)
				}
			}
		}
	}
}

// LogpLaw is the log-prob under the sampled distribution, whatever log-probs the verifier returns.
func TestLawOfRawLogProbs(t *testing.T) {
	m := enginetest.Named("moe")
	d := drafted(m.Params, nearby(m.Params, 0.4), preset(t, "fp32"), rollout.Exact, 0)
	list := requests(9, 20, m.Params.Config.Vocab)
	s := plain
	s.TopP = 0.8
	want := d.generate(list, s)
	for _, mode := range []rollout.LogProbs{rollout.Raw, rollout.Tempered} {
		s.LogProbs = mode
		b := d.generate(list, s)
		if !slices.Equal(b.LogpLaw, want.LogpRoll) || slices.Equal(b.LogpVerifier, want.LogpRoll) || !slices.Equal(b.LogpVerifier, b.LogpRoll) {
			t.Errorf("%s: the law is not what was drawn from", mode)
		}
	}
}

// The older the drafter and the coarser its numerics, the less is accepted.
func TestAcceptanceFallsWithDistance(t *testing.T) {
	m := enginetest.Named("moe")
	list := requests(3, 120, m.Params.Config.Vocab)
	rate := func(d drafting) float64 {
		n := counts(d.generate(list, plain))
		return float64(n[column.Accepted]) / float64(n[column.Accepted]+n[column.Replaced])
	}
	d := drafted(m.Params, m.Params, preset(t, "fp32"), rollout.Exact, 0)
	before := 1.0
	for i, coarse := range []string{"fp32", "fp8-all", "fp4-all"} {
		d.coarse = preset(t, coarse)
		if r := rate(d); i == 0 && r != 1 || i > 0 && r >= before {
			t.Errorf("%s: acceptance %g, before %g", coarse, r, before)
		} else {
			before = r
		}
	}
	d.coarse, before = d.numerics, 1
	for _, by := range []float32{0.1, 0.4, 1.5} {
		d.drafter = nearby(m.Params, by)
		r := rate(d)
		t.Logf("weights %g away: acceptance %.3f", by, r)
		if r >= before {
			t.Errorf("weights %g away: acceptance %g, before %g", by, r, before)
		}
		before = r
	}
}

// Drafting allocates nothing per token.
func TestDraftsAllocateNothingPerToken(t *testing.T) {
	p := enginetest.Named("moe").Params
	d := drafted(p, nearby(p, 0.4), preset(t, "bf16"), rollout.Lossy, 0.5)
	d.setting.LogProbs = rollout.FromLaw
	e := d.engine()
	defer e.Close()
	list, s, allocations := requests(11, 24, p.Config.Vocab), plain, map[int]float64{}
	var b column.Sampled
	for _, length := range []int{20, 5} {
		s.MaxTokens, s.Stop, s.TopP = length, -1, 0.9
		e.Generate(&b, list, s)
		allocations[length] = testing.AllocsPerRun(3, func() { e.Generate(&b, list, s) })
	}
	if allocations[20] > allocations[5] {
		t.Errorf("%v allocations for 20 tokens, %v for 5", allocations[20], allocations[5])
	}
}
