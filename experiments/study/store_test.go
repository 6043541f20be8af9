package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
)

var exhaustive = flag.Bool("exhaustive", false, "kill a study at sixty random moments in place of six")

// asJSON is a value as files have it.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text := must.Get(json.Marshal(v))(t)
	return string(text)
}

// change rewrites the first cell of a folder as another program would have made it, under a seal of its own.
func change(t *testing.T, dir, from, to string) {
	t.Helper()
	s := must.Get(openSweep(dir))(t)
	keys, err := s.Keys()
	if err != nil || len(keys) == 0 {
		t.Fatalf("%d cells (%v)", len(keys), err)
	}
	cell, _ := s.Cell(keys[0])
	other := *cell
	other.Outcome = bytes.Replace(cell.Outcome, []byte(from), []byte(to), 1)
	must.Do(t, os.RemoveAll(filepath.Join(dir, record.CellsFile)))
	must.Do(t, record.NewCells(dir, s.sums).Add(other))
}

// TestStudyAfterKills: a study that is killed at random moments, with a torn line and a leftover snapshot of a run, and
// then made by two workers in shards has the bytes of one that ran whole.
func TestStudyAfterKills(t *testing.T) {
	g, kills := gridOf(t, tiny), 6
	if *exhaustive {
		kills = 60
	}
	whole := finished(t, g, t.TempDir(), Options{})
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(7, 1))
	for range kills {
		ctx, cancel := context.WithCancel(context.Background())
		at := 1 + rng.IntN(6)
		// A cancelled run leaves the snapshot that a killed one has from before; the line that it was writing is torn.
		err := g.Run(ctx, Options{Dir: dir, Workers: 2, Shard: Shard{rng.IntN(2), 2}, Progress: func(Progress) {
			if at--; at == 0 {
				cancel()
			}
		}})
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		tear(t, filepath.Join(dir, record.CellsFile), rng.IntN(40))
	}
	if got := finished(t, g, dir, Options{Workers: 2}); !maps.Equal(got, whole) {
		for name := range whole {
			t.Errorf("%s is equal: %t", name, got[name] == whole[name])
		}
		t.Errorf("%d files for %d", len(got), len(whole))
	}
}

// TestDamagedStudy: a changed byte, whatever file it is in, is one line that names the file.
func TestDamagedStudy(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	files := finished(t, g, dir, Options{})
	for _, name := range []string{PlanFile, record.PackedCells, record.SumsFile} {
		text := []byte(files[name])
		for i := 0; i < len(text); i += 1 + len(text)/20 {
			changed := bytes.Clone(text)
			changed[i] ^= 1
			path := filepath.Join(dir, name)
			must.Do(t, os.WriteFile(path, changed, 0o644))
			_, err := Read(dir)
			var known *record.FolderError
			if err == nil || !errors.As(err, &known) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s, byte %d: %v", name, i, err)
			}
			must.Do(t, os.WriteFile(path, text, 0o644))
		}
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

// TestTwoProcesses: a folder that another process holds is refused, with who holds it.
func TestTwoProcesses(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	lock := must.Get(record.LockFolder(dir))(t)
	defer lock.Release()
	if err := g.Run(context.Background(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("a held folder: %v", err)
	}
}

// TestPlanFile: a plan is read back as it was written, and a note of several arms is
// written once.
func TestPlanFile(t *testing.T) {
	x := gridOf(t, tiny).Index()
	x.Arms[0].Name, x.Version = "it's: \"one\"\n\u2028", 3
	x.Arms[0].CannotAct, x.Arms[1].CannotAct = []string{"a clip: why", "a \"mask\""}, []string{"a \"mask\"", "a \u2028"}
	if n := strings.Count(string(x.text()), "mask"); n != 1 {
		t.Errorf("a note is written %d times", n)
	}
	if x.Title = "A title: of words"; x.title() != x.Title {
		t.Errorf("the page is titled %q", x.title())
	}
	dir := t.TempDir()
	s := must.Get(OpenStore(dir, ""))(t)
	must.Do(t, s.WriteIndex(x))
	if got, err := s.Index(); err != nil || asJSON(t, got) != asJSON(t, x) {
		t.Errorf("%s (%v)\nwant %s", asJSON(t, got), err, asJSON(t, x))
	}
}
