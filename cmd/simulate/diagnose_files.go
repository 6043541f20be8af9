package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/results/record"
)

// dumpNames are the names that files of a folder have if they are dumps.
var dumpNames = regexp.MustCompile(`(?i)\.(jsonl|ndjson|json|pkl|pt|parquet)(\.gz|\.zst)?$`)

// mayBeDump reports whether a file of a folder is taken for a dump: not a run's own record, and of .json no object,
// which is a report or a configuration.
func mayBeDump(path string) bool {
	name := filepath.Base(path)
	if !dumpNames.MatchString(name) || name == record.MetricsFile {
		return false
	}
	if !strings.EqualFold(filepath.Ext(name), ".json") {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true // the reader says why
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 512))
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte{'['})
}

// dumpFiles are the files that were named, and in the place of a folder the dumps in it
// and below, with the numbers in their paths in order.
func dumpFiles(names []string) ([]string, error) {
	var list []string
	for _, name := range names {
		if info, err := os.Stat(name); name == "-" || err != nil || !info.IsDir() {
			list = append(list, name)
			continue
		}
		var found []string
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && path != name && strings.HasPrefix(d.Name(), ".") {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if err == nil && !d.IsDir() && mayBeDump(path) {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return nil, badInput{err}
		}
		if len(found) == 0 {
			return nil, bad("%s: no dump in this folder: their names end in .jsonl, .json, .pkl, .pt or .parquet, also with .gz or .zst", name)
		}
		slices.SortStableFunc(found, byNumbers)
		list = append(list, found...)
	}
	return list, nil
}

var digits = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// byNumbers compares paths with the numbers in them as numbers: step_9 comes before step_10.
func byNumbers(a, b string) int {
	return slices.CompareFunc(digits.FindAllString(a, -1), digits.FindAllString(b, -1), func(x, y string) int {
		m, err := strconv.ParseUint(x, 10, 64)
		n, err2 := strconv.ParseUint(y, 10, 64)
		if err == nil && err2 == nil && m != n {
			return cmp.Compare(m, n)
		}
		return strings.Compare(x, y)
	})
}

// readDump hands a file, or what comes out of a pipe, to the analysis.
func readDump(a *diagnose.Analysis, name string) error {
	if name == "-" {
		return a.Read(reader.Input{Name: "standard input", Stream: os.Stdin})
	}
	f, err := os.Open(name)
	if err != nil {
		return bad("%s: %v", name, errors.Unwrap(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return bad("%s: %v", name, errors.Unwrap(err))
	}
	in := reader.Input{Name: name, Beside: func(other string) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(name), other))
		return err == nil
	}, Open: func(path string) (reader.ReaderAtCloser, int64, error) {
		f, err := os.Open(filepath.Join(filepath.Dir(name), path))
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return nil, 0, errors.Join(f.Close(), errors.New("no file"))
		}
		return f, info.Size(), nil
	}}
	switch {
	case info.Mode().IsRegular():
		in.At, in.Size = f, info.Size()
	default:
		in.Stream = io.Reader(f)
	}
	return a.Read(in)
}
