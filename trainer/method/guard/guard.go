package guard

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Input is what a guard may look at in addition to the gradient.
type Input struct {
	// Batch is the minibatch the gradient was computed from.
	Batch *batch.Batch
	// Step is the number of training steps taken, from 0. Gradient steps of one
	// training step share it.
	Step int
}

// Decision is what becomes of a gradient step.
type Decision struct {
	// Scale multiplies the learning rate of this step only.
	Scale float64
	// Skip drops the step.
	Skip bool
}

// Guard decides about one gradient step. Implementations are pointers to
// parameter structs; those with a history are a method.Memory.
type Guard interface {
	// Guard reads, and may change, the gradient of the loss.
	Guard(grad []float32, in Input) (Decision, error)
	// Metrics appends the figures of the last decision.
	Metrics(dst []batch.Metric) []batch.Metric
}

// Withholder is a guard that can keep the masks of the correction from acting.
type Withholder interface {
	// Withholds reports whether the next batch is to be corrected without masks.
	Withholds() bool
}

// Withholds reports whether any guard does.
func Withholds(guards []Guard) bool {
	return slices.ContainsFunc(guards, func(g Guard) bool {
		w, ok := g.(Withholder)
		return ok && w.Withholds()
	})
}

// Apply asks the guards in order. Scales multiply; one skip is enough, but
// every guard is called at every step, so that its history has no holes.
func Apply(guards []Guard, grad []float32, in Input) (Decision, error) {
	all := Decision{Scale: 1}
	for i, g := range guards {
		d, err := g.Guard(grad, in)
		if err != nil {
			return all, fmt.Errorf("guards[%d]: %w", i, err)
		}
		all.Scale *= d.Scale
		all.Skip = all.Skip || d.Skip
	}
	return all, nil
}

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Registry lists the guards a recipe can name under guards.
var Registry = method.Table[Guard]{
	method.Of[Guard, ESSLearningRate]("ess_lr"),
	method.Of[Guard, LengthSurge]("length_surge"),
	method.Of[Guard, GradientAlignment]("gradient_alignment"),
}.Filled(method.Spec{Group: "guard", Gradient: "unchanged"}, texts)

// ESSLearningRate scales the learning rate by how many effective samples the
// minibatch holds, so that steps shrink as the data become stale.
//
// old is the learner at the start of the step, so w includes engine and lag. The
// weights are not truncated. The rate is restored after the step. Rule linear has no square root.
type ESSLearningRate struct {
	// Base is the ESS share of on-policy data; 0.55 is reported for long tool use.
	Base float64 `yaml:"base" default:"1" range:"(0,inf]"`
	// Rule says how the scale follows the share.
	Rule string `yaml:"rule" default:"sqrt" oneof:"sqrt linear"`
	// Current compares Logp, the weights of this gradient step, in place of
	// LogpOld.
	Current bool `yaml:"current"`

	ess, scale float64
}

// Guard scales the learning rate.
func (g *ESSLearningRate) Guard(_ []float32, in Input) (Decision, error) {
	upper, column := in.Batch.Old.Logp, batch.LogpOld
	if g.Current {
		upper, column = in.Batch.Now.Logp, batch.Logp
	}
	if err := in.Batch.Require(batch.Mask, batch.LogpRoll, column); err != nil {
		return Decision{}, err
	}
	g.ess = EffectiveShare(in.Batch, upper)
	g.scale = min(1, g.ess/g.Base)
	if g.Rule == "sqrt" {
		g.scale = math.Sqrt(g.scale)
	}
	return Decision{Scale: g.scale}, nil
}

// EffectiveShare is (Σw)²/(Σw² + 1e-8)/B over the responses of a batch, with
// sequence weights exp(Σ_t (upper_t − roll_t)) that are not truncated. Weights
// beyond the range of float64 are scaled down together, where the 1e-8 no longer
// matters.
func EffectiveShare(b *batch.Batch, upper []float64) float64 {
	largest := 0.0
	for i := range b.Len() {
		largest = max(largest, logWeight(b, upper, i)-100)
	}
	sum, squares := 0.0, 0.0
	for i := range b.Len() {
		w := elementary.Exp(logWeight(b, upper, i) - largest)
		sum, squares = sum+w, squares+float64(w*w)
	}
	if b.Len() == 0 {
		return 0
	}
	return sum * sum / (squares + 1e-8) / float64(b.Len())
}

