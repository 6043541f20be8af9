package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"driftlab/model/safetensors"
	"driftlab/results/record"
	"driftlab/trainer"
)

// snapshot is what the state file's metadata holds in addition to the tensors.
type snapshot struct {
	trainer.Snapshot
	// Record is how far the record had come, Dump how far the dump; nil without one.
	Record record.Mark      `json:"record"`
	Dump   *record.DumpMark `json:"dump,omitempty"`
}

// memoryTensor names what a part of the session remembers.
const memoryTensor = "memory.%s"

// save writes a snapshot after the steps on record. The file appears whole or
// not at all.
func (r *run) save() error {
	if r.file == nil {
		return nil
	}
	if err := r.keepClock(); err != nil {
		return err
	}
	counts, weights, memories := r.session.Snapshot()
	meta := snapshot{Snapshot: counts}
	var err error
	if meta.Record, err = r.file.Mark(); err != nil {
		return err
	}
	if r.dump != nil {
		mark, err := r.dump.Mark()
		if err != nil {
			return err
		}
		meta.Dump = &mark
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	var tensors []safetensors.Tensor
	r.saved, r.values = r.done, 0
	for _, t := range weights {
		r.values += len(t.Data)
		tensors = append(tensors, safetensors.Float32(t.Name, []int{len(t.Data)}, t.Data))
	}
	for _, m := range memories {
		tensors = append(tensors, safetensors.Tensor{
			Name: fmt.Sprintf(memoryTensor, m.Name), DType: "U8", Shape: []int{len(m.Data)}, Data: m.Data})
	}
	return record.WriteWhole(r.file.Dir(), record.StateFile, func(w io.Writer) error {
		return safetensors.WriteChecked(w, tensors, map[string]string{"driftlab": string(text)})
	})
}

// restore takes up the snapshot of a folder; without one nothing has been done yet.
func restore(s *trainer.Session, dir string) (*snapshot, error) {
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
		err = take(s, file, meta)
	}
	if err != nil {
		return nil, &record.FolderError{Path: path, Problem: err.Error(), Fix: "remove the folder to start again", Err: err}
	}
	return meta, nil
}

// take restores the session from a snapshot.
func take(s *trainer.Session, file *safetensors.File, meta *snapshot) error {
	if err := json.Unmarshal([]byte(file.Metadata["driftlab"]), meta); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return s.Restore(meta.Snapshot, func(name string, dst []float32) error {
		t := file.Tensor(name)
		if t == nil {
			return fmt.Errorf("tensor %s is missing", name)
		}
		if t.Len() != len(dst) {
			return fmt.Errorf("tensor %s has %d values, the recipe's model has %d", name, t.Len(), len(dst))
		}
		return t.Float32s(dst)
	}, func(name string) ([]byte, error) {
		t := file.Tensor(fmt.Sprintf(memoryTensor, name))
		if t == nil {
			return nil, errors.New("its state is missing")
		}
		return t.Bytes()
	})
}
