package diagnose

import "math"

// running accumulates mean, variance and maximum by Welford's rule.
type running struct {
	n             int
	mean, squares float64
	largest       float64
	smallest      float64
}

func (r *running) add(x float64) {
	if r.n == 0 {
		r.largest, r.smallest = x, x
	}
	r.n++
	delta := x - r.mean
	r.mean += delta / float64(r.n)
	r.squares += float64(delta * (x - r.mean))
	r.largest, r.smallest = max(r.largest, x), min(r.smallest, x)
}

// deviation is the unbiased standard deviation, 0 below two values.
func (r *running) deviation() float64 {
	if r.n < 2 {
		return 0
	}
	return math.Sqrt(r.squares / float64(r.n-1))
}

// pair accumulates two variables, their difference and their correlation.
type pair struct {
	x, y       running
	difference running // of |x − y|
	product    float64 // co-moment
}

func (p *pair) add(x, y float64) {
	dx := x - p.x.mean
	p.x.add(x)
	p.y.add(y)
	p.product += float64(dx * (y - p.y.mean))
	p.difference.add(math.Abs(x - y))
}

// pearson is the correlation coefficient, NaN below two values or if either
// variable is constant.
func (p *pair) pearson() float64 {
	if p.x.n < 2 || p.x.smallest == p.x.largest || p.y.smallest == p.y.largest {
		return math.NaN()
	}
	return p.product / math.Sqrt(p.x.squares*p.y.squares)
}
