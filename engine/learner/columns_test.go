package learner_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
	"driftlab/engine/reference"
)

// Every column that is asked for is filled and the others are nil, whatever they
// were; of the responses, no engine's, nothing changes but the shape.
func TestColumns(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	c := p.Config
	b := halves(enginetest.Sequences(1, 7, c.Vocab, 3, 9))
	var want column.Sampled
	b.Select(&want, []int{0, 1, 2, 3, 4, 5, 6})
	want.Layers, want.TopK, want.Vocab = c.Layers, c.TopK, c.Vocab
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, KeepGates: true, Distributions: true, SumSquares: true}
	s.Score(&b.Old, &b.Sampled, o)
	n, per := b.Tokens(), c.Layers*c.TopK
	if old := b.Old; len(old.Logp) != n || len(old.Entropy) != n || len(old.SumSquares) != n || len(old.Dist) != n*c.Vocab ||
		len(old.Routes) != n*per || len(old.Gates) != n*per || len(old.PromptRoutes) != b.Len() || len(old.PromptGates) != b.Len() {
		t.Errorf("scoring with everything leaves %+v", old)
	}
	if !reflect.DeepEqual(b.Sampled, want) {
		t.Errorf("scoring makes the responses %+v", b.Sampled)
	}
	before := slices.Clone(b.Old.Logp)
	s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: o.Policy})
	if old := b.Old; !slices.Equal(old.Logp, before) || len(old.Entropy) != n || len(old.Routes) != n*per || len(old.PromptRoutes) != b.Len() ||
		old.SumSquares != nil || old.Dist != nil || old.Gates != nil || old.PromptGates != nil {
		t.Errorf("scoring leaves %+v", old)
	}
}

// The final hidden state times the head is the logits.
func TestHidden(t *testing.T) {
	p := enginetest.Named("dense").Params
	c := p.Config
	s := learner.NewScorer(c, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	b := halves(enginetest.Sequences(1, 7, c.Vocab, 3, 9))
	s.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}, Distributions: true})
	hidden := s.Hidden()
	if len(hidden) != b.Tokens()*c.DModel {
		t.Fatalf("%d values for %d tokens", len(hidden), b.Tokens())
	}
	for n := range b.Token {
		logits := make([]float64, c.Vocab)
		for v := range logits {
			for j, h := range hidden[n*c.DModel : (n+1)*c.DModel] {
				logits[v] += float64(h) * float64(p.Head[v*c.DModel+j])
			}
		}
		for v, want := range reference.LogSoftmax(logits, 1) {
			if got := float64(b.Old.Dist[n*c.Vocab+v]); math.Abs(got-want) > 1e-5 {
				t.Fatalf("token %d: log-prob %g, the hidden state gives %g", n, got, want)
			}
		}
	}
}
