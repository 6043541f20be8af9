package schedule

// Costs are the durations on the virtual clock, in ticks. Only their ratios matter: multiplying all of
// them changes no order of events. What each of them is stands in trainer/recipe/fields.txt.
type Costs struct {
	PrefillRequest int `yaml:"prefill_request" default:"1000" range:"[0,1000000000]"`
	PrefillToken   int `yaml:"prefill_token" default:"40" range:"[0,1000000000]"`
	DecodeStep     int `yaml:"decode_step" default:"2400" range:"[1,1000000000]"`
	DecodeSlot     int `yaml:"decode_slot" default:"1500" range:"[0,1000000000]"`
	LearnToken     int `yaml:"learn_token" default:"140" range:"[1,1000000000]"`
	Sync           int `yaml:"sync" default:"640000" range:"[0,1000000000]"`
	Push           int `yaml:"push" default:"640000" range:"[0,1000000000]"`
	Copy           int `yaml:"copy" default:"160000" range:"[0,1000000000]"`
	Migrate        int `yaml:"migrate" default:"10000" range:"[0,1000000000]"`
	ToolCall       int `yaml:"tool_call" default:"10000000" range:"[0,1000000000]"`
	ToolToken      int `yaml:"tool_token" default:"40" range:"[0,1000000000]"`
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
