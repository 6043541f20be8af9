package reproduce

import (
	"path"
	"path/filepath"
	"slices"

	"driftlab/experiments/claims"
	"driftlab/experiments/claims/claim"
	"driftlab/results/record"
)

// Pack packs the observations of every claim in a directory, one file for those of a size, or
// undoes that, and returns how many observations that were. An observation that does not
// match its seal is not packed. The seals are those of the observations, packed or not.
func Pack(dir string, undo bool) (packed int, err error) {
	for _, c := range claims.All() {
		f, err := openFolder(dir, c, claim.Full)
		if err != nil {
			return packed, err
		}
		pattern := seedFiles
		if undo {
			pattern = record.PackedFiles
		}
		found, err := f.glob("*/" + pattern)
		if err != nil {
			return packed, err
		}
		var sizes []string
		for _, name := range found {
			sizes = append(sizes, path.Dir(name))
		}
		for _, size := range slices.Compact(sizes) {
			n, err := f.pack(size, undo)
			packed += n
			if err != nil {
				return packed, err
			}
		}
	}
	return packed, nil
}

// pack is Pack for the observations of a size.
func (f *folder) pack(size string, undo bool) (int, error) {
	at := filepath.Join(f.dir, size)
	if undo {
		return record.UnpackFiles(at)
	}
	seeds, err := f.glob(path.Join(size, seedFiles))
	if err != nil {
		return 0, err
	}
	for _, seed := range seeds {
		if _, err := f.read(seed); err != nil {
			return 0, err
		}
	}
	return record.PackFiles(at, seedFiles)
}
