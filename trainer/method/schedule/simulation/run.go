package simulation

import (
	"slices"

	"driftlab/trainer/method/schedule"
)

// Run is what came of one.
type Run struct {
	Config schedule.Config
	Counts schedule.Counts
	Use    schedule.Use
	Log    []schedule.Span
	// Makespan is the ticks from the first event to the last.
	Makespan int
	// Stuck says that the run stopped short.
	Stuck bool
	// Started and StartedTokens are the responses that were begun, and the tokens
	// that they come to, whether they got there or not.
	Started, StartedTokens int
	// Updates are the times at which training of each update began, Ends those at
	// which responses ended.
	Updates, Ends []int
}

// engine answers the commands of a Core out of a law of lengths.
type engine struct {
	law     Law
	seed    uint64
	width   int
	workers [][]response
	away    map[int]response // evicted, to come back
	run     *Run
}

// response is one under way; calls are the tokens behind which it calls a tool.
type response struct {
	id, left, length int
	calls            []int
}

// Simulate runs a policy to its end. Lengths come from the law and the seed; what
// a prompt's responses come to does not depend on the policy.
func Simulate(config schedule.Config, policy schedule.Policy, law Law, seed uint64) (*Run, error) {
	core, err := schedule.New(config, policy)
	if err != nil {
		return nil, err
	}
	e := engine{law: law, seed: seed, width: config.Group + policy.Traits().Extra, workers: make([][]response, config.Workers), away: map[int]response{}, run: &Run{Config: config}}
	for {
		c := core.Next()
		if c.Kind == schedule.Stop {
			e.run.Stuck = c.Stuck
			break
		}
		if err := core.Done(e.execute(c)); err != nil {
			return nil, err
		}
	}
	e.run.Counts, e.run.Use, e.run.Log, e.run.Makespan = core.Counts(), core.Use(), core.Log(), core.Now()
	return e.run, nil
}

// execute does what a command says.
func (e *engine) execute(c schedule.Command) schedule.Outcome {
	var o schedule.Outcome
	switch c.Kind {
	case schedule.Start:
		e.start(c, &o)
	case schedule.Decode:
		active := e.workers[c.Worker]
		kept := active[:0]
		for _, r := range active {
			if !slices.Contains(c.Requests, r.id) {
				r.left -= c.Steps
				if _, calls := slices.BinarySearch(r.calls, r.length-r.left); calls {
					o.Called = append(o.Called, schedule.ToolCall{Request: r.id})
				}
			}
			if r.left == 0 {
				o.Finished = append(o.Finished, r.id)
				e.run.Ends = append(e.run.Ends, c.Time)
			} else {
				kept = append(kept, r)
			}
		}
		e.workers[c.Worker] = kept
	case schedule.Load:
		if c.Cache == schedule.Restart {
			for i := range e.workers[c.Worker] {
				e.workers[c.Worker][i].left = e.workers[c.Worker][i].length
			}
		}
	case schedule.Evict:
		e.evict(c)
	case schedule.Grade:
		for _, n := range c.Samples {
			if e.law.refused(e.seed, n) {
				o.Refused = append(o.Refused, n)
			}
		}
	case schedule.Train:
		if c.Update {
			e.run.Updates = append(e.run.Updates, c.Time)
		}
	}
	return o
}

// start brings responses into a worker and says how long they will be, and when they
// call tools.
func (e *engine) start(c schedule.Command, o *schedule.Outcome) {
	o.Lengths = make([]int, len(c.Requests))
	for i, id := range c.Requests {
		r, ok := e.away[id]
		if ok {
			delete(e.away, id)
		} else {
			turns := e.law.turns(nil, e.seed, c.Origins[i], id%e.width)
			calls, n := turns[:len(turns)-1], turns[len(turns)-1]
			r = response{id, n, n, calls}
			e.run.Started++
			e.run.StartedTokens += n
		}
		e.workers[c.Worker] = append(e.workers[c.Worker], r)
		o.Lengths[i] = r.length
		if len(r.calls) > 0 && o.Calls == nil {
			o.Calls = make([][]int, len(c.Requests))
		}
		if o.Calls != nil {
			o.Calls[i] = r.calls
		}
	}
}

// evict takes responses out of a worker.
func (e *engine) evict(c schedule.Command) {
	leaving := make(map[int]bool, len(c.Requests))
	for _, id := range c.Requests {
		leaving[id] = true
	}
	kept := e.workers[c.Worker][:0]
	for _, r := range e.workers[c.Worker] {
		switch {
		case !leaving[r.id]:
			kept = append(kept, r)
		case c.Cache != schedule.Restart:
			e.away[r.id] = r
		}
	}
	e.workers[c.Worker] = kept
}