// logWeight is Σ_t (upper_t − roll_t) of response i.
func logWeight(b *batch.Batch, upper []float64, i int) float64 {
	sum := 0.0
	for n := range b.Where(i, b.Mask) {
		sum += upper[n] - b.LogpRoll[n]
	}
	return sum
}

// Metrics appends the effective share and the scale.
func (g *ESSLearningRate) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst, batch.Metric{Name: "guard/ess_ratio", Value: g.ess}, batch.Metric{Name: "guard/ess_lr_scale", Value: g.scale})
}

// GradientAlignment controls how far consecutive gradients agree: on fresh data
// their cosine is near 0, on stale data it stays high, and the shared part is
// what is pushed again and again.
//
// Only positive alignment is touched: between the bounds the cosine's excess is removed, or
// with full the whole parallel part. g_prev, of direction u, is stored before any
// projection. The first step, and steps next to a zero gradient, are applied as they are.
type GradientAlignment struct {
	// Low is the cosine up to which nothing happens.
	Low float64 `yaml:"low" default:"0.1" range:"[0,high)"`
	// High is the cosine from which the step is skipped.
	High float64 `yaml:"high" default:"0.9" range:"[0,1]"`
	// Full removes the whole parallel part.
	Full bool `yaml:"full"`

	previous []float32
	cosine   float64
	removed  float64 // share of the parallel part
	skipped  float64
}

// Guard projects the gradient or skips the step.
func (g *GradientAlignment) Guard(grad []float32, _ Input) (Decision, error) {
	if len(g.previous) != 0 && len(g.previous) != len(grad) {
		return Decision{}, fmt.Errorf("guard: gradient has %d entries, the previous one had %d", len(grad), len(g.previous))
	}
	dot, own, before := 0.0, 0.0, 0.0
	for i, p := range g.previous {
		x, y := float64(grad[i]), float64(p)
		dot += float64(x * y)
		own += float64(x * x)
		before += float64(y * y)
	}
	g.cosine, g.removed, g.skipped = 0, 0, 0
	if own > 0 && before > 0 {
		g.cosine = dot / (float64(math.Sqrt(own)*math.Sqrt(before)) + 1e-12)
	}
	switch {
	case g.cosine >= g.High:
		g.skipped = 1
	case g.cosine > g.Low && g.Full:
		g.removed = 1
	case g.cosine > g.Low:
		g.removed = 1 - g.Low/g.cosine
	}
	if len(g.previous) == 0 {
		g.previous = make([]float32, len(grad))
	}
	along := g.removed * dot / before
	for i, x := range grad {
		p := g.previous[i]
		g.previous[i] = x
		if g.removed > 0 {
			grad[i] = float32(float64(x) - float64(along*float64(p)))
		}
	}
	return Decision{Scale: 1, Skip: g.skipped == 1}, nil
}

// Metrics appends the cosine, the share of the parallel part removed, and skips.
func (g *GradientAlignment) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst, batch.Metric{Name: "guard/grad_cosine", Value: g.cosine},
		batch.Metric{Name: "guard/grad_removed", Value: g.removed}, batch.Metric{Name: "guard/grad_skipped", Value: g.skipped})
}

// AppendState appends the previous gradient.
func (g *GradientAlignment) AppendState(dst []byte) []byte {
	return method.AppendState(dst, g.previous)
}

// SetState takes what AppendState appended.
func (g *GradientAlignment) SetState(state []byte) error {
	return method.ReadState(state, &g.previous)
}

