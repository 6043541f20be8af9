package engine

import "driftlab/engine/kernel"

// Operation is what one operation of the forward pass left, row by row.
type Operation struct {
	// Name says which, Layer where: -1 before the layers, the number of layers behind them.
	Name  string
	Layer int
	// Values are [rows, Width]; of the operations behind the layers rows are the targets.
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
		attended.grow(p.rows, d, p.num.inputs)
		kernel.RMSNormAgain(attended.dense, s.inverse, entering, w.inputNorm, p.rows, d, p.num.norm)
		p.store(&attended, 0, p.rows, d)
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
