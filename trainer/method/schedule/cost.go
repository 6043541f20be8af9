package schedule

import (
	_ "embed"
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
	// devices, of n tokens, prefill_request + n*prefill_token/d.
	PrefillRequest int `yaml:"prefill_request" default:"1000" range:"[0,1000000000]"`
	// PrefillToken is what each of its tokens adds: a forward pass.
	PrefillToken int `yaml:"prefill_token" default:"40" range:"[0,1000000000]"`
	// DecodeStep is what a decode step takes whatever the number of requests: of a
	// of them on d devices, decode_step + a*decode_slot/d. The default is inferred.
	DecodeStep int `yaml:"decode_step" default:"2400" range:"[1,1000000000]"`
	// DecodeSlot is what each request adds to it. The default ratio makes a
	// worker of a synchronous run (16 requests per device) eleven times slower per
	// step than one request: then the last tenth of the requests takes about half of the
	// rollout's time, which Seer (2511.14617) measured; a constant speed per slot
	// would exaggerate every asynchronous gain. The default is inferred.
	DecodeSlot int `yaml:"decode_slot" default:"1500" range:"[0,1000000000]"`
	// LearnToken is a forward pass of the learner over one token on one device: a
	// pass for log-probs takes it once, training three times (FLOPs; verl
	// measured .31 to .47 for one to three). The default makes the rollout 84% of
	// a synchronous step, as on Moonlight (Seer, 84/14/2).
	LearnToken int `yaml:"learn_token" default:"140" range:"[1,1000000000]"`
	// Sync is what a worker takes to load weights: Laminar's stall for 32B (2510.12633).
	Sync int `yaml:"sync" default:"640000" range:"[0,1000000000]"`
	// Push is what the learner takes to send them. As Sync.
	Push int `yaml:"push" default:"640000" range:"[0,1000000000]"`
	// Copy is what the learner takes to keep a copy of its weights, to bring one in or
	// to average one. The default is inferred: a 32B model's 64 GB over eight links of
	// 50 GB/s.
	Copy int `yaml:"copy" default:"160000" range:"[0,1000000000]"`
	// Migrate is what a worker takes to accept a request with its keys and
	// values. The default is inferred.
	Migrate int `yaml:"migrate" default:"10000" range:"[0,1000000000]"`
	// ToolCall is what a tool takes to answer: its request keeps its slot, and the others
	// decode on. The default is ROLL Flash's environments (2510.11345: 10 s on the
	// average; here all calls take that). With tool_token 0, too, replies cost nothing.
	ToolCall int `yaml:"tool_call" default:"10000000" range:"[0,1000000000]"`
	// ToolToken is what each token of its reply takes a worker: of n on d devices,
	// n*tool_token/d. As prefill_token. The learner's passes are not charged
	// with them.
	ToolToken int `yaml:"tool_token" default:"40" range:"[0,1000000000]"`
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
	for _, cost := range []*int{
		&c.PrefillRequest, &c.PrefillToken, &c.DecodeStep, &c.DecodeSlot, &c.LearnToken,
		&c.Sync, &c.Push, &c.Copy, &c.Migrate, &c.ToolCall, &c.ToolToken,
	} {
		*cost *= factor
	}
	return c
}

// ceilDiv is a/b rounded up, for numbers that are not negative.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
