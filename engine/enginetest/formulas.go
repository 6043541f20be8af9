package enginetest

import "math"

// row is row i of a matrix of that width.
func row(m []float64, i, width int) []float64 { return m[i*width : (i+1)*width] }

// add adds y to x.
func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

// times is W·x for W stored [out, in].
func times(w, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for o := range y {
		for i, v := range x {
			y[o] += float64(w[o*len(x)+i] * v)
		}
	}
	return y
}

// norm is x/sqrt(mean(x²)+eps) ⊙ gain.
func norm(x, gain []float64, eps float64) []float64 {
	var squares float64
	for _, v := range x {
		squares += float64(v * v)
	}
	root := math.Sqrt(squares/float64(len(x)) + eps)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / root * gain[i]
	}
	return y
}

// rotate turns each head of x by its position: entries j and j+headDim/2 are a
// pair that turns by position·theta^(-2j/headDim).
func rotate(x []float64, position, headDim int, theta float64) {
	for h := 0; h < len(x); h += headDim {
		for j := range headDim / 2 {
			angle := float64(position) * math.Pow(theta, -2*float64(j)/float64(headDim))
			a, b := x[h+j], x[h+j+headDim/2]
			x[h+j] = float64(a*math.Cos(angle)) - float64(b*math.Sin(angle))
			x[h+j+headDim/2] = float64(b*math.Cos(angle)) + float64(a*math.Sin(angle))
		}
	}
}

// feedForward is W2·(silu(W1·h) ⊙ W3·h).
func feedForward(h, w1, w2, w3 []float64) []float64 {
	gate, up := times(w1, h), times(w3, h)
	for i, g := range gate {
		gate[i] = g / (1 + math.Exp(-g)) * up[i]
	}
	return times(w2, gate)
}

// Softmax returns exp(x)/Σ exp(x).
func Softmax(x []float64) []float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = math.Max(top, v)
	}
	p := make([]float64, len(x))
	var sum float64
	for i, v := range x {
		p[i] = math.Exp(v - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// LogSoftmax returns the log-probabilities of logits divided by the temperature.
func LogSoftmax(logits []float64, temperature float64) []float64 {
	top := math.Inf(-1)
	for _, z := range logits {
		top = math.Max(top, z/temperature)
	}
	var sum float64
	for _, z := range logits {
		sum += math.Exp(z/temperature - top)
	}
	logp := make([]float64, len(logits))
	for i, z := range logits {
		logp[i] = z/temperature - top - math.Log(sum)
	}
	return logp
}

// largest returns the indices of the n largest keys, largest first, the lower
// index first among equals.
func largest(keys []float64, n int) []int {
	var chosen []int
	for range n {
		best := -1
		for e, key := range keys {
			if !contains(chosen, e) && (best < 0 || key > keys[best]) {
				best = e
			}
		}
		chosen = append(chosen, best)
	}
	return chosen
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}
