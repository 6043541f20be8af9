package loss

import (
	"fmt"
	"testing"

	"driftlab/trainer/method/batch"
)

// TestEvalAllocatesNothing in steady state, for every loss, KL term and term.
func TestEvalAllocatesNothing(t *testing.T) {
	b := nastyBatch(2, true)
	out := &Grad{}
	steady := func(name string, run func() error) {
		for range 2 { // let the memory grow
			if err := run(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if n := testing.AllocsPerRun(5, func() { _ = run() }); n != 0 {
			t.Errorf("%s allocates %v times per evaluation", name, n)
		}
	}
	for _, e := range Registry {
		l := e.New()
		steady(e.Name, func() error { return l.Eval(out, b) })
	}
	for _, e := range KLRegistry {
		k := e.New()
		steady("kl "+e.Name, func() error { out.Reset(b.Tokens()); return k.AddLoss(out, b) })
	}
	for _, e := range TermRegistry {
		term := e.New()
		steady("term "+e.Name, func() error {
			out.Reset(b.Tokens())
			if err := Prepare(term, b); err != nil {
				return err
			}
			return term.AddLoss(out, b)
		})
	}
}

// benchBatch is 64 responses of 128 tokens.
func benchBatch() *batch.Batch {
	small := nastyBatch(1, false)
	b := &batch.Batch{
		Sampled:        batch.Sampled{Offsets: []int{0}, Vocab: small.Vocab},
		LearnerVersion: small.LearnerVersion,
	}
	for i := range 64 {
		b.Group, b.Reward, b.Correct = append(b.Group, i/8), append(b.Reward, float64(i%2)), append(b.Correct, i%2 == 1)
		for t := range 128 {
			n := (i*131 + t) % small.Tokens()
			b.Mask = append(b.Mask, t < 100+i%28)
			b.Token = append(b.Token, small.Token[n])
			b.Turn = append(b.Turn, int32(t/32))
			b.Version = append(b.Version, small.Version[n])
			b.Now.Logp, b.Anchor, b.LogpRoll = append(b.Now.Logp, small.Now.Logp[n]), append(b.Anchor, small.Anchor[n]), append(b.LogpRoll, small.LogpRoll[n])
			b.Ref.Logp, b.Teacher.Logp = append(b.Ref.Logp, small.Ref.Logp[n]), append(b.Teacher.Logp, small.Teacher.Logp[n])
			b.Advantage, b.Now.Entropy = append(b.Advantage, small.Advantage[n]), append(b.Now.Entropy, small.Now.Entropy[n])
			at := n * small.Vocab
			b.Now.Dist = append(b.Now.Dist, small.Now.Dist[at:at+small.Vocab]...)
			b.DistRoll = append(b.DistRoll, small.DistRoll[at:at+small.Vocab]...)
			b.Ref.Dist = append(b.Ref.Dist, small.Ref.Dist[at:at+small.Vocab]...)
			b.Shadow.Dist = append(b.Shadow.Dist, small.Shadow.Dist[at:at+small.Vocab]...)
		}
		b.Offsets = append(b.Offsets, len(b.Mask))
	}
	b.Old.Dist = b.DistRoll
	return b
}

func BenchmarkLoss(b *testing.B) {
	in, out := benchBatch(), &Grad{}
	for _, e := range Registry {
		b.Run(fmt.Sprintf("%s/%s", e.Unit, e.Name), func(b *testing.B) {
			l := e.New()
			b.ReportAllocs()
			for b.Loop() {
				must(b, l.Eval(out, in))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Tokens()), "ns/token")
		})
	}
}

func BenchmarkKL(b *testing.B) {
	in, out := benchBatch(), &Grad{}
	for _, e := range KLRegistry {
		b.Run(e.Name, func(b *testing.B) {
			k := e.New()
			b.ReportAllocs()
			for b.Loop() {
				out.Reset(in.Tokens())
				must(b, k.AddLoss(out, in))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Tokens()), "ns/token")
		})
	}
}
