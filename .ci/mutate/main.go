// Command mutate asks of packages' tests whether they notice: it changes one
// operator at a time (a mutant) and runs the package's own tests, which should
// fail. All mutants of a package are compiled into one test binary, each behind
// a switch that a variable of the environment throws, so a mutant costs a run of
// the tests and no compilation.
//
//	go run ./.ci/mutate [flags] trainer/method/advantage trainer/method/loss ...
//
// A mutant has died if the tests failed, or if it made a loop endless: that is
// counted in switches passed, not in seconds. One that outlasts the limit of time
// has not died, and neither has one that no test reaches. Mutants that cannot be
// told from the original are listed, with the reason, in equivalent.txt; a listed
// one that dies, or that does not exist, is an error.
//
// What is known of a package is kept by the digest of its test binary: a run that
// was stopped goes on where it was.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	goal := flag.Float64("goal", 95, "per cent of the covered mutants, equivalent ones apart, that have to die in each package")
	keep := flag.String("keep", "", "folder for what is known so far (default: in the user's cache)")
	list := flag.String("equivalent", ".ci/mutate/equivalent.txt", "the list of equivalent mutants")
	workers := flag.Int("workers", 2, "mutants that run at a time")
	flag.Parse()
	ok, err := mutate(flag.Args(), *goal, *keep, *list, *workers)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// mutate goes through the packages and reports whether all is as it should be.
func mutate(dirs []string, goal float64, keep, list string, workers int) (bool, error) {
	if keep == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return false, err
		}
		keep = filepath.Join(cache, "driftlab", "mutants")
	}
	if err := os.MkdirAll(keep, 0o755); err != nil {
		return false, err
	}
	excused, err := readEquivalent(list)
	if err != nil {
		return false, err
	}
	good := true
	for _, dir := range dirs {
		dir = filepath.ToSlash(filepath.Clean(dir))
		work, err := os.MkdirTemp("", "mutants")
		if err != nil {
			return false, err
		}
		s, err := build(dir, work)
		if err == nil {
			var verdicts []verdict
			if verdicts, err = s.judge(keep, workers); err == nil {
				good = report(s, verdicts, excused, goal) && good
			}
		}
		os.RemoveAll(work)
		if err != nil {
			return false, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return good, nil
}
