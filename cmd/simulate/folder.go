package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"driftlab/results"
)

// writeFile puts a file into a folder, which is made if need be. The file
// appears whole or not at all.
func writeFile(dir, name string, data []byte) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return unusable(dir, err)
	}
	return results.WriteFile(dir, name, data)
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
