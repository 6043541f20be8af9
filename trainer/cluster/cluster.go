package cluster

import (
	"fmt"
	"slices"

	"driftlab/engine/column"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Cluster is rollout engines that a schedule's core commands.
type Cluster struct {
	// Core is the scheduler, for its figures and its timeline.
	Core *schedule.Core
	// Last is what the last update's batch is made of.
	Last Update

	recipe   recipe.Recipe
	batch    int // samples of an update
	width    int // responses started per sample
	sampling rollout.Sampling
	tool     rollout.Tool

	// The prompts of all samples, those of a step as a synchronous run has them.
	source *engines.Prompts
	step   int // whose prompts are open
	open   []task.Prompt

	workers  []*rollout.Engine
	versions versions
	served   []int                    // by worker, as published
	partial  map[int]*rollout.Partial // evicted requests that come back
	samples  map[int]*sample          // in flight, or waiting for the learner
	streamed []int                    // parts of a batch whose update is to come
	judge    Judge                    // of samples that are done, nil for none

	ended, endedTokens int // responses, ever
	refused            int // samples since the last update

	parts []*column.Sampled
	rows  []task.Prompt
	ids   []int
}

// Judge says what a prompt group is worth to a replay, its mean absolute reward, and
// whether it is of no use.
type Judge func(responses *column.Sampled, p task.Prompt) (worth float64, refused bool, err error)

// Update is what an update's batch is made of.
type Update struct {
	// Refused is the number of samples that were of no use on the way to it.
	Refused int
	// Replayed is the number of samples, the last ones of the batch, that were trained
	// before; Weights what each response of the batch counts, nil without such.
	Replayed int
	Weights  []float64
}

// sample is what the cluster knows of a prompt group.
type sample struct {
	origin  int
	trained bool // and kept, to be trained again
	ended   []response
}

// response is one that is complete, with its time on the clock.
type response struct {
	request, time int
	*column.Sampled
}

// Check returns as recipe.Faults what a rollout engine of the recipe cannot do that
// its schedule asks for.
func Check(r recipe.Recipe) error {
	how := rollout.Pin
	switch schedule.Continues(r.Schedule.Params) {
	case schedule.Reprefill:
		how = rollout.Reprefill
	case schedule.KeepStale:
		how = rollout.KeepStale
	}
	if err := how.Check(engines.Retention(r.Rollout), false); err != nil {
		return recipe.Faults{{Path: "rollout.kv_retention", Problem: fmt.Sprintf("schedule %s: %v", r.Schedule.Name, err)}}
	}
	return nil
}

// New returns a cluster at the start of a run from the given weights. Its workers
// run with the engine, in the recipe's numerics. The judge is asked where the
// recipe refuses or replays samples.
func New(r recipe.Recipe, prompts *engines.Prompts, beside *rollout.Engine, first *model.Params, judge Judge) (*Cluster, error) {
	if err := Check(r); err != nil {
		return nil, err
	}
	config, policy := r.Clock(), r.Schedule.New()
	core, err := schedule.New(config, policy)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		recipe: r, Core: core, batch: config.Batch, width: config.Group + policy.Traits().Extra, sampling: engines.Sampling(r), tool: engines.Tool(prompts.Task),
		source: prompts, step: -1,
		versions: versions{config: r.Model, numerics: r.Rollout.Numerics, sync: engines.NewSync(r.Rollout)},
		served:   make([]int, config.Workers), judge: judge,
		partial: map[int]*rollout.Partial{}, samples: map[int]*sample{},
	}
	c.versions.publish(first, 0, 0)
	for range config.Workers {
		e := beside.Sibling(config.Slots)
		e.SetRetention(engines.Retention(r.Rollout))
		e.SetSharedPrefixCache(engines.SharedPrefixes(r.Rollout))
		e.Load(c.versions.newest().weights, rollout.Reprefill)
		c.workers = append(c.workers, e)
	}
	return c, nil
}

// Config is the cluster as the scheduler has it.
func (c *Cluster) Config() schedule.Config { return c.recipe.Clock() }

// MeanLength is the mean length of all responses that have ended, in tokens; 0 before.
func (c *Cluster) MeanLength() float64 { return float64(c.endedTokens) / float64(max(c.ended, 1)) }

// Newest is the version published last.
func (c *Cluster) Newest() *Version { return c.versions.newest() }

// After is the version after the given number of updates, nil if it is not kept.
func (c *Cluster) After(updates int) *Version { return c.versions.after(updates) }

// remembered is the number of versions before the published one that are still on
// the core's timeline: what a run shows of it.
const remembered = 8

// Next samples until the learner is to make an update, and fills dst with what it
// is to train, with a prompt per response. The weights are the learner's as
// they are, after the given number of updates: what is published on the way.
func (c *Cluster) Next(dst *column.Sampled, p *model.Params, updates int) ([]task.Prompt, error) {
	for {
		if prompts, err := c.Advance(dst, p, updates); prompts != nil || err != nil {
			return prompts, err
		}
	}
}

