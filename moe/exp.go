package moe

import "math"

// exp is e**x with the same bits on every machine: math.Exp is assembly on
// some architectures and the compiler may fuse its products on others. The
// method is from FreeBSD's e_exp.c: x = k ln2 + r with |r| <= ln2/2, a
// degree-5 rational approximation of e**r, scaled by 2**k. The error is below
// one unit in the last place. Every product is converted explicitly, which
// forbids fusing.
func exp(x float64) float64 {
	const (
		ln2Hi    = 6.93147180369123816490e-01 // the upper 33 bits of ln 2: k*ln2Hi is exact
		ln2Lo    = 1.90821492927058770002e-10
		log2E    = 1.44269504088896338700e+00
		overflow = 7.09782712893383973096e+02
		vanish   = -7.45133219101941108420e+02

		p1 = 1.66666666666666657415e-01
		p2 = -2.77777777770155933842e-03
		p3 = 6.61375632143793436117e-05
		p4 = -1.65339022054652515390e-06
		p5 = 4.13813679705723846039e-08
	)
	switch {
	case x == 0: // the largest of every softmax
		return 1
	case x != x:
		return x
	case x > overflow:
		return math.Inf(1)
	case x < vanish:
		return 0
	}
	k := int(float64(log2E*x) + math.Copysign(0.5, x))
	hi := x - float64(float64(k)*ln2Hi)
	lo := float64(float64(k) * ln2Lo)
	r := hi - lo
	t := float64(r * r)
	c := p4 + float64(t*p5)
	c = p3 + float64(t*c)
	c = p2 + float64(t*c)
	c = p1 + float64(t*c)
	c = r - float64(t*c)
	y := 1 - ((lo - float64(r*c)/(2-c)) - hi)
	return scale(y, k)
}

// scale is y * 2**k for y in [0.5, 2), rounded once where the result is
// subnormal.
func scale(y float64, k int) float64 {
	if k < -1020 {
		return float64(y*math.Float64frombits(uint64(k+64+1023)<<52)) * (1.0 / (1 << 64))
	}
	if k > 1023 {
		return float64(y*math.Float64frombits(uint64(k-1+1023)<<52)) * 2
	}
	return y * math.Float64frombits(uint64(k+1023)<<52)
}
