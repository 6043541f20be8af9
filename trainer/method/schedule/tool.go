package schedule

import (
	"fmt"
	"slices"
)

// called lets the requests wait that called a tool in a worker's last step, where that
// costs anything: each keeps its slot, and does not decode until the tool has answered.
func (c *Core) called(w *Worker, calls []ToolCall) error {
	if !c.config.Costs.tools() {
		return nil
	}
	for _, call := range calls {
		i := slices.IndexFunc(w.Active, func(r *Request) bool { return r.ID == call.Request })
		if i < 0 || w.Active[i].calling || call.Tokens < 0 {
			return fmt.Errorf("schedule: request %d is said to have called a tool on worker %d, where it does not decode", call.Request, w.ID)
		}
		r := w.Active[i]
		r.calling, r.back, r.reply = true, w.from+c.config.Costs.ToolCall, call.Tokens
		c.counts.Calls++
	}
	return nil
}

// answered lets those requests of a worker go on whose tools have answered; the worker
// has their replies to read.
func (c *Core) answered(w *Worker) {
	for _, r := range w.Active {
		if r.calling && r.back <= c.now {
			w.debt += ceilDiv(r.reply*c.config.Costs.ToolToken, c.config.Engine)
			c.counts.ToolTokens += r.reply
			c.counts.WaitedTicks += c.now - r.back + c.config.Costs.ToolCall
			r.hear()
		}
	}
}

// hear takes a reply into what a request has to be read for.
func (r *Request) hear() {
	r.replied += r.reply
	r.calling, r.back, r.reply = false, 0, 0
}

// decodes is the number of a worker's requests that decode, and the time at which the
// first of the others hears from its tool, never where none waits.
func (w *Worker) decodes() (n, back int) {
	back = never
	for _, r := range w.Active {
		if r.calling {
			back = min(back, r.back)
		} else {
			n++
		}
	}
	return n, back
}

// calling are the requests of a worker that wait for their tools.
func (w *Worker) callers() []int {
	var ids []int
	for _, r := range w.Active {
		if r.calling {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
