package routing

import (
	"math"
	"math/rand/v2"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
)

// tokenKL is the mean of KL(mu || pi) over the tokens of every segment, mu with
// logit noise of a size per segment: of the first antithetic pair of draws.
func (k *gradientBias) tokenKL(logits []float32, size []float64) []float64 {
	v, length := k.vocab(), k.length()
	sums := make([]float64, len(k.lengths))
	noise, q := make([]float64, v), make([]float64, v)
	var source rand.PCG
	rng := rand.New(&source)
	for i := range k.responses() {
		k.noiseOf(&source, i, 0)
		for s := range k.lengths {
			from, to := k.segment(s)
			for t := from; t < to; t++ {
				for a := range noise {
					noise[a] = stream.Normal(rng)
				}
				at := (i*length + t) * v
				for _, sign := range []float64{1, -1} {
					softmaxInto(q, logits[at:at+v], noise, sign*size[s])
					for a, x := range q {
						sums[s] += float64(x * (elementary.Log(x) - float64(k.logp[at+a])) / 2)
					}
				}
			}
		}
	}
	for s := range sums {
		from, to := k.segment(s)
		sums[s] /= float64(k.responses() * (to - from))
	}
	return sums
}

// match finds the size of the logit noise at which the token KL of every segment
// is the given one, by false position on the square of the size, and returns
// sizes and what they give. A KL that is there without noise already stays.
func (k *gradientBias) match(logits []float32, want float64) (size, have []float64) {
	n := len(k.lengths)
	size = make([]float64, n)
	low, atLow := make([]float64, n), k.tokenKL(logits, size) // squares of sizes
	high, atHigh := make([]float64, n), make([]float64, n)
	for s := range size {
		// KL grows by no more than half the square of the size.
		high[s] = 4 * max(want-atLow[s], 0)
		size[s] = math.Sqrt(high[s])
	}
	copy(atHigh, k.tokenKL(logits, size))
	for range 12 {
		for s := range size {
			if high[s] > 0 && atHigh[s] > atLow[s] {
				size[s] = math.Sqrt(max(low[s]+(high[s]-low[s])*(want-atLow[s])/(atHigh[s]-atLow[s]), 0))
			}
		}
		have = k.tokenKL(logits, size)
		done := true
		for s := range size {
			done = done && (high[s] == 0 || math.Abs(have[s]/want-1) < 1e-5)
			if have[s] < want {
				low[s], atLow[s] = size[s]*size[s], have[s]
			} else {
				high[s], atHigh[s] = size[s]*size[s], have[s]
			}
		}
		if done {
			break
		}
	}
	return size, have
}

// difference replaces the sampler's log-probs by d/d logits of b, see gradientBias,
// and returns the mean of w - 1 per chunk and segment: the coefficient of the
// oracle's gradient that has expectation zero.
func (k *gradientBias) difference(logits []float32, size []float64) (weight [][]float64) {
	v, length := k.vocab(), k.length()
	p, q, mean, noise := make([]float64, v), make([]float64, v), make([]float64, v), make([]float64, v)
	for range k.chunks() {
		weight = append(weight, make([]float64, len(k.lengths)))
	}
	var sources [tkdPairs]rand.PCG
	var streams [tkdPairs]*rand.Rand
	for j := range sources {
		streams[j] = rand.New(&sources[j])
	}
	for i := range k.responses() {
		for j := range sources {
			k.noiseOf(&sources[j], i, j)
		}
		drift := 0.0 // log of w
		for s := range k.lengths {
			from, to := k.segment(s)
			for t := from; t < to; t++ {
				at := (i*length + t) * v
				clear(mean)
				for _, rng := range streams {
					for a := range noise {
						noise[a] = stream.Normal(rng)
					}
					for _, sign := range []float64{1, -1} {
						softmaxInto(q, logits[at:at+v], noise, sign*size[s])
						for a, x := range q {
							mean[a] += x
						}
					}
				}
				softmaxInto(p, k.logp[at:at+v], nil, 0)
				for a := range mean {
					mean[a] /= 2 * tkdPairs
				}
				w := elementary.Exp(drift)
				weight[i/k.chunk][s] += (w - 1) / float64(k.chunk*(to-from))
				earned, oracle := 0.0, 0.0
				for a, r := range k.reward {
					earned += float64(mean[a] * (r - k.baseline))
					oracle += float64(p[a] * (r - k.baseline))
				}
				token := k.b.Token[k.b.Offsets[i]+t]
				drift += elementary.Log(mean[token] / p[token])
				for a, r := range k.reward {
					r -= k.baseline
					d := float64(w*(float64(mean[a]*r)-float64(p[a]*earned))) - (float64(p[a]*r) - float64(p[a]*oracle))
					logits[at+a] = float32(d / float64(k.chunk))
				}
			}
		}
	}
	return weight
}

