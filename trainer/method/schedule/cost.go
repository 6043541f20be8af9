package schedule

import (
	_ "embed"
	"fmt"
)

//go:embed cost.go
var costsSource string

// CostsSource is the declaration of Costs, for what the comments of its fields say.
func CostsSource() string { return costsSource }

// Costs is what everything takes on the virtual clock, in ticks. A tick of the
// defaults is a microsecond of a 32B model on one device. What counts are their
// ratios: multiplying all of them changes no order of events.
type Costs struct {
	// PrefillRequest is what a prefill takes whatever its length: on a worker of d
	// devices, of n tokens, prefill_request + n*prefill_token/d. Default 1000.
	PrefillRequest int `yaml:"prefill_request"`
	// PrefillToken is what each of its tokens adds: a forward pass. Default 40.
	PrefillToken int `yaml:"prefill_token"`
	// DecodeStep is what a decode step takes whatever the number of requests: of a
	// of them on d devices, decode_step + a*decode_slot/d. Default 2400: inferred.
	DecodeStep int `yaml:"decode_step"`
	// DecodeSlot is what each request adds to it. The default ratio makes a
	// worker of a synchronous run (16 requests per device) eleven times slower per
	// step than one request: then the last tenth of the requests takes about half of the
	// rollout's time, which Seer (2511.14617) measured; a constant speed per slot
	// would exaggerate every asynchronous gain. Default 1500: inferred.
	DecodeSlot int `yaml:"decode_slot"`
	// LearnToken is a forward pass of the learner over one token on one device: a
	// pass for log-probs takes it once, training three times (FLOPs; verl
	// measured .31 to .47 for one to three). The default makes the rollout 84% of
	// a synchronous step, as on Moonlight (Seer, 84/14/2).
	LearnToken int `yaml:"learn_token"`
	// Sync is what a worker takes to load weights. Default 640000, Laminar's stall
	// for 32B (2510.12633).
	Sync int `yaml:"sync"`
	// Push is what the learner takes to send them. Default 640000, as Sync.
	Push int `yaml:"push"`
	// Copy is what the learner takes to keep a copy of its weights, to bring one in or
	// to average one. Default 160000: inferred, a 32B model's 64 GB over eight links of
	// 50 GB/s.
	Copy int `yaml:"copy"`
	// Migrate is what a worker takes to accept a request with its keys and
	// values. Default 10000: inferred.
	Migrate int `yaml:"migrate"`
	// ToolCall is what a tool takes to answer: its request keeps its slot, and the others
	// decode on. Default 10000000, ROLL Flash's environments (2510.11345: 10 s on the
	// average; here all calls take that). With tool_token 0, too, replies cost nothing.
	ToolCall int `yaml:"tool_call"`
	// ToolToken is what each token of its reply takes a worker: of n on d devices,
	// n*tool_token/d. Default 40, as prefill_token. The learner's passes are not charged
	// with them.
	ToolToken int `yaml:"tool_token"`
}

// DefaultCosts returns the defaults.
func DefaultCosts() Costs {
	return Costs{
		PrefillRequest: 1000, PrefillToken: 40, DecodeStep: 2400, DecodeSlot: 1500,
		LearnToken: 140, Sync: 640_000, Push: 640_000, Copy: 160_000, Migrate: 10_000, ToolCall: 10_000_000, ToolToken: 40,
	}
}

// Prefill is the ticks of n tokens on a worker of that many devices.
func (c Costs) Prefill(n, devices int) int {
	return c.PrefillRequest + ceilDiv(n*c.PrefillToken, devices)
}

// Decode is the ticks of a step of that many requests.
func (c Costs) Decode(requests, devices int) int {
	return c.DecodeStep + ceilDiv(requests*c.DecodeSlot, devices)
}

// Logp is the ticks of a scoring pass over the tokens on that many devices.
func (c Costs) Logp(tokens, devices int) int { return ceilDiv(tokens*c.LearnToken, devices) }

// Train is the ticks of a training pass.
func (c Costs) Train(tokens, devices int) int { return ceilDiv(3*tokens*c.LearnToken, devices) }

// Tools reports whether a tool's reply costs anything: who called is not asked else.
func (c Costs) Tools() bool { return c.ToolCall > 0 || c.ToolToken > 0 }

// Scaled returns the costs in ticks that are shorter by the factor.
func (c Costs) Scaled(factor int) Costs {
	for _, f := range c.fields() {
		*f.value *= factor
	}
	return c
}

type costField struct {
	name  string
	value *int
	least int
}

func (c *Costs) fields() []costField {
	return []costField{
		{"prefill_request", &c.PrefillRequest, 0}, {"prefill_token", &c.PrefillToken, 0},
		{"decode_step", &c.DecodeStep, 1}, {"decode_slot", &c.DecodeSlot, 0}, {"learn_token", &c.LearnToken, 1},
		{"sync", &c.Sync, 0}, {"push", &c.Push, 0}, {"copy", &c.Copy, 0}, {"migrate", &c.Migrate, 0},
		{"tool_call", &c.ToolCall, 0}, {"tool_token", &c.ToolToken, 0},
	}
}

// maxCost keeps the products of costs and tokens far from the end of int.
const maxCost = 1_000_000_000

// Validate checks the ranges.
func (c Costs) Validate() error {
	for _, f := range c.fields() {
		if *f.value < f.least || *f.value > maxCost {
			return fmt.Errorf("%s: %d is outside [%d, %d]", f.name, *f.value, f.least, maxCost)
		}
	}
	return nil
}

// ceilDiv is a/b rounded up, for numbers that are not negative.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
