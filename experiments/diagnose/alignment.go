package diagnose

import "math"

// place is how the two columns of a response stand to each other.
type place int

// The places. A response of too little information is unclear.
const (
	unclear    place = iota
	aligned          // value i of both belongs to token i
	shifted          // all of one column is some tokens late or early
	fromPrompt       // the rollout column begins where the prompt does
	slid             // behind some token the columns fit when one is moved by a token
	reversed         // the last value comes first
	unrelated        // they fit nowhere
)

// alignment is the place of a response, by how many tokens the rollout column is late, and how far apart its columns are as
// they stand, and would be by chance.
type alignment struct {
	place       place
	by          int
	own, chance float64
}

const (
	// slidCap is the most that a token may count, in nats.
	slidCap = 2
	// A column fits where its mean distance to the other is at most fits of that between any two of
	// the response's values, and is unrelated from strange on. What is aligned may be as bad as atMost.
	fits, atMost, chanceLike = 0.35, 0.5, 0.75
	// informative is how far apart, in nats over the response, two unrelated columns must be.
	informative = 4
	// farthest is the longest shift that is looked for.
	farthest = 3
	// slidGain is how much closer, in nats, the columns must come behind a cut when one of them is moved by a
	// token, and slidTokens how many tokens must lie behind it.
	slidGain, slidTokens = 3, 4
	// fewPairs is up to how many tokens all pairs are compared.
	fewPairs = 48
)

// distance is the mean distance of pairs of log-probs. A log-prob of exactly 0 says nothing of where it belongs.
type distance struct {
	sum float64
	n   int
}

func (s *distance) add(old, roll float64) {
	if old != 0 && roll != 0 {
		s.sum += min(math.Abs(old-roll), slidCap)
		s.n++
	}
}

func (s distance) mean() float64 { return s.sum / float64(max(s.n, 1)) }

// anyTwo is the mean distance of any value of a column to any of the other: of all pairs, or of columns that are turned by
// a fifth to four fifths of the response.
func anyTwo(old, roll []float64) float64 {
	var s distance
	n := len(old)
	if n <= fewPairs {
		for i, x := range old {
			for j, y := range roll {
				if i != j {
					s.add(x, y)
				}
			}
		}
		return s.mean()
	}
	for part := 1; part < 5; part++ {
		turn := part * n / 5
		for i, x := range old {
			s.add(x, roll[(i+turn)%n])
		}
	}
	return s.mean()
}

// alignment is worked out once for a response.
func (v *view) alignment() alignment {
	if !v.placed {
		v.placed, v.stands = true, alignment{}
		if !flat(v.roll) && !flat(v.old) { // or it is no column of log-probs
			var own distance
			for i, roll := range v.roll {
				own.add(v.old[i], roll)
			}
			chance := anyTwo(v.old, v.roll)
			v.stands = v.align(own, chance)
			v.stands.own, v.stands.chance = own.sum, float64(own.n)*chance
		}
	}
	return v.stands
}

func (v *view) align(own distance, chance float64) alignment {
	for _, by := range [...]int{-1, 1} {
		if v.slides(by, chance) {
			return alignment{place: slid, by: by}
		}
	}
	told := float64(own.n)*chance >= informative
	if told && own.n >= len(v.roll)/2 && own.mean() <= atMost*chance {
		return alignment{place: aligned}
	}
	if v.beginsAtPrompt() {
		return alignment{place: fromPrompt, by: -len(v.row.Prompt)}
	}
	if !told {
		return alignment{}
	}
	if own.mean() <= atMost*chance {
		return alignment{place: aligned}
	}
	best, least := alignment{}, fits*chance
	for by := -farthest; by <= farthest; by++ {
		if s := v.moved(by, 0); by != 0 && 2*s.n >= own.n && s.mean() <= least {
			best, least = alignment{place: shifted, by: by}, s.mean()
		}
	}
	var back distance
	for i, roll := range v.roll {
		back.add(v.old[len(v.old)-1-i], roll)
	}
	if 2*back.n >= own.n && back.mean() <= least {
		best = alignment{place: reversed}
	}
	switch {
	case best.place != unclear:
		return best
	case own.mean() >= chanceLike*chance:
		return alignment{place: unrelated}
	}
	return alignment{}
}

// moved is the distance from some token on when the rollout column is late by so many tokens.
func (v *view) moved(by, from int) (s distance) {
	for n := from; n < len(v.ok); n++ {
		if m := n + by; m >= 0 && m < len(v.ok) && v.ok[m] == v.ok[n]+by {
			s.add(v.old[n], v.roll[m])
		}
	}
	return s
}

// slides reports whether the columns fit from some token on when one is moved, while those before fit as they stand.
func (v *view) slides(by int, chance float64) bool {
	gain, most, cut := 0.0, 0.0, -1
	for n, count := len(v.ok)-1, 0; n >= 0; n-- {
		m := n + by
		if m < 0 || m >= len(v.ok) || v.ok[m] != v.ok[n]+by {
			continue
		}
		count++
		gain += min(math.Abs(v.old[n]-v.roll[n]), slidCap) - min(math.Abs(v.old[n]-v.roll[m]), slidCap)
		if gain > slidGain && count >= slidTokens && gain > most {
			most, cut = gain, n
		}
	}
	if cut < 0 {
		return false
	}
	var own, before distance
	for n, roll := range v.roll {
		s := &own
		if n < cut {
			s = &before
		}
		s.add(v.old[n], roll)
	}
	if v.moved(by, cut).mean() > atMost*own.mean() {
		return false
	}
	movedBefore := v.moved(by, 0)
	movedBefore.sum -= v.moved(by, cut).sum
	return before.mean() <= atMost*chance && movedBefore.sum-before.sum > 1
}

// beginsAtPrompt reports whether the rollout column fits when it is read from the first token of the prompt on.
func (v *view) beginsAtPrompt() bool {
	r := v.row
	p := len(r.Prompt)
	if p <= farthest {
		return false
	}
	var old, roll []float64
	for n, i := range v.ok {
		x := math.NaN()
		switch {
		case i >= p:
			x = r.Roll[i-p]
		case i < len(r.PromptRoll):
			x = r.PromptRoll[i]
		}
		if isFinite(x) {
			old, roll = append(old, v.old[n]), append(roll, x)
		}
	}
	var s distance
	for i, x := range roll {
		s.add(old[i], x)
	}
	chance := anyTwo(old, roll)
	return float64(s.n)*chance >= 2*informative && s.mean() <= fits*chance
}
