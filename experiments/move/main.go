// Command move puts results of earlier versions into the form of cells: observations.jsonl.packed
// of claims, runs.jsonl and runs.jsonl.packed of sweeps, in all folders below the given ones.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results/record"

	"github.com/klauspost/compress/zstd"
)

var decoder, _ = zstd.NewReader(nil)

func main() {
	for _, root := range os.Args[1:] {
		must(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			if len(glob(path, "*/observations.jsonl.packed"))+len(glob(path, "*/seed-*.json")) > 0 {
				claim(path)
			}
			if len(glob(path, "runs.jsonl*")) > 0 {
				sweep(path)
			}
			return nil
		}))
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "move:", err)
		os.Exit(1)
	}
}

func glob(dir, pattern string) []string {
	found, err := fs.Glob(os.DirFS(dir), pattern)
	must(err)
	return found
}

func read(path string) []byte {
	text, err := os.ReadFile(path)
	must(err)
	if strings.HasSuffix(path, ".packed") {
		text, err = UnpackLines(text)
		must(err)
	}
	return text
}

// claim moves the observations of a claim, each compared with its seal.
func claim(dir string) {
	sums := map[string]string{}
	for line := range strings.Lines(string(read(filepath.Join(dir, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	cells := record.NewCells(dir, nil)
	var keys []string
	keep := func(name string, text []byte) {
		if sum(text) != sums[name] {
			must(fmt.Errorf("%s/%s is not as it was sealed", dir, name))
		}
		delete(sums, name)
		key := strings.TrimSuffix(name, ".json")
		must(cells.Add(key, json.RawMessage(bytes.TrimSpace(text))))
		if !bytes.Equal(append(slices.Clone(cells.Get(key)), '\n'), text) {
			must(fmt.Errorf("%s/%s comes back with other bytes", dir, name))
		}
		keys = append(keys, key)
	}
	for _, name := range glob(dir, "*/observations.jsonl.packed") {
		for line := range bytes.Lines(read(filepath.Join(dir, name))) {
			var pair [2]json.RawMessage
			must(json.Unmarshal(line, &pair))
			var seed string
			must(json.Unmarshal(pair[0], &seed))
			keep(filepath.Dir(name)+"/"+seed, append(bytes.Clone(pair[1]), '\n'))
		}
		must(os.Remove(filepath.Join(dir, name)))
	}
	for _, name := range glob(dir, "*/seed-*.json") {
		keep(name, read(filepath.Join(dir, name)))
		must(os.Remove(filepath.Join(dir, name)))
	}
	must(cells.Seal(order(keys)))
	var lines []string
	for name, s := range sums {
		lines = append(lines, name+"\x00"+s)
	}
	slices.Sort(lines)
	var text []byte
	for _, l := range lines {
		name, s, _ := strings.Cut(l, "\x00")
		text = fmt.Appendf(text, "%s  %s\n", s, name)
	}
	must(os.WriteFile(filepath.Join(dir, "SHA256SUMS"), text, 0o644))
	for _, size := range glob(dir, "*-v*") {
		_ = os.Remove(filepath.Join(dir, size)) // where nothing is left in it
	}
}

func order(keys []string) []string {
	slices.SortFunc(keys, func(a, b string) int {
		if d := strings.Compare(filepath.Dir(a), filepath.Dir(b)); d != 0 {
			return d
		}
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return keys
}

// sweep moves the log of a sweep, each line compared with its seal.
func sweep(dir string) {
	cells := record.NewCells(dir, nil)
	var runs []string
	for _, name := range glob(dir, "runs.jsonl*") {
		for line := range bytes.Lines(read(filepath.Join(dir, name))) {
			bare, err := record.OpenLine(bytes.TrimSuffix(line, []byte("\n")))
			must(err)
			var head struct {
				Run    string          `json:"run"`
				Values json.RawMessage `json:"values"`
			}
			must(json.Unmarshal(bare, &head))
			bare = bytes.Replace(bare, append([]byte(`"values":`), head.Values...), []byte(`"values":null`), 1)
			must(cells.Add(head.Run, json.RawMessage(bare)))
			runs = append(runs, head.Run)
		}
		must(os.Remove(filepath.Join(dir, name)))
	}
	must(cells.Seal(runs))
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