// Advance executes one command. It returns what Next does if that was the last
// before an update, and no prompts else.
func (c *Cluster) Advance(dst *column.Sampled, p *model.Params, updates int) ([]task.Prompt, error) {
	command := c.Core.Next()
	var outcome schedule.Outcome
	var err error
	switch command.Kind {
	case schedule.Start:
		outcome.Prompts = c.start(command)
	case schedule.Decode:
		outcome, err = c.decode(command)
	case schedule.Load:
		c.load(command)
	case schedule.Evict:
		c.evict(command)
	case schedule.Publish:
		c.versions.publish(p, command.Version, updates)
		c.versions.kept = slices.DeleteFunc(c.versions.kept, func(x Version) bool { return x.Published < command.Oldest })
		c.purge()
	case schedule.Grade:
		outcome, err = c.grade(command)
	case schedule.Train:
		c.streamed = append(c.streamed, command.Samples...)
	case schedule.Stop:
		return nil, fmt.Errorf("schedule %s: nothing that is under way will ever end; give it more workers, or looser bounds", c.recipe.Schedule.Name)
	}
	if err == nil {
		err = c.Core.Done(outcome)
	}
	if err != nil || command.Kind != schedule.Train || !command.Update {
		return nil, err
	}
	c.Core.Forget(remembered)
	return c.join(dst, command)
}

// start brings requests into a worker, and returns the lengths of their prompts.
func (c *Cluster) start(command schedule.Command) (prompts []int) {
	e := c.workers[command.Worker]
	for i, id := range command.Requests {
		n := id / c.width
		if c.samples[n] == nil {
			c.samples[n] = &sample{origin: command.Origins[i]}
		}
		p := c.prompt(command.Origins[i])
		prompts = append(prompts, len(p.Tokens))
		partial := c.partial[id]
		delete(c.partial, id)
		switch {
		case partial == nil:
			seed, place := c.recipe.Seed+uint64(n/c.batch)<<32, n%c.batch*c.width+id%c.width
			e.Begin([]rollout.Request{{ID: id, Prompt: p.Tokens, PromptID: p.ID, Seed: seed, Stream: stream.ID(stream.Sampling, place), Tool: c.tool}}, c.sampling)
		case command.Cached[i]:
			e.Resume([]*rollout.Partial{partial}, c.sampling, rollout.KeepStale)
		default:
			e.Resume([]*rollout.Partial{partial}, c.sampling, rollout.Reprefill)
		}
	}
	return prompts
}

// prompt is the prompt of a sample.
func (c *Cluster) prompt(sample int) task.Prompt {
	if step := sample / c.batch; step != c.step {
		c.step, c.open = step, c.source.Step(c.open[:0], step, c.batch)
	}
	return c.open[sample%c.batch]
}

// decode makes the steps of a worker, and returns the requests that ended or called a
// tool.
func (c *Cluster) decode(command schedule.Command) (o schedule.Outcome, err error) {
	e := c.workers[command.Worker]
	if made := e.Advance(command.Steps, command.Requests...); made != command.Steps {
		return o, fmt.Errorf("schedule: worker %d made %d of %d steps", command.Worker, made, command.Steps)
	}
	if c.tool != nil {
		e.Called(func(id, tokens int) {
			if !slices.Contains(command.Requests, id) {
				o.Called = append(o.Called, schedule.ToolCall{Request: id, Tokens: tokens})
			}
		})
	}
	all := new(column.Sampled)
	if c.ids = e.Collect(all, c.ids[:0]); len(c.ids) == 0 {
		return o, nil
	}
	for i, id := range c.ids {
		from, to := all.Span(i)
		c.ended, c.endedTokens = c.ended+1, c.endedTokens+masked.Count(all.Mask[from:to])
		s := c.samples[id/c.width]
		if s == nil {
			continue // its sample was dropped while it was on its way out
		}
		one := new(column.Sampled)
		all.Select(one, []int{i})
		s.ended = append(s.ended, response{id, command.Time, one})
	}
	o.Finished = c.ids
	return o, nil
}

// misses reports whether a worker is one of those that syncs do not reach as a whole.
func (c *Cluster) misses(worker int) bool {
	w := c.recipe.Rollout.WeightSync
	return w != nil && worker >= len(c.workers)-w.StaleWorkers(len(c.workers))
}

func (c *Cluster) load(command schedule.Command) {
	at := slices.IndexFunc(c.versions.kept, func(x Version) bool { return x.Published == command.Version }) // the core asks for none that it let go
	e, w := c.workers[command.Worker], c.versions.kept[at].of(c.misses(command.Worker))
	c.served[command.Worker] = command.Version
	switch command.Cache {
	case schedule.KeepStale:
		e.Load(w, rollout.KeepStale)
	case schedule.Reprefill:
		e.Load(w, rollout.Reprefill)
	case schedule.Restart:
		out := e.Interrupt(nil)
		e.Load(w, rollout.Reprefill)
		for _, p := range out {
			e.Begin([]rollout.Request{p.Request()}, c.sampling)
		}
	}
}

// evict takes requests out of a worker, and keeps those that come back.
func (c *Cluster) evict(command schedule.Command) {
	leaves := func(id int) bool { return slices.Contains(command.Requests, id) }
	for _, p := range c.workers[command.Worker].Interrupt(leaves) {
		// One without a token begins again, unless its prompt is in the cache.
		if command.Cache == schedule.KeepStale || command.Cache == schedule.Reprefill && len(p.Tokens()) > 0 {
			c.partial[p.Request().ID] = p
		}
	}
}

// purge forgets the samples that the core does not know any more.
func (c *Cluster) purge() {
	needed := c.Core.Samples()
	for n := range c.samples {
		if _, found := slices.BinarySearch(needed, n); !found && !slices.Contains(c.streamed, n) {
			delete(c.samples, n)
		}
	}
	for id := range c.partial {
		if c.samples[id/c.width] == nil {
			delete(c.partial, id)
		}
	}
}
