package rollout_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

func preset(t testing.TB, name string) engine.Numerics {
	n, ok := engine.Preset(name)
	if !ok {
		t.Fatalf("no preset %s", name)
	}
	return n
}

// generate runs a fresh engine once.
func generate(p *model.Params, n engine.Numerics, slots, workers int, requests []rollout.Request, s rollout.Sampling) *column.Sampled {
	e := rollout.New(p.Config, n, slots, workers)
	defer e.Close()
	e.Publish(p, 3)
	var b column.Sampled
	e.Generate(&b, requests, s)
	return &b
}

// requests makes requests of ragged prompts, each with a stream of its own.
func requests(seed uint64, n, vocab int) []rollout.Request {
	var list []rollout.Request
	for i, prompt := range enginetest.Sequences(seed, n, vocab, 1, 9) {
		list = append(list, rollout.Request{Prompt: prompt, Seed: seed, Stream: uint64(i)})
	}
	return list
}

// plain samples from the whole distribution.
var plain = rollout.Sampling{Temperature: 0.9, TopP: 1, MaxTokens: 14, Stop: 0, Distributions: true}

// The engine agrees with the float64 reference within the tolerance of each
// format, on the sequences it sampled itself.
func TestConformance(t *testing.T) {
	enginetest.Conform(t, *exhaustive, func(p *model.Params, n engine.Numerics, prompts [][]int32, temperature float64) []enginetest.Observation {
		s := plain
		s.Temperature, s.MaxTokens = temperature, 6
		var list []rollout.Request
		for i, prompt := range prompts {
			list = append(list, rollout.Request{Prompt: prompt, Seed: 1, Stream: uint64(i)})
		}
		b := generate(p, n, 4, 1, list, s)
		return enginetest.Observe(b, &column.Scored{Dist: b.DistRoll, Routes: b.RoutesRoll, PromptRoutes: b.PromptRoutes})
	})
}

// With batch-invariant numerics a response depends on its prompt and its random
// stream alone: not on the slots, the workers, the order or the company.
func TestResponsesDependOnTheirRequestAlone(t *testing.T) {
	for i, name := range []string{"fp32", "bf16-tp4", "fp16", "fp8-w8a8", "int8-w8a8", "fp4-all", "fp32-online", "bf16-splitk4"} {
		t.Run(name, func(t *testing.T) {
			n, p := preset(t, name), enginetest.Models(enginetest.Small)[i%4].Params
			list := requests(uint64(i), 64, p.Config.Vocab)
			s := plain
			if i%2 == 1 {
				s.TopP, s.TopK = 0.8, 9
			}
			want := generate(p, n, 64, 1, list, s)
			for _, c := range []struct{ slots, workers int }{{1, 1}, {7, 1}, {64, 2}, {7, 3}, {100, 2}} {
				sameResponses(t, fmt.Sprintf("%d slots, %d workers", c.slots, c.workers), want, generate(p, n, c.slots, c.workers, list, s), nil)
			}
			order := rand.New(rand.NewPCG(1, 2)).Perm(len(list))
			var shuffled []rollout.Request
			for _, k := range order {
				shuffled = append(shuffled, list[k])
			}
			sameResponses(t, "another order", want, generate(p, n, 7, 1, shuffled, s), order)
		})
	}
}

// sameResponses compares everything recorded; got's response i is want's order[i].
func sameResponses(t *testing.T, how string, want, got *column.Sampled, order []int) {
	t.Helper()
	if got.Len() != want.Len() {
		t.Fatalf("%s: %d responses, want %d", how, got.Len(), want.Len())
	}
	per := want.Layers * want.TopK
	for i := range got.Len() {
		k := i
		if order != nil {
			k = order[i]
		}
		from, to := want.Span(k)
		f, u := got.Span(i)
		v := want.Vocab
		if !slices.Equal(want.Token[from:to], got.Token[f:u]) ||
			!slices.Equal(want.LogpRoll[from:to], got.LogpRoll[f:u]) ||
			!slices.Equal(want.KeptMass[from:to], got.KeptMass[f:u]) ||
			!slices.Equal(want.RoutesRoll[from*per:to*per], got.RoutesRoll[f*per:u*per]) ||
			!slices.Equal(want.PromptRoutes[k], got.PromptRoutes[i]) ||
			!slices.Equal(want.DistRoll[from*v:to*v], got.DistRoll[f*v:u*v]) ||
			!slices.EqualFunc(want.Support[from:to], got.Support[f:u], slices.Equal) ||
			want.Finished[k] != got.Finished[i] {
			t.Errorf("%s: response to request %d differs", how, k)
			return
		}
	}
}

