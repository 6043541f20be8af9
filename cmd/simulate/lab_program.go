package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"driftlab/results/lab"
)

// The files of the program, in the cache and in a release.
const (
	programFile  = "lab.wasm.gz"
	diagnoseFile = "diagnose.wasm.gz"
	supportFile  = "wasm_exec.js"
)

// programFiles are what the pages compute with.
func programFiles(p lab.Program) []lab.File {
	return []lab.File{{Name: supportFile, Data: p.Support}, {Name: programFile, Data: p.Gzip}, {Name: diagnoseFile, Data: p.Diagnose}}
}

// labProgram is what the page computes with: embedded in a release, else compiled from
// the checkout around the working folder, once for its sources and toolchain.
func (a *app) labProgram(quiet bool) (lab.Program, error) {
	if p := embeddedProgram(); p.Gzip != nil {
		return p, nil
	}
	root, err := checkout()
	if err != nil {
		return lab.Program{}, err
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return lab.Program{}, bad("the program of the lab has to be compiled, and there is no go command: install Go from https://go.dev/dl/, or use a release, which includes the program")
	}
	sum, err := a.sumOfSources(goTool, root)
	if err != nil {
		return lab.Program{}, err
	}
	var dir string
	if cache, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(cache, "driftlab", "lab-"+sum[:16])
		if p, err := readProgram(dir); err == nil {
			return p, nil
		}
	}
	if !quiet {
		fmt.Fprintln(a.stderr, "compiling the lab's program to WebAssembly; the first time this takes a minute or two")
	}
	p, err := a.compileProgram(goTool, root)
	if err == nil && dir != "" { // without a cache it is compiled again next time
		writeFiles(dir, programFiles(p))
	}
	return p, err
}

// readProgram reads a program whose module is whole.
func readProgram(dir string) (p lab.Program, err error) {
	for name, to := range map[string]*[]byte{programFile: &p.Gzip, diagnoseFile: &p.Diagnose} { // in any order
		if *to, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return p, err
		}
		z, err := gzip.NewReader(bytes.NewReader(*to))
		if err == nil {
			_, err = io.Copy(io.Discard, z)
		}
		if err != nil {
			return p, err
		}
	}
	p.Support, err = os.ReadFile(filepath.Join(dir, supportFile))
	return p, err
}

// compileProgram builds both modules. Equal sources and toolchains give equal bytes.
func (a *app) compileProgram(goTool, root string) (p lab.Program, err error) {
	goroot, err := a.goOutput(goTool, root, "env", "GOROOT")
	if err != nil {
		return p, err
	}
	if p.Support, err = os.ReadFile(filepath.Join(goroot, "lib", "wasm", supportFile)); err != nil {
		return p, err
	}
	dir, err := os.MkdirTemp("", "driftlab-lab-*")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	for i, to := range []*[]byte{&p.Gzip, &p.Diagnose} {
		module := filepath.Join(dir, "module.wasm")
		if _, err := a.goOutput(goTool, root, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", module, programPackages[i]); err != nil {
			return p, err
		}
		raw, err := os.ReadFile(module)
		if err != nil {
			return p, err
		}
		*to = lab.Gzip(raw)
	}
	return p, nil
}

// programPackages are compiled for the lessons and for the page of dumps.
var programPackages = []string{"./cmd/simulate/lab", "./cmd/simulate/lab/diagnose"}

// goOutput runs the go command for the browser's architecture.
func (a *app) goOutput(goTool, root string, args ...string) (string, error) {
	command := exec.CommandContext(a.ctx, goTool, args...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=")
	out, err := command.Output()
	var status *exec.ExitError
	if errors.As(err, &status) {
		first, _, _ := strings.Cut(strings.TrimSpace(string(status.Stderr)), "\n")
		return "", bad("go %s: %s", args[0], first)
	}
	return strings.TrimSpace(string(out)), err
}

// checkout is the folder of this module around the working folder.
func checkout() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		text, failed := os.ReadFile(filepath.Join(dir, "go.mod"))
		if failed == nil && bytes.HasPrefix(text, []byte("module driftlab\n")) {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", bad("this build does not include the program of the lab: run it inside a checkout of driftlab, where it is compiled, or use a release")
		}
		dir = above
	}
	return "", err
}

// sources lists every file that the program is compiled from, a line each.
const sources = `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`

// sumOfSources names everything that the program is made of: its files, the versions of
// what it requires, and the toolchain.
func (a *app) sumOfSources(goTool, root string) (string, error) {
	h := sha256.New()
	toolchain, err := a.goOutput(goTool, root, "version")
	if err != nil {
		return "", err
	}
	list, err := a.goOutput(goTool, root, append([]string{"list", "-deps", "-f", sources}, programPackages...)...)
	if err != nil {
		return "", err
	}
	fmt.Fprintln(h, toolchain, runtime.Version()) // the latter compresses
	for _, name := range append(strings.Split(list, "\n"), filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", filepath.Base(name), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
