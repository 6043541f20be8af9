package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

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

var segmentTisSpec = method.Spec{
	Name: "segment_tis", Aliases: []string{"turn_tis"}, Unit: method.Turn,
	Does:     "Gives each turn or segment a truncated weight, from the mean or the sum of its log-ratios.",
	When:     "Use it in multi-turn runs, as a compromise between token and sequence weights.",
	Source:   "ROLL compute_train_infer_correction weight_type segment",
	Formula:  "w_k = min(max(exp(clamp(mean_{t∈k}(old_t − roll_t), ±20)), floor), cap); the sum with geometric: false",
	Gradient: "constant: d loss/d logp_t is multiplied by w_k",
	Needs:    batch.Columns{batch.LogpRoll, batch.Anchor, batch.Turn},
}

// Weigh fills one weight per segment.
func (m *SegmentTIS) Weigh(w *Weights, in *Input) error {
	if err := m.By.require(in); err != nil {
		return err
	}
	for i := range in.Len() {
		from, to := in.Span(i)
		for from < to {
			end := m.By.next(in, from, to)
			sum, count := in.spanSum(from, end)
			if m.Geometric {
				sum /= length(count, m.Eps)
			}
			r := in.ratio(sum)
			w.spread(in, from, end, r, truncate(r, m.Floor, m.Cap))
			from = end
		}
	}
	return nil
}

// Level is turn.
func (*SegmentTIS) Level() method.Unit { return method.Turn }

// Bounds are floor and cap.
func (m *SegmentTIS) Bounds() (low, high float64) { return m.Floor, m.Cap }

func (m *SegmentTIS) rule(in *Input) rule {
	r := rule{lines: []trace.Line{trace.Given("eps", m.Eps)}, applied: "clip(ρ, low, high)"}
	switch { // a run is no column: its ratio is the method's own
	case m.By == ByTurn && m.Geometric:
		r.raw = in.exp("Σ_turn(e)/(count_turn(1) + eps)")
	case m.By == ByTurn:
		r.raw = in.exp("Σ_turn(e)")
	}
	return r
}
