package results

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// DumpLine is one sampled sequence of a per-token dump: one JSON object per
// line, for anyone's own analysis. Every list has one entry per response
// token, in order; the prompt is not in it. A list that was not recorded is
// null, never zeros. Log-probs are natural logarithms.
type DumpLine struct {
	// Run is the run's name and Step the training step, from 1; 0 for a measurement without training.
	Run  string `json:"run"`
	Step int    `json:"step"`
	// Sample numbers the sequences of a step, Group their prompt groups, both from 0.
	Sample int `json:"sample"`
	Group  int `json:"group"`
	// PromptID names the prompt within the task.
	PromptID int64 `json:"prompt_id"`
	// TokenIDs are the response tokens; Mask is false on tokens the policy did not generate.
	TokenIDs []int32 `json:"token_ids"`
	Mask     []bool  `json:"mask"`
	// LogpRollout, LogpOld and LogpNew are the sampled token's log-prob in the rollout engine, in the
	// learner before the step's first update, and in the learner under the weights of the last update's forward pass.
	LogpRollout Floats `json:"logp_rollout"`
	LogpOld     Floats `json:"logp_old"`
	LogpNew     Floats `json:"logp_new"`
	// Advantage is per token, Reward per sequence.
	Advantage Floats  `json:"advantage"`
	Reward    float64 `json:"reward"`
	// Version is the number of updates behind the weights that produced each token.
	Version []int32 `json:"version"`
	// Temperature, TopP and TopK are the sampling settings; TopK 0 keeps the whole vocabulary.
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	// KeptMass is the probability that the sampling support kept, 1 without top-p and top-k.
	KeptMass Floats `json:"kept_mass"`
	// RoutesRollout and RoutesLearner are the experts each token visited, [token][layer][rank].
	RoutesRollout Routes `json:"routes_rollout"`
	RoutesLearner Routes `json:"routes_learner"`
	// TurnID numbers the turn of a multi-turn response, from 0.
	TurnID []int32 `json:"turn_id"`
}

// Floats are numbers in JSON, with "nan", "inf" and "-inf" as strings. A plain
// []float64 can be assigned to it.
type Floats []float64

// MarshalJSON writes a list, or null for a nil one.
func (f Floats) MarshalJSON() ([]byte, error) { return appendFloats(nil, f), nil }

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Floats) UnmarshalJSON(text []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if raw == nil {
		*f = nil
		return nil
	}
	out := make(Floats, len(raw))
	for i, entry := range raw {
		var word string
		if json.Unmarshal(entry, &word) == nil && string(entry) != "null" {
			v, ok := parseWord(word)
			if !ok {
				return fmt.Errorf("entry %d: want a number, \"nan\", \"inf\" or \"-inf\", have %q", i, word)
			}
			out[i] = v
			continue
		}
		v, err := strconv.ParseFloat(string(entry), 64)
		if err != nil {
			return fmt.Errorf("entry %d: want a number, have %s", i, entry)
		}
		out[i] = v
	}
	*f = out
	return nil
}

// Routes are the experts that tokens visited, flat in the order
// [token][layer][rank]; in JSON they are nested lists.
type Routes struct {
	Layers, TopK int
	// Expert has Layers*TopK entries per token; nil when not recorded.
	Expert []uint8
}

// MarshalJSON writes the nested lists, or null where nothing was recorded.
func (r Routes) MarshalJSON() ([]byte, error) { return appendRoutes(nil, r) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Routes) UnmarshalJSON(text []byte) error {
	var nested [][][]uint16 // []uint8 would be read as base64
	if err := json.Unmarshal(text, &nested); err != nil {
		return err
	}
	*r = Routes{}
	if nested == nil {
		return nil
	}
	r.Expert = []uint8{}
	for t, layers := range nested {
		if t == 0 {
			r.Layers = len(layers)
			if r.Layers > 0 {
				r.TopK = len(layers[0])
			}
		}
		if len(layers) != r.Layers {
			return fmt.Errorf("routes: token %d has %d layers, token 0 has %d", t, len(layers), r.Layers)
		}
		for l, ranks := range layers {
			if len(ranks) != r.TopK {
				return fmt.Errorf("routes: token %d, layer %d has %d experts, the first has %d", t, l, len(ranks), r.TopK)
			}
			for _, e := range ranks {
				if e > 255 {
					return fmt.Errorf("routes: expert %d is out of range", e)
				}
				r.Expert = append(r.Expert, uint8(e))
			}
		}
	}
	return nil
}

