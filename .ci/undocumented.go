// Command undocumented lists exported identifiers without a doc comment, and
// packages without one, below the current folder. It exits with 1 if there are any.
package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	fset, packages := token.NewFileSet(), map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
		return err
	})
	var faults []string
	for dir, files := range packages {
		p, wrong := doc.NewFromFiles(fset, files, dir)
		if wrong != nil {
			err = wrong
			break
		}
		for _, name := range bare(p) {
			faults = append(faults, dir+": "+name+" has no doc comment")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if slices.Sort(faults); len(faults) > 0 {
		fmt.Println(strings.Join(faults, "\n"))
		os.Exit(1)
	}
}

// bare are the exported names of a package that nothing describes. One comment serves a whole group of constants or variables.
func bare(p *doc.Package) (names []string) {
	check := func(text, name string) {
		if text == "" {
			names = append(names, name)
		}
	}
	values := func(list ...*doc.Value) {
		for _, v := range list {
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				for _, n := range s.Names {
					if n.IsExported() {
						check(v.Doc+s.Doc.Text()+s.Comment.Text(), n.Name)
					}
				}
			}
		}
	}
	functions := func(list ...*doc.Func) {
		for _, f := range list {
			check(f.Doc, f.Name)
		}
	}
	check(p.Doc, "the package")
	values(append(p.Consts, p.Vars...)...)
	functions(p.Funcs...)
	for _, t := range p.Types {
		check(t.Doc, t.Name)
		values(append(t.Consts, t.Vars...)...)
		functions(append(t.Funcs, t.Methods...)...)
	}
	return names
}
