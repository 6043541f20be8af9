//go:build ignore

// Fused lists where the compiler fuses a product with a sum in this
// repository's packages, as it may on arm64 and does not on amd64: such a sum
// has other last digits there. The fix is float64(a*b), which forbids it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// allowed are the files in which a fused step is meant, or loses nothing.
var allowed = map[string]string{
	"precision/elementary/pair.go": "math.FMA, exact everywhere, is what it asks for",
	"engine/kernel/fma.go":         "products of two float32 are exact in float64, fused or not",
	"engine/kernel/gemm_go.go":     "as above",
	"engine/kernel/gemm_tiles.go":  "as above",
}

// fused is a line of the assembly listing: the source position, the instruction.
var fused = regexp.MustCompile(`\((/[^ ]*\.go:[0-9]+)\)\tFN?M(?:ADD|SUB)[SD]\t`)

func main() {
	if err := check(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check() error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-trimpath=false", "-gcflags=-S", "./...") // positions are paths of files
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	listing, err := build.StderrPipe()
	if err != nil {
		return err
	}
	if err := build.Start(); err != nil {
		return err
	}
	var found, last []string
	needed := map[string]bool{}
	lines := bufio.NewScanner(listing)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "\t") {
			last = append(last[max(0, len(last)-20):], lines.Text())
		}
		m := fused.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		at, err := filepath.Rel(root, m[1])
		if err != nil || strings.HasPrefix(at, "..") {
			continue // of another module, and inlined here
		}
		file, _, _ := strings.Cut(at, ":")
		if needed[file] = true; allowed[file] == "" {
			found = append(found, at+": a product is fused with its sum on arm64: write float64(a*b)")
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if err := build.Wait(); err != nil {
		return fmt.Errorf("%s\ngo build: %w", strings.Join(last, "\n"), err)
	}
	for file := range allowed {
		if !needed[file] {
			found = append(found, file+": nothing is fused here, the exception can go")
		}
	}
	if slices.Sort(found); len(found) > 0 {
		return fmt.Errorf("%s", strings.Join(slices.Compact(found), "\n"))
	}
	return nil
}
