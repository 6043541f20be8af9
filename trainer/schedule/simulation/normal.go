package simulation

import "math"

// Lengths are drawn in integers, so that they are the same on every processor:
// tables of rounded values stand for the normal quantile and for the power of two.

const (
	fraction  = 16 // bits behind the point of a standard normal value
	perOctave = 64 // entries for each halving of the tail's probability
	octaves   = 24
)

// tail holds the quantiles of probabilities 2^-(2+e)·(1 + j/perOctave), in 2^-16.
var tail = func() (t [octaves][perOctave + 1]int) {
	for e := range t {
		for j := range t[e] {
			p := math.Ldexp(1+float64(j)/perOctave, -2-e)
			t[e][j] = int(math.Round(math.Ldexp(math.Sqrt2*math.Erfinv(1-2*p), fraction)))
		}
	}
	return t
}()

// normal turns 64 random bits into a standard normal value in units of 2^-16.
func normal(bits uint64) int {
	const width = 52
	p := bits >> 11 & (1<<width - 1) // the tail's probability times 2^53
	e := 0
	for e < octaves-1 && p < 1<<(width-1-e) {
		e++
	}
	within := max(int(p)-1<<(width-1-e), 0)
	step := 1 << (width - 1 - e) / perOctave
	j, rest := within/step, within%step
	const scale = 1 << 12 // the rest in parts that cannot overflow
	part := rest / max(step/scale, 1)
	z := tail[e][j] + (tail[e][j+1]-tail[e][j])*part/scale
	if bits>>63 == 1 {
		return -z
	}
	return z
}

// powers are 2^(i/256) in 2^-20.
var powers = func() (t [257]int) {
	for i := range t {
		t[i] = int(math.Round(math.Ldexp(math.Exp2(float64(i)/256), 20)))
	}
	return t
}()

// scaled is n·e^x for x in units of 2^-16.
func scaled(n, x int) int {
	const log2e = 94548 // log2(e) in 2^-16
	y := x * log2e >> fraction
	whole, part := y>>fraction, y&(1<<fraction-1)
	i, rest := part>>8, part&255
	power := powers[i] + (powers[i+1]-powers[i])*rest>>8
	switch shift := 20 - whole; {
	case shift > 62:
		return 0
	case shift < 0:
		return n * power << -shift
	default:
		return (n*power + 1<<shift>>1) >> shift
	}
}
