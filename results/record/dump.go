package record

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// DumpLine is one sampled sequence of a per-token dump: one JSON object per
// line, for anyone's own analysis. A list has one entry per response token, in
// order, unless it is named after the prompt. A list that was not recorded is
// null, never zeros. Log-probs are natural logarithms.
//
// A line and the weights of its versions are all that its log-probs depend on,
// but for what a recipe keeps from step to step or replays in addition to routes: the
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
	// LogpVerifier is the log-prob in the verifier, LogpLaw that of the distribution from which verification emitted the token.
	LogpVerifier Floats `json:"logp_verifier"`
	LogpLaw      Floats `json:"logp_law"`
	// TurnID numbers the turn of a multi-turn response, from 0.
	TurnID []int32 `json:"turn_id"`
	// LogpBehaviour is the log-prob in the learner at the token's Version, where older weights than the learner's may
	// have sampled. The log-ratio of LogpNew to LogpRollout is then drift (new to old), lag (old to behaviour) and
	// engine (behaviour to rollout), which has what keys of older weights make of it, too.
	LogpBehaviour Floats `json:"logp_behaviour"`
	// Stale is true on tokens that saw keys and values of older weights than their Version's: each position's are of
	// the Version of the token after it, the prompt's of the first token's. Null where none did.
	Stale []bool `json:"stale"`
	// ActualVersion is the number of updates behind the oldest tensor of the weights that produced each token: less
	// than Version where a weight sync was not whole. Left out of a run whose recipe has no rollout.weight_sync.
	ActualVersion []int32 `json:"actual_version,omitempty"`
	// LearnerVersion is the number of updates behind LogpOld. Left out where it is Step − 1, one update per step.
	LearnerVersion int `json:"learner_version,omitempty"`
}

// The keys that lines of most runs do not have.
const (
	actualVersionKey  = "actual_version"
	learnerVersionKey = "learner_version"
)

// dumpNames are the keys of a line, in order: the tags of DumpLine.
var dumpNames = func() (names []string) {
	for i := range reflect.TypeFor[DumpLine]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[DumpLine]().Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// columns returns pointers to the fields of a line, by their keys.
func (d *DumpLine) columns(yield func(name string, column any) bool) {
	line := reflect.ValueOf(d).Elem()
	for i, name := range dumpNames {
		if !yield(name, line.Field(i).Addr().Interface()) {
			return
		}
	}
}

// check returns an error when a recorded list does not fit the tokens.
func (d *DumpLine) check() error {
	for name, column := range d.columns {
		n := len(d.TokenIDs)
		if strings.HasPrefix(name, "prompt_") {
			n = max(len(d.PromptIDs)-1, 0)
		}
		length, given := n, false
		switch c := column.(type) {
		case *KVMasks:
			length, given = c.tokens(), c.Kept != nil
		case *Routes:
			recorded := len(c.Expert) > 0 || c.Expert != nil && n > 0 // else there was nothing to record
			if recorded && (c.Layers < 1 || c.TopK < 1 || len(c.Expert) != n*c.Layers*c.TopK) {
				return fmt.Errorf("record: dump: %s has %d entries for %d tokens, %d layers, top-%d", name, len(c.Expert), n, c.Layers, c.TopK)
			}
		default:
			if list := reflect.ValueOf(column).Elem(); list.Kind() == reflect.Slice && name != "prompt_ids" {
				length, given = list.Len(), !list.IsNil()
			}
		}
		if given && length != n {
			return fmt.Errorf("record: dump: %s has %d entries for %d tokens", name, length, n)
		}
	}
	return nil
}

// appendJSON appends the line without its newline. It writes what
// encoding/json would, in a third of its time and without its allocations: a step
// may dump thousands of lists.
func (d *DumpLine) appendJSON(b []byte) ([]byte, error) {
	if err := d.check(); err != nil {
		return b, err
	}
	open := byte('{')
	for name, column := range d.columns {
		if name == actualVersionKey && d.ActualVersion == nil || name == learnerVersionKey && d.LearnerVersion == 0 {
			continue
		}
		b = append(append(append(b, open, '"'), name...), `":`...)
		open = ','
		switch c := column.(type) {
		case *string:
			text, err := json.Marshal(*c)
			if err != nil {
				return b, err
			}
			b = append(b, text...)
		case *int:
			b = strconv.AppendInt(b, int64(*c), 10)
		case *int64:
			b = strconv.AppendInt(b, *c, 10)
		case *bool:
			b = strconv.AppendBool(b, *c)
		case *float64:
			b = AppendFloat(b, *c)
		case *[]int32:
			b = appendInts(b, *c)
		case *[]bool:
			b = appendList(b, *c, strconv.AppendBool)
		case *Floats:
			b = appendList(b, *c, AppendFloat)
		case *[][]int32:
			b = appendList(b, *c, appendInts)
		case *KVMasks:
			b = appendKVMasks(b, *c)
		case *Routes:
			var err error
			if b, err = appendRoutes(b, *c); err != nil {
				return b, err
			}
		}
	}
	return append(b, '}'), nil
}
