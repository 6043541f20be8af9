package run

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
)

// scoredStep is a line of a run's file of log-probs that a scorer gave: with them the run is
// made again without the scorer.
type scoredStep struct {
	// Step counts from 1.
	Step int `json:"step"`
	// Tokens is a fingerprint of prompts and responses.
	Tokens string `json:"tokens"`
	// Logp has a log-prob in nats for every token of the responses, one after the other.
	Logp []float64 `json:"logp"`
}

// mostRecorded is the size at which a compressed recording is cut off.
const mostRecorded = 1 << 28

// fingerprint is the first half of the SHA-256 of the prompts and responses.
func fingerprint(b *batch.Sampled) string {
	h := sha256.New()
	for i := range b.Len() {
		from, to := b.Span(i)
		for _, ids := range [...][]int32{b.Prompt[i], b.Token[from:to]} {
			_ = binary.Write(h, binary.LittleEndian, uint32(len(ids))) // a hash takes everything
			_ = binary.Write(h, binary.LittleEndian, ids)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Recorded returns the scorer that a recording holds: the text of a file record.ScoredFile, whose
// name errors give, plain or compressed by gzip. It refuses other responses than those that were recorded.
func Recorded(name string, text []byte) (trainer.Scorer, error) {
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(z, mostRecorded))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	var steps []scoredStep
	for line := range bytes.Lines(text) {
		var s scoredStep
		if err := json.Unmarshal(line, &s); err != nil || s.Step != len(steps)+1 {
			return nil, fmt.Errorf("%s:%d: no line of a recording of log-probs, as train --scorer writes them to %s", name, len(steps)+1, record.ScoredFile)
		}
		steps = append(steps, s)
	}
	return func(step int, _ *model.Params, b *batch.Sampled) error {
		if step >= len(steps) {
			return fmt.Errorf("%s ends after step %d: set steps to that", name, len(steps))
		}
		s := steps[step]
		if s.Tokens != fingerprint(b) || len(s.Logp) != b.Tokens() {
			return fmt.Errorf("%s:%d: recorded for other responses: use the recipe and the seed of the recorded run", name, step+1)
		}
		for n, own := range b.Mask {
			if own {
				b.LogpRoll[n] = s.Logp[n]
			}
		}
		return nil
	}, nil
}

// recording is a scorer's file in a run's folder. A run that is resumed writes over the lines
// after its snapshot.
type recording struct {
	path   string
	scorer trainer.Scorer
	ends   []int64 // of the lines that are there, after 0
}

// open reads what there is, and makes the file.
func (c *recording) open() error {
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(c.path, nil, 0o666)
	}
	c.ends = []int64{0}
	for line := range bytes.Lines(text) {
		c.ends = append(c.ends, c.ends[len(c.ends)-1]+int64(len(line)))
	}
	return err
}

// score asks the scorer and appends what it says.
func (c *recording) score(step int, weights *model.Params, b *batch.Sampled) error {
	if err := c.scorer(step, weights, b); err != nil {
		return err
	}
	if step >= len(c.ends) {
		return &record.FolderError{Path: c.path, Problem: fmt.Sprintf("it has %d steps and the run goes on after step %d", len(c.ends)-1, step), Fix: "make the run again in another folder"}
	}
	line, err := json.Marshal(scoredStep{step + 1, fingerprint(b), b.LogpRoll})
	if err != nil {
		return fmt.Errorf("the scorer's log-probs of step %d: %w", step+1, err)
	}
	f, err := os.OpenFile(c.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	at := c.ends[step]
	if err := f.Truncate(at); err != nil {
		return err
	}
	n, err := f.WriteAt(append(line, '\n'), at)
	c.ends = append(c.ends[:step+1], at+int64(n))
	return errors.Join(err, f.Close())
}

// sameScoring returns an error if a folder has a run with a scorer where one without is asked
// for, or the other way round.
func sameScoring(dir string, scorer trainer.Scorer) error {
	if !record.Exists(dir) {
		return nil
	}
	_, err := os.Stat(filepath.Join(dir, record.ScoredFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if scored := err == nil; scored != (scorer != nil) {
		problem := "it holds a run whose log-probs a scorer gave"
		if !scored {
			problem = "it holds a run without a scorer"
		}
		return &record.FolderError{Path: dir, Problem: problem, Fix: "choose another folder"}
	}
	return nil
}
