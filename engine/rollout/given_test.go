package rollout_test

import (
	"slices"
	"strings"
	"testing"

	"driftlab/engine/enginetest"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/precision/must"
)

// A response that is given is decoded as it was when it was sampled: the same
// log-probs, distributions and routes, also where they depend on the company,
// which a change of the slots shows.
func TestGivenResponses(t *testing.T) {
	for i, c := range []struct {
		numerics string
		same     bool // whatever the company
		sampling func(*rollout.Sampling)
	}{
		{"fp32", true, func(*rollout.Sampling) {}},
		{"fp32-batch-variant", false, func(*rollout.Sampling) {}},
		{"fp32-batch-variant", false, func(s *rollout.Sampling) { s.Stop = -1 }},
		{"fp32-batch-variant", false, func(s *rollout.Sampling) { s.LogProbs = rollout.Raw }},
		{"fp16", true, func(s *rollout.Sampling) { s.MaxTokens = model.Default().Context }},
	} {
		p, s := enginetest.Models(enginetest.Small)[2+i%2].Params, plain
		c.sampling(&s)
		list := requests(uint64(i), 40, p.Config.Vocab)
		want := generate(p, preset(t, c.numerics), 7, 1, list, s)
		for k := range list {
			from, to := want.Span(k)
			list[k].Given = want.Token[from:to]
			list[k].Seed++ // nothing is drawn
		}
		s.TopP, s.TopK = 0.5, 3 // nor truncated
		got := generate(p, preset(t, c.numerics), 7, 2, list, s)
		sameResponses(t, c.numerics, want, got, nil)
		other := generate(p, preset(t, c.numerics), 40, 1, list, s)
		if !slices.Equal(other.Token, want.Token) || slices.Equal(other.LogpRoll, want.LogpRoll) != c.same {
			t.Errorf("%s: other company: same log-probs %v", c.numerics, !c.same)
		}
	}
}

// A given response must fit the recording.
func TestGivenTooLong(t *testing.T) {
	p := enginetest.Named("moe").Params
	for _, given := range [][]int32{{}, make([]int32, plain.MaxTokens+1)} {
		fault := must.Panic(t, "a response that does not fit", func() {
			generate(p, preset(t, "fp32"), 1, 1, []rollout.Request{{Prompt: []int32{1}, Given: given}}, plain)
		})
		if text, _ := fault.(string); !strings.Contains(text, "1 to 14 fit") {
			t.Errorf("%d tokens: panic %q", len(given), text)
		}
	}
}
