package engines

import (
	"encoding/binary"
	"errors"

	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// Sync is what of the weights arrives at the workers that a sync which is not whole
// concerns. The nil Sync is whole.
type Sync struct {
	set     *recipe.WeightSync
	old     *model.Params // what stays in the place of missed tensors
	kept    []float32     // of it, restored and not yet in its place
	version int           // of old
	mixed   *model.Params
}

// NewSync returns the sync of a recipe, nil where all are whole.
func NewSync(r recipe.Rollout) *Sync {
	if r.WeightSync == nil || len(r.WeightSync.Missed) == 0 {
		return nil
	}
	return &Sync{set: r.WeightSync}
}

// Arrives returns what the sync of that number makes of the weights of a version, and the
// version of the oldest tensor. What it returns is valid until the next call.
func (s *Sync) Arrives(sync int, p *model.Params, version int) (arrived *model.Params, actual int) {
	if s == nil {
		return p, version
	}
	if sync <= s.set.Keeps() {
		s.keep(p, version)
	}
	if s.kept != nil { // a state was restored
		s.old = p.Clone()
		copy(s.old.Trained(), s.kept)
		s.old.Merge()
		s.kept = nil
	}
	if !s.set.Partial(sync) || s.old == nil {
		return p, version
	}
	if s.mixed == nil {
		s.mixed = p.Clone()
	}
	s.mixed.CopyFrom(p)
	for i := range p.Tensors() {
		if t := &s.mixed.Tensors()[i]; s.set.Misses(t.Name) {
			s.mixed.CopyTensor(i, s.old)
		}
	}
	return s.mixed, min(version, s.version)
}

// keep takes a copy of the weights.
func (s *Sync) keep(p *model.Params, version int) {
	s.version, s.kept = version, nil
	if s.old == nil {
		s.old = p.Clone()
		return
	}
	s.old.CopyFrom(p)
}

// AppendState appends the weights that are kept, nothing for whole syncs.
func (s *Sync) AppendState(dst []byte) []byte {
	if s == nil {
		return dst
	}
	kept := s.kept
	if kept == nil && s.old != nil {
		kept = s.old.Trained()
	}
	state := method.AppendState(nil, s.version, kept)
	return append(binary.LittleEndian.AppendUint64(dst, uint64(len(state))), state...)
}

// SetState takes what AppendState appended, and returns the rest.
func (s *Sync) SetState(state []byte) (rest []byte, err error) {
	if s == nil {
		return state, nil
	}
	if len(state) < 8 || binary.LittleEndian.Uint64(state) > uint64(len(state)-8) {
		return nil, errors.New("a weight sync without the weights that it keeps")
	}
	end := 8 + int(binary.LittleEndian.Uint64(state))
	s.old = nil
	if err := method.ReadState(state[8:end], &s.version, &s.kept); err != nil {
		return nil, err
	}
	if len(s.kept) == 0 {
		s.kept = nil
	}
	return state[end:], nil
}
