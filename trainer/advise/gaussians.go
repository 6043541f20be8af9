package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
)

// coordinate is a feature on the scale on which classes are about normal.
type coordinate struct {
	name string
	of   func(f *Features) (float64, bool)
}

// coordinates are those that causes are told apart by, in the order of the reference's columns.
var coordinates = []coordinate{
	{"med", scaled(func(f *Features) *float64 { return f.Med }, 1e-8)},
	{"t90", scaled(func(f *Features) *float64 { return f.T90 }, 1e-2)},
	{"t99", scaled(func(f *Features) *float64 { return f.T99 }, 1e-2)},
	{"big8", scaled(func(f *Features) *float64 { return f.Big8 }, 1e-3)},
	{"lift", scaled(func(f *Features) *float64 { return f.Lift }, 0.5)},
	{"eta2", scaled(func(f *Features) *float64 { return f.Eta2 }, 0.01)},
	{"slope", func(f *Features) (float64, bool) {
		if f.Slope == nil || *f.Slope <= 0 {
			return 0, false
		}
		return elementary.Log(math.Abs(elementary.Log(*f.Slope)) + 0.02), true
	}},
	{"asymmetry", scaled(func(f *Features) *float64 { return f.Asymmetry }, 0.04)},
	{"icc", func(f *Features) (float64, bool) {
		if f.ICC == nil {
			return 0, false
		}
		return elementary.Log(max(*f.ICC, 0) + 0.03), true
	}},
	{"jumps", scaled(func(f *Features) *float64 { return f.Jumps }, 0.03)},
	{"disp", scaled(func(f *Features) *float64 { return f.Disp }, 0.01)},
}

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

// class is a kind of gap that was simulated: a normal law about its mean.
type class struct {
	Name  string `json:"name"`
	Cause string `json:"cause"`
	// Mean is null where the class has no such feature.
	Mean []*float64 `json:"mean"`
	N    int        `json:"n"`
}

// gaussians are classes with one covariance. Background is the mean and the variance of every
// coordinate over all classes: what a class without that coordinate expects of it.
type gaussians struct {
	Classes    []class      `json:"classes"`
	Covariance [][]float64  `json:"covariance"`
	Background [][2]float64 `json:"background"`
}

// towardsDiagonal is how far the covariance within classes is shrunk: features correlate
// differently from class to class.
const towardsDiagonal = 0.3

// Rounding and routes have no direction of a token id, whether or not a generator has ids enough to show it: aimless
// is where that is on icc's coordinate, and unmeasured the variance where no dump of a fit has it.
const aimless, unmeasured = -3.0, 0.36

// leastOfClass is how many dumps a class is estimated from.
const leastOfClass = 4

// fitted estimates the classes of labelled points.
func fitted(points [][]float64, label []string, cause map[string]string) (gaussians, error) {
	var g gaussians
	members := map[string][]int{}
	var names []string
	for i, name := range label {
		if members[name] == nil {
			names = append(names, name)
		}
		members[name] = append(members[name], i)
	}
	slices.Sort(names)
	dims := len(coordinates)
	sum, pairs := matrix(dims), matrix(dims)
	for _, name := range names {
		if len(members[name]) < leastOfClass {
			continue
		}
		c := class{Name: name, Cause: cause[name], Mean: make([]*float64, dims), N: len(members[name])}
		for k := range dims {
			total, n := 0.0, 0.0
			for _, i := range members[name] {
				if x := points[i][k]; !math.IsNaN(x) {
					total, n = total+x, n+1
				}
			}
			switch {
			case n > 0:
				c.Mean[k] = new(total / n)
			case coordinates[k].name == "icc" && c.Cause != Staleness:
				c.Mean[k] = new(aimless)
			}
		}
		for _, i := range members[name] {
			for a := range dims {
				for b := range dims {
					if c.Mean[a] != nil && c.Mean[b] != nil && !math.IsNaN(points[i][a]) && !math.IsNaN(points[i][b]) {
						sum[a][b] += float64((points[i][a] - *c.Mean[a]) * (points[i][b] - *c.Mean[b]))
						pairs[a][b]++
					}
				}
			}
		}
		g.Classes = append(g.Classes, c)
	}
	g.Covariance = matrix(dims)
	for a := range dims {
		var m moments
		for _, x := range points {
			if !math.IsNaN(x[a]) {
				m.add(x[a], 0)
			}
		}
		xx, _, _ := m.centred()
		n := float64(max(m.n, 1))
		g.Background = append(g.Background, [2]float64{m.x / n, xx / n})
		for b := range dims {
			switch {
			case a == b && pairs[a][b] == 0:
				g.Covariance[a][b] = unmeasured
			case a == b:
				g.Covariance[a][b] = sum[a][b] / pairs[a][b]
			case pairs[a][b] > 0:
				g.Covariance[a][b] = (1 - towardsDiagonal) * sum[a][b] / pairs[a][b]
			}
		}
	}
	if _, ok := cholesky(g.Covariance); !ok {
		return g, fmt.Errorf("advise: the covariance of the reference set is not positive")
	}
	return g, nil
}

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

// from scores a point in a class. What the point lacks is integrated out, and what the class
// lacks is as likely as in all of them.
func (g gaussians) from(c class, x []float64) score {
	var at []int
	s := score{}
	for i, v := range x {
		switch {
		case math.IsNaN(v):
		case c.Mean[i] != nil:
			at = append(at, i)
		case g.Background[i][1] > 0:
			off := v - g.Background[i][0]
			s.logDensity -= float64(0.5*(float64(off*off)/g.Background[i][1]+elementary.Log(g.Background[i][1]))) + halfLog2Pi
		}
	}
	s.dims = len(at)
	part := matrix(len(at))
	for i, a := range at {
		for j, b := range at {
			part[i][j] = g.Covariance[a][b]
		}
	}
	root, _ := cholesky(part)
	solved := make([]float64, len(at))
	for i, a := range at {
		v := x[a] - *c.Mean[a]
		for k := range i {
			v -= float64(root[i][k] * solved[k])
		}
		solved[i] = v / root[i][i]
		s.distance += float64(solved[i] * solved[i])
		s.logDensity -= elementary.Log(root[i][i]) + halfLog2Pi
	}
	s.logDensity -= float64(0.5 * s.distance)
	return s
}

// halfLog2Pi is log(2π)/2.
const halfLog2Pi = 0.91893853320467274178

// beyond are the 99.5 % quantiles of χ² with 1, 2, ... degrees of freedom.
var beyond = [...]float64{7.879, 10.597, 12.838, 14.860, 16.750, 18.548, 20.278, 21.955, 23.589, 25.188, 26.757}

// evidenceFor is what a family's classes say of a point: the logarithm of its mean density, and the
// least distance in units of the 99.5 % one.
type evidenceFor struct {
	cause         string
	log, distance float64
	nearest       string
}

// families weighs the causes, the likeliest first.
func (g gaussians) families(f *Features) []evidenceFor {
	x := point(f)
	var list []evidenceFor
	logs := map[string][]float64{}
	for _, c := range g.Classes {
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
