package reproduce

import (
	"os"

	"driftlab/experiments/claim"
	"driftlab/experiments/claims"
	"driftlab/results"
	"driftlab/results/record"
)

// Files of a claim's folder, beside the observations.
const (
	verdictFile = "verdict.json"
	pageFile    = "README.md"
	pictureFile = "picture.png"
)

// keep writes what a claim came to into its folder: the verdict for programs,
// a page for readers, the picture. A preview does not replace a full verdict,
// and fresh seeds that were measured earlier stay.
// It also reads back the recipes of training runs that were kept earlier.
func (r *Result) keep(dir string) error {
	if dir == "" {
		return nil
	}
	var err error
	if r.Recipes, err = keptRecipes(claimDir(dir, r.Claim, r.Size)); err != nil {
		return err
	}
	where := claimFolder(dir, r.Claim)
	old, ok := lastVerdict(where, r.Claim)
	if ok && r.Provisional() && !old.provisional() {
		return nil
	}
	if ok && r.Fresh == nil && old.Fresh != nil && old.Size == r.Size.String() {
		if r.Fresh, err = judgedAgain(dir, r.Claim, r.Size, old.Fresh.Seeds); err != nil {
			return err
		}
	}
	text, err := verdictText(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(where, 0o777); err != nil {
		return err
	}
	if err := record.WriteFile(where, verdictFile, text); err != nil {
		return err
	}
	if err := record.WriteFile(where, pageFile, []byte(r.Markdown())); err != nil {
		return err
	}
	if r.Evidence.Picture == nil {
		return nil
	}
	return record.WriteFile(where, pictureFile, results.PNG(r.Evidence.Picture, results.LightPaper))
}

// Kept returns the claims that a directory has a verdict of, in the order of
// their list, judged again from their observations. Claims whose observations
// are not all there are left out.
func Kept(dir string) ([]Result, error) {
	var list []Result
	for _, c := range claims.All() {
		k, ok := lastVerdict(claimFolder(dir, c), c)
		size, known := claim.ParseSize(k.Size)
		if !ok || !known {
			continue
		}
		first, err := judgedAgain(dir, c, size, k.Seeds)
		if err != nil {
			return nil, err
		}
		if first == nil {
			continue
		}
		r := Result{Claim: c, Size: size, Judged: *first}
		if k.Fresh != nil {
			if r.Fresh, err = judgedAgain(dir, c, size, k.Fresh.Seeds); err != nil {
				return nil, err
			}
		}
		if r.Recipes, err = keptRecipes(claimDir(dir, c, size)); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// judgedAgain judges the observations that a directory has of these seeds; nil
// where one is missing.
func judgedAgain(dir string, c claim.Claim, size claim.Size, seeds []uint64) (*Judged, error) {
	var runs []*claim.Observation
	for _, seed := range seeds {
		o, there, err := keptObservation(claimDir(dir, c, size), seed)
		if err != nil || !there {
			return nil, err
		}
		runs = append(runs, o)
	}
	if len(runs) == 0 {
		return nil, nil
	}
	j := judge(c, seeds, runs)
	return &j, nil
}
