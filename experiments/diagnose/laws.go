package diagnose

import (
	"cmp"
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// coordinate is a feature on the scale on which classes are about normal.
type coordinate struct {
	name string
	of   func(f *Features) (float64, bool)
}

// coordinates are in the order of the reference's columns.
var coordinates = []coordinate{
	{"med", scaled(func(f *Features) *float64 { return f.Med }, 1e-8)},
	{"t90", scaled(func(f *Features) *float64 { return f.T90 }, 1e-2)},
	{"t99", scaled(func(f *Features) *float64 { return f.T99 }, 1e-2)},
	{"big8", scaled(func(f *Features) *float64 { return f.Big8 }, 1e-3)},
	{"lift", scaled(func(f *Features) *float64 { return f.Lift }, 0.5)},
	{"aimed", scaled((*Features).aimed, 0.03)},
	{"slope", func(f *Features) (float64, bool) {
		if f.Slope == nil || *f.Slope <= 0 {
			return 0, false
		}
		return elementary.Log(math.Abs(elementary.Log(*f.Slope)) + 0.02), true
	}},
	{"asymmetry", scaled(func(f *Features) *float64 { return f.Asymmetry }, 0.04)},
	{"jumps", scaled(func(f *Features) *float64 { return f.Jumps }, 0.03)},
	{"disp", scaled(func(f *Features) *float64 { return f.Disp }, 0.01)},
	{"eta2", scaled(func(f *Features) *float64 { return f.Eta2 }, 0.01)},
	{"icc", func(f *Features) (float64, bool) {
		if f.ICC == nil || !f.ManyIDs {
			return 0, false
		}
		return elementary.Log(max(*f.ICC, 0) + 0.03), true
	}},
	{"lone", scaled(func(f *Features) *float64 { return f.Lone }, 0.03)},
}

// classified is how many of the coordinates causes are distinguished by; the others are the regression's.
const classified = 10

// scaled is the logarithm of a feature's size, with something added that is too small to tell from 0.
func scaled(of func(*Features) *float64, nothing float64) func(*Features) (float64, bool) {
	return func(f *Features) (float64, bool) {
		x := of(f)
		if x == nil {
			return 0, false
		}
		return elementary.Log(math.Abs(*x) + nothing), true
	}
}

// point is where features are, NaN in coordinates that are missing.
func point(f *Features) []float64 {
	x := make([]float64, len(coordinates))
	for i, c := range coordinates {
		v, ok := c.of(f)
		if !ok {
			v = math.NaN()
		}
		x[i] = v
	}
	return x
}

// class is a kind of gap that was simulated: a law about its mean.
type class struct {
	Name  string    `json:"name"`
	Cause string    `json:"cause"`
	Mean  []float64 `json:"mean"`
	N     int       `json:"n"`
	// Routed says that routes were replayed, so that what is left of a low-precision router is its weights of the experts. Only
	// recorded routes tell it from other routes.
	Routed bool `json:"routed,omitempty"`
}

// laws are classes with one covariance.
type laws struct {
	Classes    []class     `json:"classes"`
	Covariance [][]float64 `json:"covariance"`
}

const (
	// transfer is the deviation of a class's mean from generator to generator, and so, it must be feared, to a real run:
	// a factor of e, which is about what the kinds of gap that both generators make differ by. With strange, that of
	// a quarter, a point is compared that may be unlike any.
	transfer, strange = 1.0, 0.25
	// degrees are those of Student's law about a mean: what lies outside of everything that was simulated
	// shall not decide by how far it does.
	degrees = 4.0
)

func matrix(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

// cholesky is the lower root of a positive matrix.
func cholesky(m [][]float64) ([][]float64, bool) {
	root := matrix(len(m))
	for i := range m {
		for j := range i + 1 {
			x := m[i][j]
			for k := range j {
				x -= float64(root[i][k] * root[j][k])
			}
			if i == j {
				if x <= 0 {
					return nil, false
				}
				root[i][i] = math.Sqrt(x)
			} else {
				root[i][j] = x / root[j][j]
			}
		}
	}
	return root, true
}

// score is how a point looks from a class: the logarithm of the density, the squared distance, and
// over how many coordinates.
type score struct {
	logDensity, distance float64
	dims                 int
}

// from scores a point in a class. What the point lacks is integrated out. A constant that all classes have is left out of the density.
func (g laws) from(c class, x []float64) score {
	var at []int
	for i, v := range x[:classified] {
		if !math.IsNaN(v) {
			at = append(at, i)
		}
	}
	s := score{dims: len(at)}
	s.distance, _ = g.mahalanobis(c, x, at, strange)
	square, logRoot := g.mahalanobis(c, x, at, transfer)
	s.logDensity = -logRoot - float64(0.5*(degrees+float64(s.dims))*elementary.Log1p(square/degrees))
	return s
}

// mahalanobis is the squared distance of a point from a class's mean, in the coordinates given, where that mean has a
// deviation of its own, and half the logarithm of the covariance's determinant.
func (g laws) mahalanobis(c class, x []float64, at []int, deviation float64) (square, logRoot float64) {
	part := matrix(len(at))
	for i, a := range at {
		for j, b := range at {
			part[i][j] = g.Covariance[a][b]
		}
		part[i][i] += float64(deviation * deviation)
	}
	root, _ := cholesky(part)
	solved := make([]float64, len(at))
	for i, a := range at {
		v := x[a] - c.Mean[a]
		for k := range i {
			v -= float64(root[i][k] * solved[k])
		}
		solved[i] = v / root[i][i]
		square += float64(solved[i] * solved[i])
		logRoot += elementary.Log(root[i][i])
	}
	return square, logRoot
}

// beyond are the 99.5 % quantiles of χ² with 1, 2, ... degrees of freedom.
var beyond = [...]float64{7.879, 10.597, 12.838, 14.860, 16.750, 18.548, 20.278, 21.955, 23.589, 25.188}

// evidenceFor is what a family's classes say of a point: the logarithm of its mean density, and the
// least distance in units of the 99.5 % one.
type evidenceFor struct {
	cause         string
	log, distance float64
	nearest       string
	look          float64 // log without what versions say
}

// families weighs the causes, the likeliest first.
func (g laws) families(f *Features) []evidenceFor {
	x := point(f)
	var list []evidenceFor
	logs := map[string][]float64{}
	for _, c := range g.Classes {
		if c.Routed && f.FlipPart == nil {
			continue
		}
		s := g.from(c, x)
		i := slices.IndexFunc(list, func(e evidenceFor) bool { return e.cause == c.Cause })
		if i < 0 {
			i = len(list)
			list = append(list, evidenceFor{cause: c.Cause, distance: math.Inf(1)})
		}
		logs[c.Cause] = append(logs[c.Cause], s.logDensity)
		if d := s.distance / beyond[max(s.dims-1, 0)]; d < list[i].distance {
			list[i].distance, list[i].nearest = d, c.Name
		}
	}
	for i := range list {
		list[i].log = logMean(logs[list[i].cause])
	}
	for i := range list {
		if routed := f.routed(); (list[i].cause == Routing) == (routed < 0) {
			list[i].log -= float64(excluded * math.Abs(routed) * math.Ln10)
		}
		list[i].look = list[i].log
		turned := f.Turn != nil && *f.Turn < turning // a format's own error of an id would stay
		switch cause := list[i].cause; {
		case cause == Staleness && f.onPolicy(), cause == Precision && turned:
			list[i].log -= excluded * math.Ln10
		case cause == Staleness && f.old():
			list[i].log += tagged * math.Ln10
		}
	}
	slices.SortStableFunc(list, func(a, b evidenceFor) int { return cmp.Compare(b.log, a.log) })
	return list
}

// logMean is the logarithm of the mean of exponentials.
func logMean(x []float64) float64 {
	top, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += elementary.Exp(v - top)
	}
	return top + elementary.Log(sum/float64(len(x)))
}
