package trainer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"driftlab/engine/learner"
	"driftlab/model/safetensors"
	"driftlab/results"
	"driftlab/trainer/loss"
)

// stateFile is the snapshot an interrupted run resumes from: one safetensors
// file that appears whole or not at all.
const stateFile = "state.safetensors"

// snapshot is what the file's metadata holds beside the tensors.
type snapshot struct {
	// Done is the number of steps made.
	Done int `json:"done"`
	// Updates, Scale and Clean are the learner's.
	Updates int     `json:"updates"`
	Scale   float64 `json:"scale"`
	Clean   int     `json:"clean"`
	// Oldest and Newest are the versions kept for the schedule.
	Oldest int `json:"oldest"`
	Newest int `json:"newest"`
	// Methods are the states of the stateful methods, in the order of stateful.
	Methods [][]float64 `json:"methods"`
}

// stateful returns the methods of the session that remember something.
func (s *session) stateful() []loss.Stateful {
	var methods []loss.Stateful
	for _, m := range []any{s.objective.loss, s.objective.kl, s.estimator, s.schedule} {
		if m, ok := m.(loss.Stateful); ok {
			methods = append(methods, m)
		}
	}
	return methods
}

// save writes a snapshot after so many steps.
func (s *session) save(b *book, done int) error {
	if b.file == nil {
		return nil
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	state := s.learner.State()
	meta := snapshot{Done: done, Updates: state.Updates, Scale: state.Scale, Clean: state.Clean,
		Oldest: s.versions.oldest, Newest: s.versions.newest}
	for _, m := range s.stateful() {
		meta.Methods = append(meta.Methods, m.State())
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	n := []int{len(state.First)}
	tensors := []safetensors.Tensor{
		safetensors.Float32("theta", n, s.learner.Params().Theta),
		safetensors.Float32("first", n, state.First),
		safetensors.Float32("second", n, state.Second),
	}
	for v := s.versions.oldest; v <= s.versions.newest; v++ {
		_, weights := s.versions.at(v)
		tensors = append(tensors, safetensors.Float32(fmt.Sprintf("version.%d", v), n, weights.Theta))
	}
	var file bytes.Buffer
	if err := safetensors.Write(&file, tensors, map[string]string{"driftlab": string(text)}); err != nil {
		return err
	}
	return results.WriteFile(b.file.Dir(), stateFile, file.Bytes())
}

// restore takes up a snapshot and returns the number of steps it had made.
func (s *session) restore(path string) (done int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	file, err := safetensors.Parse(data)
	if err != nil {
		return 0, fmt.Errorf("%s: %w; remove the folder to start again", path, err)
	}
	var meta snapshot
	if err := json.Unmarshal([]byte(file.Metadata["driftlab"]), &meta); err != nil {
		return 0, fmt.Errorf("%s: %w; remove the folder to start again", path, err)
	}
	var failure error
	read := func(name string) []float32 {
		t := file.Tensor(name)
		if t == nil {
			failure = fmt.Errorf("%s: tensor %s is missing; remove the folder to start again", path, name)
			return nil
		}
		values := make([]float32, t.Len())
		if err := t.Float32s(values); err != nil {
			failure = fmt.Errorf("%s: %w", path, err)
		}
		return values
	}
	theta, first, second := read("theta"), read("first"), read("second")
	if failure == nil && len(theta) != len(s.learner.Params().Theta) {
		failure = fmt.Errorf("%s: holds %d parameters, the recipe's model has %d", path, len(theta), len(s.learner.Params().Theta))
	}
	if failure != nil {
		return 0, failure
	}
	for v := meta.Oldest; v <= meta.Newest; v++ {
		values := read(fmt.Sprintf("version.%d", v))
		if failure != nil {
			return 0, failure
		}
		copy(s.learner.Params().Theta, values)
		s.versions.add(s.learner.Params(), v)
	}
	s.versions.oldest, s.versions.newest = meta.Oldest, meta.Newest
	copy(s.learner.Params().Theta, theta)
	if err := s.learner.SetState(learner.State{First: first, Second: second, Updates: meta.Updates, Scale: meta.Scale, Clean: meta.Clean}); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	methods := s.stateful()
	if len(methods) != len(meta.Methods) {
		return 0, fmt.Errorf("%s: holds the state of %d methods, the recipe has %d", path, len(meta.Methods), len(methods))
	}
	for i, m := range methods {
		if err := m.SetState(meta.Methods[i]); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	return meta.Done, nil
}
