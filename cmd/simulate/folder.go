package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"driftlab/results"
	"driftlab/results/record"
)

// writeFile puts a file into a folder, which is made if need be. The file
// appears whole or not at all.
func writeFile(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unusable(dir, err)
	}
	return record.WriteFile(dir, name, data)
}

// hold keeps the folder of a set of runs for this process: the runs lock their
// own. It tells of files there that are somebody else's.
func (a *app) hold(dir string, known ...string) (*record.Lock, error) {
	entries, _ := os.ReadDir(dir) // a folder that is not there yet holds nothing
	for _, e := range entries {
		if e.IsDir() {
			known = append(known, e.Name()) // arms and claims
		}
	}
	a.warnForeign(dir, known...)
	return record.LockFolder(dir)
}

// warnForeign says which files of a folder are not a run's.
func (a *app) warnForeign(dir string, known ...string) {
	const most = 3
	list := record.Foreign(dir, known...)
	if len(list) == 0 {
		return
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", more))
	}
	fmt.Fprintf(a.stderr, "simulate: note: %s also holds what is not of a run, left as it is: %q\n", dir, list)
}

// pageFile is the name of every command's page.
const pageFile = "report.html"

// The eyebrows of pages that cmd/simulate titles, which name the command that made them.
const (
	runsPage    = "simulate report" // also train's
	comparePage = "simulate compare"
	measurePage = "simulate measure"
	dosesPage   = "simulate measure --doses"
	sweepPage   = "simulate sweep"
)

// ownPage refuses a folder whose page another command made, or nobody here: writing it
// again would lose that one. It is asked before any work.
func ownPage(dir, maker string) error {
	path := filepath.Join(dir, pageFile)
	page, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // what is wrong with the path is said when it is used
	}
	if err != nil {
		return unusable(path, err)
	}
	switch have := results.MadeBy(page); have {
	case maker:
		return nil
	case "":
		return bad("%s: not a page of this program, and is not overwritten: choose another folder with --out", path)
	default:
		return bad("%s: the page of %s, which %s would overwrite: choose another folder with --out", path, commandsOf(have), commandsOf(maker))
	}
}

// commandsOf are the commands that make the page of that eyebrow.
func commandsOf(maker string) string {
	if maker == runsPage {
		return "`simulate train` or `simulate report`"
	}
	return "`" + maker + "`"
}

// unusable is an error of the operating system about a folder, in one line.
func unusable(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return bad("%s: %w: choose another folder", dir, err)
}

// emptyFolder returns an error if there is something at the path already.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == record.LockFile })
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return unusable(dir, err)
	case len(entries) > 0:
		return bad("%s: the folder is not empty (it holds %s): choose another one", dir, names(entries))
	}
	return nil
}

// names lists the first few entries of a folder.
func names(entries []os.DirEntry) string {
	const most = 3
	var list []string
	for _, e := range entries[:min(len(entries), most)] {
		list = append(list, e.Name())
	}
	if len(entries) > most {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}
