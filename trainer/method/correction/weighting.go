package correction

import (
	"cmp"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/trace"
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

	// record, unless it is nil, takes what the method computes of the tokens.
	record *trace.Trace
	// buffer is the pipeline's memory for one statistic per token.
	buffer []float64
}

// note records a figure of token n, if it counts.
func (in *Input) note(n int, name string, value float64) {
	if in.record != nil && in.Mask[n] {
		in.record.Add(n, name, value)
	}
}

// scratch returns memory for one statistic per token.
func (in *Input) scratch() []float64 {
	in.buffer = batch.Zeroed(in.buffer, in.Tokens())
	return in.buffer
}

// Weighting is an importance weight: a pointer to a parameter struct.
type Weighting interface {
	// Weigh fills w for the tokens of in.Mask. The other entries are zero
	// before the call and stay zero.
	Weigh(w *Weights, in *Input) error
	// Level is the unit that shares one weight: token, turn or sequence.
	Level() method.Unit
	// Bounds are the truncation bounds; 0 and +Inf where there is none.
	Bounds() (low, high float64)
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
	bound := cmp.Or(in.Clamp, DefaultClamp)
	return min(max(logRatio, -bound), bound)
}

// spanSum returns the sum of the log-ratios of the entries from..to over the mask, not
// clamped, and the number of tokens in it.
func (in *Input) spanSum(from, to int) (sum float64, count int) {
	return masked.Sum(in.LogRatio[from:to], in.Mask[from:to]), masked.Count(in.Mask[from:to])
}

// spread gives the tokens of from..to that count one raw and one applied weight.
func (w *Weights) spread(in *Input, from, to int, raw, applied float64) {
	for k := range masked.Kept(in.Mask[from:to]) {
		w.Raw[from+k], w.Applied[from+k] = raw, applied
	}
}

// eachToken gives every token its own weight, of its log-ratio.
func (w *Weights) eachToken(in *Input, weight func(n int) (raw, applied float64)) {
	for n := range masked.Kept(in.Mask) {
		w.Raw[n], w.Applied[n] = weight(n)
	}
}

// eachSegment gives every segment one weight, of the sum of its log-ratios.
func (w *Weights) eachSegment(in *Input, by Segmentation, weight func(sum float64, count int) (raw, applied float64)) {
	by.each(in, func(from, to int) {
		raw, applied := weight(in.spanSum(from, to))
		w.spread(in, from, to, raw, applied)
	})
}

// truncate bounds a weight to low..high.
func truncate(w, low, high float64) float64 { return min(max(w, low), high) }