// A batch-variant engine gives other log-probs when the number of slots
// changes, which is what the test above would miss if it could not fail.
func TestBatchVariantDependsOnTheSlots(t *testing.T) {
	p, n := enginetest.Named("dense").Params, preset(t, "fp32-batch-variant")
	list := requests(1, 70, p.Config.Vocab)
	a, b := generate(p, n, 70, 1, list, plain), generate(p, n, 1, 1, list, plain)
	if slices.Equal(a.LogpRoll, b.LogpRoll) {
		t.Error("70 slots and 1 slot give the same log-probs")
	}
}

// complete reports whether the columns that every token has have one entry for each.
func complete(b *column.Sampled) bool {
	n := b.Tokens()
	return len(b.Token) == n && len(b.Mask) == n && len(b.Turn) == n && len(b.LogpRoll) == n &&
		len(b.KeptMass) == n && len(b.Version) == n && len(b.DistRoll) == n*b.Vocab
}

// Columns fit together, and say what happened.
func TestColumns(t *testing.T) {
	p := enginetest.Named("moe").Params
	c := p.Config
	list := requests(5, 40, c.Vocab)
	for i := range list {
		list[i].Group, list[i].PromptID = i/4, int64(100-i)
	}
	b := generate(p, preset(t, "bf16"), 7, 1, list, plain)
	if !complete(b) {
		t.Fatalf("columns do not have %d tokens: %+v", b.Tokens(), b)
	}
	if b.Len() != len(list) || b.Layers != c.Layers || b.TopK != c.TopK || b.Vocab != c.Vocab ||
		len(b.Support) != b.Tokens() || len(b.RoutesRoll) != b.Tokens()*c.Layers*c.TopK || len(b.Finished) != b.Len() {
		t.Fatalf("shapes: %d responses, layers %d, top-k %d, vocabulary %d", b.Len(), b.Layers, b.TopK, b.Vocab)
	}
	stopped, cut := 0, 0
	for i := range b.Len() {
		from, to := b.Span(i)
		if !slices.Equal(b.Prompt[i], list[i].Prompt) || len(b.PromptRoutes[i]) != (len(list[i].Prompt)-1)*c.Layers*c.TopK {
			t.Errorf("response %d: prompt %v, %d prompt routes", i, b.Prompt[i], len(b.PromptRoutes[i]))
		}
		if b.Group[i] != list[i].Group || b.PromptID[i] != list[i].PromptID {
			t.Errorf("response %d: group %d, prompt %d", i, b.Group[i], b.PromptID[i])
		}
		if k := slices.Index(b.Token[from:to], plain.Stop); k >= 0 && k != to-from-1 {
			t.Errorf("response %d goes on after the stop token: %v", i, b.Token[from:to])
		}
		ended := b.Token[to-1] == plain.Stop
		if b.Finished[i] != ended || !ended && to-from != plain.MaxTokens {
			t.Errorf("response %d of %d tokens ends with %d, finished %t", i, to-from, b.Token[to-1], b.Finished[i])
		}
		if ended {
			stopped++
		} else {
			cut++
		}
	}
	if stopped == 0 || cut == 0 {
		t.Errorf("%d responses stopped and %d cut: the test needs both", stopped, cut)
	}
	for n := range b.Token {
		if !b.Mask[n] || b.Version[n] != 3 || b.KeptMass[n] != 1 || b.Support[n] != nil {
			t.Fatalf("token %d: mask %t, version %d, kept mass %g, support %v", n, b.Mask[n], b.Version[n], b.KeptMass[n], b.Support[n])
		}
		if want := float64(b.DistRoll[n*c.Vocab+int(b.Token[n])]); b.LogpRoll[n] != want {
			t.Fatalf("token %d: log-prob %g, the distribution has %g", n, b.LogpRoll[n], want)
		}
	}
	s := plain
	s.Distributions = false
	if b := generate(p, preset(t, "bf16"), 7, 1, list, s); b.DistRoll != nil {
		t.Error("distributions were not asked for")
	}
}

