package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/engine/kernel"
)

// call is a stage of a layer: what it does to a worker's block, and what the block then gives to the gradients of the
// stage's parameters; nil is nothing.
type call struct {
	layer        int
	run, weights func(p *Pass, k *worker, layer int)
}

// runner is the job the pass hands to its team: one part per worker. It is a
// value inside the pass, so that starting it allocates nothing.
type runner struct {
	pass     *Pass
	backward bool
}

// start takes the pass's blocks through the queue, forward or backward.
func (r *runner) start(backward bool) {
	r.backward = backward
	r.pass.team.Run(len(r.pass.workers), r)
}

// Part is the share of worker i.
func (r *runner) Part(i int) {
	p, k := r.pass, &r.pass.workers[i]
	if r.backward {
		p.backwardBlocks(k, i)
	} else {
		p.forward(k, i)
	}
}

// Support restricts next-token distributions to a sampling support, the ids
// that top-k and top-p kept (Keep Sampling Mask, arXiv:2512.02556, section
// 3.1). Over the kept set K
//
//	logp'_a = logp_a - ln Σ_{b∈K} exp(logp_b) = z_a - logsumexp_K(z)
//
// and every other token has probability zero. Both engines do this arithmetic,
// so that equal logits give equal bits. The zero value is ready; it owns memory
// and is not safe for concurrent use.
type Support struct{ order []int32 }

// smallMass is below what float32 probabilities can sum accurately.
const smallMass = 1e-30

// LogMass returns the log of the probability of the kept ids, in nats and
// rounded to float32. logp and probs are a row of log-probs and their
// exponentials. The terms are added in the order in which the rollout engine
// meets them: the most likely first, equals by id. A mass too small for that,
// which another engine's support may have, is summed relative to its largest
// term. It panics if nothing is kept.
func (s *Support) LogMass(logp, probs []float32, kept []int32) float64 {
	if len(kept) == 0 {
		panic(fmt.Sprintf("engine: empty sampling support over %d tokens", len(logp)))
	}
	s.order = append(s.order[:0], kept...)
	slices.SortFunc(s.order, func(a, b int32) int {
		if c := cmp.Compare(probs[b], probs[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	var mass float64
	for _, id := range s.order {
		mass += float64(probs[id])
	}
	if !(mass < smallMass) {
		return LogOfMass(mass)
	}
	most := logp[s.order[0]]
	for _, id := range s.order {
		most = max(most, logp[id])
	}
	mass = 0
	for _, id := range s.order {
		mass += float64(kernel.Exp32(logp[id] - most))
	}
	return float64(most) + LogOfMass(mass)
}

// LogOfMass is the log of a support's probability as both engines round it.
func LogOfMass(mass float64) float64 {
	return float64(kernel.Log32(float32(mass))) // math.Log differs between processors
}

// Restrict rewrites a row of log-probs to those on the support, given in
// increasing order, whose mass has the given log: -Inf for every other token.
func Restrict(logp []float32, kept []int32, logMass float64) {
	outside := float32(math.Inf(-1))
	from := 0
	for _, id := range kept {
		for ; from < int(id); from++ {
			logp[from] = outside
		}
		logp[id] = float32(float64(logp[id]) - logMass)
		from = int(id) + 1
	}
	for ; from < len(logp); from++ {
		logp[from] = outside
	}
}

// Operation is what one operation of the forward pass left, row by row.
type Operation struct {
	// Name says which, Layer where: -1 before the layers, the number of layers after them.
	Name  string
	Layer int
	// Values are [rows, Width]; of the operations after the layers rows are the targets.
	Values []float32
	Width  int
}

// Operations are what the operations of a pass left, in the order in which they ran. The insides of the experts are not among
// them: their rows are sorted by expert, and two engines may choose others. The pass must have been saved, and not be one
// that computes activations again. Valid until the next Begin.
func (p *Pass) Operations() []Operation {
	if !p.kept() {
		panic("engine: Operations of a pass that did not keep them")
	}
	c := &p.config
	d, last, entering := c.DModel, c.Layers, p.embed
	list := []Operation{{"embedding", -1, p.Embedded(), d}}
	for l := range c.Layers {
		s, f, w := &p.layers[l], &p.streams[l], &p.weights.layers[l]
		var attended quantized
		p.growOperand(&attended, p.rows, d, p.num.inputs)
		kernel.RMSNormAgain(attended.dense, s.inverse, entering, w.inputNorm, p.rows, d, p.num.norm)
		attended.store(0, p.rows, d)
		routed := make([]float32, p.rows*d)
		kernel.RMSNormAgain(routed, s.postInverse, f.middle, w.postNorm, p.rows, d, p.num.norm)
		entering = f.out
		list = append(list, Operation{"attention norm", l, attended.dense, d})
		list = append(list, p.mixers[l].operations(p, l)...)
		list = append(list,
			Operation{"attention output", l, f.middle[:p.rows*d], d},
			Operation{"experts norm", l, routed, d})
		if !c.Dense() {
			list = append(list,
				Operation{"router", l, f.logits[:p.rows*c.Experts], c.Experts},
				Operation{"gates", l, s.gates[:p.rows*c.TopK], c.TopK})
		}
		list = append(list, Operation{"experts output", l, f.out[:p.rows*d], d})
	}
	return append(list,
		Operation{"final norm", last, p.Hidden(), d},
		Operation{"logits", last, p.Logits(), c.Vocab})
}
