package claim

import (
	"fmt"

	"driftlab/engine"
)

// Numerics returns a preset; the names are constants of the claims.
func Numerics(preset string) engine.Numerics {
	n, ok := engine.Preset(preset)
	if !ok {
		panic("claim: there are no numerics " + preset)
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

// Ordered returns n under another name with the order of sums that a recipe
// writes so.
func Ordered(n engine.Numerics, name, order string) engine.Numerics {
	return Named(n, name, func(n *engine.Numerics) {
		if err := n.Reduction.UnmarshalText([]byte(order)); err != nil {
			panic("claim: " + err.Error())
		}
	})
}

// SplitK is n with every sum cut into four parts.
func SplitK(n engine.Numerics) engine.Numerics { return Ordered(n, n.Name+"-splitk4", "split_k:4") }

// TensorParallel is n over that many tensor-parallel ranks with a bf16 wire.
func TensorParallel(n engine.Numerics, ranks int) engine.Numerics {
	if ranks == 1 {
		return n
	}
	return Ordered(n, fmt.Sprintf("%s-tp%d", n.Name, ranks), fmt.Sprintf("tensor_parallel:%d:ring:bf16", ranks))
}
