package bench

// Peer is the document of bench --peer: what a tool in another framework needs to make the
// same step, and what it took here.
type Peer struct {
	// Sizes are named as the flags of bench, and of the tools.
	Sizes map[string]int `json:"sizes"`
	Heads int            `json:"head_width"`
	// KVHeads, Positions and NormEps complete the model; prompts and responses are Context long.
	KVHeads   int     `json:"kv_heads"`
	Positions string  `json:"positions"`
	RopeTheta float64 `json:"rope_theta"`
	NormEps   float64 `json:"norm_eps"`
	// WeightSeed and PromptSeed are the seeds of the weights and prompts, which the files hold.
	WeightSeed int `json:"weight_seed"`
	PromptSeed int `json:"prompt_seed"`
	// Checkpoint is a folder in Hugging Face's layout, GGUF a file for llama.cpp, empty where
	// its format does not hold the model, and Prompts a JSON list of the responses' prompts.
	Checkpoint string `json:"checkpoint"`
	GGUF       string `json:"gguf,omitempty"`
	Prompts    string `json:"prompts"`
	// Adam says how the weights are updated; there is no weight decay.
	Adam map[string]float64 `json:"adam"`
	// Phases are timed on one thread unless --workers says otherwise: processor_s and
	// processor_least_s are to be compared, with tools that run in turns with this program.
	Result Result `json:"result"`
}

// Peer describes the step; the command adds the result and where the files are.
func (c Step) Peer() Peer {
	m := c.Model
	return Peer{
		Sizes: map[string]int{"d": m.DModel, "layers": m.Layers, "heads": m.Heads, "experts": m.Experts, "topk": m.TopK, "ff": m.DFF, "vocab": m.Vocab,
			"batch": c.Batch, "group": c.Group, "prompt": c.Prompt, "gen": c.Gen, "slots": c.Slots, "steps": c.Steps},
		Heads: m.HeadDim(), KVHeads: m.KVHeads, Positions: m.Positions, RopeTheta: m.RopeTheta, NormEps: m.NormEps,
		WeightSeed: weightSeed, PromptSeed: promptSeed,
		Adam: map[string]float64{"learning_rate": learningRate, "beta1": adam.Beta1, "beta2": adam.Beta2, "eps": adam.Eps, "clip_norm": adam.ClipNorm},
	}
}

// Prompts are the prompts of the responses, in order: token ids.
func (c Step) Prompts() [][]int32 {
	var list [][]int32
	for _, r := range c.requests() {
		list = append(list, r.Prompt)
	}
	return list
}
