package record

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// DumpLine is one sampled sequence of a per-token dump: one JSON object per
// line, for anyone's own analysis. A list has one entry per response token, in
// order, unless it is named after the prompt. A list that was not recorded is
// null, never zeros. Log-probs are natural logarithms.
//
// A line and the weights of its versions are all that its log-probs depend on,
// but for what a recipe keeps from step to step or replays beside routes: the
// scales of a static KV cache and recorded gates.
type DumpLine struct {
	// Run is the run's name and Step the training step, from 1; 0 for a measurement without training.
	Run  string `json:"run"`
	Step int    `json:"step"`
	// Sample numbers the sequences of a step, Group their prompt groups, both from 0.
	Sample int `json:"sample"`
	Group  int `json:"group"`
	// PromptID names the prompt within the task, Difficulty is the value of the task's knob.
	PromptID   int64 `json:"prompt_id"`
	Difficulty int   `json:"difficulty"`
	// PromptIDs are the prompt's tokens, the first is BOS.
	PromptIDs []int32 `json:"prompt_ids"`
	// TokenIDs are the response tokens; Mask is false on tokens the policy did not generate.
	TokenIDs []int32 `json:"token_ids"`
	Mask     []bool  `json:"mask"`
	// Finished is false where the response was cut before its stop token.
	Finished bool `json:"finished"`
	// LogpRollout, LogpOld and LogpNew are the sampled token's log-prob in the rollout engine, in the
	// learner before the step's first update, and in the learner's training forward: that of the last update the
	// token took part in, before the update. With one update per step, LogpNew is LogpOld.
	LogpRollout Floats `json:"logp_rollout"`
	LogpOld     Floats `json:"logp_old"`
	LogpNew     Floats `json:"logp_new"`
	// Advantage is per token, Reward per sequence.
	Advantage Floats  `json:"advantage"`
	Reward    float64 `json:"reward"`
	// Correct and Format are the verifier's verdict, whatever the reward makes of it: a right answer, and the form
	// of a demonstration.
	Correct bool `json:"correct"`
	Format  bool `json:"format"`
	// Version is the number of updates behind the weights that produced each token.
	Version []int32 `json:"version"`
	// Temperature, TopP and TopK are the sampling settings; TopK 0 keeps the whole vocabulary.
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	// KeptMass is the probability that the sampling support kept, 1 without top-p and top-k; Support are its tokens,
	// null for the whole vocabulary.
	KeptMass Floats    `json:"kept_mass"`
	Support  [][]int32 `json:"support"`
	// RoutesRollout and RoutesLearner are the experts each token visited, [token][layer][rank].
	RoutesRollout Routes `json:"routes_rollout"`
	RoutesLearner Routes `json:"routes_learner"`
	// PromptRoutesRollout and PromptRoutesLearner are those of the prompt's tokens but the last, which
	// predicts the first response token.
	PromptRoutesRollout Routes `json:"prompt_routes_rollout"`
	PromptRoutesLearner Routes `json:"prompt_routes_learner"`
	// KVKept is what a compressed KV cache still held for each token.
	KVKept KVMasks `json:"kv_kept"`
	// Draft says what became of each place in speculative decoding: 0 not drafted, 1 a draft that passed, 2 the
	// verifier's token in place of a draft. Window numbers the verifier's passes, -1 for tokens of tools, and
	// DrafterVersion is the drafter's Version, -1 where nothing was drafted.
	Draft          []int32 `json:"draft"`
	Window         []int32 `json:"window"`
	DrafterVersion []int32 `json:"drafter_version"`
	// LogpVerifier is the log-prob in the verifier, LogpLaw that of the law by which verification emitted the token.
	LogpVerifier Floats `json:"logp_verifier"`
	LogpLaw      Floats `json:"logp_law"`
	// TurnID numbers the turn of a multi-turn response, from 0.
	TurnID []int32 `json:"turn_id"`
}