// The support and the mass it keeps: the token lies in it, the mass is its
// probability, and the log-prob is of the truncated distribution.
func TestSupport(t *testing.T) {
	p := enginetest.Named("moe").Params
	v := p.Config.Vocab
	for _, test := range []struct {
		topK int
		topP float64
	}{{4, 1}, {0, 0.7}, {5, 0.6}, {1, 1}} {
		s := plain
		s.TopK, s.TopP = test.topK, test.topP
		b := generate(p, preset(t, "bf16"), 16, 1, requests(6, 30, v), s)
		for n, token := range b.Token {
			support, dist := b.Support[n], b.DistRoll[n*v:(n+1)*v]
			if !slices.Contains(support, token) || !slices.IsSorted(support) {
				t.Fatalf("token %d is drawn from %v", token, support)
			}
			var kept float64
			least := math.Inf(1)
			for _, id := range support {
				kept += math.Exp(float64(dist[id]))
				least = math.Min(least, float64(dist[id]))
			}
			for id, logp := range dist {
				if !slices.Contains(support, int32(id)) && float64(logp) > least {
					t.Fatalf("id %d at %g is left out, the support reaches %g", id, logp, least)
				}
			}
			if math.Abs(kept-b.KeptMass[n]) > 1e-6 {
				t.Fatalf("kept mass %g, the support has %g", b.KeptMass[n], kept)
			}
			if want := float64(dist[token]) - math.Log(kept); math.Abs(b.LogpRoll[n]-want) > 1e-6 {
				t.Fatalf("log-prob %g, want %g", b.LogpRoll[n], want)
			}
			if test.topK > 0 && len(support) > test.topK {
				t.Fatalf("top %d keeps %d tokens", test.topK, len(support))
			}
			if test.topK == 0 && (kept < test.topP-1e-6 || kept-math.Exp(least) > test.topP+1e-6) {
				t.Fatalf("top-p %g keeps %g with a least member of %g", test.topP, kept, math.Exp(least))
			}
		}
	}
}

// Greedy decoding takes the likeliest token, whatever the random stream.
func TestGreedy(t *testing.T) {
	p := enginetest.Named("dense").Params
	v := p.Config.Vocab
	s := plain
	s.Temperature = 0
	list := requests(7, 20, v)
	b := generate(p, preset(t, "fp32"), 8, 1, list, s)
	for n, token := range b.Token {
		dist := b.DistRoll[n*v : (n+1)*v]
		if dist[token] != slices.Max(dist) {
			t.Fatalf("token %d at %g, the likeliest has %g", token, dist[token], slices.Max(dist))
		}
	}
	for i := range list {
		list[i].Seed, list[i].Stream = 99, 99
	}
	sameResponses(t, "other random streams", b, generate(p, preset(t, "fp32"), 8, 1, list, s), nil)
}

// A response ends at its stop token, at the length limit, or when the next
// token would have no position in the context.
func TestLimits(t *testing.T) {
	p := enginetest.Named("moe").Params
	c := p.Config
	never := plain
	never.Stop, never.MaxTokens = -1, 1000
	prompts := []int{1, c.Context - 1, c.Context}
	var list []rollout.Request
	for i, n := range prompts {
		list = append(list, rollout.Request{Prompt: enginetest.Sequences(8, 1, c.Vocab, n, n)[0], Stream: uint64(i)})
	}
	b := generate(p, preset(t, "fp32"), 2, 1, list, never)
	for i, n := range prompts {
		from, to := b.Span(i)
		// The last token needs no position of its own: it is not read.
		if to-from != c.Context-n+1 || b.Finished[i] {
			t.Errorf("a prompt of %d in a context of %d has %d tokens, finished %t", n, c.Context, to-from, b.Finished[i])
		}
	}
	never.MaxTokens = 5
	if b := generate(p, preset(t, "fp32"), 2, 1, list[:1], never); b.Tokens() != 5 {
		t.Errorf("%d tokens, the limit is 5", b.Tokens())
	}
	if b := generate(p, preset(t, "fp32"), 2, 1, nil, never); b.Len() != 0 || b.Tokens() != 0 {
		t.Errorf("%d responses to no request", b.Len())
	}
}

