package enginetest

import (
	"math"

	"driftlab/model"
)

// linearTensors are those of a linear-attention layer that no other has.
type linearTensors struct{ z, b, a, conv, decayLog, decayBias, norm []float64 }

// linearMemory is what such a layer remembers of a sequence: the inputs of its convolution and
// the state of each head, [head][key][value].
type linearMemory struct {
	inputs [][]float64
	states [][][]float64
}

// step takes one token, whose normed input is h, and returns what the output projection
// reads: Gated DeltaNet as arXiv:2412.06464 defines it, by the recurrence
//
//	S ← S·α·(I - β·k·kᵀ) + β·v·kᵀ
func (m *linearMemory) step(c model.Config, w *layerTensors, h []float64) []float64 {
	d, hd := c.DModel, c.HeadDim()
	if m.states == nil {
		m.states = make([][][]float64, c.Heads)
		for head := range m.states {
			for range hd {
				m.states[head] = append(m.states[head], make([]float64, hd))
			}
		}
	}
	m.inputs = append(m.inputs, append(append(times(w.q, h), times(w.k, h)...), times(w.v, h)...))
	x := make([]float64, 3*d)
	for i := range x {
		for j := range model.ConvWidth {
			if t := len(m.inputs) - model.ConvWidth + j; t >= 0 {
				x[i] += float64(w.linear.conv[i*model.ConvWidth+j] * m.inputs[t][i])
			}
		}
		x[i] *= sigmoid(x[i])
	}
	z, b, a := times(w.linear.z, h), times(w.linear.b, h), times(w.linear.a, h)
	out := make([]float64, d)
	for head, s := range m.states {
		from, to := head*hd, (head+1)*hd
		q, k, v := unit(x[from:to]), unit(x[d+from:d+to]), x[2*d+from:2*d+to]
		beta := sigmoid(b[head])
		alpha := math.Exp(-math.Exp(w.linear.decayLog[head]) * math.Log1p(math.Exp(a[head]+w.linear.decayBias[head])))
		for j := range hd {
			var recalled float64
			for i := range hd {
				recalled += float64(alpha * s[i][j] * k[i])
			}
			for i := range hd {
				s[i][j] = float64(alpha*s[i][j]) + float64(beta*(v[j]-recalled)*k[i])
				out[from+j] += float64(s[i][j] * q[i] / math.Sqrt(float64(hd)))
			}
		}
		copy(out[from:to], norm(out[from:to], w.linear.norm, c.NormEps))
		for j := from; j < to; j++ {
			out[j] *= z[j] * sigmoid(z[j])
		}
	}
	return out
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// unit is x with length one, but for an epsilon under the root.
func unit(x []float64) []float64 {
	square := 1e-6
	for _, v := range x {
		square += float64(v * v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(square)
	}
	return y
}
