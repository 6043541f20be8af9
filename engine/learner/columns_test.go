package learner_test

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine/enginetest"
	"driftlab/engine/learner"
)

// Each column is filled with what its name says and the others are left alone.
func TestColumns(t *testing.T) {
	p := enginetest.Named("moe").Params
	s := learner.NewScorer(p.Config, preset(t, "fp32"), 1)
	defer s.Close()
	s.Publish(p, 0)
	b := halves(enginetest.Sequences(1, 7, p.Config.Vocab, 3, 9))
	s.Score(b, learner.ScoreOptions{Column: learner.Teacher, Temperature: 1, Distributions: true})
	if len(b.LogpTeacher) != b.Tokens() || b.LogpOld != nil || b.LogpRef != nil || b.DistOld != nil || b.RoutesOld != nil || b.Vocab != 0 {
		t.Errorf("a teacher's scoring leaves %+v", b)
	}
	s.Score(b, learner.ScoreOptions{Column: learner.Reference, Temperature: 1, Distributions: true})
	if !slices.Equal(b.LogpRef, b.LogpTeacher) || len(b.DistRef) != b.Tokens()*b.Vocab || b.LogpOld != nil || b.Entropy != nil {
		t.Errorf("a reference's scoring leaves %+v", b)
	}
	s.Score(b, learner.ScoreOptions{Temperature: 1})
	if !slices.Equal(b.LogpOld, b.LogpRef) || len(b.Entropy) != b.Tokens() || b.SumSquares != nil || b.DistOld != nil {
		t.Errorf("scoring leaves %+v", b)
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
	s.Score(b, learner.ScoreOptions{Temperature: 1, Distributions: true})
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
		for v, want := range enginetest.LogSoftmax(logits, 1) {
			if got := float64(b.DistOld[n*c.Vocab+v]); math.Abs(got-want) > 1e-5 {
				t.Fatalf("token %d: log-prob %g, the hidden state gives %g", n, got, want)
			}
		}
	}
}
