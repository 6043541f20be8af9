package engine_test

import (
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/model"
)

// Once its buffers have grown, a pass allocates nothing: forward, decoding one
// token for every sequence, backward, and publishing new weights.
func TestNoAllocations(t *testing.T) {
	for _, name := range []string{"fp32", "fp32-splitk4", "bf16-tp4", "fp16", "bf16-online", "int8-w8a8", "fp8-w8a8", "fp8-block", "fp4-all", "fp4-w4a16"} {
		for _, workers := range []int{1, 2} {
			n, p := preset(t, name), enginetest.Named("moe-biased").Params
			c := p.Config
			sequences := enginetest.Sequences(1, 16, c.Vocab, 8, 8)
			pack, grad, w := packOf(sequences), model.New(c), weightsOf(p, n)
			pass := engine.NewPass(c, workers)
			dlogits := make([]float32, pack.Rows()*c.Vocab)
			cache := engine.NewCache(c, n, len(sequences))
			var step engine.Pack
			slots := make([]int, len(sequences))
			decode := func() {
				step.Reset()
				for i := range slots {
					slots[i] = i
					step.Add(8, sequences[i][:1])
				}
				pass.Begin(w, &step, engine.Options{Cache: cache, Slots: slots})
				pass.Forward()
			}
			recompute := false
			train := func() {
				pass.Begin(w, pack, engine.Options{Save: true, Recompute: recompute})
				pass.Forward()
				backpropagate(pass, grad, 0.1, dlogits)
			}
			for _, job := range []struct {
				name string
				run  func()
			}{{"decode", decode}, {"forward and backward", train}, {"recomputing", func() { recompute = true; train(); recompute = false }}, {"publish", func() { w.Publish(p, 1) }}} {
				job.run()
				if count := testing.AllocsPerRun(2, job.run); count != 0 {
					t.Errorf("%s, %d workers: %s allocates %v times", name, workers, job.name, count)
				}
			}
			pass.Close()
		}
	}
}
