package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/results"
	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
	"driftlab/trainer/method"
)

type benchCmd struct {
	D         number `name:"d" help:"Width of the model." default:"64" min:"1" max:"4096"`
	Layers    number `help:"Layers." default:"2" min:"1" max:"64"`
	Heads     number `help:"Attention heads." default:"4" min:"1" max:"256"`
	Experts   number `help:"Experts per layer; 0 is the dense variant." default:"8" max:"256"`
	TopK      number `name:"topk" help:"Experts per token." default:"2" min:"1" max:"256"`
	FF        number `name:"ff" help:"Inner width of an expert." default:"128" min:"1" max:"16384"`
	Vocab     number `help:"Vocabulary." default:"32" min:"1" max:"65536"`
	Batch     number `help:"Responses per step." default:"256" min:"1" max:"65536"`
	Prompt    number `help:"Prompt tokens." default:"16" min:"1" max:"8192"`
	Gen       number `help:"Tokens generated per response." default:"48" min:"1" max:"8192"`
	Steps     number `help:"Steps to time; one more warms up." default:"3" min:"1" max:"100000"`
	Slots     number `help:"Responses decoded side by side." default:"64" min:"1" max:"65536"`
	Rollout   string `help:"Numerics of the engine that samples." default:"fp32" placeholder:"PRESET" complete:"numerics"`
	Learner   string `help:"Numerics of the engine that learns." default:"fp32" placeholder:"PRESET" complete:"numerics"`
	Recompute bool   `help:"Compute activations again in the backward pass instead of keeping them."`
	jsonFlag
	workFlags
}

// Help is the long help text.
func (*benchCmd) Help() string {
	return `Times one RL step as a user would run it, phase by phase: sampling with log-probs recorded, scoring, gradient
and AdamW, on random weights and random prompts. Speeds are of this machine as loaded as it is.

Examples:
  simulate bench
  simulate bench --rollout fp8-w8a8 --learner bf16 --json
  simulate bench --d 256 --layers 4 --ff 512 --batch 64 --workers 1`
}

// benched is the document of bench --json. Token rates count generated tokens
// while generating, and all rows of the pack, prompts too, otherwise.
type benched struct {
	GenTokS   float64 `json:"gen_tok_s"`
	ScoreTokS float64 `json:"score_tok_s"`
	TrainTokS float64 `json:"train_tok_s"`
	StepS     float64 `json:"step_s"`
	Params    int     `json:"params"`
	// GemmGFlops is of a 1024x64x256 product, Gemm64GFlops of a 64x64x64 one.
	GemmGFlops   float64 `json:"gemm_gflops"`
	Gemm64GFlops float64 `json:"gemm_64_gflops"`
	// PeakBytes is the most memory the process has held.
	PeakBytes uint64 `json:"peak_bytes"`
	Threads   int    `json:"threads"`
	Rollout   string `json:"rollout"`
	Learner   string `json:"learner"`
}

// Run times the steps.
func (c *benchCmd) Run(a *app) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	sample, err := presetNamed("--rollout", c.Rollout)
	if err != nil {
		return err
	}
	learn, err := presetNamed("--learner", c.Learner)
	if err != nil {
		return err
	}
	threads := c.workers()
	m := a.meter(c.Quiet, "bench", "step", int(c.Steps)+1)
	doc := c.time(config, sample, learn, threads, func() { m.add(1, 0, "") })
	m.close()
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(doc)
	}
	a.printTable(doc.table(c))
	return nil
}

// config is the model to time, checked.
func (c *benchCmd) config() (model.Config, error) {
	config := model.Config{
		Layers: int(c.Layers), DModel: int(c.D), Heads: int(c.Heads), Experts: int(c.Experts), TopK: int(c.TopK), DFF: int(c.FF),
		Vocab: int(c.Vocab), Context: int(c.Prompt + c.Gen),
	}.WithDefaults()
	if err := config.Validate(); err != nil {
		return config, bad("bench: %v", err)
	}
	if gib := c.memory(config) >> 30; gib >= mostMemory {
		return config, bad("bench: this would need about %d GiB of memory, and %d is the most it takes: try a smaller --batch, --gen, --d or --ff", gib, mostMemory)
	}
	return config, nil
}

// mostMemory is what a benchmark may take, in GiB.
const mostMemory = 32

// memory is about what the two engines will hold, in bytes: the weights, their
// packed copies, gradients and moments; what is kept of every row for the
// backward pass; the cache of keys and values.
func (c *benchCmd) memory(m model.Config) int {
	const float = 4
	layer := 10*m.DModel + 4*max(m.TopK, 1)*m.DFF
	kept := m.Layers * layer
	if c.Recompute {
		kept = layer + m.Layers*m.DModel
	}
	rows := int(c.Batch) * m.Context
	cache := int(min(c.Slots, c.Batch)) * m.Context * m.Layers * 2 * m.DModel
	return float * (7*m.Params() + rows*(kept+3*m.Vocab) + cache)
}

