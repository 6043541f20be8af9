package diagnose

import (
	"hash/fnv"
	"math"
	"unicode/utf8"

	"driftlab/experiments/diagnose/reader"
)

// text is what can be said of rows without their log-probs: lengths, rewards, lag.
type text struct {
	rows, withText int
	characters     int
	rewards        int
	reward         float64
	lags, lag      int
	prompts        map[uint64]*attempts
}

// attempts are those at one prompt.
type attempts struct{ n, right int }

// mostPrompts bounds how many prompts are told apart.
const mostPrompts = 1 << 18

func (t *text) add(r *reader.Row) {
	t.rows++
	if r.Text != "" {
		t.withText++
		t.characters += utf8.RuneCountInString(r.Text)
	}
	if r.Head != reader.Unknown && r.Tail != reader.Unknown {
		t.lags++
		t.lag += r.Tail - r.Head
	}
	if math.IsNaN(r.Reward) {
		return
	}
	t.rewards++
	t.reward += r.Reward
	h := hashIDs(hashStart, r.Prompt)
	if r.Prompt == nil {
		if r.PromptText == "" {
			return
		}
		f := fnv.New64a()
		f.Write([]byte(r.PromptText))
		h = f.Sum64()
	}
	if t.prompts == nil {
		t.prompts = map[uint64]*attempts{}
	}
	at := t.prompts[h]
	if at == nil {
		if len(t.prompts) == mostPrompts {
			return
		}
		at = &attempts{}
		t.prompts[h] = at
	}
	at.n++
	if r.Reward > 0 {
		at.right++
	}
}

// Responses is what is known of the responses beside their log-probs.
type Responses struct {
	// Rows are those that were complete; Characters the mean length of their text.
	Rows       int     `json:"rows"`
	Characters float64 `json:"characters,omitempty"`
	// Reward is the mean reward, Prompts how many there are, and Solved the share of those
	// with a positive reward in any attempt: pass@k for k attempts at each.
	Reward  *float64 `json:"reward,omitempty"`
	Prompts int      `json:"prompts,omitempty"`
	Solved  *float64 `json:"solved,omitempty"`
	// Lag is the mean span of versions inside a response.
	Lag *float64 `json:"lag,omitempty"`
}

func (t *text) summary() Responses {
	s := Responses{Rows: t.rows, Prompts: len(t.prompts)}
	if t.withText > 0 {
		s.Characters = float64(t.characters) / float64(t.withText)
	}
	if t.rewards > 0 {
		mean := t.reward / float64(t.rewards)
		s.Reward = &mean
	}
	if len(t.prompts) > 0 {
		solved := 0
		for _, at := range t.prompts { // counted, in any order
			if at.right > 0 {
				solved++
			}
		}
		part := share(solved, len(t.prompts))
		s.Solved = &part
	}
	if t.lags > 0 {
		lag := float64(t.lag) / float64(t.lags)
		s.Lag = &lag
	}
	return s
}
