package trainer

import (
	"errors"
	"slices"
)

// spread goes on with that many workers: the session is made anew and takes up
// what there is to keep between steps, as a run does that was interrupted. So
// whatever a recipe may name, a resumed run and one that spreads have one promise.
func (s *Session) spread(workers int) error {
	meta, tensors, memories := s.Snapshot()
	p, o := s.learner.Params(), s.options
	for i, t := range tensors {
		if t.Name == thetaTensor {
			tensors[i].Data = slices.Clone(t.Data)
		}
	}
	s.Close()
	p.CopyFrom(s.initial)
	o.Workers = workers
	if err := s.open(s.recipe, p, o); err != nil {
		return err
	}
	tensor := func(name string, dst []float32) error {
		i := slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == name })
		if i < 0 || copy(dst, tensors[i].Data) < len(dst) {
			return errors.New("tensor " + name + " was not kept")
		}
		return nil
	}
	memory := func(name string) ([]byte, error) {
		i := slices.IndexFunc(memories, func(m Memory) bool { return m.Name == name })
		if i < 0 {
			return nil, errors.New("its state was not kept")
		}
		return memories[i].Data, nil
	}
	return s.Restore(meta, tensor, memory)
}
