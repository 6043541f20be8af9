package trainer

import (
	"errors"
	"fmt"
	"slices"

	"driftlab/engine/learner"
	"driftlab/trainer/method"
)

// Snapshot counts what a session has done, in addition to its tensors and memories: with
// them it goes on as if it had not been interrupted.
type Snapshot struct {
	// Updates, Scale and Clean are the learner's.
	Updates int     `json:"updates"`
	Scale   float64 `json:"scale"`
	Clean   int     `json:"clean"`
	// Oldest is the oldest version kept for the schedule, the newest the last update's.
	Oldest int `json:"oldest"`
}

// Tensor is a named run of numbers of a session, in its own memory.
type Tensor struct {
	Name string
	Data []float32
}

// Memory is what a method or a part of a session remembers, under its name.
type Memory struct {
	Name string
	Data []byte
}

// The names of the tensors: of the adapters where a recipe trains these, for the checkpoint
// has all other weights.
const (
	thetaTensor   = "theta"
	firstTensor   = "adamw.first"
	secondTensor  = "adamw.second"
	versionTensor = "version.%d"
)

// Snapshot returns what there is to keep between steps. The tensors are the
// session's own memory: write them before the next step.
func (s *Session) Snapshot() (Snapshot, []Tensor, []Memory) {
	state := s.learner.State()
	meta := Snapshot{Updates: state.Updates, Scale: state.Scale, Clean: state.Clean, Oldest: s.versions.oldest}
	tensors := []Tensor{{thetaTensor, s.learner.Params().Trained()}, {firstTensor, state.First}, {secondTensor, state.Second}}
	for v := s.versions.oldest; v <= s.versions.newest; v++ {
		_, weights := s.versions.at(v)
		tensors = append(tensors, Tensor{fmt.Sprintf(versionTensor, v), weights.Trained()})
	}
	var memories []Memory
	for _, m := range s.memories() {
		memories = append(memories, Memory{m.part, m.AppendState(nil)})
	}
	return meta, tensors, memories
}

// Restore takes up what Snapshot returned, in a session of the same recipe. It asks
// for one tensor after the other, and for each memory, by name.
func (s *Session) Restore(meta Snapshot, tensor func(name string, dst []float32) error, memory func(name string) ([]byte, error)) error {
	p := s.learner.Params()
	if oldest := max(0, meta.Updates+1-len(s.versions.ring)); meta.Oldest != oldest {
		return fmt.Errorf("holds versions from %d, the schedule needs them from %d", meta.Oldest, oldest)
	}
	for v := meta.Oldest; v <= meta.Updates; v++ {
		if err := tensor(fmt.Sprintf(versionTensor, v), p.Trained()); err != nil {
			return err
		}
		p.Merge()
		s.versions.add(p, v)
	}
	n := len(p.Trained())
	state := learner.State{First: make([]float32, n), Second: make([]float32, n),
		Updates: meta.Updates, Scale: meta.Scale, Clean: meta.Clean}
	for _, t := range []Tensor{{thetaTensor, p.Trained()}, {firstTensor, state.First}, {secondTensor, state.Second}} {
		if err := tensor(t.Name, t.Data); err != nil {
			return err
		}
	}
	p.Merge()
	if err := s.learner.SetState(state); err != nil {
		return err
	}
	for _, m := range s.memories() {
		data, err := memory(m.part)
		if err == nil {
			err = m.SetState(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.part, err)
		}
	}
	return nil
}

// spread goes on with that many workers: the session is made anew and takes up
// what there is to keep between steps, as a run does that was interrupted. So
// whatever a recipe may name, a resumed run and one that spreads have one promise.
func (s *Session) spread(workers int) error {
	meta, tensors, memories := s.Snapshot()
	p, o := s.learner.Params(), s.options
	kept, remembered := map[string][]float32{}, map[string][]byte{}
	for _, t := range tensors {
		kept[t.Name] = t.Data
	}
	for _, m := range memories {
		remembered[m.Name] = m.Data
	}
	kept[thetaTensor] = slices.Clone(kept[thetaTensor])
	s.Close()
	p.CopyFrom(s.initial)
	o.Workers = workers
	if err := s.open(s.recipe, p, o); err != nil {
		return err
	}
	tensor := func(name string, dst []float32) error {
		if copy(dst, kept[name]) < len(dst) {
			return errors.New("tensor " + name + " was not kept")
		}
		return nil
	}
	return s.Restore(meta, tensor, func(name string) ([]byte, error) { return remembered[name], nil })
}

// memory is what one part of a session remembers from step to step in addition to
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
	if s.predictor != nil {
		add("routing.predictor", s.predictor)
	}
	for _, m := range s.stages {
		add(m.name, m.stage)
	}
	return all
}
