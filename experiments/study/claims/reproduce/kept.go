package reproduce

import (
	"errors"
	"fmt"

	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/results"
	"driftlab/results/record"
)

// keep writes what a claim came to into its folder: the verdict for programs,
// a page for readers, the picture. A preview does not replace a full verdict,
// and fresh seeds that were measured earlier stay, whatever became of the old
// verdict's file: it is made of the observations, again.
// It also reads back the training runs that were kept earlier.
func (r *Result) keep(f *folder) error {
	var err error
	if r.Arms, err = f.arms(); err != nil {
		return err
	}
	old, ok, damaged := f.verdict()
	ok = ok && damaged == nil
	if ok && r.Provisional() && !old.provisional() {
		return nil
	}
	if r.Fresh == nil {
		seeds := study.SeedsInRow(freshBase, len(r.Seeds))
		if ok && old.Fresh != nil && old.Size == r.Size.String() {
			seeds = old.Fresh.Seeds
		}
		if r.Fresh, _, err = f.judged(seeds); err != nil {
			return err
		}
	}
	return r.write(f)
}

// write writes what a claim came to.
func (r *Result) write(f *folder) error {
	if err := errors.Join(f.finish(), f.Write(verdictFile, verdictText(r))); err != nil {
		return err
	}
	if err := record.WriteFile(f.Dir, pageFile, []byte(r.markdown())); err != nil {
		return err
	}
	if r.Evidence.Picture == nil {
		return nil
	}
	return record.WriteFile(f.Dir, pictureFile, results.SVG(r.Evidence.Picture))
}

// Kept returns the claims that a directory has a verdict of, in the order of
// their list, judged again from their observations. The error names, one by one, the
// claims that are left out: their observations are damaged, or are not all there.
func Kept(dir string) (list []Result, err error) {
	err = eachFolder(dir, func(f *folder) error {
		r, err := f.result()
		if r != nil && err == nil {
			list = append(list, *r)
		}
		return err
	})
	return list, err
}

// eachFolder opens those of all claims below a directory, in the order of their list, and joins the errors of what is done with each.
func eachFolder(dir string, do func(f *folder) error) error {
	var faults []error
	for _, c := range claims.All() {
		f, err := openFolder(dir, c, claim.Full)
		if err == nil {
			err = do(f)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// result is the claim of a folder judged again; nil without a verdict of its version.
func (f *folder) result() (*Result, error) {
	k, ok, err := f.verdict()
	if err != nil {
		return nil, err
	}
	size, known := claim.ParseSize(k.Size)
	if !ok || !known {
		return nil, nil
	}
	f.choose(size)
	r := &Result{Claim: f.claim, Size: size}
	first, err := f.judgedWhole(k.Seeds)
	if err != nil {
		return nil, err
	}
	r.Judged = *first
	if k.Fresh != nil {
		if r.Fresh, err = f.judgedWhole(k.Fresh.Seeds); err != nil {
			return nil, err
		}
	}
	if r.Arms, err = f.arms(); err != nil {
		return nil, err
	}
	return r, nil
}

// judgedWhole is judged where a missing observation is an error that says which.
func (f *folder) judgedWhole(seeds []uint64) (*Judged, error) {
	j, missing, err := f.judged(seeds)
	if j != nil || err != nil {
		return j, err
	}
	e := &record.FolderError{Path: f.Dir, Problem: fmt.Sprintf("%s has no seeds", verdictFile), Fix: f.Fix}
	if len(missing) > 0 {
		e.Problem = fmt.Sprintf("the verdict is of %d seeds, and %d of their observations are missing, such as %s", len(seeds), len(missing), f.key(missing[0]))
		e.Fix = fmt.Sprintf("measure them again with: simulate reproduce %s --out %s", f.claim.ID, f.root)
	}
	return nil, e
}

// judged judges the observations of seeds, or says which are missing.
func (f *folder) judged(seeds []uint64) (j *Judged, missing []uint64, err error) {
	var runs []*claim.Observation
	for _, seed := range seeds {
		cell, err := f.Cell(f.key(seed))
		switch {
		case err != nil:
			return nil, nil, err
		case cell == nil:
			missing = append(missing, seed)
			continue
		}
		o, err := observed(f.claim.ID, cell)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, o)
	}
	if len(runs) == 0 || len(missing) > 0 {
		return nil, missing, nil
	}
	of, err := judgeRuns(f.claim, seeds, runs)
	return &of, nil, err
}
