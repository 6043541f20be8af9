package kernel

import "fmt"

// LogSoftmax sets dst[n] to the log-probabilities of logits·invTemperature and
// returns their log-sum-exp. With z = float32(logit·invTemperature) and m their
// exact maximum,
//
//	lse = m + ln Σ exp(z-m)    (a chain in index order)
//	dst = z - lse
//
// dst may be logits. A row of -Inf alone, or any NaN, gives NaN.
func LogSoftmax(dst, logits []float32, n int, invTemperature float32) (lse float32) {
	m, sum := expRow(dst, logits, n, invTemperature)
	lse = m + Log32(sum)
	for i, x := range logits[:n] {
		dst[i] = float32(x*invTemperature) - lse
	}
	return lse
}

// expRow returns the maximum of z = logits·invTemperature and the sum of
// exp(z-max). It does not write dst when dst is logits.
func expRow(_, logits []float32, n int, invTemperature float32) (m, sum float32) {
	if n < 1 || len(logits) < n {
		panic(fmt.Sprintf("kernel: softmax over %d of %d logits", n, len(logits)))
	}
	m = float32(logits[0] * invTemperature)
	for _, x := range logits[1:n] {
		m = max(m, float32(x*invTemperature))
	}
	for _, x := range logits[:n] {
		sum += Exp32(float32(x*invTemperature) - m)
	}
	return m, sum
}

// LogSoftmaxRows applies LogSoftmax to each of rows consecutive rows.
func LogSoftmaxRows(dst, logits []float32, rows, n int, invTemperature float32) {
	for r := range rows {
		LogSoftmax(dst[r*n:][:n], logits[r*n:][:n], n, invTemperature)
	}
}

// LogSoftmaxGrad sets dlogits[n] from dlogp, the derivative with respect to
// every log-probability, and logp as LogSoftmax gave it:
//
//	dlogits = (dlogp - exp(logp)·Σ dlogp)·invTemperature
//
// with the sum a chain in index order. dlogits may be dlogp.
func LogSoftmaxGrad(dlogits, dlogp, logp []float32, n int, invTemperature float32) {
	var sum float32
	for _, g := range dlogp[:n] {
		sum += g
	}
	for i, lp := range logp[:n] {
		dlogits[i] = (dlogp[i] - float32(Exp32(lp)*sum)) * invTemperature
	}
}

// Softmax sets dst[n] to the probabilities of logits·invTemperature:
// exp(z-max) divided by its sum in index order. dst may be logits.
func Softmax(dst, logits []float32, n int, invTemperature float32) {
	m, sum := expRow(dst, logits, n, invTemperature)
	for i, x := range logits[:n] {
		dst[i] = Exp32(float32(x*invTemperature)-m) / sum
	}
}

// SoftmaxGrad sets dlogits[n] from dp, the derivative with respect to every
// probability, and p as Softmax gave it:
//
//	dlogits = p·(dp - Σ dp·p)·invTemperature
//
// with the sum an unfused chain in index order. dlogits may be dp.
func SoftmaxGrad(dlogits, dp, p []float32, n int, invTemperature float32) {
	var sum float32
	for i, g := range dp[:n] {
		sum += float32(g * p[i])
	}
	for i, q := range p[:n] {
		dlogits[i] = float32(q*(dp[i]-sum)) * invTemperature
	}
}

// Entropy returns -Σ p·ln p in nats of log-probabilities, terms in order; a
// probability of zero adds nothing.
func Entropy(logp []float32) float32 {
	var h float32
	for _, lp := range logp {
		if p := Exp32(lp); p > 0 {
			h -= float32(p * lp)
		}
	}
	return h
}