// LengthSurge halves the learning rate, and goes on halving it, once responses
// grow far beyond their early length: the surge that precedes collapse.
//
// The baseline is the mean length over the first warmup steps. The rule ratio is the other
// published form: whenever the mean length exceeds factor times that of warmup steps ago,
// the scale is multiplied by decay, at most once in warmup steps. The rate never rises
// again.
type LengthSurge struct {
	// Rule says what a surge is, against the first steps or the last.
	Rule string `yaml:"rule" default:"baseline" oneof:"baseline ratio"`
	// Factor is the growth that counts as a surge; rule ratio is published with 1.2.
	Factor float64 `yaml:"factor" default:"3" range:"(1,inf]"`
	// Warmup is the number of steps of the baseline, or the distance of the ratio.
	Warmup int `yaml:"warmup" default:"50" range:"[1,inf]"`
	// Decay multiplies the scale.
	Decay float64 `yaml:"decay" default:"0.5" range:"(0,1)"`
	// Stretch times the step of the surge is the period.
	Stretch float64 `yaml:"stretch" default:"1.8" range:"(0,inf]"`
	// Floor is the smallest scale.
	Floor float64 `yaml:"floor" default:"0.1" range:"[0,1]"`
	// Reject has the masks of the recipe's correction act only once a surge has been seen,
	// and from then on.
	Reject bool `yaml:"reject"`

	lengths []float64 // mean length of every step so far
	counts  []float64 // gradient steps that make up each
	surge   int       // step of the surge plus one, or the last decay's; 0 for none
	scale   float64
}

// Withholds implements Withholder.
func (g *LengthSurge) Withholds() bool { return g.Reject && g.surge == 0 }

// Guard scales the learning rate.
func (g *LengthSurge) Guard(_ []float32, in Input) (Decision, error) {
	if in.Step < len(g.lengths)-1 || in.Step < 0 {
		return Decision{}, fmt.Errorf("guard: length_surge saw step %d after step %d", in.Step, len(g.lengths)-1)
	}
	g.scale = cmp.Or(g.scale, 1)
	length := float64(masked.Count(in.Batch.Mask)) / float64(max(in.Batch.Len(), 1))
	for len(g.lengths) <= in.Step { // a step whose updates the loss scale skipped has the length before it
		before := length
		if k := len(g.lengths); k > 0 {
			before = g.lengths[k-1]
		}
		g.lengths, g.counts = append(g.lengths, before), append(g.counts, 0)
	}
	g.counts[in.Step]++
	g.lengths[in.Step] += (length - g.lengths[in.Step]) / g.counts[in.Step]
	if g.Rule == "ratio" {
		g.byRatio(in.Step)
	} else {
		g.byBaseline(in.Step)
	}
	return Decision{Scale: g.scale}, nil
}

// byBaseline is the rule of the reproduction recipe.
func (g *LengthSurge) byBaseline(step int) {
	if g.surge == 0 && step >= g.Warmup {
		baseline := 0.0
		for _, l := range g.lengths[:g.Warmup] {
			baseline += l / float64(g.Warmup)
		}
		if g.lengths[step] >= g.Factor*baseline {
			g.surge = step + 1
		}
	}
	if g.surge > 0 {
		at := float64(g.surge - 1)
		periods := math.Floor((float64(step) - at) / (g.Stretch * max(at, 1)))
		g.scale = max(elementary.Pow(g.Decay, periods), g.Floor)
	}
}

// byRatio decays once whenever the length has grown within the window.
func (g *LengthSurge) byRatio(step int) {
	rested := g.surge == 0 || step-(g.surge-1) >= g.Warmup
	if step < g.Warmup || !rested {
		return
	}
	if before := g.lengths[step-g.Warmup]; before > 0 && g.lengths[step] > g.Factor*before {
		g.surge = step + 1
		g.scale = max(g.scale*g.Decay, g.Floor)
	}
}

// Metrics appends the scale and whether a surge has been seen.
func (g *LengthSurge) Metrics(dst []batch.Metric) []batch.Metric {
	seen := 0.0
	if g.surge > 0 {
		seen = 1
	}
	return append(dst, batch.Metric{Name: "guard/length_surge", Value: seen}, batch.Metric{Name: "guard/length_lr_scale", Value: g.scale})
}

// AppendState appends the length history.
func (g *LengthSurge) AppendState(dst []byte) []byte {
	return method.AppendState(dst, g.surge, g.scale, g.lengths, g.counts)
}

// SetState takes what AppendState appended.
func (g *LengthSurge) SetState(state []byte) error {
	return method.ReadState(state, &g.surge, &g.scale, &g.lengths, &g.counts)
}
