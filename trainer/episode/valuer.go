package episode

import (
	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Valuer fills Episode and PrefixValue of batches. It keeps scratch memory: use one
// per goroutine.
type Valuer struct {
	options recipe.PrefixValues
	task    task.Task
	opens   []int32 // tokens that begin an episode
	force   []int32 // tokens
	longest int     // response

	groups   batch.Groups
	prefixes []prefix
	first    []int // by response: its prompt's place among the prefixes
	requests []rollout.Request
	sampled  column.Sampled
	value    []float64
	response []int32
}

// prefix is the beginning of a response, with its length in tokens.
type prefix struct{ response, tokens int }

// Cost is what values took, in tokens that went through a model.
type Cost struct {
	// Prefixes is how many were valued.
	Prefixes int
	// New are the tokens after the prefixes: those that force the answer and the answer,
	// or the completions.
	New int
	// Read are the tokens of the prefixes, prompts included: what an engine reads that does not
	// have them in its cache.
	Read int
}

// NewValuer returns what a valid recipe's section prefix_values asks for.
func NewValuer(r recipe.Recipe) *Valuer {
	v := &Valuer{options: *r.PrefixValues, task: r.Task.New(), longest: r.Rollout.MaxTokens}
	vocab := v.task.Vocab()
	v.opens, _ = task.Parse(vocab, v.options.Markers)
	v.force, _ = task.Parse(vocab, v.options.Force)
	return v
}

// Fill values the prefixes of the batch's responses, one prompt per response, with
// the engine as it is published. The seed starts the completions' random numbers.
func (v *Valuer) Fill(b *batch.Batch, prompts []task.Prompt, e *rollout.Engine, seed uint64) Cost {
	b.Episode = b.Episode[:0]
	for i := range b.Len() {
		from, to := b.Span(i)
		b.Episode = cut(b.Episode, b.Token[from:to], v.opens, task.AnswerMark, v.options.Longest)
	}
	v.list(b)
	cost := Cost{Prefixes: len(v.prefixes)}
	if v.options.By == recipe.ByCompletions {
		v.complete(b, prompts, e, seed, &cost)
	} else {
		v.ask(b, prompts, e, &cost)
	}
	v.spread(b)
	return cost
}

// list finds the prefixes: the prompt of each group, and where further episodes of
// each response begin.
func (v *Valuer) list(b *batch.Batch) {
	v.prefixes, v.first = v.prefixes[:0], batch.Zeroed(v.first, b.Len())
	v.groups.Find(b.Group)
	for k := range v.groups.Len() {
		rows := v.groups.Rows(k)
		for _, i := range rows {
			v.first[i] = len(v.prefixes)
		}
		v.prefixes = append(v.prefixes, prefix{rows[0], 0})
	}
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from + 1; n < to; n++ {
			if b.Episode[n] != b.Episode[n-1] {
				v.prefixes = append(v.prefixes, prefix{i, n - from})
			}
		}
	}
}

// spread gives every token the value of the prefix before its episode.
func (v *Valuer) spread(b *batch.Batch) {
	b.PrefixValue = batch.Zeroed(b.PrefixValue, b.Tokens())
	next := v.groups.Len()
	for i := range b.Len() {
		from, to := b.Span(i)
		at := v.first[i]
		for n := from; n < to; n++ {
			if n > from && b.Episode[n] != b.Episode[n-1] {
				at = next
				next++
			}
			b.PrefixValue[n] = v.value[at]
		}
	}
}

// text is the sequence up to the end of a prefix, and what follows it.
func (v *Valuer) text(b *batch.Batch, p prefix, behind ...int32) []int32 {
	prompt := b.Prompt[p.response]
	from, _ := b.Span(p.response)
	all := make([]int32, 0, len(prompt)+p.tokens+len(behind))
	return append(append(append(all, prompt...), b.Token[from:from+p.tokens]...), behind...)
}

// ask values prefixes by the likelihood of the true answer.
func (v *Valuer) ask(b *batch.Batch, prompts []task.Prompt, e *rollout.Engine, cost *Cost) {
	v.requests = v.requests[:0]
	longest := 0
	for _, p := range v.prefixes {
		answer := prompts[p.response].Answer
		longest = max(longest, len(answer))
		v.requests = append(v.requests, rollout.Request{Prompt: v.text(b, p, v.force...), Given: answer})
		cost.New += len(v.force) + len(answer)
		cost.Read += len(b.Prompt[p.response]) + p.tokens
	}
	e.Generate(&v.sampled, v.requests, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: longest, Stop: task.EOS})
	v.value = v.value[:0]
	for k := range v.prefixes {
		from, to := v.sampled.Span(k)
		sum := 0.0
		for _, logp := range v.sampled.LogpRoll[from:to] {
			sum += logp
		}
		mean := sum / float64(to-from)
		if v.options.By == recipe.ByProbability {
			mean = elementary.Exp(mean)
		}
		v.value = append(v.value, mean)
	}
}

// complete values prefixes by the responses that are sampled from them on. One that
// would have been cut at the response's limit is wrong.
func (v *Valuer) complete(b *batch.Batch, prompts []task.Prompt, e *rollout.Engine, seed uint64, cost *Cost) {
	v.requests = v.requests[:0]
	for _, p := range v.prefixes {
		text := v.text(b, p)
		cost.Read += len(text)
		for range v.options.Completions {
			v.requests = append(v.requests, rollout.Request{Prompt: text, Seed: seed, Stream: stream.ID(stream.Completions, len(v.requests))})
		}
	}
	e.Generate(&v.sampled, v.requests, rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: v.longest, Stop: task.EOS})
	v.value = batch.Zeroed(v.value, len(v.prefixes))
	for k := range v.requests {
		p := v.prefixes[k/v.options.Completions]
		begin, _ := b.Span(p.response)
		from, to := v.sampled.Span(k)
		cost.New += to - from
		v.response = append(append(v.response[:0], b.Token[begin:begin+p.tokens]...), v.sampled.Token[from:to]...)
		if len(v.response) <= v.longest && v.task.Verify(prompts[p.response], v.response).Correct {
			v.value[k/v.options.Completions] += 1 / float64(v.options.Completions)
		}
	}
}
