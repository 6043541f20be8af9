package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/model"
)

// echo answers every token divisible by three. Its replies depend on the prompt
// and on all of the response, and have one to five tokens, some of them calls
// by their number, which no tool answers.
type echo struct{ vocab int32 }

func (e echo) Reply(dst, prompt, response []int32) []int32 {
	newest := response[len(response)-1]
	if newest%3 != 0 {
		return dst
	}
	sum := prompt[0] + int32(len(prompt))
	for _, token := range response {
		sum += token
	}
	for i := range 1 + sum%5 {
		dst = append(dst, (sum+7*i)%e.vocab)
	}
	return dst
}

// withTool gives every request the same environment.
func withTool(list []rollout.Request, tool rollout.Tool) []rollout.Request {
	list = slices.Clone(list)
	for i := range list {
		list[i].Tool = tool
	}
	return list
}

// roomy leaves space for several calls.
var roomy = rollout.Sampling{Temperature: 0.9, TopP: 1, MaxTokens: 24, Stop: 1, Distributions: true}

// A response with replies is what the tool says it is: asked after each token of
// the policy and of no one else, its tokens stand there unmasked by loss and
// column, and a reply that leaves no room ends the response.
func TestToolColumns(t *testing.T) {
	p := enginetest.Named("moe").Params
	c := p.Config
	tool := echo{int32(c.Vocab)}
	list := withTool(requests(3, 60, c.Vocab), tool)
	s := roomy
	s.TopP = 0.8
	b := generate(p, preset(t, "bf16"), 16, 1, list, s)
	if !complete(b) {
		t.Fatalf("columns do not have %d tokens: %+v", b.Tokens(), b)
	}
	replies, cut, turns := 0, 0, int32(0)
	for i := range b.Len() {
		from, to := b.Span(i)
		turn := int32(0)
		n := from
		for n < to {
			if !b.Mask[n] || b.Turn[n] != turn {
				t.Fatalf("response %d, token %d: mask %t, turn %d, want a token of turn %d", i, n-from, b.Mask[n], b.Turn[n], turn)
			}
			if want := float64(b.DistRoll[n*c.Vocab+int(b.Token[n])]); b.LogpRoll[n] > 0 || want > 0 || b.Support[n] == nil {
				t.Fatalf("token %d: log-prob %g, support %v", n, b.LogpRoll[n], b.Support[n])
			}
			n++
			reply := tool.Reply(nil, b.Prompt[i], b.Token[from:n])
			if len(reply) == 0 || b.Token[n-1] == s.Stop {
				continue
			}
			if n == to { // it did not fit
				if length := to - from; length+len(reply) < s.MaxTokens && len(b.Prompt[i])+length+len(reply) <= c.Context {
					t.Fatalf("response %d of %d tokens ends with a call whose reply has %d", i, length, len(reply))
				}
				cut++
				continue
			}
			replies++
			for _, token := range reply {
				if b.Token[n] != token || b.Mask[n] || b.Turn[n] != turn || b.LogpRoll[n] != 0 || b.KeptMass[n] != 1 || b.Support[n] != nil || b.Version[n] != 3 {
					t.Fatalf("response %d, token %d: %d, mask %t, turn %d, log-prob %g, kept %g", i, n-from, b.Token[n], b.Mask[n], b.Turn[n], b.LogpRoll[n], b.KeptMass[n])
				}
				n++
			}
			turn++
			turns = max(turns, turn)
		}
		if !b.Mask[to-1] || to-from > s.MaxTokens || b.Finished[i] != (b.Token[to-1] == s.Stop) {
			t.Errorf("response %d ends with mask %t after %d tokens, finished %t", i, b.Mask[to-1], to-from, b.Finished[i])
		}
	}
	if replies < 30 || cut < 5 || turns < 3 {
		t.Errorf("%d replies, %d cut, %d turns: the test needs more", replies, cut, turns)
	}
}

