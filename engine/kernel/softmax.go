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
	if invTemperature > 0 && invTemperature <= math.MaxFloat32 {
		m = float32(maxOf(logits[:n]) * invTemperature) // rounding keeps the order
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
	for rows > 0 {
		// The logarithms of a few rows are taken side by side.
		var maxima, logs [8]float32
		m := min(rows, len(logs))
		for r := range m {
			maxima[r], logs[r] = sumExp(logits[r*n:], n, invTemperature)
		}
		logInto(logs[:m])
		for r := range m {
			affine(dst[r*n:][:n], logits[r*n:], invTemperature, maxima[r]+logs[r])
		}
		dst, logits, rows = dst[m*n:], logits[m*n:], rows-m
	}
}
