package golden_test

import (
	"fmt"

	"driftlab/trainer/method/golden"
)

func ExampleValues() {
	v := golden.Values{"logp": []any{[]any{-0.5, "nan"}, []any{-1.25}}, "low": nil}
	fmt.Println(v.Flat("logp"), len(v.Matrix("logp")), v.FloatOr("low", 0.2))
	// Output: [-0.5 NaN -1.25] 2 0.2
}