// Raw log-probs are those before temperature and truncation, tempered ones those
// before truncation; the tokens are the same.
func TestRawLogProbs(t *testing.T) {
	p := enginetest.Named("moe").Params
	v := p.Config.Vocab
	list := requests(9, 20, v)
	s := plain
	s.Temperature, s.TopK = 0.5, 3
	processed := generate(p, preset(t, "fp32"), 8, 1, list, s)
	s.LogProbs = rollout.Raw
	raw := generate(p, preset(t, "fp32"), 8, 1, list, s)
	s.LogProbs = rollout.Tempered
	tempered := generate(p, preset(t, "fp32"), 8, 1, list, s)
	if !slices.Equal(processed.Token, raw.Token) || !slices.Equal(processed.Token, tempered.Token) {
		t.Fatal("what is recorded changes what is drawn")
	}
	for n, token := range tempered.Token {
		if want := float64(tempered.DistRoll[n*v+int(token)]); tempered.LogpRoll[n] != want {
			t.Fatalf("log-prob before truncation %g, want %g", tempered.LogpRoll[n], want)
		}
	}
	for n, token := range raw.Token {
		// From the recorded distribution at temperature 1/2: logits/2 up to a
		// constant, so the distribution at temperature 1 is the softmax of half of it.
		var sum float64
		for _, logp := range raw.DistRoll[n*v : (n+1)*v] {
			sum += math.Exp(float64(logp) / 2)
		}
		want := float64(raw.DistRoll[n*v+int(token)])/2 - math.Log(sum)
		if math.Abs(raw.LogpRoll[n]-want) > 1e-5 {
			t.Fatalf("raw log-prob %g, want %g", raw.LogpRoll[n], want)
		}
		if math.Abs(processed.LogpRoll[n]-want) < 1e-3 && len(processed.Support[n]) > 1 {
			t.Fatalf("processed log-prob %g equals the raw one", processed.LogpRoll[n])
		}
	}
}

// Published weights are a copy, stamped with their version.
func TestPublishCopies(t *testing.T) {
	p := enginetest.Named("moe-biased").Params.Clone()
	e := rollout.New(p.Config, preset(t, "fp8-w8a8"), 8, 1)
	defer e.Close()
	e.Publish(p, 7)
	list := requests(10, 8, p.Config.Vocab)
	var before, after column.Sampled
	e.Generate(&before, list, plain)
	for i := range p.Theta {
		p.Theta[i] += 0.3
	}
	for i := range p.RouterBias {
		p.RouterBias[i] = -p.RouterBias[i]
	}
	e.Generate(&after, list, plain)
	sameResponses(t, "parameters changed after Publish", &before, &after, nil)
	e.Publish(p, 8)
	e.Generate(&after, list, plain)
	if after.Version[0] != 8 || before.Version[0] != 7 {
		t.Errorf("versions %d and %d", after.Version[0], before.Version[0])
	}
	if slices.Equal(before.LogpRoll, after.LogpRoll) {
		t.Error("publishing other parameters changes nothing")
	}
}

// Sampling in the steady state allocates a fixed number of times per call of
// Generate (the two pieces of memory a batch keeps), none per token.
func TestNoAllocationsPerToken(t *testing.T) {
	p := enginetest.Named("moe").Params
	for _, name := range []string{"fp32", "bf16", "fp8-w8a8"} {
		e := rollout.New(p.Config, preset(t, name), 8, 1)
		e.Publish(p, 0)
		list := requests(11, 24, p.Config.Vocab)
		var b column.Sampled
		s := plain
		s.TopP = 0.9
		counts := map[int]float64{}
		for _, length := range []int{20, 5} {
			s.MaxTokens, s.Stop = length, -1
			e.Generate(&b, list, s)
			counts[length] = testing.AllocsPerRun(3, func() { e.Generate(&b, list, s) })
		}
		if counts[20] != counts[5] || counts[5] > 2 {
			t.Errorf("%s: %v allocations for 20 tokens each, %v for 5", name, counts[20], counts[5])
		}
		e.Close()
	}
}

// Impossible sampling is a programmer's fault.
func TestImpossibleSampling(t *testing.T) {
	p := enginetest.Named("dense").Params
	for _, s := range []rollout.Sampling{
		{Temperature: -1, TopP: 1, MaxTokens: 1}, {TopP: 0, MaxTokens: 1}, {TopP: 1.1, MaxTokens: 1}, {TopP: 1}, {TopP: 1, TopK: -1, MaxTokens: 1},
	} {
		must.Panic(t, fmt.Sprintf("%+v", s), func() { generate(p, preset(t, "fp32"), 1, 1, requests(1, 1, 5), s) })
	}
}
