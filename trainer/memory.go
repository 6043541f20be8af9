package trainer

import (
	"fmt"

	"driftlab/trainer/method"
)

// memory is what one part of a session remembers from step to step besides
// weights: an interrupted run saves it, a resumed one restores it.
type memory struct {
	// part is the field of the recipe that names it.
	part string
	method.Memory
}

// memories lists the methods and stages that remember something, in a fixed order.
func (s *Session) memories() []memory {
	var all []memory
	add := func(part string, x any) {
		if m, ok := x.(method.Memory); ok {
			all = append(all, memory{part, m})
		}
	}
	add("advantage", s.estimator)
	add("loss", s.objective.loss)
	for i, t := range s.objective.terms {
		add(fmt.Sprintf("terms[%d]", i), t)
	}
	add("kl", s.objective.kl)
	for i, part := range s.parts {
		add(fmt.Sprintf("reward[%d]", i), part)
	}
	for i, g := range s.guards {
		add(fmt.Sprintf("guards[%d]", i), g)
	}
	for _, m := range s.stages {
		add(m.name, m.stage)
	}
	return all
}
