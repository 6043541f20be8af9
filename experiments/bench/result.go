package bench

import (
	"fmt"

	"driftlab/engine"
	"driftlab/results/figure"
)

// Result is the document of bench --json. Token rates count generated tokens
// while generating, and prompts and responses otherwise, each response with a
// prompt of its own, computed or not.
type Result struct {
	GenTokS   float64 `json:"gen_tok_s"`
	ScoreTokS float64 `json:"score_tok_s"`
	TrainTokS float64 `json:"train_tok_s"`
	StepS     float64 `json:"step_s"`
	Params    int     `json:"params"`
	Group     int     `json:"group"`
	// GemmGFlops is of a 1024x64x256 product, Gemm64GFlops of a 64x64x64 one, both of
	// one thread. RooflineGFlops is of the former on all threads at once.
	GemmGFlops     float64 `json:"gemm_gflops"`
	Gemm64GFlops   float64 `json:"gemm_64_gflops"`
	RooflineGFlops float64 `json:"roofline_gflops"`
	// PeakGFlops is of fused multiply-adds that read no more than a few cache lines, on one
	// thread: what bounds the products.
	PeakGFlops float64        `json:"peak_gflops"`
	Phases     []phaseFigures `json:"phases"`
	// PeakBytes is the most memory the process has held.
	PeakBytes uint64 `json:"peak_bytes"`
	Threads   int    `json:"threads"`
	Rollout   string `json:"rollout"`
	Learner   string `json:"learner"`
}

// phaseFigures is one phase of a step.
type phaseFigures struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	TokS    float64 `json:"tok_s"`
	// Processor is the processor time of all threads in seconds, the median of the steps,
	// and ProcessorLeast the least of them; 0 where the system does not tell it.
	Processor      float64 `json:"processor_s"`
	ProcessorLeast float64 `json:"processor_least_s"`
	// work is counted twice: as it is computed, with a prompt once for its group
	// where the engine shares it and one forward pass for scoring and training, and as
	// if every response had a prompt of its own and training its own pass.
	// Roofline is the share of RooflineGFlops that it comes to.
	GFlop            float64 `json:"gflop_computed"`
	GFlopUnshared    float64 `json:"gflop_unshared"`
	Roofline         float64 `json:"roofline_computed"`
	RooflineUnshared float64 `json:"roofline_unshared"`
}

// work is what matrix products and attention take, in multiply-adds, by the two
// counts of phaseFigures.
type work struct{ computed, unshared float64 }

// forward is the work of a forward pass over the batch. Every response reads the
// last token of its prompt, and all that it generates but the last. What comes
// before is read once for a group by numerics that give a row the same bits in
// any company.
func (c Step) forward(n engine.Numerics) work {
	m := c.Model
	responses, prompts := float64(c.Batch), float64((c.Batch+c.Group-1)/c.Group)
	if !n.DecodesAsScored() {
		prompts = responses
	}
	rows := func(n, before int) float64 { // in the layers, after that many positions
		return float64(float64(n)*m.LayerProducts()) + float64(m.AttentionProducts(n*before+n*(n+1)/2))
	}
	before := c.Prompt - 1
	prompt, response := rows(before, 0), rows(c.Gen, before)+float64(float64(c.Gen)*m.HeadProducts())
	return work{float64(prompts*prompt) + float64(responses*response), responses * (prompt + response)}
}

// add takes the times of a phase up, one per step. Rates are over all steps
// together.
func (b *Result) add(phase string, times []moment, tokens float64, w work) {
	p := phaseFigures{Phase: phase, GFlop: 2 * w.computed / 1e9, GFlopUnshared: 2 * w.unshared / 1e9}
	var processor []float64
	for _, t := range times {
		p.Seconds += t.wall.Seconds() / float64(len(times))
		processor = append(processor, t.processor.Seconds())
	}
	spread := spreadOf(processor)
	p.Processor, p.ProcessorLeast = spread.Median, spread.Least
	p.TokS = tokens / p.Seconds
	p.Roofline, p.RooflineUnshared = p.GFlop/p.Seconds/b.RooflineGFlops, p.GFlopUnshared/p.Seconds/b.RooflineGFlops
	b.Phases = append(b.Phases, p)
	b.StepS += p.Seconds
	*map[string]*float64{"generate": &b.GenTokS, "score": &b.ScoreTokS, "train": &b.TrainTokS}[phase] = p.TokS
}

// Table shows the figures of a step to a person.
func (b Result) Table(c Step) *figure.Figure {
	t := head("step", b.Params, c.Batch, c.Prompt, c.Gen, c.Group, b.Rollout, b.Learner, b.Threads)
	t.Note = fmt.Sprintf(t.Note, figure.FormatNumber(b.StepS, 3), figure.FormatNumber(b.RooflineGFlops, 3), b.Threads, figure.FormatNumber(b.GemmGFlops, 3),
		figure.FormatNumber(b.Gemm64GFlops, 3), figure.FormatNumber(b.PeakGFlops, 3), b.PeakBytes>>20)
	for _, p := range b.Phases {
		t.Add(figure.Word(p.Phase), figure.Number(p.TokS, 3), figure.Number(p.GFlop/p.Seconds, 3),
			figure.Word(fmt.Sprintf("%.0f %%", 100*p.Roofline)), figure.Word(fmt.Sprintf("%.0f %%", 100*p.RooflineUnshared)))
	}
	return t
}
