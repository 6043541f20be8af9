package main

import (
	"driftlab/experiments/bench"
)

// grow times steps of growing sizes and prints the slopes.
func (c *benchCmd) grow(a *app, step bench.Step) error {
	list := step.Grow()
	var steps []bench.Step
	for _, s := range list {
		if err := s.Step.Model.Validate(); err != nil {
			return bad("bench: --grow: %s %d: %v", s.Axis, s.Value, err)
		}
		if need := s.Step.Memory(); need >= mostMemory {
			return bad("bench: --grow: %s %d would need about %.0f GiB of memory, and %d is the most it takes: begin with smaller sizes", s.Axis, s.Value, need/(1<<30), int64(mostMemory)>>30)
		}
		steps = append(steps, s.Step)
	}
	results, err := c.measure(a, steps...)
	if err != nil {
		return err
	}
	doc, err := bench.NewGrowth(list, results)
	if err != nil {
		return bad("bench: --grow: %v", err)
	}
	if c.JSON {
		return a.printJSON(doc)
	}
	a.printTable(doc.Table())
	return nil
}
