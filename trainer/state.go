package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"driftlab/engine/learner"
	"driftlab/model/safetensors"
	"driftlab/results"
)

// snapshot is what the file's metadata holds beside the tensors.
type snapshot struct {
	// Done is the number of steps made.
	Done int `json:"done"`
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

// save writes a snapshot after so many steps.
func (s *session) save(b *book, done int) error {
	if b.file == nil {
		return nil
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	if s.options.Dump != nil {
		if err := s.options.Dump.Flush(); err != nil {
			return err
		}
	}
	state := s.learner.State()
	text, err := json.Marshal(snapshot{Done: done, Updates: state.Updates, Scale: state.Scale, Clean: state.Clean,
		Oldest: s.versions.oldest})
	if err != nil {
		return err
	}
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
		state, err := m.save()
		if err != nil {
			return fmt.Errorf("%s: %w", m.part, err)
		}
		tensors = append(tensors, safetensors.Tensor{
			Name: fmt.Sprintf(memoryTensor, m.part), DType: "U8", Shape: []int{len(state)}, Data: state})
	}
	var file bytes.Buffer
	if err := safetensors.Write(&file, tensors, map[string]string{"driftlab": string(text)}); err != nil {
		return err
	}
	return results.WriteFile(b.file.Dir(), results.StateFile, file.Bytes())
}

// restore takes up a snapshot and returns the number of steps it had made. Its
// errors name the file.
func (s *session) restore(path string) (done int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	file, err := safetensors.Parse(data)
	if err == nil {
		done, err = s.take(file)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: remove the folder to start again", path, err)
	}
	return done, nil
}

// SnapshotStep returns how many steps the run in dir will not make again when
// it is taken up: those of its last snapshot, 0 without one. A dump is resumed
// from there.
func SnapshotStep(dir string) (int, error) {
	path := filepath.Join(dir, results.StateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	file, err := safetensors.Parse(data)
	var meta snapshot
	if err == nil {
		err = json.Unmarshal([]byte(file.Metadata["driftlab"]), &meta)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w: remove the folder to start again", path, err)
	}
	return meta.Done, nil
}

// take restores the session from a snapshot.
func (s *session) take(file *safetensors.File) (done int, err error) {
	var meta snapshot
	if err := json.Unmarshal([]byte(file.Metadata["driftlab"]), &meta); err != nil {
		return 0, fmt.Errorf("metadata: %w", err)
	}
	p := s.learner.Params()
	if oldest := max(0, meta.Updates+1-len(s.versions.ring)); meta.Oldest != oldest {
		return 0, fmt.Errorf("holds versions from %d, the schedule needs them from %d", meta.Oldest, oldest)
	}
	for v := meta.Oldest; v <= meta.Updates; v++ {
		if err := read(file, fmt.Sprintf(versionTensor, v), p.Theta); err != nil {
			return 0, err
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
			return 0, err
		}
	}
	if err := s.learner.SetState(state); err != nil {
		return 0, err
	}
	for _, m := range s.memories() {
		t := file.Tensor(fmt.Sprintf(memoryTensor, m.part))
		if t == nil {
			return 0, fmt.Errorf("the state of %s is missing", m.part)
		}
		if err := m.load(t.Data); err != nil {
			return 0, fmt.Errorf("%s: %w", m.part, err)
		}
	}
	return meta.Done, nil
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
