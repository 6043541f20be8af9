package record

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// line is the sealed line of a cell.
func line(t *testing.T, key, cell string) string {
	t.Helper()
	text := must.Get((&Cell{Key: key, Outcome: []byte(cell)}).text())(t)
	return string(text)
}

// readCells reads the cells of a folder with its seals.
func readCells(t *testing.T, dir string) *Cells {
	t.Helper()
	sums := must.Get(ReadSums(dir))(t)
	return must.Get(ReadCells(dir, sums))(t)
}

// TestCellsDamagedFile: a last line that a killed process left counts as none, every other
// damage is named by its line.
func TestCellsDamagedFile(t *testing.T) {
	one, two := line(t, "a", `{"n":1}`), line(t, "b", `{"n":2}`)
	for text, want := range map[string]int{"": 0, one: 1, one + two: 2, one + two[:9]: 1, one + "\x00\x00\n": 1, one + one: 1} {
		c, err := ParseCells(CellsFile, []byte(text))
		if err != nil || len(c.Keys()) != want || !strings.HasPrefix(text, text[:c.size]) {
			t.Errorf("%q: %+v (%v), want %d cells", text, c, err, want)
		}
	}
	for text, want := range map[string]string{
		one + "{}\n" + two:                                         "cells.jsonl:2: it has no seal",
		"x\n" + one:                                                "cells.jsonl:1: it has no seal",
		one + line(t, "a", `{"n":3}`):                              "cells.jsonl:2: a second outcome of a, which differs from the one in line 1",
		string(SealLine([]byte(`{"n":1}`))) + "\n":                 "cells.jsonl:1: not a cell",
		string(SealLine([]byte(`{"key":"a"}`))) + "\n":             "cells.jsonl:1: not a cell",
		string(SealLine([]byte(`{"key":"a","in":"../b"}`))) + "\n": "cells.jsonl:1: not a cell",
		strings.Replace(one, `"n":1`, `"n":2`, 1):                  "cells.jsonl:1: not as it was written",
		two + strings.Replace(one, `"n":1`, `"n":4`, 1) + two:      "cells.jsonl:2: not as it was written",
	} {
		if _, err := ParseCells(CellsFile, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestCellsInAnotherFolder: an outcome that stands in a folder next to this one is read from there, and is an error where it is not.
func TestCellsInAnotherFolder(t *testing.T) {
	root := t.TempDir()
	here, other := filepath.Join(root, "here"), filepath.Join(root, "other")
	seal := func(dir string, cells ...*Cell) {
		t.Helper()
		c := NewCells(dir, must.Get(ReadSums(dir))(t))
		for _, cell := range cells {
			c.put(cell)
		}
		must.Do(t, c.Seal(nil))
	}
	seal(here, &Cell{Key: "a", Arm: "one", Seed: 3, In: "other"}, &Cell{Key: "b", Outcome: []byte(`2`)})
	for name, cell := range map[string]*Cell{"another key": {Key: "c", Outcome: []byte(`1`)}, "a cell without an outcome": {Key: "a", In: "here"}} {
		seal(other, cell)
		if _, err := ReadCells(here, must.Get(ReadSums(here))(t)); err == nil || !strings.Contains(err.Error(), "the outcome of a stands in "+other+", which does not have it") {
			t.Errorf("%s there: %v", name, err)
		}
	}
	seal(other, &Cell{Key: "a", Arm: "two", Outcome: []byte(`{"n":1}`)})
	c := readCells(t, here)
	if a := c.Get("a"); string(a.Outcome) != `{"n":1}` || a.Arm != "one" || a.Seed != 3 || a.In != "" || string(c.Get("b").Outcome) != `2` {
		t.Errorf("%+v", a)
	}
	must.Do(t, c.Add(Cell{Key: "d", Outcome: []byte(`4`)}))
	must.Do(t, c.Seal(nil))
	must.Do(t, os.RemoveAll(other))
	if c = readCells(t, here); len(c.Keys()) != 3 {
		t.Errorf("%v: a folder that goes on does not have all of its outcomes", c.Keys())
	}
}

// TestCellsAddAndSeal: cells that are added, sealed, added to again and sealed again are there,
// and equal cells have equal bytes in whatever order they came.
func TestCellsAddAndSeal(t *testing.T) {
	sealed := func(dir string, keys ...string) []byte {
		t.Helper()
		for i, key := range keys {
			c := readCells(t, dir)
			must.Do(t, c.Add(Cell{Key: key, Outcome: []byte(`"` + key + `<>"`)}))
			var err error
			if i%2 == 0 {
				err = c.Seal([]string{"z", "b"})
			}
			c.Close()
			if err != nil || !HasCells(dir) {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, PackedCells))
		if _, plain := os.Stat(filepath.Join(dir, CellsFile)); err != nil || plain == nil {
			t.Fatalf("sealed, the folder has not the compressed file alone (%v)", err)
		}
		return text
	}
	dir := t.TempDir()
	packed := sealed(dir, "c", "z", "a", "d", "b")
	if other := sealed(t.TempDir(), "b", "a", "z", "c", "d"); !bytes.Equal(packed, other) {
		t.Error("the order in which cells came changes the bytes")
	}
	c := readCells(t, dir)
	if !slices.Equal(c.Keys(), []string{"z", "b", "a", "c", "d"}) || string(c.Get("a").Outcome) != `"a\u003c\u003e"` {
		t.Errorf("%v, %s", c.Keys(), c.Get("a").Outcome)
	}
	if sums, err := ReadSums(dir); err != nil || sums.Check(PackedCells, packed, "") != nil {
		t.Errorf("the seals are not those of the file (%v)", err)
	}
	for i := range packed {
		changed := bytes.Clone(packed)
		changed[i] ^= 1
		// A bit without meaning may change nothing; what is read is then what was written.
		got, err := ParseCells(PackedCells, changed)
		if err == nil && (!slices.Equal(got.Keys(), c.Keys()) || string(got.Get("d").Outcome) != string(c.Get("d").Outcome)) {
			t.Errorf("byte %d flipped is taken: %v", i, got.Keys())
		}
		if err != nil && !strings.Contains(err.Error(), PackedCells) {
			t.Errorf("byte %d flipped: %v does not name the file", i, err)
		}
	}
	for n := 1; n < len(packed); n++ {
		if _, err := ParseCells(PackedCells, packed[:n]); err == nil {
			t.Errorf("a file cut to %d bytes is taken", n)
		}
	}
}

// TestCellsMerge: cells of two folders, and two values of one cell.
func TestCellsMerge(t *testing.T) {
	parse := func(dir, text string) *Cells {
		return must.Get(ParseCells(filepath.Join(dir, CellsFile), []byte(text)))(t)
	}
	all := NewCells(t.TempDir(), nil)
	for _, c := range []*Cells{parse("one", line(t, "a", "1")+line(t, "b", "2")), parse("two", line(t, "b", "2")+line(t, "c", "3"))} {
		must.Do(t, all.Merge(c))
	}
	if !slices.Equal(all.Keys(), []string{"a", "b", "c"}) {
		t.Errorf("%v", all.Keys())
	}
	if err := all.Merge(parse("three", line(t, "a", "4"))); err == nil || !strings.Contains(err.Error(), "three: a ended otherwise than in one") {
		t.Errorf("a contradiction: %v", err)
	}
}

// TestCellsFullDisk: a line that does not fit is an error that says so, and no cell.
func TestCellsFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	c := NewCells(t.TempDir(), nil)
	c.file = full
	defer c.Close()
	if err := c.Add(Cell{Key: "a", Outcome: []byte("1")}); err == nil || !strings.Contains(err.Error(), "cells.jsonl: the disk is full: free some space") || c.Get("a") != nil {
		t.Errorf("a full disk: %v", err)
	}
}