// tkdNorm accumulates the squared norm of the mean of group vectors without the
// noise of that mean: (|Σ g|² − Σ |g|²)/(n(n − 1)) has expectation |E g|², and
// may come out negative where there is little but noise.
type tkdNorm struct {
	sum     []float64
	squares float64
	n       int
}

func (m *tkdNorm) add(g []float32) {
	if m.sum == nil {
		m.sum = make([]float64, len(g))
	}
	m.n++
	for i, x := range g {
		m.sum[i] += float64(x)
		m.squares += float64(float64(x) * float64(x))
	}
}

// square is the estimate.
func (m *tkdNorm) square() float64 {
	total := 0.0
	for _, x := range m.sum {
		total += float64(x * x)
	}
	n := float64(m.n)
	return (total - m.squares) / (n * (n - 1))
}

// biases are the squared norms of b per length for each of the differences, and
// that of the oracle's gradient.
func (k *gradientBias) biases(differences [][]float32, weights [][][]float64) (bias [][]float64, oracle []float64) {
	norms := make([][]tkdNorm, len(differences))
	for d := range norms {
		norms[d] = make([]tkdNorm, len(k.lengths))
	}
	truth := make([]tkdNorm, len(k.lengths))
	size := len(k.params.Theta)
	all := k.oracleSums()
	v := k.vocab()
	var dlogits []float32
	for c := range k.chunks() {
		prefix, oracleSoFar := make([][]float32, len(differences)), make([]float32, size)
		for d := range prefix {
			prefix[d] = make([]float32, size)
		}
		for s := range k.lengths {
			from, to := k.segment(s)
			k.forward(c, to, nil, true)
			for i, x := range k.oracle[c][s] {
				oracleSoFar[i] += x
			}
			truth[s].add(oracleSoFar)
			for d, difference := range differences {
				dlogits = batch.Zeroed(dlogits, k.chunk*to*v)
				for i := range k.chunk {
					at := ((c*k.chunk+i)*k.length() + from) * v
					copy(dlogits[(i*to+from)*v:(i*to+to)*v], difference[at:])
				}
				g := k.backward(dlogits)
				// Less what has expectation zero, with the oracle of the other chunks.
				w := float32(weights[d][c][s] / float64(max(k.chunks()-1, 1)))
				for i, x := range g {
					prefix[d][i] += x - float32(w*(all[s][i]-k.oracle[c][s][i]))
				}
				norms[d][s].add(prefix[d])
			}
		}
	}
	for d := range norms {
		var list []float64
		for s := range norms[d] {
			list = append(list, norms[d][s].square())
		}
		bias = append(bias, list)
	}
	for s := range truth {
		oracle = append(oracle, truth[s].square())
	}
	return bias, oracle
}

// oracleSums adds the oracle's gradients over the chunks, per segment.
func (k *gradientBias) oracleSums() [][]float32 {
	out := make([][]float32, len(k.lengths))
	for s := range out {
		out[s] = make([]float32, len(k.params.Theta))
		for _, chunk := range k.oracle {
			for i, x := range chunk[s] {
				out[s][i] += x
			}
		}
	}
	return out
}
