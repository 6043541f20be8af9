package main

import (
	"fmt"
	"time"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/results"
)

// benched is the document of bench --json. Token rates count generated tokens
// while generating, and prompts and responses otherwise, each response with a
// prompt of its own, computed or not.
type benched struct {
	GenTokS   float64 `json:"gen_tok_s"`
	ScoreTokS float64 `json:"score_tok_s"`
	TrainTokS float64 `json:"train_tok_s"`
	StepS     float64 `json:"step_s"`
	Params    int     `json:"params"`
	Group     int     `json:"group"`
	// GemmGFlops is of a 1024x64x256 product, Gemm64GFlops of a 64x64x64 one, both on
	// one thread. RooflineGFlops is of the former on all threads at once.
	GemmGFlops     float64        `json:"gemm_gflops"`
	Gemm64GFlops   float64        `json:"gemm_64_gflops"`
	RooflineGFlops float64        `json:"roofline_gflops"`
	Phases         []benchedPhase `json:"phases"`
	// PeakBytes is the most memory the process has held.
	PeakBytes uint64 `json:"peak_bytes"`
	Threads   int    `json:"threads"`
	Rollout   string `json:"rollout"`
	Learner   string `json:"learner"`
}

// benchedPhase is one phase of a step.
type benchedPhase struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
	TokS    float64 `json:"tok_s"`
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
// counts of benchedPhase.
type work struct{ computed, unshared float64 }

// times is so many times the work.
func (w work) times(n float64) work { return work{n * w.computed, n * w.unshared} }

// forward is the work of a forward pass over the batch. Every response reads the
// last token of its prompt, and all that it generates but the last. What comes
// before is read once for a group by numerics that give a row the same bits in
// any company.
func (c *benchCmd) forward(m model.Config, n engine.Numerics) work {
	responses, prompts := float64(c.Batch), float64((c.Batch+c.Group-1)/c.Group)
	if !n.DecodesAsScored() {
		prompts = responses
	}
	rows := func(n, before int) float64 { // in the layers, behind that many positions
		return float64(n)*m.LayerProducts() + m.AttentionProducts(n*before+n*(n+1)/2)
	}
	before := int(c.Prompt) - 1
	prompt, response := rows(before, 0), rows(int(c.Gen), before)+float64(c.Gen)*m.HeadProducts()
	return work{prompts*prompt + responses*response, responses * (prompt + response)}
}

// tokens is so many for each response.
func (c *benchCmd) tokens(each number) float64 { return float64(c.Batch) * float64(each) }

// add takes the times of a phase up, one per step. Rates are those of all steps
// together.
func (b *benched) add(phase string, times []time.Duration, tokens float64, w work) {
	p := benchedPhase{Phase: phase, GFlop: 2 * w.computed / 1e9, GFlopUnshared: 2 * w.unshared / 1e9}
	for _, t := range times {
		p.Seconds += t.Seconds() / float64(len(times))
	}
	p.TokS = tokens / p.Seconds
	p.Roofline, p.RooflineUnshared = p.GFlop/p.Seconds/b.RooflineGFlops, p.GFlopUnshared/p.Seconds/b.RooflineGFlops
	b.Phases = append(b.Phases, p)
	b.StepS += p.Seconds
	*map[string]*float64{"generate": &b.GenTokS, "score": &b.ScoreTokS, "train": &b.TrainTokS}[phase] = p.TokS
}

// roofline measures the kernel's products.
func (b *benched) roofline(threads int) {
	team := kernel.NewTeam(threads)
	defer team.Close()
	b.GemmGFlops, b.Gemm64GFlops = gemmGFlops(nil, 1, 1024, 64, 256), gemmGFlops(nil, 1, 64, 64, 64)
	b.RooflineGFlops = gemmGFlops(team, threads, 1024, 64, 256)
}

// products are the same product on several threads, a kernel.Job.
type products struct {
	rows, repeats int
	parts         []product
}

// product is one thread's.
type product struct {
	dst, x  []float32
	weight  kernel.Weight
	scratch kernel.Scratch
}

// Part makes a thread's products.
func (p *products) Part(i int) {
	part := &p.parts[i]
	for range p.repeats {
		kernel.Linear(part.dst, part.x, nil, &part.weight, p.rows, kernel.Numerics{}, &part.scratch)
	}
}

// gemmGFlops is the speed of that many threads together at a product each, the
// best of several times.
func gemmGFlops(team *kernel.Team, threads, rows, in, out int) float64 {
	const together = 1 << 25 // multiply-adds: some tenths of a millisecond
	p := products{rows: rows, repeats: max(1, together/(rows*in*out)), parts: make([]product, threads)}
	for i := range p.parts {
		part := &p.parts[i]
		part.dst, part.x = make([]float32, rows*out), make([]float32, rows*in)
		part.weight.Pack(make([]float32, out*in), out, in, nil)
	}
	best := 0.0
	for range 24 {
		start := time.Now()
		team.Run(threads, &p)
		best = max(best, 2*float64(threads*p.repeats*rows*in*out)/time.Since(start).Seconds()/1e9)
	}
	return best
}

// table shows the figures to a person.
func (b benched) table(c *benchCmd) *results.Table {
	t := &results.Table{
		Title: fmt.Sprintf("%d parameters, %d responses of %d+%d tokens in groups of %d, %s → %s, %d threads",
			b.Params, c.Batch, c.Prompt, c.Gen, c.Group, b.Rollout, b.Learner, b.Threads),
		Columns: []results.TableColumn{{Name: "phase"}, {Name: "tokens/s", Align: results.Right}, {Name: "GFLOP/s", Align: results.Right},
			{Name: "of the roofline", Align: results.Right}, {Name: "with prompts unshared", Align: results.Right}},
		Note: fmt.Sprintf("A step takes %s s. The roofline is %s GFLOP/s: the product of 1024x64x256 on %d threads; on one it has %s, and 64x64x64 %s. "+
			"FLOP are two per multiply-add of matrix products and attention, computed: a shared prompt counts once for its group; "+
			"unshared, once for each response, as tokens do. Peak memory: %d MiB.",
			results.FormatNumber(b.StepS, 3), results.FormatNumber(b.RooflineGFlops, 3), b.Threads, results.FormatNumber(b.GemmGFlops, 3),
			results.FormatNumber(b.Gemm64GFlops, 3), b.PeakBytes>>20),
	}
	for _, p := range b.Phases {
		t.Add(results.Word(p.Phase), results.Number(p.TokS, 3), results.Number(p.GFlop/p.Seconds, 3),
			results.Word(fmt.Sprintf("%.0f %%", 100*p.Roofline)), results.Word(fmt.Sprintf("%.0f %%", 100*p.RooflineUnshared)))
	}
	return t
}
