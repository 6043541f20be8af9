package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"driftlab/experiments/diagnose/reader"
	"driftlab/results/stats/passk"
	"driftlab/trainer/method/masked"
)

// text is what can be said of rows without their log-probs: lengths, rewards, lag.
type text struct {
	rows, withText int
	characters     int
	rewards        int
	reward         float64
	lags, lag      int                     // responses with a recorded lag, and the sum of it
	spans, span    int                     // responses with a first and a last version, and the sum of what lies between
	prompts        map[uint64]*passk.Tally // the attempts at each
	lengths        map[int]*masked.Running // by step, of the last growthSteps
	last           int                     // the greatest step
}

// mostPrompts bounds how many prompts are distinguished.
const mostPrompts = 1 << 18

func (t *text) add(r *reader.Row) {
	t.rows++
	if n := r.Trained(); n > 0 && r.Step != reader.Unknown {
		if t.lengths == nil {
			t.lengths = map[int]*masked.Running{}
		}
		if t.lengths[r.Step] == nil {
			t.lengths[r.Step] = new(masked.Running)
		}
		t.lengths[r.Step].Add(float64(n))
		t.last = max(t.last, r.Step)
		if len(t.lengths) > 2*growthSteps { // those that growth cannot compare with the last one
			maps.DeleteFunc(t.lengths, func(step int, _ *masked.Running) bool { return step < t.last-growthSteps })
		}
	}
	if r.Text != "" {
		t.withText++
		t.characters += utf8.RuneCountInString(r.Text)
	}
	if r.Head != reader.Unknown && r.Tail != reader.Unknown {
		t.spans++
		t.span += r.Tail - r.Head
	}
	if lag := lagOf(r); lag >= 0 {
		t.lags++
		t.lag += lag
	}
	if math.IsNaN(r.Reward) {
		return
	}
	t.rewards++
	t.reward += r.Reward
	h := promptOf(r)
	if h == 0 {
		return
	}
	if t.prompts == nil {
		t.prompts = map[uint64]*passk.Tally{}
	}
	at := t.prompts[h]
	if at == nil {
		if len(t.prompts) == mostPrompts {
			return
		}
		at = &passk.Tally{}
		t.prompts[h] = at
	}
	at.Samples++
	if right := r.Reward > 0; math.IsNaN(r.Acc) && right || r.Acc > 0.5 {
		at.Correct++
	}
}

// promptOf is a hash of a prompt, 0 if it is not known.
func promptOf(r *reader.Row) uint64 {
	switch {
	case len(r.Prompt) > 0:
		return hashIDs(hashStart, r.Prompt)
	case r.PromptText != "":
		return hashText(r.PromptText)
	}
	return 0
}

// Responses is what is known of the responses in addition to their log-probs.
type Responses struct {
	// Rows are those that were complete; Characters the mean length of their text.
	Rows       int     `json:"rows"`
	Characters float64 `json:"characters,omitempty"`
	// Reward is the mean reward, Prompts how many there are, and Solved the share of those
	// with a positive reward in any attempt: pass@k for k attempts at each.
	Reward  *float64 `json:"reward,omitempty"`
	Prompts int      `json:"prompts,omitempty"`
	Solved  *float64 `json:"solved,omitempty"`
	// PassAt has pass@k for k = 1, 2, 4 and so on, as far as every prompt has attempts; absent where prompts have one.
	PassAt []PassAt `json:"pass_at,omitempty"`
	// Lag is the mean number of updates from the weights that sampled to those that learn, Span that of versions inside a response.
	Lag  *float64 `json:"lag,omitempty"`
	Span *float64 `json:"version_span,omitempty"`
	// Growth is how the length grows, absent where there is one step, or one of few responses.
	Growth *Growth `json:"growth,omitempty"`
}

// PassAt is the mean probability over prompts that one of k attempts is right: without bias, and as it reads if k attempts are
// drawn with replacement from those that were made.
type PassAt struct {
	K               int     `json:"k"`
	Unbiased        float64 `json:"unbiased"`
	WithReplacement float64 `json:"with_replacement"`
}

// passAt is worked out of the attempts at all prompts.
func (t *text) passAt() (list []PassAt) {
	least := math.MaxInt
	var tallies []passk.Tally
	for _, at := range t.prompts { // sums of a few values each: the counts below decide their order
		tallies = append(tallies, *at)
		least = min(least, at.Samples)
	}
	slices.SortFunc(tallies, func(a, b passk.Tally) int { return cmp.Or(a.Samples-b.Samples, a.Correct-b.Correct) })
	for k := 1; len(tallies) > 0 && least > 1 && k <= least; k *= 2 {
		drawn := 0.0
		for _, x := range tallies {
			drawn += passk.PlugIn(x.Samples, x.Correct, k)
		}
		list = append(list, PassAt{k, passk.Mean(tallies, k), drawn / float64(len(tallies))})
	}
	return list
}

