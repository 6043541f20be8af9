package reproduce

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"

	"driftlab/experiments/claims"
	"driftlab/experiments/claims/claim"
	"driftlab/results/record"
)

// Seal seals what a directory of an earlier version of the program holds of claims, and
// returns how many files that were. Nothing is sealed of a claim whose verdict is not that of
// its observations, and no seal that is there is written anew.
func Seal(dir string) (sealed int, err error) {
	for _, c := range claims.All() {
		n, err := sealClaim(dir, c)
		if err != nil {
			return sealed, err
		}
		sealed += n
	}
	return sealed, nil
}

// sealClaim seals the folder of a claim.
func sealClaim(dir string, c claim.Claim) (int, error) {
	f, err := openFolder(dir, c, claim.Full)
	if err != nil {
		return 0, err
	}
	var names []string
	for _, pattern := range []string{verdictFile, path.Join("*", seedFiles), path.Join("*", recipesFolder, "arm-*.yaml")} {
		found, err := f.glob(pattern)
		if err != nil {
			return 0, err
		}
		names = append(names, found...)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if f.sums.Has(name) {
			if _, err := f.read(name); err != nil {
				return 0, err
			}
			continue
		}
		if files[name], err = record.ReadFile(filepath.Join(f.dir, filepath.FromSlash(name))); err != nil {
			return 0, err
		}
	}
	if len(files) == 0 {
		return 0, nil
	}
	// In memory first: what is not what it says is not sealed.
	f.sums.Put(files)
	if err := f.agrees(); err != nil {
		return 0, err
	}
	return len(files), f.sums.Add(nil)
}

// agrees returns an error unless the verdict's file is what the observations come to.
func (f *folder) agrees() error {
	text, err := f.read(verdictFile)
	if err != nil || text == nil {
		return err
	}
	r, err := f.result()
	if r == nil || err != nil {
		return err
	}
	want, err := verdictText(r)
	if err == nil && !bytes.Equal(text, want) {
		err = &record.FolderError{Path: filepath.Join(f.dir, verdictFile), Problem: "not what the observations next to it come to",
			Fix: fmt.Sprintf("restore what was changed; if that is the verdict alone, delete it, seal the rest, and simulate reproduce %s --out %s makes it again", f.claim.ID, f.root)}
	}
	return err
}
