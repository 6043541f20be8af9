package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// DefaultClamp bounds every log-ratio before exp: e^20 = 4.85e8 (verl's
// SAFETY_BOUND; SkyRL and slime clamp there too, AReaL, ROLL and TRL do not).
const DefaultClamp = 20

// Input is what one weighting or mask reads.
type Input struct {
	// Batch gives the offsets and the recorded columns.
	*batch.Batch
	// LogRatio is e, one entry per token; entries outside Mask are not read.
	LogRatio []float64
	// Mask says which tokens count: Batch.Mask with order independent, what the
	// earlier methods left of it with order sequential.
	Mask []bool
	// Clamp bounds log-ratios, and their sums, before exp; 0 means DefaultClamp.
	Clamp float64
	// Seed is the run's, for rules that draw.
	Seed uint64

	// buffer is the pipeline's memory for one statistic per token.
	buffer []float64
}

// scratch returns memory for one statistic per token, with anything in it.
func (in *Input) scratch() []float64 {
	if len(in.buffer) != in.Tokens() {
		in.buffer = make([]float64, in.Tokens())
	}
	return in.buffer
}

// Weighting is an importance weight: one small file each, a pointer to a
// parameter struct.
type Weighting interface {
	// Weigh fills w for the tokens of in.Mask. The other entries are zero
	// before the call and stay zero.
	Weigh(w *Weights, in *Input) error
	// Level is the unit that shares one weight: token, turn or sequence.
	Level() method.Unit
	// Bounds are the truncation bounds; 0 and +Inf where there is none.
	Bounds() (low, high float64)
	// rule says how a weight comes about, for a trace.
	rule(in *Input) rule
}

// Weights are the importance weights of a batch, one entry per token.
type Weights struct {
	// Raw is the ratio before truncation.
	Raw []float64
	// Applied is what multiplies the loss.
	Applied []float64
}

// ratio is exp of the clamped log-ratio.
func (in *Input) ratio(logRatio float64) float64 { return elementary.Exp(in.clamp(logRatio)) }

// clamp bounds a log-ratio; NaN stays NaN.
func (in *Input) clamp(logRatio float64) float64 {
	bound := in.Clamp
	if bound == 0 {
		bound = DefaultClamp
	}
	return min(max(logRatio, -bound), bound)
}

// rowSum returns the sum of the log-ratios of response i over the mask, not
// clamped, and the number of tokens in it.
func (in *Input) rowSum(i int) (sum float64, count int) {
	from, to := in.Span(i)
	return in.spanSum(from, to)
}

// spanSum is rowSum over the entries from..to.
func (in *Input) spanSum(from, to int) (sum float64, count int) {
	for n := from; n < to; n++ {
		if in.Mask[n] {
			sum += in.LogRatio[n]
			count++
		}
	}
	return sum, count
}

// spread gives the tokens of from..to that count one raw and one applied weight.
func (w *Weights) spread(in *Input, from, to int, raw, applied float64) {
	for n := from; n < to; n++ {
		if in.Mask[n] {
			w.Raw[n], w.Applied[n] = raw, applied
		}
	}
}

// truncate bounds a weight to low..high.
func truncate(w, low, high float64) float64 { return min(max(w, low), high) }

// inside keeps a weight within low..high and makes any other 0.
func inside(w, low, high float64) float64 {
	if w >= low && w <= high {
		return w
	}
	return 0
}

// length is the divisor of a mean over count tokens: at least 1, or count plus
// the eps of code bases that add one.
func length(count int, eps float64) float64 {
	if eps > 0 {
		return float64(count) + eps
	}
	return float64(max(count, 1))
}
