package reproduce

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"driftlab/experiments/claims/claim"
	"driftlab/results/record"
)

// Files of a claim's folder, next to the observations and the seals.
const (
	verdictFile   = "verdict.json"
	pageFile      = "README.md"
	pictureFile   = "picture.svg"
	recipesFolder = "recipes" // of its training runs, in the folder of a size
)

// claimFolder is where everything about a claim is kept.
func claimFolder(dir string, c claim.Claim) string { return filepath.Join(dir, "claims", c.ID) }

// sizeFolder is the first part of the keys of observations of that size and version, and the
// folder of the recipes.
func sizeFolder(c claim.Claim, size claim.Size) string { return fmt.Sprintf("%s-v%d", size, c.Version) }

// key is that of the observation of a seed.
func (f *folder) key(seed uint64) string { return fmt.Sprintf("%s/seed-%d", f.size, seed) }

// folder is that of a claim, on a disk: the cells are the observations. What is read back of
// it has a seal: cells, recipes and the verdict.
type folder struct {
	claim claim.Claim
	root  string // with the folders of all claims
	dir   string // the claim's
	size  string // of its observations, with the version
	mu    sync.Mutex
	sums  *record.Sums
	cells *record.Cells // nil until they are read
}

// openFolder reads the seals of a claim's folder, which need not be there yet.
func openFolder(dir string, c claim.Claim, size claim.Size) (*folder, error) {
	f := &folder{claim: c, root: dir, dir: claimFolder(dir, c), size: sizeFolder(c, size)}
	var err error
	f.sums, err = record.ReadSums(f.dir)
	return f, err
}

// read returns a sealed file, nil if it is not there.
func (f *folder) read(name string) ([]byte, error) {
	at := filepath.Join(f.dir, filepath.FromSlash(name))
	text, err := record.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return text, f.sums.Check(name, text, f.fix())
}

// withCells does something with the cells, one caller at a time.
func (f *folder) withCells(do func(cells *record.Cells) error) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells == nil {
		if f.cells, err = record.ReadCells(f.dir, nil); err != nil {
			return err
		}
	}
	return do(f.cells)
}

// close ends the writing of cells.
func (f *folder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cells != nil {
		f.cells.Close()
	}
}

// finish compresses the cells, by size, version and seed.
func (f *folder) finish() error {
	return f.withCells(func(cells *record.Cells) error {
		return cells.Seal(slices.SortedFunc(slices.Values(cells.Keys()), func(a, b string) int {
			return cmp.Or(strings.Compare(path.Dir(a), path.Dir(b)), len(a)-len(b), strings.Compare(a, b))
		}))
	})
}

// fix is what to do about a damaged file.
func (f *folder) fix() string {
	return fmt.Sprintf("delete it, and simulate reproduce %s --out %s makes it again", f.claim.ID, f.root)
}

// write seals a file and writes it, whole or not at all.
func (f *folder) write(name string, text []byte) error {
	at := filepath.Join(f.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return err
	}
	f.mu.Lock()
	err := f.sums.Add(map[string][]byte{name: text})
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return record.WriteFile(filepath.Dir(at), filepath.Base(at), text)
}

// observation reads that of a seed; nil if it is not there.
func (f *folder) observation(seed uint64) (*claim.Observation, error) {
	var text []byte
	err := f.withCells(func(cells *record.Cells) error {
		text = cells.Get(f.key(seed))
		return nil
	})
	if text == nil || err != nil {
		return nil, err
	}
	o := new(claim.Observation)
	if err := json.Unmarshal(text, o); err != nil || o.Empty() {
		return nil, &record.FolderError{Path: f.dir, Problem: f.key(seed) + " is not an observation", Fix: "remove its line from " + record.CellsFile + ", and it is measured again", Err: err}
	}
	return o, nil
}

// observations reads those of all seeds; nil if one is not there.
func (f *folder) observations(seeds []uint64) ([]*claim.Observation, error) {
	var runs []*claim.Observation
	for _, seed := range seeds {
		o, err := f.observation(seed)
		if o == nil || err != nil {
			return nil, err
		}
		runs = append(runs, o)
	}
	return runs, nil
}

// missing are the seeds without an observation.
func (f *folder) missing(seeds []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(seeds), func(seed uint64) bool {
		o, err := f.observation(seed)
		return o != nil || err != nil
	})
}

// keepObservation writes that of a seed.
func (f *folder) keepObservation(seed uint64, o *claim.Observation) error {
	return f.withCells(func(cells *record.Cells) error { return cells.Add(f.key(seed), o) })
}

// keepRecipes writes the recipes of the claim's training runs.
func (f *folder) keepRecipes(recipes []string) error {
	for i, text := range recipes {
		if err := f.write(path.Join(f.size, recipesFolder, fmt.Sprintf("arm-%02d.yaml", i+1)), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// recipes reads what keepRecipes wrote, in the order of the arms.
func (f *folder) recipes() ([]string, error) {
	names, err := fs.Glob(os.DirFS(f.dir), path.Join(f.size, recipesFolder, "arm-*.yaml"))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, name := range names {
		text, err := f.read(name)
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}

// verdict reads the verdict of the claim as it is now; ok is false where there is none, or
// one of another version.
func (f *folder) verdict() (k kept, ok bool, err error) {
	text, err := f.read(verdictFile)
	if text == nil || err != nil {
		return k, false, err
	}
	k, ok = readVerdict(text, f.claim)
	return k, ok, nil
}
