package kernel

import "driftlab/precision"

// Numerics declares the arithmetic of one operation. Inputs are taken as they
// are: whoever produced them rounded them. The zero value is float32 throughout
// in the canonical order.
type Numerics struct {
	// Accumulator is the format of the running sum. The zero Format and FP32
	// are the ordinary case; a narrower one rounds after every step and every
	// combination of partial sums, in plain Go.
	Accumulator precision.Format
	// Output is the format to which each result is rounded once, after the
	// scale. The zero Format means FP32.
	Output precision.Format
	// Reduction is the order of the sum.
	Reduction Reduction
	// Eager rounds a norm to Output before the gain multiplies it, too.
	Eager bool
}
