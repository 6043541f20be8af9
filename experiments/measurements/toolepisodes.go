package measurements

import (
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Episodes of the lookup task over four operations. Each step of the working is
// a marker, the mark of a call or of a note, a block of seven tokens, a value:
//
//	d @ o o o o o o 3 5   c @ o o o o o o 8 2   ...   # 2 <eos>
//
// In the place of a block stands what the tool replied, or a note of the policy.
const (
	toolSteps   = 4
	blockTokens = 7
	stepTokens  = blockTokens + 3
	toolLength  = toolSteps*stepTokens + 3
	// toolTurns is how many blocks are examined: after two replies in symbols it
	// never saw, few policies still write the form.
	toolTurns = 2
)

// lookupBase is this replication's policy that calls a tool, with the folder of its weights, whose warm start
// never saw the rare symbols. A preview takes the shipped weights, which saw them
// in 5 % of the demonstrations.
func lookupBase(e *claim.Env) (p *model.Params, dir string) {
	dir = "lookup-base"
	if e.Size == claim.Full {
		dir = e.Warm(dir, "task.rare=0")
	}
	return claim.Must(model.Open(dir)).Params, dir
}

// familiarTool replies like the task's tool, with the symbols that the warm start
// has seen.
type familiarTool struct{ *task.Lookup }

func (f familiarTool) Reply(dst, prompt, response []int32) []int32 {
	from := len(dst)
	dst = f.Lookup.Reply(dst, prompt, response)
	rare, known := f.Symbols(true), f.Symbols(false)
	for n, id := range dst[from:] {
		if k := slices.Index(rare, id); k >= 0 {
			dst[from+n] = known[k%len(known)]
		}
	}
	return dst
}

// workings are episodes of one arm, with the number of blocks in form from the
// start of each. What the policy writes after a block is no condition.
type workings struct {
	*batch.Batch
	blocks []int
}

// worked samples the episodes of a pair of arms and more: the tool replies with
// rare symbols, with familiar ones, or nothing is hidden and the policy writes
// notes, over the same programs with the same random numbers. It keeps those
// that begin with a block in all three, and of them the blocks that all three have.
func worked(e *claim.Env, p *model.Params, n engine.Numerics, episodes int) []workings {
	t := task.NewLookup()
	t.Difficulty, t.Calls = task.Range{toolSteps, toolSteps}, task.Range{toolSteps, toolSteps}
	rng := e.Rand(promptStream)
	hidden, noted := make([][]int32, episodes), make([][]int32, episodes)
	for i := range hidden {
		hidden[i] = task.Draw(t, rng).Tokens
		noted[i] = withNotes(t, hidden[i])
	}
	q := probe{Params: p, Rollout: n, Sequences: episodes, Tokens: toolLength + 1, Stops: true}
	var sampled []*batch.Batch
	for _, arm := range []struct {
		prompts [][]int32
		tool    measure.Tool
	}{{hidden, t}, {hidden, familiarTool{t}}, {noted, nil}} {
		q.Prompts, q.Tool = arm.prompts, func(int) measure.Tool { return arm.tool }
		sampled = append(sampled, sample(e, q))
	}
	var kept, blocks []int
	for i := range episodes {
		least := toolTurns
		for k, b := range sampled {
			from, to := b.Span(i)
			least = min(least, formed(t, b.Token[from:to], k == len(sampled)-1))
		}
		if least > 0 {
			kept, blocks = append(kept, i), append(blocks, least)
		}
	}
	arms := make([]workings, len(sampled))
	for k, b := range sampled {
		arms[k] = workings{new(batch.Batch), blocks}
		b.Select(arms[k].Batch, kept)
	}
	return arms
}

// symbols are tokens of the task as it writes them, digits among them.
func symbols(t *task.Lookup, text string) []int32 {
	return claim.Must(task.Parse(t.Vocab(), text))
}

const digits = "0 1 2 3 4 5 6 7 8 9"

// withNotes is a prompt with its operands shown and notes asked for.
func withNotes(t *task.Lookup, prompt []int32) []int32 {
	words := symbols(t, "? @ =")
	shown := slices.Clone(prompt)
	for at, id := range prompt {
		if id == words[0] {
			reply := t.Reply(nil, prompt, []int32{prompt[at-2], words[1]})
			shown[at] = reply[len(reply)-1]
		}
	}
	shown[len(shown)-2] = words[2]
	return shown
}

// formed is the number of steps from the start of a response that have a block in
// the place of a reply or a note, of those that are examined.
func formed(t *task.Lookup, response []int32, notes bool) int {
	words := symbols(t, "@ ! "+digits)
	mark := words[0]
	if notes {
		mark = words[1]
	}
	for k := range toolTurns {
		// A value has to follow the block.
		if len(response) < (k+1)*stepTokens || response[k*stepTokens+1] != mark {
			return k
		}
		block := response[k*stepTokens+2:][:blockTokens]
		if !slices.Contains(words[2:], block[blockTokens-1]) {
			return k
		}
		unknown := func(id int32) bool { return !slices.Contains(t.Symbols(false), id) }
		if notes && slices.ContainsFunc(block[:blockTokens-1], unknown) { // the tool's own are as they should be
			return k
		}
	}
	return toolTurns
}

// places returns, for the tokens of worked episodes, the number of blocks before
// them and the distance from the last, from 1: of the two after each block in
// form, a value and the marker or answer mark in due course. The first marker has
// no block before it. The rest have -1.
func places(w workings) (turn, distance []int) {
	for i, blocks := range w.blocks {
		from, to := w.Span(i)
		for t := range to - from {
			k, at := t/stepTokens, t%stepTokens
			switch {
			case at == stepTokens-1 && k < blocks:
				turn, distance = append(turn, k+1), append(distance, 1)
			case at == 0 && k <= blocks:
				turn, distance = append(turn, k), append(distance, 2)
			default:
				turn, distance = append(turn, -1), append(distance, -1)
			}
		}
	}
	return turn, distance
}

// Episodes of turns of eight tokens with blocks between them, whatever the
// policy writes, on and past the stop token.
const (
	turnTokens        = 8
	turnPeriod        = turnTokens + blockTokens
	interruptedLength = toolSteps*turnPeriod + turnTokens
)

// interruption is an external function that answers every eighth token of the
// policy, four times: six symbols and a digit, from the seed, the sequence and
// the number of the call.
type interruption struct {
	symbols, digits []int32
	seed, sequence  uint64
}

// toolStream is the random stream of the interruption's replies.
const toolStream = 1 << 41

func (k *interruption) Reply(dst, _, response []int32) []int32 {
	call, at := len(response)/turnPeriod, len(response)%turnPeriod
	if at != turnTokens || call >= toolSteps {
		return dst
	}
	var src rand.PCG
	src.Seed(k.seed, toolStream+k.sequence<<8+uint64(call))
	draw := func(from []int32) int32 { return from[src.Uint64()%uint64(len(from))] }
	for range blockTokens - 1 {
		dst = append(dst, draw(k.symbols))
	}
	return append(dst, draw(k.digits))
}

// interrupted samples episodes that an external function interrupts, and
// episodes of the same length in which the policy goes on.
func interrupted(e *claim.Env, p *model.Params, n engine.Numerics, episodes int) []*batch.Batch {
	t := task.NewLookup()
	t.Calls = task.Range{0, 0}
	q := probe{Params: p, Rollout: n, Sequences: episodes, Tokens: interruptedLength, Block: 1}
	rng := e.Rand(promptStream + 1)
	for range episodes {
		q.Prompts = append(q.Prompts, task.Draw(t, rng).Tokens)
	}
	own := sample(e, q)
	q.Tool = func(i int) measure.Tool { return &interruption{t.Symbols(true), symbols(t, digits), e.Seed, uint64(i)} }
	return []*batch.Batch{sample(e, q), own}
}

// interruptedTurns are the turns of such episodes, -1 in the blocks.
func interruptedTurns(b *batch.Batch) (turn []int) {
	for range b.Len() {
		for t := range interruptedLength {
			k := t / turnPeriod
			if t%turnPeriod >= turnTokens {
				k = -1
			}
			turn = append(turn, k)
		}
	}
	return turn
}

// part is a batch with the group of every token, -1 for none.
type part struct {
	batch *batch.Batch
	group []int
}

func behind(b *batch.Batch, turn []int, group int) part {
	out := make([]int, len(turn))
	for n, k := range turn {
		out[n] = -1
		if k >= 1 {
			out[n] = group
		}
	}
	return part{b, out}
}

// grouped is mean |log-ratio| by group of tokens, plain and matched on the
// rollout probability: ten bins with equally many tokens of all groups, each
// with equal weight, of those that every group has tokens in.
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
	plain, matched = make([]float64, groups), make([]float64, groups)
	if len(logp) == 0 {
		return plain, matched
	}
	edges := stats.Edges(logp, bins)
	count := make([]float64, groups)
	inBin, binCount := make([][bins]float64, groups), make([][bins]float64, groups)
	for _, p := range parts {
		for n, g := range p.group {
			if g < 0 {
				continue
			}
			e := math.Abs(p.batch.Old.Logp[n] - p.batch.LogpRoll[n])
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

// toolArms are who wrote the blocks: the tool, in its rare symbols; the tool, in
// symbols that the warm start knows; the policy itself.
var toolArms = []string{"rare replies", "familiar replies", "own notes"}

// toolGaps are the gaps of tokens after blocks that a tool or the policy wrote.
type toolGaps struct {
	// Pairs are the engines; with the first routes are replayed, too.
	Pairs []struct{ Name, Rollout, Learner string }
}

// Measure samples and scores the episodes of all arms.
func (m *toolGaps) Measure(e *claim.Env, o *claim.Observation) {
	p, _ := lookupBase(e)
	for k, d := range m.Pairs {
		arms := worked(e, p, numerics(d.Rollout), e.Pick(512, 160, 24))
		for _, b := range arms {
			measure.Score(b.Batch, p, measure.Scoring{Numerics: numerics(d.Learner)})
		}
		recordWorked(o, d.Name, arms)
		recordInterrupted(e, o, d.Name, p, d.Rollout, d.Learner)
		if k == 0 {
			var last float64
			for _, blocks := range arms[0].blocks {
				if blocks == toolTurns {
					last++
				}
			}
			o.Set("episodes", float64(arms[0].Len()), last)
			o.Set("difference before the first reply", beforeTheFirst(arms[0].Batch, arms[1].Batch))
			for _, b := range arms {
				measure.Score(b.Batch, p, measure.Scoring{Numerics: numerics(d.Learner), Replay: true})
			}
			recordBehind(o, d.Name+", replayed", arms[0], arms[2])
		}
	}
	equal := worked(e, p, numerics("bf16"), 16)
	o.Set("control", scored(equal[0].Batch, p, measure.Scoring{Numerics: numerics("bf16")}).MaxAbsDlogp)
}

// recordWorked records the three arms of a pair of engines: mean |dlogp| after
// a block, by turn and by distance.
func recordWorked(o *claim.Observation, name string, arms []workings) {
	for k, b := range arms {
		turn, distance := places(b)
		byTurn, _ := grouped(toolTurns+1, part{b.Batch, turn})
		o.Set(name+" by turn, "+toolArms[k], byTurn...)
		// Turn 0 is one marker, which no probability of the others matches.
		later := stats.Map(turn, func(t int) int { return max(t, 0) - 1 })
		_, matched := grouped(toolTurns, part{b.Batch, later})
		o.Set(name+" by turn, matched, "+toolArms[k], matched...)
		logp, entropy, count := 0.0, 0.0, 0.0
		for n, t := range turn {
			distance[n]--
			if t < 1 {
				distance[n] = -1
				continue
			}
			logp, entropy, count = logp+b.LogpRoll[n], entropy+b.Old.Entropy[n], count+1
		}
		near, _ := grouped(2, part{b.Batch, distance})
		o.Set(name+" by distance, "+toolArms[k], near...)
		o.Set(name+" log p and entropy, "+toolArms[k], logp/count, entropy/count)
	}
	recordBehind(o, name+", rare", arms[0], arms[2])
	recordBehind(o, name+", familiar", arms[1], arms[2])
}

// recordBehind records mean |dlogp| after a block in two arms.
func recordBehind(o *claim.Observation, name string, a, b workings) {
	turnA, _ := places(a)
	turnB, _ := places(b)
	plain, matched := grouped(2, behind(a.Batch, turnA, 0), behind(b.Batch, turnB, 1))
	o.Set(name, plain...)
	o.Set(name+", matched", matched...)
}

// beforeTheFirst is the largest difference between the gaps of two arms before
// the first block.
func beforeTheFirst(a, b *batch.Batch) float64 {
	largest := 0.0
	x, y := logRatiosOf(a), logRatiosOf(b)
	for i := range a.Len() {
		inA, _ := a.Span(i)
		inB, _ := b.Span(i)
		for t := range 2 {
			largest = max(largest, math.Abs(x[inA+t]-y[inB+t]))
		}
	}
	return largest
}

// recordInterrupted records episodes on and past the stop token.
func recordInterrupted(e *claim.Env, o *claim.Observation, name string, p *model.Params, rollout, scorer string) {
	arms := interrupted(e, p, numerics(rollout), e.Pick(128, 64, 6))
	for _, b := range arms {
		measure.Score(b, p, measure.Scoring{Numerics: numerics(scorer)})
	}
	turn := interruptedTurns(arms[0])
	plain, matched := grouped(2, behind(arms[0], turn, 0), behind(arms[1], turn, 1))
	o.Set(name+", interrupted", plain...)
	o.Set(name+", interrupted, matched", matched...)
	byTurn, _ := grouped(toolSteps+1, part{arms[0], turn})
	o.Set(name+", interrupted, by turn", byTurn...)
}

// toolRatios are the ratios of such tokens after updates of the policy.
type toolRatios struct {
	Updates []int // of the full, the quick and the tiny size
	Set     []string
	Clip    float64 // half-width
}

// Measure trains the policy and scores its first episodes again.
func (m *toolRatios) Measure(e *claim.Env, o *claim.Observation) {
	p, dir := lookupBase(e)
	_, trained := e.Trained(nil, m.Updates[e.Size], append([]string{"checkpoint=" + dir}, m.Set...)...)
	fp32 := numerics("fp32")
	arms := worked(e, p, fp32, e.Pick(512, 160, 24))
	o.Set("control", scored(arms[0].Batch, p, measure.Scoring{Numerics: fp32}).MaxAbsDlogp)
	for _, b := range arms {
		measure.Score(b.Batch, trained, measure.Scoring{Numerics: fp32})
	}
	recordBehind(o, "rare", arms[0], arms[2])
	recordBehind(o, "familiar", arms[1], arms[2])
	for k, b := range arms {
		o.Set("clipped, "+toolArms[k], clippedBehind(b, m.Clip))
	}
}

// clippedBehind is the share of the tokens after a block whose ratio is outside the clip.
func clippedBehind(w workings, clip float64) float64 {
	turn, _ := places(w)
	var outside, all float64
	for n, d := range logRatiosOf(w.Batch) {
		if turn[n] < 1 {
			continue
		}
		all++
		if math.Abs(elementary.Exp(d)-1) > clip {
			outside++
		}
	}
	return outside / max(all, 1)
}
