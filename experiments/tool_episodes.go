package experiments

import (
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/batch"
	"driftlab/trainer/task"
)

// Episodes of the tool claim: turns of so many tokens of the policy, and between
// them replies of the shipped tool's length: six symbols and a digit.
const (
	turnTokens  = 8
	replyTokens = 7
	toolCalls   = 4
	toolPeriod  = turnTokens + replyTokens
	toolLength  = toolCalls*toolPeriod + turnTokens
)

// interruption is an external function that answers every eighth token of the
// policy, whatever it is, toolCalls times. What it writes follows from the seed,
// the sequence and the number of the call.
type interruption struct {
	symbols, digits []int32
	seed, sequence  uint64
}

// Reply implements rollout.Tool.
func (k *interruption) Reply(dst, _, response []int32) []int32 {
	call, at := len(response)/toolPeriod, len(response)%toolPeriod
	if at != turnTokens || call >= toolCalls {
		return dst
	}
	var src rand.PCG
	src.Seed(k.seed, toolStream+k.sequence<<8+uint64(call))
	draw := func(from []int32) int32 { return from[src.Uint64()%uint64(len(from))] }
	for range replyTokens - 1 {
		dst = append(dst, draw(k.symbols))
	}
	return append(dst, draw(k.digits))
}

// toolStream is that of the replies.
const toolStream = 1 << 41

// lookupBase is the shipped policy that calls a tool.
func lookupBase() (*model.Params, error) {
	c, err := model.Open("lookup-base")
	if err != nil {
		return nil, err
	}
	return c.Params, nil
}

// plainLookups draws prompts of the lookup task in which nothing is hidden.
func plainLookups(rng *rand.Rand, n int) [][]int32 {
	t := task.NewLookup()
	t.Calls = task.Range{0, 0}
	prompts := make([][]int32, n)
	for i := range prompts {
		prompts[i] = t.Prompt(rng).Tokens
	}
	return prompts
}

// interrupted samples episodes of toolLength tokens. symbols are those of the
// replies; nil lets the policy go on in their place.
func (e *Env) interrupted(p *model.Params, n engine.Numerics, episodes int, symbols []int32) *batch.Batch {
	q := probe{params: p, rollout: n, sequences: episodes, tokens: toolLength, prompts: plainLookups(e.Rand(promptStream), episodes)}
	if symbols != nil {
		digits, err := task.Parse(task.NewLookup().Vocab(), "0 1 2 3 4 5 6 7 8 9")
		if err != nil {
			panic(err)
		}
		q.tool = func(i int) rollout.Tool { return &interruption{symbols, digits, e.Seed, uint64(i)} }
	}
	return e.sample(q)
}

// slots returns turn and distance of the tokens of interrupted episodes: turn -1
// where the tool wrote, or would have. The distance from the last token of the
// block counts from 1.
func slots(b *batch.Batch) (turn, distance []int) {
	for i := range b.Len() {
		from, to := b.Span(i)
		for t := range to - from {
			k, at := t/toolPeriod, t%toolPeriod
			if at >= turnTokens {
				k = -1
			}
			turn, distance = append(turn, k), append(distance, at+1)
		}
	}
	return turn, distance
}

// onTask samples episodes of the task itself in which the policy calls its tool
// for four of six operands, and the same programs with nothing hidden. The
// turns of the second are those that the same steps of the working have in the
// first: 0 before the first hidden operand, 1 from there on.
func (e *Env) onTask(p *model.Params, n engine.Numerics, episodes int) (called, visible *batch.Batch, turn []int) {
	t := task.NewLookup()
	t.Difficulty, t.Calls = task.Range{6, 6}, task.Range{toolCalls, toolCalls}
	hidden, err := task.Parse(t.Vocab(), "? @")
	if err != nil {
		panic(err)
	}
	rng := e.Rand(promptStream + 1)
	prompts, shown, first := make([][]int32, episodes), make([][]int32, episodes), make([]int, episodes)
	for i := range prompts {
		prompts[i] = t.Prompt(rng).Tokens
		shown[i] = slices.Clone(prompts[i])
		first[i] = slices.Index(prompts[i], hidden[0])/3 - 1
		for at, id := range prompts[i] {
			if id == hidden[0] {
				reply := t.Reply(nil, prompts[i], []int32{prompts[i][at-2], hidden[1]})
				shown[i][at] = reply[len(reply)-1]
			}
		}
	}
	q := probe{params: p, rollout: n, sequences: episodes, tokens: 64, stops: true, block: 1, prompts: prompts}
	q.tool = func(int) rollout.Tool { return t }
	called = e.sample(q)
	q.prompts, q.tool = shown, nil
	visible = e.sample(q)
	for i := range visible.Len() {
		from, to := visible.Span(i)
		for at := range to - from {
			k := 0
			if at > 2*first[i] { // the value of that step and all behind it
				k = 1
			}
			turn = append(turn, k)
		}
	}
	return called, visible, turn
}

// grouped is mean |log-ratio| by group of tokens, plain and matched on the
// rollout probability: ten bins with equally many tokens of all groups, each
// with equal weight, of those that every group has tokens in. A group of -1
// is left out.
func grouped(groups int, parts ...part) (plain, matched []float64) {
	const bins = 10
	var logp []float64
	for _, p := range parts {
		for n, g := range p.group {
			if g >= 0 {
				logp = append(logp, p.batch.LogpRoll[n])
			}
		}
	}
	edges := edgesOf(logp, bins)
	plain, matched = make([]float64, groups), make([]float64, groups)
	count := make([]float64, groups)
	inBin, binCount := make([][bins]float64, groups), make([][bins]float64, groups)
	for _, p := range parts {
		for n, g := range p.group {
			if g < 0 {
				continue
			}
			e := math.Abs(p.batch.LogpOld[n] - p.batch.LogpRoll[n])
			k, _ := slices.BinarySearch(edges, p.batch.LogpRoll[n])
			plain[g] += e
			count[g]++
			inBin[g][k] += e
			binCount[g][k]++
		}
	}
	used := 0.0
	for k := range bins {
		if slices.ContainsFunc(binCount, func(c [bins]float64) bool { return c[k] == 0 }) {
			continue
		}
		used++
		for g := range groups {
			matched[g] += inBin[g][k] / binCount[g][k]
		}
	}
	for g := range groups {
		plain[g] /= count[g]
		matched[g] /= used
	}
	return plain, matched
}

// part is a batch with the group of every token.
type part struct {
	batch *batch.Batch
	group []int
}

// laterTurns puts the tokens of all turns but the first into one group.
func laterTurns(b *batch.Batch, turn []int, group int) part {
	out := make([]int, len(turn))
	for n, k := range turn {
		out[n] = -1
		if k >= 1 {
			out[n] = group
		}
	}
	return part{b, out}
}

// scoredIn scores batches in a learner.
func scoredIn(p *model.Params, n engine.Numerics, replay learner.Replay, batches ...*batch.Batch) {
	for _, b := range batches {
		score(b, p, n, replay, false)
	}
}
