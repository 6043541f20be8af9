package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"driftlab/experiments/study/judge"
)

// Change is what this version of the program would change of a claim's verdict file.
type Change struct {
	ID string `json:"id"`
	// Kept is the verdict in the file, Now the one that this version gives to the same
	// observations; Now is empty where it cannot use them.
	Kept judge.Verdict `json:"kept"`
	Now  judge.Verdict `json:"now"`
	// Why says what differs.
	Why string `json:"why"`
}

// Check judges the observations of a directory again and lists the claims whose verdict files would
// change, and how many have one. It measures and writes nothing. The error names the claims that are damaged.
func Check(dir string) (changes []Change, checked int, err error) {
	err = eachFolder(dir, func(f *folder) error {
		before, err := f.Read(verdictFile)
		if before == nil || err != nil {
			return err
		}
		checked++
		change, err := f.change(before)
		if change != nil && err == nil {
			changes = append(changes, *change)
		}
		return err
	})
	return changes, checked, err
}

// change compares a verdict file with the one that this version would write; nil where they are equal.
func (f *folder) change(before []byte) (*Change, error) {
	var old kept
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(f.Dir, verdictFile), err)
	}
	change := &Change{ID: f.claim.ID, Kept: old.Verdict}
	if old.Version != f.claim.Version {
		change.Why = fmt.Sprintf("the observations are of version %d of the claim's measurement, now it is version %d: measure them again", old.Version, f.claim.Version)
		return change, nil
	}
	r, err := f.result()
	if err != nil || r == nil {
		return nil, err
	}
	if bytes.Equal(before, verdictText(r)) {
		return nil, nil
	}
	change.Now, change.Why = r.Verdict, "the verdict stays, figures of its checks change"
	if change.Now != change.Kept {
		change.Why = "the same observations have another verdict"
	}
	return change, nil
}
