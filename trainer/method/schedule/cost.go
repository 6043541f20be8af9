package schedule

import (
	_ "embed"
)

//go:embed cost.go
var costsSource string

// CostsSource is the declaration of Costs, for what the comments of its fields say.
func CostsSource() string { return costsSource }

// Costs are the durations on the virtual clock, in ticks. A tick of the defaults is a
// microsecond of a 32B model on one device. Only their ratios matter: multiplying all of
// them changes no order of events.
type Costs struct {
	// PrefillRequest is the part of a prefill that does not depend on its length. On a
	// worker of d devices, n tokens take prefill_request + n*prefill_token/d.
	PrefillRequest int `yaml:"prefill_request" default:"1000" range:"[0,1000000000]"`
	// PrefillToken is the part for each token of a prefill: a forward pass.
	PrefillToken int `yaml:"prefill_token" default:"40" range:"[0,1000000000]"`
	// DecodeStep is the part of a decode step that does not depend on the number of
	// requests. On d devices, a requests take decode_step + a*decode_slot/d. The default
	// is inferred.
	DecodeStep int `yaml:"decode_step" default:"2400" range:"[1,1000000000]"`
	// DecodeSlot is the part of a decode step for each request. With the default ratio,
	// a worker of a synchronous run (16 requests per device) takes eleven times as long
	// per step as for one request; the last tenth of the requests then takes about half
	// of the rollout's time, as Seer measured (2511.14617). A constant speed per slot
	// would exaggerate every asynchronous gain. The default is inferred.
	DecodeSlot int `yaml:"decode_slot" default:"1500" range:"[0,1000000000]"`
	// LearnToken is a forward pass of the learner over one token on one device. A
	// pass for log-probs takes it once, training three times (FLOPs; verl measured a
	// ratio of 0.31 to 0.47). With the default, the rollout takes 84 % of a synchronous
	// step, as on Moonlight (Seer: 84 % rollout, 14 % training, 2 % the rest).
	LearnToken int `yaml:"learn_token" default:"140" range:"[1,1000000000]"`
	// Sync is how long a worker takes to load weights. The default is Laminar's stall
	// for a 32B model (2510.12633).
	Sync int `yaml:"sync" default:"640000" range:"[0,1000000000]"`
	// Push is how long the learner takes to send weights. The default is that of sync.
	Push int `yaml:"push" default:"640000" range:"[0,1000000000]"`
	// Copy is how long the learner takes to keep a copy of its weights, to load one or
	// to update an average. The default is inferred: the 64 GB of a 32B model over eight
	// links of 50 GB/s.
	Copy int `yaml:"copy" default:"160000" range:"[0,1000000000]"`
	// Migrate is how long a worker takes to accept a request with its keys and
	// values. The default is inferred.
	Migrate int `yaml:"migrate" default:"10000" range:"[0,1000000000]"`
	// ToolCall is how long a tool takes to answer. Its request keeps its slot, and the
	// others decode on. The default is the mean of ROLL Flash's environments, 10 s
	// (2510.11345); here every call takes that long. With tool_token 0 as well, replies
	// cost nothing.
	ToolCall int `yaml:"tool_call" default:"10000000" range:"[0,1000000000]"`
	// ToolToken is how long a worker takes to read a token of a tool's reply: n tokens
	// take n*tool_token/d on d devices. The default is that of prefill_token. The
	// learner's passes do not pay for these tokens.
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

func (c Costs) train(tokens, devices int) int { return ceilDiv(3*tokens*c.LearnToken, devices) }

// tools reports whether a tool's reply costs anything; without that, drivers are not
// asked which requests called one.
func (c Costs) tools() bool { return c.ToolCall > 0 || c.ToolToken > 0 }

// ceilDiv is a/b rounded up, for numbers that are not negative.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
