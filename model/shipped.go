package model

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Shipped lists the names of the checkpoints that come with the binary, sorted.
func Shipped() []string {
	entries, err := fs.ReadDir(shipped, "shipped")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// Open loads a checkpoint by a shipped name or from a folder. A name with a
// path separator, or that exists as a folder, is a folder.
func Open(nameOrDir string) (*Checkpoint, error) {
	for _, name := range Shipped() {
		if name == nameOrDir {
			return LoadFS(shipped, "shipped/"+name)
		}
	}
	if _, err := os.Stat(nameOrDir); err == nil || strings.ContainsAny(nameOrDir, `/\`) {
		return Load(nameOrDir)
	}
	return nil, fmt.Errorf("checkpoint %q is neither a folder nor one that is shipped (%s)", nameOrDir, strings.Join(Shipped(), ", "))
}
