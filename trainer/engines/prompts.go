package engines

import (
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Prompts are the prompts of a run, step by step: drawn from the task, or from a pool
// where the recipe has one.
type Prompts struct {
	// Task makes them.
	Task task.Task

	seed uint64
	pool []task.Prompt
	all  []int // places in the pool
	kept []int // those of them that come from a step on; nil: all
	from int
	// The order of one epoch, drawn when it is asked for.
	epoch, of int
	order     []int
}

// NewPrompts returns the prompts of a recipe's run.
func NewPrompts(r recipe.Recipe, t task.Task) *Prompts {
	p := &Prompts{Task: t, seed: r.Seed, epoch: -1}
	if o := r.Rollout.Pool; o != nil {
		rng := stream.New(r.Seed, stream.Pool, 0)
		for i := range o.Prompts {
			p.pool, p.all = append(p.pool, task.Draw(t, rng)), append(p.all, i)
		}
	}
	return p
}

// Pool are the prompts that come back; nil where there is no pool.
func (p *Prompts) Pool() []task.Prompt { return p.pool }

// Keep leaves out, from a step on, all of the pool but these. There is at least
// one.
func (p *Prompts) Keep(from int, kept []int) { p.from, p.kept = from, kept }

// Left are the places in the pool that a step may draw from; read only.
func (p *Prompts) Left(step int) []int {
	_, of := p.part(step)
	return of
}

// Step appends the n prompts of a step. They depend on the recipe and the step alone.
func (p *Prompts) Step(dst []task.Prompt, step, n int) []task.Prompt {
	if p.pool == nil {
		rng := stream.New(p.seed, stream.Prompts, step)
		for range n {
			dst = append(dst, task.Draw(p.Task, rng))
		}
		return dst
	}
	since, of := p.part(step)
	first := (step - since) * n
	for i := first; i < first+n; i++ {
		dst = append(dst, p.pool[of[p.place(i/len(of), i%len(of), len(of))]])
	}
	return dst
}

// part is what of the pool a step draws from, and since which step.
func (p *Prompts) part(step int) (since int, of []int) {
	if p.kept != nil && step >= p.from {
		return p.from, p.kept
	}
	return 0, p.all
}

// Epoch is how often that part of the pool has been gone through before a step of n
// prompts, and left the share of the pool that it is.
func (p *Prompts) Epoch(step, n int) (epoch, left float64) {
	since, of := p.part(step)
	return float64((step-since)*n) / float64(len(of)), float64(len(of)) / float64(len(p.pool))
}

// place is the i-th entry of an epoch's permutation of n prompts (n is of).
func (p *Prompts) place(epoch, i, of int) int {
	if p.epoch != epoch || p.of != of {
		p.epoch, p.of, p.order = epoch, of, stream.New(p.seed, stream.Pool, 1+epoch).Perm(of)
	}
	return p.order[i]
}
