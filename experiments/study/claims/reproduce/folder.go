package reproduce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/study"
	"driftlab/experiments/study/claims/claim"
	"driftlab/results/record"

	"go.yaml.in/yaml/v4"
)

// Files of a claim's folder, next to those of every study.
const (
	verdictFile = "verdict.json"
	pageFile    = "README.md"
	pictureFile = "picture.svg"
)

// claimFolder is where everything about a claim is kept.
func claimFolder(dir string, c claim.Claim) string { return filepath.Join(dir, "claims", c.ID) }

// folder is the folder of a claim: a study whose cells are the observations.
type folder struct {
	*study.Store
	claim claim.Claim
	root  string // with the folders of all claims
	size  string // of its observations, with the version: the first part of their keys
}

// openFolder reads the seals of a claim's folder, which need not be there yet.
func openFolder(dir string, c claim.Claim, size claim.Size) (*folder, error) {
	f := &folder{claim: c, root: dir}
	f.choose(size)
	var err error
	f.Store, err = study.OpenStore(claimFolder(dir, c), fmt.Sprintf("delete it, and simulate reproduce %s --out %s makes it again", c.ID, dir))
	return f, err
}

// choose takes the observations of a size.
func (f *folder) choose(size claim.Size) { f.size = fmt.Sprintf("%s-v%d", size, f.claim.Version) }

// key is the key of the observation of a seed.
func (f *folder) key(seed uint64) string { return fmt.Sprintf("%s/seed-%d", f.size, seed) }

// finish compresses the cells, by size, version and seed.
func (f *folder) finish() error {
	keys, err := f.Keys()
	if err != nil {
		return err
	}
	return f.Seal(slices.SortedFunc(slices.Values(keys), func(a, b string) int {
		return cmp.Or(strings.Compare(path.Dir(a), path.Dir(b)), len(a)-len(b), strings.Compare(a, b))
	}))
}

// observed reads the observation of a cell of a claim.
func observed(id string, cell *record.Cell) (*claim.Observation, error) {
	o := new(claim.Observation)
	if err := json.Unmarshal(cell.Outcome, o); err != nil || o.Empty() {
		return nil, &record.FolderError{Path: filepath.Join("claims", id), Problem: cell.Key + " is not an observation", Fix: "remove its line from " + record.CellsFile + ", and it is measured again", Err: err}
	}
	return o, nil
}

// keepPlan writes the plan with the claim's training runs, by their recipes, next to those of other sizes.
func (f *folder) keepPlan(recipes []string) error {
	x, err := f.Index()
	if err != nil {
		return err
	}
	x = cmp.Or(x, new(study.Index))
	x.Name, x.Version = f.claim.ID, f.claim.Version
	x.Arms = slices.DeleteFunc(x.Arms, func(a study.Arm) bool { return path.Dir(a.Name) == f.size })
	for i, text := range recipes {
		command, err := armCommand(text)
		if err != nil {
			return err
		}
		x.Arms = append(x.Arms, study.Arm{Name: fmt.Sprintf("%s/%02d", f.size, i+1), Command: command})
	}
	slices.SortStableFunc(x.Arms, func(a, b study.Arm) int { return strings.Compare(path.Dir(a.Name), path.Dir(b.Name)) })
	return f.WriteIndex(x)
}

// armCommand makes the training run of a recipe, whose first line has what it changes in the headline's.
func armCommand(recipe string) (string, error) {
	var r struct {
		Steps      int
		Seed       uint64
		Checkpoint string
	}
	if err := yaml.Load([]byte(recipe), &r); err != nil {
		return "", err
	}
	head, _, _ := strings.Cut(strings.TrimPrefix(recipe, "# "), "\n")
	set := append([]string{fmt.Sprintf("steps=%d", r.Steps), "eval.every=0"}, strings.Split(head, "  ")...)
	if !strings.Contains(head, "checkpoint=") {
		set = append(set, "checkpoint="+r.Checkpoint)
	}
	command := "simulate train headline"
	for _, change := range set {
		command += " --set " + record.ShellWord(change)
	}
	return fmt.Sprintf("%s --seed %d", command, r.Seed), nil
}

// arms are the training runs in the plan of the folder.
func (f *folder) arms() ([]study.Arm, error) {
	x, err := f.Index()
	if x == nil || err != nil {
		return nil, err
	}
	return slices.DeleteFunc(x.Arms, func(a study.Arm) bool { return path.Dir(a.Name) != f.size }), nil
}

// verdict reads the verdict of the claim as it is now; ok is false where there is none, or
// one of another version.
func (f *folder) verdict() (k kept, ok bool, err error) {
	text, err := f.Read(verdictFile)
	if text == nil || err != nil {
		return k, false, err
	}
	k, ok = readVerdict(text, f.claim)
	return k, ok, nil
}
