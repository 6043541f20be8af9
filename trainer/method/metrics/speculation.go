package metrics

import (
	"math"

	"driftlab/trainer/method/batch"
)

// Speculation is what became of drafted tokens. Rates are 0 where there is
// nothing to take them of.
type Speculation struct {
	// Tests are the drafted tokens that were put to the test, Accepted those that
	// passed. Places behind a rejection were not tested.
	Tests    int `json:"tests"`
	Accepted int `json:"accepted"`
	// Windows are the passes that tested anything, Passes all that made a token.
	Windows int `json:"windows"`
	Passes  int `json:"passes"`
	// Acceptance is Accepted over Tests, and AcceptedLength over Windows.
	Acceptance     float64 `json:"acceptance"`
	AcceptedLength float64 `json:"accepted_length"`
	// TokensPerPass is the number of generated tokens over Passes.
	TokensPerPass float64 `json:"tokens_per_pass"`
	// TV is the mean total variation of the drafter's law and the verifier's over
	// the tests: exact verification accepts with a rate of 1 - TV on average.
	TV float64 `json:"tv"`
	// LawTV is the mean total variation of the emitted tokens' law and the
	// verifier's over generated tokens: how far the sampling law is shifted.
	LawTV float64 `json:"law_tv"`
	// Mislabelled is mean |roll - log law| over generated tokens, nats: how wrong
	// the recorded log-prob is.
	Mislabelled float64 `json:"mislabelled"`
	// Age is the mean number of updates by which the drafter is behind, over tests.
	Age float64 `json:"age"`
}

// CompareDrafts measures the speculation of a batch, and reports whether any
// was recorded.
func CompareDrafts(b *batch.Batch) (s Speculation, recorded bool) {
	if b.Draft == nil {
		return s, false
	}
	tokens := 0
	for i := range b.Len() {
		pass, window := int32(-1), int32(-1)
		for n := range b.Where(i, b.Mask) {
			tokens++
			s.LawTV += b.LawTV[n]
			s.Mislabelled += math.Abs(b.LogpRoll[n] - b.LogpLaw[n])
			if b.Window[n] != pass {
				pass = b.Window[n]
				s.Passes++
			}
			if b.Draft[n] == batch.Undrafted {
				continue
			}
			if b.Window[n] != window {
				window = b.Window[n]
				s.Windows++
			}
			s.Tests++
			if b.Draft[n] == batch.Accepted {
				s.Accepted++
			}
			s.TV += b.DraftTV[n]
			s.Age += float64(b.Version[n] - b.DrafterVersion[n])
		}
	}
	over := func(x float64, n int) float64 { return x / float64(max(n, 1)) }
	s.Acceptance, s.AcceptedLength = over(float64(s.Accepted), s.Tests), over(float64(s.Accepted), s.Windows)
	s.TokensPerPass = over(float64(tokens), s.Passes)
	s.TV, s.Age = over(s.TV, s.Tests), over(s.Age, s.Tests)
	s.LawTV, s.Mislabelled = over(s.LawTV, tokens), over(s.Mislabelled, tokens)
	return s, true
}

// Metrics appends the figures.
func (s *Speculation) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst,
		batch.Metric{Name: "speculative/acceptance", Value: s.Acceptance},
		batch.Metric{Name: "speculative/accepted_length", Value: s.AcceptedLength},
		batch.Metric{Name: "speculative/tokens_per_pass", Value: s.TokensPerPass},
		batch.Metric{Name: "speculative/tv", Value: s.TV},
		batch.Metric{Name: "speculative/law_tv", Value: s.LawTV},
		batch.Metric{Name: "speculative/mislabelled", Value: s.Mislabelled},
		batch.Metric{Name: "speculative/drafter_age", Value: s.Age})
}