// presetNamed finds a preset or says which there are.
func presetNamed(flag, name string) (engine.Numerics, error) {
	n, ok := engine.Preset(name)
	if !ok {
		return n, bad("%s: %v", flag, method.UnknownName(name, engine.PresetNames()))
	}
	return n, nil
}

// time runs one step to warm up and then the steps that count.
func (c *benchCmd) time(config model.Config, sample, learn engine.Numerics, threads int, done func()) benched {
	p := model.New(config)
	p.Init(1)
	sampler := rollout.New(config, sample, int(min(c.Slots, c.Batch)), threads)
	defer sampler.Close()
	l := learner.New(p, learner.Settings{Numerics: learn, AdamW: learner.AdamW{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, ClipNorm: 1}, Recompute: c.Recompute}, threads)
	defer l.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	var requests []rollout.Request
	for i := range c.Batch {
		prompt := make([]int32, c.Prompt)
		for j := range prompt {
			prompt[j] = int32(rng.IntN(config.Vocab))
		}
		requests = append(requests, rollout.Request{Prompt: prompt, Seed: 1, Stream: uint64(i)})
	}
	// No token stops a response: every one has the length asked for.
	s := rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: int(c.Gen), Stop: -1}
	var b batch.Batch
	var gen, score, train time.Duration
	policy := learner.Policy{Temperature: 1}
	objective := &loss.Objective{Loss: loss.NewPPOClip(), Batch: &b}
	for step := range int(c.Steps) + 1 {
		if step == 1 {
			gen, score, train = 0, 0, 0
		}
		start := time.Now()
		sampler.Publish(p, step)
		sampler.Generate(&b.Sampled, requests, s)
		gen += lap(&start)
		l.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: policy})
		b.Anchor = b.Old.Logp
		score += lap(&start)
		b.Advantage = b.Advantage[:0]
		for n := range b.Tokens() {
			b.Advantage = append(b.Advantage, float64(n%3-1))
		}
		start = time.Now()
		if _, err := l.Gradient(&b.Now, &b.Sampled, objective, learner.StepOptions{Policy: policy}); err != nil {
			panic(err) // random weights and bounded advantages are always finite
		}
		l.Update(1e-6)
		train += lap(&start)
		done()
	}
	n, rows := float64(c.Batch*c.Gen*c.Steps), float64(c.Batch*(c.Prompt+c.Gen)*c.Steps)
	return benched{
		GenTokS: n / gen.Seconds(), ScoreTokS: rows / score.Seconds(), TrainTokS: rows / train.Seconds(),
		StepS: (gen + score + train).Seconds() / float64(c.Steps), Params: config.Params(),
		GemmGFlops: gemmGFlops(1024, 64, 256), Gemm64GFlops: gemmGFlops(64, 64, 64), PeakBytes: peakMemory(), Threads: threads, Rollout: sample.Name, Learner: learn.Name,
	}
}

// lap returns the time since start and moves start to now.
func lap(start *time.Time) time.Duration {
	now := time.Now()
	d := now.Sub(*start)
	*start = now
	return d
}

// gemmGFlops is the speed of one thread at a product, the best of several runs.
func gemmGFlops(rows, in, out int) float64 {
	repeats := 1 << 29 / (rows * in * out)
	var w kernel.Weight
	w.Pack(make([]float32, out*in), out, in, nil)
	dst, x := make([]float32, rows*out), make([]float32, rows*in)
	var scratch kernel.Scratch
	best := 0.0
	for range repeats {
		start := time.Now()
		kernel.Linear(dst, x, nil, &w, rows, kernel.Numerics{}, &scratch)
		best = max(best, 2*float64(rows*in*out)/time.Since(start).Seconds()/1e9)
	}
	return best
}

// table shows the figures to a person.
func (b benched) table(c *benchCmd) *results.Table {
	t := &results.Table{
		Title: fmt.Sprintf("%d parameters, %d responses of %d+%d tokens, %s → %s, %d threads",
			b.Params, c.Batch, c.Prompt, c.Gen, b.Rollout, b.Learner, b.Threads),
		Columns: []results.TableColumn{{Name: "phase"}, {Name: "tokens/s", Align: results.Right}},
		Note: fmt.Sprintf("A step takes %s s. Matmul on one thread: %s GFLOP/s at 1024x64x256, %s at 64x64x64. Peak memory: %d MiB.",
			results.FormatNumber(b.StepS, 3), results.FormatNumber(b.GemmGFlops, 3), results.FormatNumber(b.Gemm64GFlops, 3), b.PeakBytes>>20),
	}
	for _, row := range []struct {
		phase string
		rate  float64
	}{{"generate", b.GenTokS}, {"score", b.ScoreTokS}, {"train", b.TrainTokS}} {
		t.Add(results.Word(row.phase), results.Number(row.rate, 3))
	}
	return t
}
