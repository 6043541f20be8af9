// Package program has what the pages of the lab compute with: embedded in a release, else compiled from the sources of a checkout.
package program

import (
	"bytes"
	"compress/gzip"
	"context"
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
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/trainer/method/loss/scaffold"
)

// The files of the program, in the cache and in a release.
const (
	LessonsFile  = "lab.wasm.gz"
	DiagnoseFile = "diagnose.wasm.gz"
	SupportFile  = "wasm_exec.js"
)

// Files are the files of a program, as a release embeds them.
func Files(p lab.Program) []lab.File {
	return []lab.File{{Name: SupportFile, Data: p.Support}, {Name: LessonsFile, Data: p.Gzip}, {Name: DiagnoseFile, Data: p.Diagnose}}
}

// Load returns the program: embedded in a release, else compiled from the checkout around the working
// folder, once for its sources and toolchain, and then kept in the user's cache folder. Before it compiles
// it calls compiling, whose error is returned in place of a program.
func Load(ctx context.Context, compiling func() error) (lab.Program, error) {
	if p := embedded(); p.Gzip != nil {
		return p, nil
	}
	root, err := scaffold.Root(".")
	if err != nil {
		return lab.Program{}, errors.New("this build does not include the program of the lab: run it inside a checkout of driftlab, where it is compiled, or use a release")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return lab.Program{}, fmt.Errorf("the program of the lab has to be compiled, and there is no go command: install Go from https://go.dev/dl/, or use a release, which includes the program")
	}
	sum, err := sumOfSources(ctx, goTool, root)
	if err != nil {
		return lab.Program{}, err
	}
	var dir string
	if cache, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(cache, "driftlab", "lab-"+sum[:16])
		if p, err := read(dir); err == nil {
			return p, nil
		}
	}
	if err := compiling(); err != nil {
		return lab.Program{}, err
	}
	p, err := compile(ctx, goTool, root)
	if err == nil && dir != "" && os.MkdirAll(dir, 0o777) == nil {
		for _, f := range Files(p) {
			_ = record.WriteFile(dir, f.Name, f.Data) // without a cache it is compiled again next time
		}
	}
	return p, err
}

// read reads a program whose module is whole.
func read(dir string) (p lab.Program, err error) {
	for name, to := range map[string]*[]byte{LessonsFile: &p.Gzip, DiagnoseFile: &p.Diagnose} { // in any order
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
	p.Support, err = os.ReadFile(filepath.Join(dir, SupportFile))
	return p, err
}

// compile builds both modules. Equal sources and toolchains give equal bytes.
func compile(ctx context.Context, goTool, root string) (p lab.Program, err error) {
	goroot, err := goOutput(ctx, goTool, root, "env", "GOROOT")
	if err != nil {
		return p, err
	}
	if p.Support, err = os.ReadFile(filepath.Join(goroot, "lib", "wasm", SupportFile)); err != nil {
		return p, err
	}
	dir, err := os.MkdirTemp("", "driftlab-lab-*")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	for i, to := range []*[]byte{&p.Gzip, &p.Diagnose} {
		module := filepath.Join(dir, "module.wasm")
		if _, err := goOutput(ctx, goTool, root, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", module, packages[i]); err != nil {
			return p, err
		}
		raw, err := os.ReadFile(module)
		if err != nil {
			return p, err
		}
		*to = published.Gzip(raw)
	}
	return p, nil
}

// packages are compiled for the lessons and for the page of dumps.
var packages = []string{"./cmd/simulate/lab", "./cmd/simulate/lab/diagnose"}

// goOutput runs the go command for the browser's architecture.
func goOutput(ctx context.Context, goTool, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, goTool, args...)
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=")
	out, err := command.Output()
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		said := strings.TrimSpace(string(status.Stderr))
		if head, rest, more := strings.Cut(said, "\n"); more && strings.HasPrefix(head, "# ") { // the package's name
			said = rest
		}
		first, _, _ := strings.Cut(said, "\n")
		return "", fmt.Errorf("go %s: %s", args[0], first)
	}
	return strings.TrimSpace(string(out)), err
}

// sources lists every file that the program is compiled from, a line each.
const sources = `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`

// sumOfSources names everything that the program is made of: its files, the versions of
// what it requires, and the toolchain.
func sumOfSources(ctx context.Context, goTool, root string) (string, error) {
	h := sha256.New()
	toolchain, err := goOutput(ctx, goTool, root, "version")
	if err != nil {
		return "", err
	}
	list, err := goOutput(ctx, goTool, root, append([]string{"list", "-deps", "-f", sources}, packages...)...)
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
