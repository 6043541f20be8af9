package experiments

import (
	"fmt"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/precision"
)

// numerics returns a preset; the names are constants of this package.
func numerics(preset string) engine.Numerics {
	n, ok := engine.Preset(preset)
	if !ok {
		panic("experiments: there are no numerics " + preset)
	}
	return n
}

// named returns n under another name after an edit.
func named(n engine.Numerics, name string, edit func(*engine.Numerics)) engine.Numerics {
	n.Name = name
	if edit != nil {
		edit(&n)
	}
	return n
}

// split is n with every sum cut into four parts.
func split(n engine.Numerics) engine.Numerics {
	return named(n, n.Name+"-splitk4", func(n *engine.Numerics) { n.Reduction = kernel.Reduction{Kind: kernel.SplitK, Parts: 4} })
}

// parallel is n over that many tensor-parallel ranks with a bf16 wire.
func parallel(n engine.Numerics, ranks int) engine.Numerics {
	if ranks == 1 {
		return n
	}
	return named(n, fmt.Sprintf("%s-tp%d", n.Name, ranks), func(n *engine.Numerics) {
		n.Reduction.Kind, n.Reduction.Parts, n.Reduction.Wire = kernel.TensorParallel, ranks, precision.BF16
	})
}
