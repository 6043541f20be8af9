package trainer

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"

	"driftlab/trainer/loss"
)

// memory is what one part of a session remembers from step to step besides
// weights: an interrupted run saves it, a resumed one restores it.
type memory struct {
	// part is the field of the recipe that names it.
	part string
	save func() ([]byte, error)
	load func(state []byte) error
}

// memories lists the parts that remember something, in a fixed order.
func (s *session) memories() []memory {
	var all []memory
	add := func(part string, method any) {
		if m, ok := method.(loss.Stateful); ok {
			all = append(all, memory{part,
				func() ([]byte, error) { return appendFloats(nil, m.State()), nil },
				func(state []byte) error { return loadFloats(m, state) }})
		}
	}
	add("schedule", s.schedule)
	add("advantage", s.estimator)
	add("loss", s.objective.loss)
	for i, t := range s.objective.terms {
		add(fmt.Sprintf("terms[%d]", i), t)
	}
	add("kl", s.objective.kl)
	if s.critic != nil {
		add("critic", s.critic)
	}
	if s.fleet.Remembers() {
		all = append(all, memory{"rollout.kv_scales", s.fleet.Save, s.fleet.Load})
	}
	for i, part := range s.parts {
		m, saves := part.(encoding.BinaryMarshaler)
		u, loads := part.(encoding.BinaryUnmarshaler)
		if saves && loads {
			all = append(all, memory{fmt.Sprintf("reward[%d]", i), m.MarshalBinary, u.UnmarshalBinary})
		}
	}
	if d := s.speculation; d != nil {
		all = append(all, memory{"rollout.speculative", func() ([]byte, error) { return d.Save(), nil }, d.Restore})
	}
	for i, g := range s.guards {
		all = append(all, memory{fmt.Sprintf("guards[%d]", i), func() ([]byte, error) { return g.Save(nil), nil }, g.Restore})
	}
	return all
}

// appendFloats appends numbers bit for bit.
func appendFloats(dst []byte, x []float64) []byte {
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// loadFloats hands a method the numbers of appendFloats.
func loadFloats(m loss.Stateful, state []byte) error {
	if len(state)%8 != 0 {
		return fmt.Errorf("state of %d bytes, not a multiple of 8", len(state))
	}
	var x []float64
	for ; len(state) > 0; state = state[8:] {
		x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(state)))
	}
	return m.SetState(x)
}
