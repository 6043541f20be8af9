package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"driftlab/engine/learner"
	"driftlab/model/safetensors"
	"driftlab/results/record"
)

// snapshot is what the state file's metadata holds beside the tensors.
type snapshot struct {
	// Record is how far the record had come, Dump how far the dump; nil without one.
	Record record.Mark      `json:"record"`
	Dump   *record.DumpMark `json:"dump,omitempty"`
	// Updates, Scale and Clean are the learner's.
	Updates int     `json:"updates"`
	Scale   float64 `json:"scale"`
	Clean   int     `json:"clean"`
	// Oldest is the oldest version kept for the schedule, the newest the last update's.
	Oldest int `json:"oldest"`
}

// The names of the file's tensors.
const (
	thetaTensor   = "theta"
	firstTensor   = "adamw.first"
	secondTensor  = "adamw.second"
	versionTensor = "version.%d"
	memoryTensor  = "memory.%s"
)

// save writes a snapshot after the steps on record. The file appears whole or
// not at all.
func (s *session) save(b *book) error {
	if b.file == nil {
		return nil
	}
	state := s.learner.State()
	meta := snapshot{Updates: state.Updates, Scale: state.Scale, Clean: state.Clean, Oldest: s.versions.oldest}
	var err error
	if meta.Record, err = b.file.Mark(); err != nil {
		return err
	}
	if b.dump != nil {
		mark, err := b.dump.Mark()
		if err != nil {
			return err
		}
		meta.Dump = &mark
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	tensors, err := s.tensors(state)
	if err != nil {
		return err
	}
	return record.WriteWhole(b.file.Dir(), record.StateFile, func(w io.Writer) error {
		return safetensors.WriteChecked(w, tensors, map[string]string{"driftlab": string(text)})
	})
}

// tensors are the weights and memories of a snapshot.
func (s *session) tensors(state learner.State) ([]safetensors.Tensor, error) {
	n := []int{len(state.First)}
	tensors := []safetensors.Tensor{
		safetensors.Float32(thetaTensor, n, s.learner.Params().Theta),
		safetensors.Float32(firstTensor, n, state.First),
		safetensors.Float32(secondTensor, n, state.Second),
	}
	for v := s.versions.oldest; v <= s.versions.newest; v++ {
		_, weights := s.versions.at(v)
		tensors = append(tensors, safetensors.Float32(fmt.Sprintf(versionTensor, v), n, weights.Theta))
	}
	for _, m := range s.memories() {
		state := m.AppendState(nil)
		tensors = append(tensors, safetensors.Tensor{
			Name: fmt.Sprintf(memoryTensor, m.part), DType: "U8", Shape: []int{len(state)}, Data: state})
	}
	return tensors, nil
}

// restore takes up the snapshot of a folder; without one nothing has been done yet.
func (s *session) restore(dir string) (*snapshot, error) {
	path := filepath.Join(dir, record.StateFile)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return &snapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	meta := new(snapshot)
	file, err := safetensors.OpenChecked(f, info.Size())
	if err == nil {
		err = s.take(file, meta)
	}
	if err != nil {
		return nil, &record.FolderError{Path: path, Problem: err.Error(), Remedy: "remove the folder to start again", Err: err}
	}
	return meta, nil
}

// take restores the session from a snapshot.
func (s *session) take(file *safetensors.File, meta *snapshot) error {
	if err := json.Unmarshal([]byte(file.Metadata["driftlab"]), meta); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	p := s.learner.Params()
	if oldest := max(0, meta.Updates+1-len(s.versions.ring)); meta.Oldest != oldest {
		return fmt.Errorf("holds versions from %d, the schedule needs them from %d", meta.Oldest, oldest)
	}
	for v := meta.Oldest; v <= meta.Updates; v++ {
		if err := read(file, fmt.Sprintf(versionTensor, v), p.Theta); err != nil {
			return err
		}
		s.versions.add(p, v)
	}
	state := learner.State{First: make([]float32, len(p.Theta)), Second: make([]float32, len(p.Theta)),
		Updates: meta.Updates, Scale: meta.Scale, Clean: meta.Clean}
	for _, t := range []struct {
		name string
		dst  []float32
	}{{thetaTensor, p.Theta}, {firstTensor, state.First}, {secondTensor, state.Second}} {
		if err := read(file, t.name, t.dst); err != nil {
			return err
		}
	}
	if err := s.learner.SetState(state); err != nil {
		return err
	}
	for _, m := range s.memories() {
		t := file.Tensor(fmt.Sprintf(memoryTensor, m.part))
		if t == nil {
			return fmt.Errorf("the state of %s is missing", m.part)
		}
		data, err := t.Bytes()
		if err == nil {
			err = m.SetState(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.part, err)
		}
	}
	return nil
}

// read copies a tensor of a snapshot.
func read(file *safetensors.File, name string, dst []float32) error {
	t := file.Tensor(name)
	if t == nil {
		return fmt.Errorf("tensor %s is missing", name)
	}
	if t.Len() != len(dst) {
		return fmt.Errorf("tensor %s has %d values, the recipe's model has %d", name, t.Len(), len(dst))
	}
	return t.Float32s(dst)
}
