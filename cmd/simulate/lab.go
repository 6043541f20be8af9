package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results/lab"
	"driftlab/results/lab/sheet"
	"driftlab/results/record"
)

type labCmd struct {
	Export  string `help:"Write the page and serve nothing: a folder for any static host or, with a name that ends in .html, one file that works by double-click." placeholder:"DIR|FILE.html" complete:"files"`
	Port    int    `help:"Port on the loopback interface; 0 takes a free one." default:"0"`
	Program string `help:"Write only what the page computes with, lab.wasm.gz and wasm_exec.js, into a folder, for a release to carry." placeholder:"DIR" complete:"files"`
	Quiet   bool   `short:"q" help:"No word about what takes long."`
}

// Help is the long help text.
func (*labCmd) Help() string {
	return `Serves lessons about engines that disagree to a browser on this machine: a question, a guess, the recorded answer, and the same
run computed in the page, by this program compiled to WebAssembly. No server, no account; the page may speak to nobody else.

In a checkout the program is compiled once, which takes a minute or two, and kept in the user's cache folder under the sum of its sources.

Examples:
  simulate lab
  simulate lab --export site
  simulate lab --export lab.html`
}

// Run serves or exports the page.
func (c *labCmd) Run(a *app) error {
	program, err := a.labProgram(c.Quiet)
	if err != nil {
		return err
	}
	switch {
	case c.Program != "":
		return writeFiles(c.Program, []lab.File{{Name: "lab.wasm.gz", Data: program.Gzip}, {Name: "wasm_exec.js", Data: program.Support}})
	case c.Export == "":
		files, err := labFiles(program)
		if err != nil {
			return err
		}
		return a.serveLab(files, c.Port)
	case strings.HasSuffix(c.Export, ".html"):
		if err := record.WriteNew(c.Export, lab.OneFile(program)); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "Lab: %s\n", c.Export)
		return nil
	}
	files, err := labFiles(program)
	if err == nil {
		err = writeFiles(c.Export, files)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "Lab: %s\n", filepath.Join(c.Export, "index.html"))
	return nil
}

// labFiles are the page, the program and the sheets to print.
func labFiles(p lab.Program) ([]lab.File, error) {
	files := lab.Site(p)
	sheets, err := sheet.Files(lab.Load())
	for _, name := range slices.Sorted(maps.Keys(sheets)) {
		files = append(files, lab.File{Name: name, Data: sheets[name]})
	}
	return files, err
}

// writeFiles fills a folder, which it makes where there is none.
func writeFiles(dir string, files []lab.File) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return bad("%s is a file: give a folder, or a name that ends in .html", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range files {
		if err := record.WriteFile(dir, f.Name, f.Data); err != nil {
			return err
		}
	}
	return nil
}
