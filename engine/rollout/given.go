package rollout

import (
	"fmt"

	"driftlab/engine/kernel"
)

// drawOrRead samples the next token of a response from the row at hand, or reads it where
// the response is given.
func (m *sampler) drawOrRead(logits []float32, s Sampling, r *response) drawn {
	if r.request.Given == nil {
		return m.drawPrepared(logits, s, &r.rng)
	}
	return m.read(logits, s, r.request.Given[len(r.Token)])
}

// read records a token that is given in place of a drawn one: its log-prob over
// the whole vocabulary, at the temperature or, for raw log-probs, without.
func (m *sampler) read(logits []float32, s Sampling, token int32) drawn {
	d := drawn{token: token, logp: float64(m.logp[token]), kept: 1}
	if s.LogProbs == Raw {
		kernel.LogSoftmax(m.probs, logits, len(logits), 1)
		d.logp = float64(m.probs[token])
	}
	return d
}

// ended reports whether a response is complete with its newest token.
func (e *Engine) ended(r *response, token int32) bool {
	if r.request.Given != nil {
		return len(r.Token) == len(r.request.Given)
	}
	return token == e.sampling.Stop || len(r.Token) == e.sampling.MaxTokens || r.length == e.config.Context
}

// checkGiven panics on a given response that the recording has no room for.
func checkGiven(requests []Request, s Sampling) {
	for i, r := range requests {
		if r.Given != nil && (len(r.Given) == 0 || len(r.Given) > s.MaxTokens) {
			panic(fmt.Sprintf("rollout: request %d gives %d tokens, 1 to %d fit", i, len(r.Given), s.MaxTokens))
		}
	}
}
