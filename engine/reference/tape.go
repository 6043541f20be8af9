package reference

import "math"

// vector is a value of the computation, and the derivative of the objective with respect to it.
type vector struct{ x, g []float64 }

func newVector(n int) *vector { return &vector{make([]float64, n), make([]float64, n)} }

// part is a view of entries from until to.
func (v *vector) part(from, to int) *vector { return &vector{v.x[from:to], v.g[from:to]} }

// tape records the operations of a forward pass. Each operation computes its result at once and
// leaves a function that adds its share to the derivatives of its operands; the backward pass calls
// these functions in reverse order (reverse-mode differentiation).
type tape struct{ back []func() }

// each is a function of single entries, and its derivative.
func (t *tape) each(a *vector, f func(x float64) (y, slope float64)) *vector {
	y := newVector(len(a.x))
	slope := make([]float64, len(a.x))
	for i, x := range a.x {
		y.x[i], slope[i] = f(x)
	}
	t.back = append(t.back, func() {
		for i, g := range y.g {
			a.g[i] += float64(g * slope[i])
		}
	})
	return y
}

// add is a + b.
func (t *tape) add(a, b *vector) *vector {
	y := newVector(len(a.x))
	for i := range y.x {
		y.x[i] = a.x[i] + b.x[i]
	}
	t.back = append(t.back, func() {
		for i, g := range y.g {
			a.g[i] += g
			b.g[i] += g
		}
	})
	return y
}

// mul is a ⊙ b, entry by entry. A vector of one entry multiplies all of the other.
func (t *tape) mul(a, b *vector) *vector {
	if len(a.x) > len(b.x) {
		a, b = b, a
	}
	y, step := newVector(len(b.x)), 1
	if len(a.x) == 1 {
		step = 0
	}
	for i := range y.x {
		y.x[i] = a.x[i*step] * b.x[i]
	}
	t.back = append(t.back, func() {
		for i, g := range y.g {
			a.g[i*step] += float64(g * b.x[i])
			b.g[i] += float64(g * a.x[i*step])
		}
	})
	return y
}

// concat is all vectors, one after another.
func (t *tape) concat(parts ...*vector) *vector {
	y := new(vector)
	for _, p := range parts {
		y.x = append(y.x, p.x...)
	}
	y.g = make([]float64, len(y.x))
	t.back = append(t.back, func() {
		at := 0
		for _, p := range parts {
			for i := range p.g {
				p.g[i] += y.g[at]
				at++
			}
		}
	})
	return y
}

// times is W·x for W stored [out, in]: dx = Wᵀ·dy, dW = dy·xᵀ.
func (t *tape) times(w, x *vector) *vector {
	in := len(x.x)
	y := newVector(len(w.x) / in)
	for o := range y.x {
		for i, v := range x.x {
			y.x[o] += float64(w.x[o*in+i] * v)
		}
	}
	t.back = append(t.back, func() {
		for o, g := range y.g {
			for i, v := range x.x {
				x.g[i] += float64(g * w.x[o*in+i])
				w.g[o*in+i] += float64(g * v)
			}
		}
	})
	return y
}

// outer is a·bᵀ, stored [a, b].
func (t *tape) outer(a, b *vector) *vector {
	n := len(b.x)
	y := newVector(len(a.x) * n)
	for i := range y.x {
		y.x[i] = a.x[i/n] * b.x[i%n]
	}
	t.back = append(t.back, func() {
		for i, g := range y.g {
			a.g[i/n] += float64(g * b.x[i%n])
			b.g[i%n] += float64(g * a.x[i/n])
		}
	})
	return y
}

// scaled is c·x/√(share·Σx² + eps). With share 1/n it is the root-mean-square norm, with share 1 it
// has length one, but for eps. With r the root, the derivative is (dy - x·(share·Σ dy·x)/r²)/r.
func (t *tape) scaled(a *vector, share, eps float64) *vector {
	squares := 0.0
	for _, x := range a.x {
		squares += float64(x * x)
	}
	root := math.Sqrt(float64(share*squares) + eps)
	y := newVector(len(a.x))
	for i, x := range a.x {
		y.x[i] = x / root
	}
	t.back = append(t.back, func() {
		along := 0.0
		for i, g := range y.g {
			along += float64(g * y.x[i])
		}
		for i, g := range y.g {
			a.g[i] += (g - float64(y.x[i]*share*along)) / root
		}
	})
	return y
}

// norm is RMSNorm, arXiv:1910.07467: x/√(mean(x²) + eps) ⊙ gain.
func (t *tape) norm(x, gain *vector, eps float64) *vector {
	return t.mul(t.scaled(x, 1/float64(len(x.x)), eps), gain)
}

// softmax is exp(x)/Σ exp(x): dx = y ⊙ (dy - Σ dy·y).
func (t *tape) softmax(a *vector) *vector {
	y := &vector{Softmax(a.x), make([]float64, len(a.x))}
	t.back = append(t.back, func() {
		mean := 0.0
		for i, g := range y.g {
			mean += float64(g * y.x[i])
		}
		for i, g := range y.g {
			a.g[i] += float64(y.x[i] * (g - mean))
		}
	})
	return y
}

// rotate turns each head of x by its position (arXiv:2104.09864): entries j and j+headDim/2 are a
// pair that turns by position·theta^(-2j/headDim). Derivatives turn back.
func (t *tape) rotate(a *vector, position, headDim int, theta float64) *vector {
	y := newVector(len(a.x))
	turn := func(to, from []float64, sign float64) {
		for h := 0; h < len(from); h += headDim {
			for j := range headDim / 2 {
				angle := sign * float64(position) * math.Pow(theta, -2*float64(j)/float64(headDim))
				p, q := from[h+j], from[h+j+headDim/2]
				to[h+j] += float64(p*math.Cos(angle)) - float64(q*math.Sin(angle))
				to[h+j+headDim/2] += float64(q*math.Cos(angle)) + float64(p*math.Sin(angle))
			}
		}
	}
	turn(y.x, a.x, 1)
	t.back = append(t.back, func() { turn(a.g, y.g, -1) })
	return y
}

func (t *tape) sigmoid(a *vector) *vector {
	return t.each(a, func(x float64) (y, slope float64) {
		y = 1 / (1 + math.Exp(-x))
		return y, y * (1 - y)
	})
}

// silu is x·sigmoid(x).
func (t *tape) silu(a *vector) *vector { return t.mul(a, t.sigmoid(a)) }

func (t *tape) exp(a *vector) *vector {
	return t.each(a, func(x float64) (y, slope float64) { return math.Exp(x), math.Exp(x) })
}

// scale is c·x for a constant.
func (t *tape) scale(a *vector, c float64) *vector {
	return t.each(a, func(x float64) (y, slope float64) { return c * x, c })
}

// Softmax returns exp(x)/Σ exp(x).
func Softmax(x []float64) []float64 {
	p := LogSoftmax(x, 1)
	for i := range p {
		p[i] = math.Exp(p[i])
	}
	return p
}

// LogSoftmax returns the log-probabilities of logits divided by the temperature.
func LogSoftmax(logits []float64, temperature float64) []float64 {
	top := math.Inf(-1)
	for _, z := range logits {
		top = math.Max(top, z/temperature)
	}
	sum := 0.0
	for _, z := range logits {
		sum += math.Exp(z/temperature - top)
	}
	logp := make([]float64, len(logits))
	for i, z := range logits {
		logp[i] = z/temperature - top - math.Log(sum)
	}
	return logp
}
