package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed switchboard.go.txt
var switchboard string

// testMain ends the run without a mutant with its report.
const testMain = `package PACKAGE

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	mutantReport()
	os.Exit(code)
}
`

// A subject is a package whose test binary holds all its mutants.
type subject struct {
	dir     string // from the root of the module
	binary  string
	rapid   bool // the tests draw by rapid
	mutants []mutant
}

// listed is what go list says of a package.
type listed struct {
	Dir, Name, ImportPath, Export string
	GoFiles                       []string
	TestImports, XTestImports     []string
	DepOnly                       bool
}

// build weaves the package in dir and compiles its tests into the folder work.
// Nothing is written into the package: the woven text is laid over it.
func build(dir, work string) (*subject, error) {
	out, err := goTool("list", "-export", "-deps", "-json=Dir,Name,ImportPath,Export,GoFiles,TestImports,XTestImports,DepOnly", "./"+dir)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var p listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one listed
		if err := d.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if exports[one.ImportPath] = one.Export; !one.DepOnly {
			p = one
		}
	}
	s := &subject{dir: dir, binary: filepath.Join(work, "tests"), rapid: slices.Contains(append(p.TestImports, p.XTestImports...), "pgregory.net/rapid")}
	overlay, err := s.weave(p, exports, work)
	if err != nil {
		return nil, err
	}
	_, err = goTool("test", "-c", "-vet=off", "-trimpath", "-overlay", overlay, "-o", s.binary, "./"+dir)
	return s, err
}

// weave writes the woven files and the overlay that names them.
func (s *subject) weave(p listed, exports map[string]string, work string) (string, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		files = append(files, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	pkg, err := conf.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	lay := func(name, text string) error {
		at := filepath.Join(work, name)
		replace[filepath.Join(p.Dir, name)] = at
		return os.WriteFile(at, []byte(text), 0o644)
	}
	for i, f := range files {
		name := p.GoFiles[i]
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return "", err
		}
		w := &weaver{fset: fset, info: info, pkg: pkg, path: s.dir + "/" + name, text: text, seen: map[string]int{}, offset: len(s.mutants)}
		w.file(f)
		s.mutants = append(s.mutants, w.mutants...)
		if err := lay(name, string(w.woven())); err != nil {
			return "", err
		}
	}
	fill := strings.NewReplacer("PACKAGE", p.Name, "COUNT", fmt.Sprint(len(s.mutants)))
	if err := lay("mutant_switchboard.go", fill.Replace(switchboard)); err != nil {
		return "", err
	}
	if err := lay("mutant_main_test.go", fill.Replace(testMain)); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// goTool runs the go command.
func goTool(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, problem.Bytes())
	}
	return out, nil
}
