package metrics

import (
	"math"

	"driftlab/trainer/method/masked"
)

// pair accumulates two variables, their difference and their correlation.
type pair struct {
	x, y       masked.Running
	difference masked.Running // of |x − y|
	product    float64        // co-moment
}

func (p *pair) add(x, y float64) {
	dx := x - p.x.Mean
	p.x.Add(x)
	p.y.Add(y)
	p.product += float64(dx * (y - p.y.Mean))
	p.difference.Add(math.Abs(x - y))
}

// pearson is the correlation coefficient, NaN below two values or if either
// variable is constant.
func (p *pair) pearson() float64 {
	if p.x.N < 2 || p.x.Smallest == p.x.Largest || p.y.Smallest == p.y.Largest {
		return math.NaN()
	}
	return p.product / math.Sqrt(p.x.Squares*p.y.Squares)
}
