package kernel

import (
	"fmt"
	"math"
)

// LogSoftmax sets dst[n] to the log-probabilities of logits·invTemperature and
// returns their log-sum-exp. With z = float32(logit·invTemperature) and m their
// exact maximum,
//
//	lse = m + ln Σ exp(z-m)    (a chain in index order)
//	dst = z - lse
//
// dst may be logits. A row of -Inf alone, or any NaN, gives NaN.
func LogSoftmax(dst, logits []float32, n int, invTemperature float32) (lse float32) {
	m, sum := sumExp(logits, n, invTemperature)
	lse = m + Log32(sum)
	affine(dst[:n], logits, invTemperature, lse)
	return lse
}

// sumExp returns the maximum of z = logits·invTemperature and the sum of
// exp(z-max) in index order.
func sumExp(logits []float32, n int, invTemperature float32) (m, sum float32) {
	if n < 1 || len(logits) < n {
		panic(fmt.Sprintf("kernel: softmax over %d of %d logits", n, len(logits)))
	}
	if keepsOrder(invTemperature) {
		m = float32(maxOf(logits[:n]) * invTemperature)
	} else {
		m = float32(math.Inf(-1))
		for _, x := range logits[:n] {
			m = max(m, float32(x*invTemperature))
		}
	}
	var e [softmaxChunk]float32
	for i := 0; i < n; i += softmaxChunk {
		c := e[:min(softmaxChunk, n-i)]
		expAffine(c, logits[i:], invTemperature, m)
		for _, x := range c {
			sum += x
		}
	}
	return m, sum
}

// softmaxChunk is how many exponentials are summed at a time.
const softmaxChunk = 64

// LogSoftmaxRows applies LogSoftmax to each of rows consecutive rows.
func LogSoftmaxRows(dst, logits []float32, rows, n int, invTemperature float32) {
	// The sums and the logarithms of several rows are taken side by side.
	var maxima, logs [panelWidth]float32
	var columns [softmaxChunk * panelWidth]float32
	transposes := n%panelWidth == 0 && n <= softmaxChunk && keepsOrder(invTemperature) && hasSumExpColumns()
	for rows > 0 {
		m := min(rows, panelWidth)
		if transposes && m >= leastColumns {
			transpose(columns[:], logits, m, n, n, panelWidth)
			sumExpColumns(&maxima, &logs, columns[:n*panelWidth], m, n, invTemperature)
		} else {
			for r := range m {
				maxima[r], logs[r] = sumExp(logits[r*n:], n, invTemperature)
			}
		}
		logInto(logs[:m])
		for r := range m {
			affine(dst[r*n:][:n], logits[r*n:], invTemperature, maxima[r]+logs[r])
		}
		dst, logits, rows = dst[m*n:], logits[m*n:], rows-m
	}
}

// leastColumns is how many rows it takes for a routine that always computes as many as there
// are lanes to be the quicker one.
const leastColumns = 5

// keepsOrder reports whether products with x are ordered as what it multiplies: rounding
// keeps the order.
func keepsOrder(x float32) bool { return x > 0 && x <= math.MaxFloat32 }

// Entropies sets dst[r] to the entropy of row r of n probabilities and their logarithms,
//
//	dst = -Σ p·ln p
//
// one unfused chain in index order over the probabilities above 0: a NaN adds nothing either.
func Entropies(dst, probs, logp []float32, n int) {
	clear(dst)
	dotChain.add(dst, probs, logp, probs, n, len(dst), n)
	for r, sum := range dst {
		if dst[r] = 0 - sum; sum == sum {
			continue // what was added for a probability of 0 was 0
		}
		var h float32
		for i, p := range probs[r*n:][:n] {
			if p > 0 {
				h -= float32(p * logp[r*n+i])
			}
		}
		dst[r] = h
	}
}
