package sweep

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results/record"
)

// Parts are the folders to put together that the given ones are or hold: a sweep's
// own and those of its shards.
func Parts(dirs []string) ([]string, error) {
	var parts []string
	for _, dir := range dirs {
		shards, err := fs.Glob(os.DirFS(dir), "shard-*")
		if err != nil {
			return nil, err
		}
		var below []string
		for _, shard := range shards {
			if part := filepath.Join(dir, shard); hasIndex(part) {
				below = append(below, part)
			}
		}
		if hasIndex(dir) || len(below) == 0 {
			below = append(below, dir)
		}
		for _, part := range below {
			if !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts, nil
}

// hasIndex reports whether a folder is that of a sweep or of a part of one.
func hasIndex(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IndexFile))
	return err == nil
}

// Merge puts the runs of several folders of one sweep into another, which then holds
// the bytes of a sweep that was run there as a whole. It wants every cell, and no two
// outcomes of one run.
func Merge(parts []string, dir string, o Tables) (*Folder, error) {
	lock, err := record.LockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	var index *Index
	var text []byte
	all := map[string]Outcome{}
	merged := record.NewCells(dir, differInText)
	for _, part := range parts {
		x, err := ReadIndex(part)
		if err != nil {
			return nil, err
		}
		own, err := record.ReadFile(filepath.Join(part, IndexFile))
		if err != nil {
			return nil, storage(filepath.Join(part, IndexFile), err)
		}
		if index == nil {
			index, text = x, own
		} else if !bytes.Equal(text, own) {
			return nil, &record.FolderError{Path: part, Problem: "another sweep than " + parts[0], Fix: "run both from the same file"}
		}
		cells, done, err := readCells(part)
		if err != nil {
			return nil, err
		}
		if err := merged.Merge(cells); err != nil {
			return nil, err
		}
		for run, outcome := range done {
			all[run] = outcome
		}
	}
	if missing := index.missingText(all); missing != "" {
		return nil, &record.FolderError{Path: dir, Problem: strings.TrimSuffix(missing, "."), Fix: "run their shards to the end"}
	}
	if err := os.MkdirAll(filepath.Join(dir, stepsFolder), 0o777); err != nil {
		return nil, storage(dir, err)
	}
	for _, run := range index.runs() {
		if stepsThere(dir, run) || !stepsThere(merged.From(run), run) {
			continue
		}
		path := filepath.Join(merged.From(run), stepsFolder, stepsName(run))
		data, err := record.ReadFile(path)
		if err != nil {
			return nil, storage(path, err)
		}
		if err := record.WriteFile(filepath.Join(dir, stepsFolder), stepsName(run), data); err != nil {
			return nil, err
		}
	}
	if err := index.write(dir); err != nil {
		return nil, err
	}
	d := newFolder(dir, index, merged, all)
	return d, d.finish(o)
}

// runs are all runs of the index, once.
func (x *Index) runs() []string {
	var list []string
	seen := map[string]bool{}
	for _, p := range x.Points {
		for _, run := range p.Runs {
			if !seen[run] {
				seen[run] = true
				list = append(list, run)
			}
		}
	}
	return list
}

// missing are the cells without an outcome, one for each run, by what they are.
func (x *Index) missing(done map[string]Outcome) []string {
	var list []string
	seen := map[string]bool{}
	for _, p := range x.Points {
		for i, run := range p.Runs {
			if _, ok := done[run]; !ok && !seen[run] {
				seen[run] = true
				name := fmt.Sprintf("seed %d", x.Seeds[i])
				for _, f := range x.Factors {
					name = f.Name + "=" + p.Values[f.Name] + ", " + name
				}
				list = append(list, name)
			}
		}
	}
	return list
}

// mostMissing is how many of the missing runs a sentence names.
const mostMissing = 3

// missingText says which runs are missing; empty if none is.
func (x *Index) missingText(done map[string]Outcome) string {
	list := x.missing(done)
	if len(list) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d runs are missing: %s", len(list), len(x.runs()), strings.Join(list[:min(len(list), mostMissing)], "; "))
	if more := len(list) - mostMissing; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "."
}