// Replies are read without a trace of the company: other slots, workers, orders
// and chunks give the same bits, also where keys are quantised.
func TestToolChangesWithNothingElse(t *testing.T) {
	for i, numerics := range []string{"fp32", "bf16-tp4", "fp8-w8a8", "fp4-all", "fp32-online", "bf16-splitk4"} {
		p := enginetest.Models(enginetest.Small)[i%4].Params
		list := append(groups(uint64(i), 5, 4, p.Config.Vocab, 15), requests(uint64(i), 20, p.Config.Vocab)...)
		list = withTool(list, echo{int32(p.Config.Vocab)})
		for k := range 5 {
			list[3*k].Tool = nil // some have no environment
		}
		want := toolRun(t, p, numerics, len(list), 1, rollout.Prefill{}, list)
		if !slices.Contains(want.Mask, false) {
			t.Fatal("no replies")
		}
		for k, how := range append(prefills, rollout.Prefill{}) {
			if k%2 != i%2 && !*exhaustive {
				continue
			}
			slots := []int{len(list), 7, 1}[(i+k)%3]
			got := toolRun(t, p, numerics, slots, 1+k%2, how, list)
			sameResponses(t, fmt.Sprintf("%s, %+v, %d slots", numerics, how, slots), want, got, nil)
			if !slices.Equal(want.Mask, got.Mask) || !slices.Equal(want.Turn, got.Turn) {
				t.Errorf("%s, %+v: other turns", numerics, how)
			}
		}
	}
}

func toolRun(t *testing.T, p *model.Params, numerics string, slots, workers int, how rollout.Prefill, list []rollout.Request) *column.Sampled {
	e := rollout.New(p.Config, preset(t, numerics), slots, workers)
	defer e.Close()
	e.SetPrefill(how)
	e.Publish(p, 3)
	var b column.Sampled
	e.Generate(&b, list, roomy)
	return &b
}

// A response without a call is the same with and without a tool, and up to its
// first call every response is.
func TestToolLeavesTheBeginning(t *testing.T) {
	p := enginetest.Named("dense").Params
	list := requests(4, 40, p.Config.Vocab)
	with := generate(p, preset(t, "bf16"), 9, 1, withTool(list, echo{int32(p.Config.Vocab)}), roomy)
	without := generate(p, preset(t, "bf16"), 9, 1, list, roomy)
	for i := range list {
		from, to := with.Span(i)
		f, u := without.Span(i)
		n := slices.Index(with.Mask[from:to], false)
		if n < 0 {
			n = min(to-from, u-f)
		}
		if !slices.Equal(with.Token[from:from+n], without.Token[f:f+n]) || !slices.Equal(with.LogpRoll[from:from+n], without.LogpRoll[f:f+n]) {
			t.Errorf("response %d differs before its first reply", i)
		}
	}
}

// Given responses are decoded with their replies in the same company; one that
// does not read as its tool replies is a programmer's fault.
func TestToolGiven(t *testing.T) {
	p := enginetest.Named("moe").Params
	list := withTool(requests(5, 30, p.Config.Vocab), echo{int32(p.Config.Vocab)})
	n := preset(t, "fp32-batch-variant")
	want := generate(p, n, 7, 1, list, roomy)
	for k := range list {
		from, to := want.Span(k)
		list[k].Given = slices.Clone(want.Token[from:to])
	}
	got := generate(p, n, 7, 2, list, roomy)
	sameResponses(t, "given", want, got, nil)
	if !slices.Equal(want.Mask, got.Mask) || !slices.Equal(want.Turn, got.Turn) {
		t.Error("given: other turns")
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "where the given response reads") {
			t.Errorf("panic %q", text)
		}
	}()
	at := slices.Index(want.Mask, false)
	k := 0
	for want.Offsets[k+1] <= at {
		k++
	}
	list[k].Given[at-want.Offsets[k]]++
	generate(p, n, 7, 1, list, roomy)
}

// Replies allocate nothing per token.
func TestToolNoAllocationsPerToken(t *testing.T) {
	p := enginetest.Named("moe").Params
	e := rollout.New(p.Config, preset(t, "bf16"), 8, 1)
	defer e.Close()
	e.Publish(p, 0)
	var tool rollout.Tool = echo{int32(p.Config.Vocab)}
	list := withTool(requests(11, 24, p.Config.Vocab), tool)
	var b column.Sampled
	counts := map[int]float64{}
	for _, length := range []int{24, 8} {
		s := roomy
		s.MaxTokens, s.Stop = length, -1
		e.Generate(&b, list, s)
		counts[length] = testing.AllocsPerRun(3, func() { e.Generate(&b, list, s) })
	}
	if counts[24] != counts[8] || counts[8] > 2 {
		t.Errorf("%v allocations for 24 tokens each, %v for 8", counts[24], counts[8])
	}
}