// check returns an error when a recorded list does not fit the tokens.
func (d *DumpLine) check() error {
	n, prompt := len(d.TokenIDs), max(len(d.PromptIDs)-1, 0)
	for _, c := range [...]struct {
		name   string
		length int
		given  bool
	}{
		{"mask", len(d.Mask), d.Mask != nil},
		{"logp_rollout", len(d.LogpRollout), d.LogpRollout != nil},
		{"logp_old", len(d.LogpOld), d.LogpOld != nil},
		{"logp_new", len(d.LogpNew), d.LogpNew != nil},
		{"advantage", len(d.Advantage), d.Advantage != nil},
		{"version", len(d.Version), d.Version != nil},
		{"kept_mass", len(d.KeptMass), d.KeptMass != nil},
		{"support", len(d.Support), d.Support != nil},
		{"kv_kept", d.KVKept.tokens(), d.KVKept.Kept != nil},
		{"draft", len(d.Draft), d.Draft != nil},
		{"window", len(d.Window), d.Window != nil},
		{"drafter_version", len(d.DrafterVersion), d.DrafterVersion != nil},
		{"logp_verifier", len(d.LogpVerifier), d.LogpVerifier != nil},
		{"logp_law", len(d.LogpLaw), d.LogpLaw != nil},
		{"turn_id", len(d.TurnID), d.TurnID != nil},
	} {
		if c.given && c.length != n {
			return fmt.Errorf("record: dump: %s has %d entries for %d tokens", c.name, c.length, n)
		}
	}
	for _, r := range [...]struct {
		name   string
		tokens int
		Routes
	}{{"routes_rollout", n, d.RoutesRollout}, {"routes_learner", n, d.RoutesLearner},
		{"prompt_routes_rollout", prompt, d.PromptRoutesRollout}, {"prompt_routes_learner", prompt, d.PromptRoutesLearner}} {
		if len(r.Expert) == 0 && (r.Expert == nil || r.tokens == 0) {
			continue // not recorded, or nothing to record
		}
		if r.Layers < 1 || r.TopK < 1 || len(r.Expert) != r.tokens*r.Layers*r.TopK {
			return fmt.Errorf("record: dump: %s has %d entries for %d tokens, %d layers, top-%d",
				r.name, len(r.Expert), r.tokens, r.Layers, r.TopK)
		}
	}
	return nil
}

// appendJSON appends the line without its newline. It writes what
// encoding/json would, without its allocations: a step may dump thousands of lists.
func (d *DumpLine) appendJSON(b []byte) ([]byte, error) {
	if err := d.check(); err != nil {
		return b, err
	}
	name, err := json.Marshal(d.Run)
	if err != nil {
		return b, err
	}
	b = append(append(b, `{"run":`...), name...)
	b = strconv.AppendInt(append(b, `,"step":`...), int64(d.Step), 10)
	b = strconv.AppendInt(append(b, `,"sample":`...), int64(d.Sample), 10)
	b = strconv.AppendInt(append(b, `,"group":`...), int64(d.Group), 10)
	b = strconv.AppendInt(append(b, `,"prompt_id":`...), d.PromptID, 10)
	b = strconv.AppendInt(append(b, `,"difficulty":`...), int64(d.Difficulty), 10)
	b = appendInts(append(b, `,"prompt_ids":`...), d.PromptIDs)
	b = appendInts(append(b, `,"token_ids":`...), d.TokenIDs)
	b = appendBools(append(b, `,"mask":`...), d.Mask)
	b = strconv.AppendBool(append(b, `,"finished":`...), d.Finished)
	b = appendFloats(append(b, `,"logp_rollout":`...), d.LogpRollout)
	b = appendFloats(append(b, `,"logp_old":`...), d.LogpOld)
	b = appendFloats(append(b, `,"logp_new":`...), d.LogpNew)
	b = appendFloats(append(b, `,"advantage":`...), d.Advantage)
	b = AppendFloat(append(b, `,"reward":`...), d.Reward)
	b = strconv.AppendBool(append(b, `,"correct":`...), d.Correct)
	b = strconv.AppendBool(append(b, `,"format":`...), d.Format)
	b = appendInts(append(b, `,"version":`...), d.Version)
	b = AppendFloat(append(b, `,"temperature":`...), d.Temperature)
	b = AppendFloat(append(b, `,"top_p":`...), d.TopP)
	b = strconv.AppendInt(append(b, `,"top_k":`...), int64(d.TopK), 10)
	b = appendFloats(append(b, `,"kept_mass":`...), d.KeptMass)
	b = appendSupport(append(b, `,"support":`...), d.Support)
	for _, r := range [...]struct {
		key string
		Routes
	}{{`,"routes_rollout":`, d.RoutesRollout}, {`,"routes_learner":`, d.RoutesLearner},
		{`,"prompt_routes_rollout":`, d.PromptRoutesRollout}, {`,"prompt_routes_learner":`, d.PromptRoutesLearner}} {
		if b, err = appendRoutes(append(b, r.key...), r.Routes); err != nil {
			return b, err
		}
	}
	b = appendKVMasks(append(b, `,"kv_kept":`...), d.KVKept)
	b = appendInts(append(b, `,"draft":`...), d.Draft)
	b = appendInts(append(b, `,"window":`...), d.Window)
	b = appendInts(append(b, `,"drafter_version":`...), d.DrafterVersion)
	b = appendFloats(append(b, `,"logp_verifier":`...), d.LogpVerifier)
	b = appendFloats(append(b, `,"logp_law":`...), d.LogpLaw)
	b = appendInts(append(b, `,"turn_id":`...), d.TurnID)
	return append(b, '}'), nil
}