// inside keeps a weight within low..high and makes any other 0.
func inside(w, low, high float64) float64 {
	if within(w, low, high) {
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

// None is no weighting: every weight is one. As a Weighting of a Pipeline it is
// the same as nil.
type None struct{}

// Weigh gives every token the weight one.
func (*None) Weigh(w *Weights, in *Input) error {
	w.spread(in, 0, in.Tokens(), 1, 1)
	return nil
}

// Level is token.
func (*None) Level() method.Unit { return method.Token }

// Bounds are 0 and +Inf.
func (*None) Bounds() (low, high float64) { return 0, unbounded }

// TokenTIS is token-level truncated importance sampling. It bounds the variance of every
// token's weight and leaves the bias of correcting the last token only, not the prefix it
// follows.
type TokenTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data. verl, SkyRL and slime take 2, FlashRL 2 to 8.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none; slime's tis_clip_low.
	Floor float64 `yaml:"floor" range:"[0,1]"`
	// FromTurn is the first turn whose tokens are weighed: 1 weighs what follows a tool's
	// reply and nothing before it. Tokens of earlier turns have weight 1.
	FromTurn int `yaml:"from_turn" range:"[0,1024]"`
}

// Weigh fills one weight per token.
func (m *TokenTIS) Weigh(w *Weights, in *Input) error {
	if m.FromTurn > 0 {
		if err := in.Require(batch.Turn); err != nil {
			return err
		}
	}
	w.eachToken(in, func(n int) (raw, applied float64) {
		r := in.ratio(in.LogRatio[n])
		if m.FromTurn > 0 && int(in.Turn[n]) < m.FromTurn {
			return r, 1
		}
		return r, truncate(r, m.Floor, m.Cap)
	})
	return nil
}

// Level is token.
func (*TokenTIS) Level() method.Unit { return method.Token }

// Bounds are floor and cap.
func (m *TokenTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

// TokenMIS is token-level masked importance sampling: the raw ratio inside the
// band, nothing outside. The rejected tokens stay in the loss's denominators; for slime's
// way put a token_mask next to token_tis with an infinite cap.
type TokenMIS struct {
	// Low is the lower bound, 0 for the one-sided form.
	Low float64 `yaml:"low" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

// Weigh fills one weight per token.
func (m *TokenMIS) Weigh(w *Weights, in *Input) error {
	one := IcePop{Low: m.Low, High: m.High}
	return one.Weigh(w, in)
}

// Level is token.
func (*TokenMIS) Level() method.Unit { return method.Token }

// Bounds are low and high.
func (m *TokenMIS) Bounds() (low, high float64) { return m.Low, m.High }

// CIS truncates the ratio of a token at a cap that shrinks with the learner's confidence: confidence-aware
// importance sampling. Where two engines differ by a shift of the log-odds, the ratio of a token that is nearly
// certain stays near 1 whatever the shift, and a cap that is the same for all tokens never acts on it.
//
// The log-ratio is not clamped: the cap bounds it. The rollout engine must record its own log-probs, not those
// rescaled by temperature or top-p.
type CIS struct {
	// Lambda is the largest rise of the odds; 0 truncates at 1.
	Lambda float64 `yaml:"lambda" default:"2.3" range:"[0,inf]"`
	// Kappa is the least 1 − old that the cap sees.
	Kappa float64 `yaml:"kappa" default:"5e-3" range:"[0,1]"`
}

// Weigh fills one weight per token.
func (m *CIS) Weigh(w *Weights, in *Input) error {
	w.eachToken(in, func(n int) (raw, applied float64) {
		old := elementary.Exp(in.LogpRoll[n] + in.LogRatio[n])
		r, limit := elementary.Exp(in.LogRatio[n]), 1+float64(m.Lambda*max(1-old, m.Kappa))
		in.note(n, "cap", limit)
		return r, min(r, limit)
	})
	return nil
}

// Level is token.
func (*CIS) Level() method.Unit { return method.Token }

// Bounds are 0 and the cap of a token without confidence.
func (m *CIS) Bounds() (low, high float64) { return 0, 1 + m.Lambda }

// IcePop keeps tokens whose ratio lies in a band and drops the others from the
// loss, without touching its denominators. Unlike truncation it drops both tails.
//
// Sources disagree: verl (threshold "0.5_5.0") and slime keep the ratio inside
// the band; secondary texts describe a pure 0/1 mask (binary), and SkyRL's token mask,
// which edits the loss mask instead (see TokenMask), is one.
type IcePop struct {
	// Low is the lower bound α.
	Low float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	// High is the upper bound β.
	High float64 `yaml:"high" default:"5" range:"(0,inf]"`
	// Binary gives kept tokens the weight 1 in place of the ratio.
	Binary bool `yaml:"binary"`
}

// Weigh fills one weight per token.
func (m *IcePop) Weigh(w *Weights, in *Input) error {
	w.eachToken(in, func(n int) (raw, applied float64) {
		r := in.ratio(in.LogRatio[n])
		kept := inside(r, m.Low, m.High)
		if m.Binary && kept > 0 {
			kept = 1
		}
		return r, kept
	})
	return nil
}

// Level is token.
func (*IcePop) Level() method.Unit { return method.Token }

// Bounds are low and high.
func (m *IcePop) Bounds() (low, high float64) { return m.Low, m.High }

// SequenceTIS is sequence-level truncated importance sampling: every token of a
// response carries the response's weight. Without truncation it is the exact correction.
// The product grows or shrinks exponentially with length, so long responses have a weight
// of the cap or near zero.
type SequenceTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data. verl takes 2, SkyRL 5, VCPO 8.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none.
	Floor float64 `yaml:"floor" range:"[0,1]"`
}

// Weigh fills one weight per response.
func (m *SequenceTIS) Weigh(w *Weights, in *Input) error {
	one := SegmentTIS{Cap: m.Cap, Floor: m.Floor, By: byResponse}
	return one.Weigh(w, in)
}

// Level is sequence.
func (*SequenceTIS) Level() method.Unit { return method.Sequence }

// Bounds are floor and cap.
func (m *SequenceTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

// SequenceMIS is sequence-level masked importance sampling: the exact weight of
// the response if it lies in the band, else nothing. With Low at 0 it is the
// one-sided form. It removes the tail that truncation keeps, and with it most long
// responses: acceptance falls with length.
type SequenceMIS struct {
	// Low is the lower bound, 0 for the one-sided form.
	Low float64 `yaml:"low" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

// Weigh fills one weight per response.
func (m *SequenceMIS) Weigh(w *Weights, in *Input) error {
	w.eachSegment(in, byResponse, func(sum float64, _ int) (raw, applied float64) {
		r := in.ratio(sum)
		return r, inside(r, m.Low, m.High)
	})
	return nil
}

// Level is sequence.
func (*SequenceMIS) Level() method.Unit { return method.Sequence }

// Bounds are low and high.
func (m *SequenceMIS) Bounds() (low, high float64) { return m.Low, m.High }

// GeometricTIS weights a response by the geometric mean of its ratios,
// truncated. It does not depend on length and corrects almost nothing on long responses.
type GeometricTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none.
	Floor float64 `yaml:"floor" range:"[0,1]"`
	// Eps is added to the number of tokens. ROLL has 1e-8.
	Eps float64 `yaml:"eps" range:"[0,inf]"`
}

// Weigh fills one weight per response.
func (m *GeometricTIS) Weigh(w *Weights, in *Input) error {
	one := SegmentTIS{Cap: m.Cap, Floor: m.Floor, By: byResponse, Geometric: true, Eps: m.Eps}
	return one.Weigh(w, in)
}

// Level is sequence.
func (*GeometricTIS) Level() method.Unit { return method.Sequence }

// Bounds are floor and cap.
func (m *GeometricTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

// Segmentation says what a segment of a response is.
type Segmentation string

// The segmentations.
const (
	// ByRun makes every contiguous run of generated tokens a segment (ROLL).
	ByRun Segmentation = "run"
	// ByTurn makes every value of Batch.Turn a segment.
	ByTurn Segmentation = "turn"
	// byToken makes every token a segment, byResponse every response.
	byToken    Segmentation = "token"
	byResponse Segmentation = "sequence"
)

// require checks that the column the segmentation reads has been recorded.
func (s Segmentation) require(in *Input) error {
	if s == ByTurn {
		return in.Require(batch.Turn)
	}
	return nil
}

// each calls visit for the segments of all responses, one after the other.
func (s Segmentation) each(in *Input, visit func(from, to int)) {
	for i := range in.Len() {
		from, to := in.Span(i)
		for n := from + 1; n <= to; n++ {
			if n == to || s.begins(in, n) {
				visit(from, n)
				from = n
			}
		}
	}
}

// begins reports whether a segment begins at token n, which is not the first of its
// response. Runs end where in.Batch.Mask does, also at tokens that a sequential
// pipeline has rejected meanwhile.
func (s Segmentation) begins(in *Input, n int) bool {
	switch s {
	case ByTurn:
		return in.Turn[n] != in.Turn[n-1]
	case ByRun:
		return in.Batch.Mask[n] != in.Batch.Mask[n-1]
	}
	return s == byToken
}

// SegmentTIS weights every segment of a response, a turn of a dialogue or a run
// of generated tokens between two tool outputs, by its own truncated ratio. ROLL's
// is the geometric form with by: run.
type SegmentTIS struct {
	// Cap is the upper truncation; below 1 it would rescale on-policy data.
	Cap float64 `yaml:"cap" default:"2" range:"[1,inf]"`
	// Floor is the lower truncation, 0 for none.
	Floor float64 `yaml:"floor" range:"[0,1]"`
	// By says what a segment is: run or turn.
	By Segmentation `yaml:"by" default:"turn" oneof:"run turn"`
	// Geometric takes the geometric mean in place of the product, as ROLL does.
	Geometric bool `yaml:"geometric" default:"true"`
	// Eps is added to the number of tokens of the mean. ROLL has 1e-8.
	Eps float64 `yaml:"eps" range:"[0,inf]"`
}

// Weigh fills one weight per segment.
func (m *SegmentTIS) Weigh(w *Weights, in *Input) error {
	if err := m.By.require(in); err != nil {
		return err
	}
	w.eachSegment(in, m.By, func(sum float64, count int) (raw, applied float64) {
		if m.Geometric {
			sum /= length(count, m.Eps)
		}
		r := in.ratio(sum)
		return r, truncate(r, m.Floor, m.Cap)
	})
	return nil
}

// Level is turn.
func (*SegmentTIS) Level() method.Unit { return method.Turn }

// Bounds are floor and cap.
func (m *SegmentTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }
