package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision/must"
)

// reductions are all orders that do not depend on the batch.
var reductions = []string{
	"canonical", "unfused", "pairwise:4", "pairwise:3+unfused", "split_k:2", "split_k:5",
	"tensor_parallel:2:ring:fp32", "tensor_parallel:4:ring:bf16", "tensor_parallel:4:tree:fp16", "tensor_parallel:3:tree:fp32", "tree:4",
}

// invariant lists every preset that decodes as it scores, and every reduction with both
// attention kernels in four formats; without -exhaustive each reduction in one format.
func invariant(t *testing.T) []engine.Numerics {
	var list []engine.Numerics
	for _, n := range engine.Presets() {
		if n.DecodesAsScored() {
			list = append(list, n)
		}
	}
	for k, name := range []string{"fp32", "bf16", "fp16", "fp8-w8a8"} {
		for i, text := range reductions {
			if !*exhaustive && i%4 != k {
				continue
			}
			n := preset(t, name)
			r := must.Get(kernel.ParseReduction(text))(t)
			n.Reduction, n.Name = r, name+"/"+text
			if i%2 == 0 {
				n.Attention, n.Tile, n.Name = kernel.Online, 5, n.Name+"/online"
			}
			list = append(list, n)
		}
	}
	return list
}

func preset(t testing.TB, name string) engine.Numerics {
	n, ok := engine.Preset(name)
	if !ok {
		t.Fatalf("no preset %s", name)
	}
	return n
}

// The same sequences give the same bits however they reach the engine.
func TestEqualNumericsEqualBits(t *testing.T) {
	models := []enginetest.Model{
		enginetest.Named("dense-learned-grouped"), enginetest.Named("moe"), enginetest.Named("moe-grouped-softmax-first"),
	}
	for i, n := range invariant(t) {
		m := models[i%len(models)]
		t.Run(n.Name+"/"+m.Name, func(t *testing.T) {
			p := m.Params
			sequences := enginetest.Sequences(uint64(i), 32, p.Config.Vocab, 1, 11)
			sequences[0] = enginetest.Sequences(uint64(i), 1, p.Config.Vocab, 40, 40)[0] // more than two tiles
			want := run(p, n, sequences, 1, engine.Options{})
			same(t, "3 workers", want, run(p, n, sequences, 3, engine.Options{}))
			same(t, "saved layers, stage by stage", want, stages(p, n, sequences))
			same(t, "batch of 1", want, oneByOne(p, n, sequences))
			same(t, "another order", want, permuted(p, n, sequences, uint64(i)))
			same(t, "decode", want, decoded(p, n, sequences, 2, func(int) int { return 1 }))
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			same(t, "prefill in chunks", want, decoded(p, n, sequences, 1, func(left int) int { return 1 + rng.IntN(left) }))
		})
	}
}

// same fails unless two outcomes are equal bit for bit.
func same(t *testing.T, how string, want, got outcome) {
	t.Helper()
	for s := range want.logits {
		if !equalBits(want.logits[s], got.logits[s]) {
			t.Errorf("%s: logits of sequence %d differ", how, s)
			return
		}
		if !slices.Equal(want.routes[s], got.routes[s]) {
			t.Errorf("%s: routes of sequence %d differ", how, s)
			return
		}
	}
}

// stages runs the pass as the learner does.
func stages(p *model.Params, n engine.Numerics, sequences [][]int32) outcome {
	pass := engine.NewPass(p.Config, 2)
	defer pass.Close()
	pack := packOf(sequences)
	pass.Begin(weightsOf(p, n), pack, engine.Options{Save: true})
	pass.ForwardEmbed()
	for l := range p.Config.Layers {
		pass.ForwardAttention(l)
		pass.ForwardExperts(l)
	}
	pass.ForwardHead()
	var out outcome
	out.take(pass, pack, p.Config)
	return out
}

func oneByOne(p *model.Params, n engine.Numerics, sequences [][]int32) outcome {
	pass, w := engine.NewPass(p.Config, 1), weightsOf(p, n)
	defer pass.Close()
	var out outcome
	for i := range sequences {
		pack := packOf(sequences[i : i+1])
		pass.Begin(w, pack, engine.Options{})
		pass.Forward()
		out.take(pass, pack, p.Config)
	}
	return out
}

// permuted runs the sequences in another order, asks for some rows only, and
// puts the rest in from a pass that asks for the others.
func permuted(p *model.Params, n engine.Numerics, sequences [][]int32, seed uint64) outcome {
	order := rand.New(rand.NewPCG(seed, 4)).Perm(len(sequences))
	var shuffled [][]int32
	for _, i := range order {
		shuffled = append(shuffled, sequences[i])
	}
	pass, w, pack := engine.NewPass(p.Config, 2), weightsOf(p, n), packOf(shuffled)
	defer pass.Close()
	v, per := p.Config.Vocab, p.Config.Layers*p.Config.TopK
	logits := make([]float32, pack.Rows()*v)
	for _, odd := range []bool{false, true} {
		pack.Targets = []int32{}
		for r := range pack.Rows() {
			if r%2 == 1 == odd {
				pack.Targets = append(pack.Targets, int32(r))
			}
		}
		pass.Begin(w, pack, engine.Options{})
		pass.Forward()
		for i, r := range pack.Targets {
			copy(logits[int(r)*v:], pass.Logits()[i*v:(i+1)*v])
		}
	}
	out := outcome{make([][]float32, len(order)), make([][]uint8, len(order))}
	for s, i := range order {
		from, to := pack.Offsets[s], pack.Offsets[s+1]
		out.logits[i], out.routes[i] = logits[from*v:to*v], slices.Clone(pass.Routes()[from*per:to*per])
	}
	return out
}

// decoded runs the sequences with a cache, some tokens of each at a time; the
// slots are not in the order of the sequences, and one is left unused.
func decoded(p *model.Params, n engine.Numerics, sequences [][]int32, workers int, take func(left int) int) outcome {
	c := p.Config
	pass, w, cache := engine.NewPass(c, workers), weightsOf(p, n), engine.NewCache(c, n, len(sequences)+1)
	defer pass.Close()
	out := outcome{make([][]float32, len(sequences)), make([][]uint8, len(sequences))}
	done := make([]int, len(sequences))
	per := c.Layers * c.TopK
	for {
		var pack engine.Pack
		pack.Reset()
		var slots, running []int
		for s, tokens := range sequences {
			if left := len(tokens) - done[s]; left > 0 {
				pack.Add(done[s], tokens[done[s]:done[s]+take(left)])
				slots, running = append(slots, len(sequences)-s), append(running, s)
			}
		}
		if len(running) == 0 {
			return out
		}
		pass.Begin(w, &pack, engine.Options{Cache: cache, Slots: slots})
		pass.Forward()
		for i, s := range running {
			from, to := pack.Offsets[i], pack.Offsets[i+1]
			out.logits[s] = append(out.logits[s], pass.Logits()[from*c.Vocab:to*c.Vocab]...)
			out.routes[s] = append(out.routes[s], pass.Routes()[from*per:to*per]...)
			done[s] += to - from
		}
	}
}