// check returns an error when a recorded list does not fit the tokens.
func (d *DumpLine) check() error {
	n := len(d.TokenIDs)
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
		{"turn_id", len(d.TurnID), d.TurnID != nil},
	} {
		if c.given && c.length != n {
			return fmt.Errorf("results: dump: %s has %d entries for %d tokens", c.name, c.length, n)
		}
	}
	for _, r := range [...]struct {
		name string
		Routes
	}{{"routes_rollout", d.RoutesRollout}, {"routes_learner", d.RoutesLearner}} {
		if len(r.Expert) == 0 && (r.Expert == nil || n == 0) {
			continue // not recorded, or nothing to record
		}
		if r.Layers < 1 || r.TopK < 1 || len(r.Expert) != n*r.Layers*r.TopK {
			return fmt.Errorf("results: dump: %s has %d entries for %d tokens, %d layers, top-%d",
				r.name, len(r.Expert), n, r.Layers, r.TopK)
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
	b = appendInts(append(b, `,"token_ids":`...), d.TokenIDs)
	b = appendBools(append(b, `,"mask":`...), d.Mask)
	b = appendFloats(append(b, `,"logp_rollout":`...), d.LogpRollout)
	b = appendFloats(append(b, `,"logp_old":`...), d.LogpOld)
	b = appendFloats(append(b, `,"logp_new":`...), d.LogpNew)
	b = appendFloats(append(b, `,"advantage":`...), d.Advantage)
	b = appendFloat(append(b, `,"reward":`...), d.Reward)
	b = appendInts(append(b, `,"version":`...), d.Version)
	b = appendFloat(append(b, `,"temperature":`...), d.Temperature)
	b = appendFloat(append(b, `,"top_p":`...), d.TopP)
	b = strconv.AppendInt(append(b, `,"top_k":`...), int64(d.TopK), 10)
	b = appendFloats(append(b, `,"kept_mass":`...), d.KeptMass)
	if b, err = appendRoutes(append(b, `,"routes_rollout":`...), d.RoutesRollout); err != nil {
		return b, err
	}
	if b, err = appendRoutes(append(b, `,"routes_learner":`...), d.RoutesLearner); err != nil {
		return b, err
	}
	b = appendInts(append(b, `,"turn_id":`...), d.TurnID)
	return append(b, '}'), nil
}

func appendInts(b []byte, list []int32) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	return append(b, ']')
}

func appendBools(b []byte, list []bool) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendBool(b, v)
	}
	return append(b, ']')
}

func appendFloats(b []byte, list []float64) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	return append(b, ']')
}

func appendRoutes(b []byte, r Routes) ([]byte, error) {
	if r.Expert == nil {
		return append(b, "null"...), nil
	}
	if len(r.Expert) == 0 {
		return append(b, "[]"...), nil
	}
	per := r.Layers * r.TopK
	if per < 1 || len(r.Expert)%per != 0 {
		return b, fmt.Errorf("results: routes: %d entries for %d layers, top-%d", len(r.Expert), r.Layers, r.TopK)
	}
	b = append(b, '[')
	for i, e := range r.Expert {
		if i%per == 0 {
			if i > 0 {
				b = append(b, "]],"...)
			}
			b = append(b, "[["...)
		} else if i%r.TopK == 0 {
			b = append(b, "],["...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(e), 10)
	}
	return append(b, "]]]"...), nil
}
