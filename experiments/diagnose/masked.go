package diagnose

import (
	"cmp"
	"slices"
)

// Masked is whose tokens a correction drops. Shares are of the group's own tokens.
type Masked struct {
	// Tokens is the share of all, Responses that of responses without a token left.
	Tokens    float64 `json:"tokens"`
	Responses float64 `json:"responses"`
	// Length is by quartile of the responses' lengths, the shortest first; Probability by
	// decile of the rollout engine's probability, the least first.
	Length      []float64 `json:"length"`
	Probability []float64 `json:"probability"`
	// Negative and Positive are by the sign of the advantage, null if there is none.
	Negative *float64 `json:"negative"`
	Positive *float64 `json:"positive"`
	// Turn is by turn, a run of trained tokens between others, where a response has several;
	// the last counts all later ones.
	Turn []float64 `json:"turn,omitempty"`
	// Env is by environment, where there are several.
	Env []EnvShare `json:"env,omitempty"`
}

// EnvShare is the share of an environment.
type EnvShare struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// The groups that tokens are counted in.
const quartiles, deciles, turns = 4, 10, 8

// grouping says which group a response or a token belongs to.
type grouping struct {
	length, env []int // by response
	terciles    []int // by response, of the lengths
	probability []int // by token
	turn        []int // by token, all 0 where nobody has two
	turns       int
	envs        []string
}

// otherEnvs are those beyond the first mostEnvs.
const otherEnvs = "all others"

func grouped(rows []*kept) (g grouping) {
	lengths := make([]float64, len(rows))
	var probable []float64
	place := map[string]int{}
	for i, k := range rows {
		lengths[i] = float64(len(k.roll))
		probable = append(probable, k.roll...)
		env, known := place[k.env]
		switch {
		case known:
		case len(g.envs) < mostEnvs:
			env = len(g.envs)
			place[k.env], g.envs = env, append(g.envs, k.env)
		default:
			if len(g.envs) == mostEnvs {
				g.envs = append(g.envs, otherEnvs)
			}
			env = mostEnvs
		}
		g.env = append(g.env, env)
		for n := range k.roll {
			turn := 0
			if n < len(k.turn) {
				turn = min(int(k.turn[n]), turns-1)
			}
			g.turn, g.turns = append(g.turn, turn), max(g.turns, turn+1)
		}
	}
	g.length, g.terciles, g.probability = ranked(lengths, quartiles), ranked(lengths, lengthParts), ranked(probable, deciles)
	return g
}

// ranked cuts values into parts of equally many, the least first.
func ranked(x []float64, parts int) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	part := make([]int, len(x))
	for rank, i := range order {
		part[i] = rank * parts / len(x)
	}
	return part
}

// masked counts tokens of weight 0, nil if there are none.
func (t *trial) masked(w []float64) *Masked {
	var all, negative, positive tokenCount
	length, probability, envs := make([]tokenCount, quartiles), make([]tokenCount, deciles), make([]tokenCount, len(t.groups.envs))
	turn := make([]tokenCount, t.groups.turns)
	gone := 0
	for i := range t.batch.Len() {
		from, to := t.batch.Span(i)
		dropped := 0
		for n := from; n < to; n++ {
			off := w[n] == 0
			if off {
				dropped++
			}
			all.add(off)
			length[t.groups.length[i]].add(off)
			probability[t.groups.probability[n]].add(off)
			envs[t.groups.env[i]].add(off)
			turn[t.groups.turn[n]].add(off)
			switch {
			case !t.graded:
			case t.batch.Advantage[n] < 0:
				negative.add(off)
			case t.batch.Advantage[n] > 0:
				positive.add(off)
			}
		}
		if dropped == to-from {
			gone++
		}
	}
	if all.off == 0 {
		return nil
	}
	m := &Masked{Tokens: all.share(), Responses: share(gone, t.batch.Len())}
	for _, c := range length {
		m.Length = append(m.Length, c.share())
	}
	for _, c := range probability {
		m.Probability = append(m.Probability, c.share())
	}
	for _, c := range turn {
		if len(turn) > 1 {
			m.Turn = append(m.Turn, c.share())
		}
	}
	for i, c := range envs {
		if len(envs) > 1 {
			m.Env = append(m.Env, EnvShare{t.groups.envs[i], c.share()})
		}
	}
	for _, sign := range []struct {
		to **float64
		c  tokenCount
	}{{&m.Negative, negative}, {&m.Positive, positive}} {
		if sign.c.all > 0 {
			s := sign.c.share()
			*sign.to = &s
		}
	}
	return m
}

// tokenCount counts tokens and those of them that are dropped.
type tokenCount struct{ all, off int }

func (c *tokenCount) add(off bool) {
	c.all++
	if off {
		c.off++
	}
}

func (c tokenCount) share() float64 { return share(c.off, c.all) }
