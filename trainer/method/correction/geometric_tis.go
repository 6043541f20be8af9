package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

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

var geometricTisSpec = method.Spec{
	Name: "geometric_tis", Aliases: []string{"geo_tis"}, Unit: method.Sequence,
	Does:     "Multiplies the loss of a response by the truncated geometric mean of its token ratios.",
	When:     "Use it for a weight per response whose size does not depend on length; it is not an unbiased importance weight.",
	Source:   "AReaL apply_rejection_sampling (sequence, mean); ROLL weight_type geometric; slime mis.py",
	Formula:  "w_i = min(max(exp(clamp(Σ_t (old_t − roll_t)/max(T_i,1), ±20)), floor), cap)",
	Gradient: "constant: d loss/d logp_t is multiplied by w_i",
	Needs:    batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh fills one weight per response.
func (m *GeometricTIS) Weigh(w *Weights, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		sum, count := in.spanSum(from, to)
		r := in.ratio(sum / length(count, m.Eps))
		w.spread(in, from, to, r, truncate(r, m.Floor, m.Cap))
	}
	return nil
}

// Level is sequence.
func (*GeometricTIS) Level() method.Unit { return method.Sequence }

// Bounds are floor and cap.
func (m *GeometricTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

func (m *GeometricTIS) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("eps", m.Eps)}, raw: in.exp("Σ(e)/(count(1) + eps)"), applied: "clip(ρ, low, high)"}
}
