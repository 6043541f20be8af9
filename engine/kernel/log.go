package kernel

import "math"

// Log32 returns the natural logarithm of x rounded to float32, the same bits
// on every processor: -Inf for zero, NaN below it. It rounds log64, whose float64
// value is right to about 2e-16, so the result is correctly rounded but for rare ties.
//
// A short series around the nearest entry of a table gives the logarithm to 2^-48 of
// itself. That decides the rounding, except where a float32 midpoint is as near as that:
// there, and where x is not a normal number, log64 does.
func Log32(x float32) float32 {
	const smallest, infinity = 1 << 23, 0xff << 23 // the bits of the smallest normal number and of +Inf
	bits := math.Float32bits(x)
	if bits-smallest >= infinity-smallest {
		return float32(log64(float64(x)))
	}
	above := bits - logFrom
	near := &logTable[above>>17%logEntries]
	m := math.Float32frombits(bits - above&^(1<<23-1)) // x = m·2^e, and m about 0.7 to 1.4
	r := float64(float64(m)*near.inverse) - 1          // exact: 24 bits by 24
	r2 := float64(r * r)
	// series is (ln(1+r) - r)/r²: the first term left out is r^8/8 of ln(1+r), below 2^-58.
	series := float64(r*(1./3)) - 0.5
	series += float64(r2 * (float64(r*(1./5)) - 1./4))
	series += float64(float64(r2*r2) * (float64(r*(1./7)) - 1./6))
	y := float64(float64(int32(above)>>23)*math.Ln2) + near.log + (r + float64(r2*series))
	const midpoint, margin = 1 << 28, 1 << 6 // of the 29 bits that float32 has not
	if math.Float64bits(y)%(1<<29)-(midpoint-margin) <= 2*margin {
		return float32(log64(float64(x)))
	}
	return float32(y)
}

// logInto replaces each x by Log32(x).
func logInto(x []float32) {
	for i, v := range x {
		x[i] = Log32(v)
	}
}

// logFrom are the bits of the number where the table begins, chosen so that 1 is in the
// middle of an entry: its logarithm is then exactly 0.
const (
	logFrom    = 0x3f330000
	logEntries = 64
)

// logTable has for each of 64 intervals from 0.7 to 1.4 about the inverse of its middle,
// with 24 bits, and minus the logarithm of that inverse.
var logTable = func() (table [logEntries]struct{ inverse, log float64 }) {
	for i := range table {
		middle := math.Float32frombits(logFrom + uint32(i)<<17 + 1<<16)
		inverse := float64(1 / middle)
		table[i].inverse, table[i].log = inverse, -log64(inverse)
	}
	return table
}()