// graded are findings on a dump of text alone: what its rewards say.
func (s *Responses) graded() []Finding {
	if len(s.PassAt) == 0 {
		if s.Reward == nil {
			return nil
		}
		return learns("rewards", Note, "", "mean reward %.3g of %s to %s", *s.Reward, count(s.Rows, "response"), count(s.Prompts, "prompt"))
	}
	text := fmt.Sprintf("%s, %.3g answers each: mean@%d %.3f", count(s.Prompts, "problem"), float64(s.Rows)/float64(s.Prompts), s.PassAt[len(s.PassAt)-1].K, s.PassAt[0].Unbiased)
	for _, p := range s.PassAt {
		text += fmt.Sprintf(", pass@%d %.3f", p.K, p.Unbiased)
	}
	last := s.PassAt[len(s.PassAt)-1]
	return learns("pass-at-k", Note, "", "%s (unbiased); best@%d drawn with replacement reads %.3f: a problem with c of n answers right is missed by (1 - c/n)^%[2]d of such draws", text, last.K, last.WithReplacement)
}

// Growth is how the mean number of trained tokens of a response has changed from the first
// of the last hundred steps to the last.
type Growth struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Error is the standard error of the difference.
	Error float64 `json:"error"`
}

// growthSteps is the survey's interval.
const growthSteps = 100

// growth compares the last step with the first one within growthSteps before it.
func (t *text) growth() *Growth {
	steps := slices.Sorted(maps.Keys(t.lengths))
	for _, from := range steps {
		to := steps[len(steps)-1]
		a, b := t.lengths[from], t.lengths[to]
		if from == to || to-from > growthSteps || min(a.N, b.N) < leastResponses {
			continue
		}
		sa, sb := a.Deviation(), b.Deviation()
		return &Growth{from, to, a.Mean, b.Mean, math.Sqrt(float64(sa*sa)/float64(a.N) + float64(sb*sb)/float64(b.N))}
	}
	return nil
}

func (t *text) summary() Responses {
	s := Responses{Rows: t.rows, Prompts: len(t.prompts), Growth: t.growth()}
	if t.withText > 0 {
		s.Characters = float64(t.characters) / float64(t.withText)
	}
	if t.rewards > 0 {
		s.Reward = new(t.reward / float64(t.rewards))
	}
	if len(t.prompts) > 0 {
		solved := 0
		for _, at := range t.prompts { // counted, in any order
			solved += count1(at.Correct > 0)
		}
		s.Solved = new(share(solved, len(t.prompts)))
	}
	s.PassAt = t.passAt()
	for _, mean := range []struct {
		to     **float64
		sum, n int
	}{{&s.Lag, t.lag, t.lags}, {&s.Span, t.span, t.spans}} {
		if mean.n > 0 {
			*mean.to = new(float64(mean.sum) / float64(mean.n))
		}
	}
	return s
}

// Shown is a part of a response that shows the gap well, for the eye.
type Shown struct {
	// Title says which response it is, and of what size its gap is.
	Title  string
	Tokens []ShownToken
}

// ShownToken is a token with what both engines make of it. ID is -1 where the dump has none.
type ShownToken struct {
	ID         int32
	Roll, Old  float64
	Place      int // among the trained tokens of the response
	Turn       int
	Difference float64 // old - roll
}

// How much is shown.
const (
	shownResponses = 3
	shownTokens    = 160
)

// Shown are the responses of the sample with the largest mean |d| of a stretch, the
// largest first: that stretch of each.
func (a *Analysis) Shown() []Shown {
	rows := a.sample.inOrder()
	type stretch struct {
		k        *kept
		from, to int
		size     float64
	}
	var list []stretch
	for _, k := range rows {
		s := stretch{k: k, to: min(shownTokens, len(k.roll)), size: -1}
		sum := 0.0
		for n := range k.roll {
			sum += size(k, n)
			if n >= shownTokens {
				sum -= size(k, n-shownTokens)
			}
			if from := max(0, n+1-shownTokens); (n+1 == len(k.roll) || n+1 >= shownTokens) && sum > s.size {
				s.from, s.to, s.size = from, n+1, sum
			}
		}
		s.size /= float64(s.to - s.from)
		list = append(list, s)
	}
	enough := func(s stretch) bool { return s.to-s.from >= 20 }
	slices.SortStableFunc(list, func(x, y stretch) int {
		if enough(x) != enough(y) { // a handful of tokens shows nothing
			return map[bool]int{true: -1, false: 1}[enough(x)]
		}
		return cmp.Compare(y.size, x.size)
	})
	var shown []Shown
	for _, s := range list[:min(shownResponses, len(list))] {
		view := Shown{Title: fmt.Sprintf("Response %d, tokens %d to %d of %d: mean |d| %.2g", s.k.number, s.from+1, s.to, len(s.k.roll), s.size)}
		for n := s.from; n < s.to; n++ {
			t := ShownToken{ID: -1, Roll: s.k.roll[n], Old: s.k.old[n], Place: n, Difference: s.k.old[n] - s.k.roll[n]}
			if s.k.id != nil {
				t.ID = s.k.id[n]
			}
			if n < len(s.k.turn) {
				t.Turn = int(s.k.turn[n])
			}
			view.Tokens = append(view.Tokens, t)
		}
		shown = append(shown, view)
	}
	return shown
}

// size is what a token adds: |d|, which one wild token cannot make everything of.
func size(k *kept, n int) float64 { return min(2, math.Abs(k.old[n]-k.roll[n])) }
