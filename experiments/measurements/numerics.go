package measurements

import (
	"fmt"

	"driftlab/engine"
)

// numerics returns a preset; the names are constants of the claims.
func numerics(preset string) engine.Numerics {
	n, ok := engine.Preset(preset)
	if !ok {
		panic("measurements: there are no numerics " + preset)
	}
	return n
}

func renamed(n engine.Numerics, name string, edit func(*engine.Numerics)) engine.Numerics {
	n.Name = name
	edit(&n)
	return n
}

// reordered returns n under another name with the order of sums that a recipe
// writes so.
func reordered(n engine.Numerics, name, order string) engine.Numerics {
	return renamed(n, name, func(n *engine.Numerics) {
		if err := n.Reduction.UnmarshalText([]byte(order)); err != nil {
			panic("measurements: " + err.Error())
		}
	})
}

// tensorParallel is n over that many tensor-parallel ranks with a bf16 wire.
func tensorParallel(n engine.Numerics, ranks int) engine.Numerics {
	if ranks == 1 {
		return n
	}
	return reordered(n, fmt.Sprintf("%s-tp%d", n.Name, ranks), fmt.Sprintf("tensor_parallel:%d:ring:bf16", ranks))
}
