package claim

import (
	"fmt"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/precision"
)

// Numerics returns a preset; the names are constants of this package.
func Numerics(preset string) engine.Numerics {
	n, ok := engine.Preset(preset)
	if !ok {
		panic("experiments: there are no numerics " + preset)
	}
	return n
}

// Named returns n under another name after an edit.
func Named(n engine.Numerics, name string, edit func(*engine.Numerics)) engine.Numerics {
	n.Name = name
	if edit != nil {
		edit(&n)
	}
	return n
}

// SplitK is n with every sum cut into four parts.
func SplitK(n engine.Numerics) engine.Numerics {
	return Named(n, n.Name+"-splitk4", func(n *engine.Numerics) { n.Reduction = kernel.Reduction{Kind: kernel.SplitK, Parts: 4} })
}

// TensorParallel is n over that many tensor-parallel ranks with a bf16 wire.
func TensorParallel(n engine.Numerics, ranks int) engine.Numerics {
	if ranks == 1 {
		return n
	}
	return Named(n, fmt.Sprintf("%s-tp%d", n.Name, ranks), func(n *engine.Numerics) {
		n.Reduction.Kind, n.Reduction.Parts, n.Reduction.Wire = kernel.TensorParallel, ranks, precision.BF16
	})
}
