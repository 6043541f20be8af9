package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// dumpOf returns a line with every column filled.
func dumpOf(step, sample int) *DumpLine {
	return &DumpLine{
		Run: "fp8 <&> é", Step: step, Sample: sample, Group: sample / 2, PromptID: 1 << 40, Difficulty: 6,
		PromptIDs: []int32{0, 9}, TokenIDs: []int32{3, 1, 4}, Mask: []bool{true, false, true}, Finished: true,
		LogpRollout: []float64{-0.1, -2e-9, math.Inf(-1)}, LogpOld: []float64{-0.1, -0.25, -3}, LogpNew: []float64{-0.5, math.NaN(), -3},
		Advantage: []float64{1, 1, 1}, Reward: 0.5, Correct: true, Version: []int32{7, 7, 8},
		Temperature: 1, TopP: 0.95, TopK: 0, KeptMass: []float64{1, 0.96, 0.95}, Support: [][]int32{nil, {1, 2}, {4}},
		RoutesRollout:       Routes{Layers: 2, TopK: 2, Expert: []uint8{0, 1, 2, 3, 4, 5, 6, 7, 0, 255, 2, 1}},
		PromptRoutesRollout: Routes{Layers: 2, TopK: 2, Expert: []uint8{1, 2, 3, 4}},
		KVKept:              KVMasks{Planes: 1, Words: 2, Kept: []uint64{3, 0, 0xfe, 1, 1 << 63, 1 << 40}},
		Draft:               []int32{0, 1, 2}, Window: []int32{0, -1, 1}, DrafterVersion: []int32{-1, 4, 4},
		LogpVerifier: []float64{-0.1, 0, -3}, LogpLaw: []float64{-0.2, 0, -3},
		TurnID: []int32{0, 0, 1}, Stale: []bool{false, true, true},
	}
}

func TestDumpGolden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dump.jsonl")
	w := must.Get(CreateDump(path))(t)
	must.Do(t, w.Write(dumpOf(2, 5)))
	must.Do(t, w.Close())
	got := must.Get(os.ReadFile(path))(t)
	want := `{"run":"fp8 \u003c\u0026\u003e é","step":2,"sample":5,"group":2,"prompt_id":1099511627776,` +
		`"difficulty":6,"prompt_ids":[0,9],"token_ids":[3,1,4],"mask":[true,false,true],"finished":true,"logp_rollout":[-0.1,-2e-09,"-inf"],"logp_old":[-0.1,-0.25,-3],` +
		`"logp_new":[-0.5,"nan",-3],"advantage":[1,1,1],"reward":0.5,"correct":true,"format":false,"version":[7,7,8],"temperature":1,"top_p":0.95,"top_k":0,` +
		`"kept_mass":[1,0.96,0.95],"support":[null,[1,2],[4]],"routes_rollout":[[[0,1],[2,3]],[[4,5],[6,7]],[[0,255],[2,1]]],"routes_learner":null,` +
		`"prompt_routes_rollout":[[[1,2],[3,4]]],"prompt_routes_learner":null,` +
		`"kv_kept":[["00000000000000000000000000000003"],["000000000000000100000000000000fe"],["00000100000000008000000000000000"]],` +
		`"draft":[0,1,2],"window":[0,-1,1],"drafter_version":[-1,4,4],"logp_verifier":[-0.1,0,-3],"logp_law":[-0.2,0,-3],` +
		`"turn_id":[0,0,1],"logp_behaviour":null,"stale":[false,true,true]}` + "\n"
	if string(got) != want {
		t.Errorf("dump:\n%s\nwant:\n%s", got, want)
	}
	// The hand-written line holds the same keys and values, in the same order, as the tags promise.
	byTags := must.Get(json.Marshal(dumpOf(2, 5)))(t)
	if byTags = append(byTags, '\n'); !bytes.Equal(byTags, got) {
		t.Errorf("by tags:\n%s\nhave:\n%s", byTags, got)
	}
}

func TestDumpRoundTrip(t *testing.T) {
	for _, name := range []string{"d.jsonl", "d.jsonl.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w := must.Get(CreateDump(path))(t)
		empty := &DumpLine{TokenIDs: []int32{}, Mask: []bool{}, RoutesRollout: Routes{Layers: 1, TopK: 1, Expert: []uint8{}}}
		want := []*DumpLine{dumpOf(1, 0), dumpOf(1, 1), empty}
		for _, d := range want {
			must.Do(t, w.Write(d))
		}
		must.Do(t, w.Close())
		// The shape of no tokens cannot be seen in nested lists.
		empty.RoutesRollout.Layers, empty.RoutesRollout.TopK = 0, 0
		var got []*DumpLine
		must.Do(t, ReadDump(path, func(d *DumpLine) error {
			keep := *d
			got = append(got, &keep)
			return nil
		}))
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDumpRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.jsonl")
	w := must.Get(CreateDump(path))(t)
	cases := map[string]func(*DumpLine){
		"logp_old has 2 entries for 3 tokens":                         func(d *DumpLine) { d.LogpOld = d.LogpOld[:2] },
		"mask has 0 entries for 3 tokens":                             func(d *DumpLine) { d.Mask = []bool{} },
		"routes_learner has 5 entries for 3 tokens, 2 layers, top-1":  func(d *DumpLine) { d.RoutesLearner = Routes{2, 1, make([]uint8, 5)} },
		"routes_rollout has 12 entries for 3 tokens, 0 layers, top-2": func(d *DumpLine) { d.RoutesRollout.Layers = 0 },
		"prompt_routes_rollout has 4 entries for 2 tokens":            func(d *DumpLine) { d.PromptIDs = make([]int32, 3) },
		"support has 1 entries for 3 tokens":                          func(d *DumpLine) { d.Support = d.Support[:1] },
		"kv_kept has 2 entries for 3 tokens":                          func(d *DumpLine) { d.KVKept.Kept = d.KVKept.Kept[:4] },
		"kv_kept has -1 entries for 3 tokens":                         func(d *DumpLine) { d.KVKept.Words = 4 },
		"draft has 1 entries for 3 tokens":                            func(d *DumpLine) { d.Draft = d.Draft[:1] },
		"logp_law has 1 entries for 3 tokens":                         func(d *DumpLine) { d.LogpLaw = d.LogpLaw[:1] },
		"turn_id has 4 entries for 3 tokens":                          func(d *DumpLine) { d.TurnID = make([]int32, 4) },
		"kept_mass has 1 entries for 3 tokens":                        func(d *DumpLine) { d.KeptMass = []float64{1} },
		"version has 1 entries for 3 tokens":                          func(d *DumpLine) { d.Version = []int32{1} },
		"advantage has 1 entries for 3 tokens":                        func(d *DumpLine) { d.Advantage = []float64{1} },
		"logp_new has 1 entries for 3 tokens":                         func(d *DumpLine) { d.LogpNew = []float64{1} },
		"logp_rollout has 1 entries for 3 tokens":                     func(d *DumpLine) { d.LogpRollout = []float64{1} },
	}
	for want, spoil := range cases {
		d := dumpOf(1, 0)
		spoil(d)
		if err := w.Write(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	must.Do(t, w.Close())
	if info, _ := os.Stat(path); info.Size() != 0 {
		t.Error("a refused line was written")
	}
}

func TestReadDumpErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.jsonl")
	good, _ := dumpOf(1, 0).appendJSON(nil)
	for line, want := range map[string]string{
		`{"step":"one"}`:                               "d.jsonl:2: ",
		`{"logp_old":["high"],"token_ids":[1]}`:        `d.jsonl:2: entry 0: want a number, "nan"`,
		`{"logp_old":[null],"token_ids":[1]}`:          "d.jsonl:2: entry 0: want a number, have null",
		`{"logp_old":[1],"token_ids":[]}`:              "d.jsonl:2: record: dump: logp_old has 1 entries for 0 tokens",
		`{"routes_rollout":[[[1,2]],[[1]]]}`:           "token 1, layer 0 has 1 experts",
		`{"routes_rollout":[[[1],[2]],[[1]]]}`:         "token 1 has 1 layers",
		`{"kv_kept":[["0"]],"token_ids":[1]}`:          "token 0: want 16 hexadecimal digits",
		`{"kv_kept":[["000000000000000g"]]}`:           "token 0: want hexadecimal digits",
		`{"kv_kept":[[]],"token_ids":[1]}`:             "token 0 has 0 planes",
		`{"routes_rollout":[[[256]]],"token_ids":[1]}`: "expert 256 is out of range",
	} {
		os.WriteFile(path, []byte(string(good)+"\n"+line+"\n"), 0o644)
		lines := 0
		err := ReadDump(path, func(*DumpLine) error { lines++; return nil })
		if err == nil || !strings.Contains(err.Error(), want) || lines != 1 {
			t.Errorf("%s: %d lines, error %v, want %s", line, lines, err, want)
		}
	}
	stop := errors.New("enough")
	os.WriteFile(path, append(good, '\n'), 0o644)
	if err := ReadDump(path, func(*DumpLine) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("visit's error is lost: %v", err)
	}
	if err := ReadDump(filepath.Join(path, "x"), nil); err == nil {
		t.Error("no error for a missing file")
	}
	var fe *FolderError
	for _, name := range []string{"d.zst", "d.jsonl.ZST", "d.parquet"} {
		if _, err := CreateDump(filepath.Join(t.TempDir(), name)); !errors.As(err, &fe) || !strings.Contains(err.Error(), "ends in .jsonl or .jsonl.gz") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := CreateDump(filepath.Join(path, "x")); !errors.As(err, &fe) || strings.Contains(err.Error(), "--out") {
		t.Errorf("below a file: %v", err)
	}
}

// TestRunDump kills a dump at every byte after a mark, takes it up there, and
// expects the bytes of an uninterrupted one. Whatever is not the dump up to the
// mark is refused and left as it is.
func TestRunDump(t *testing.T) {
	for _, name := range []string{"d.jsonl", "d.jsonl.gz"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		var marks []DumpMark
		steps := func(w *DumpWriter, from, to int) {
			t.Helper()
			for s := from; s <= to; s++ {
				for i := range 2 {
					must.Do(t, w.Write(dumpOf(s, i)))
				}
				m := must.Get(w.Mark())(t)
				marks = append(marks, m)
			}
			must.Do(t, w.Finish())
		}
		open := func(path string, steps int, at *DumpMark) (*DumpWriter, error) {
			return OpenRunDump(dir, path, dumpOf(1, 0).Run, steps, at)
		}
		w := must.Get(open(path, 0, nil))(t)
		steps(w, 1, 3)
		whole, _ := os.ReadFile(path)
		unmarked := must.Get(CreateDump(filepath.Join(dir, "unmarked-"+name)))(t) // as of a run that was never interrupted
		for i := range 6 {
			must.Do(t, unmarked.Write(dumpOf(1+i/2, i%2)))
		}
		must.Do(t, unmarked.Close())
		if text, _ := os.ReadFile(unmarked.path); !bytes.Equal(text, whole) {
			t.Errorf("%s: marks between steps change the bytes", name)
		}
		if text := inflate(t, whole, name); bytes.Count(text, []byte("\n")) != 6 {
			t.Fatalf("%s: %d lines", name, bytes.Count(text, []byte("\n")))
		}
		kept := marks[1]
		for cut := 0; cut <= len(whole); cut += 1 + len(whole)/25 {
			os.WriteFile(path, whole[:cut], 0o644)
			w, err := open(path, 2, &kept)
			if int64(cut) < kept.Bytes {
				if left, _ := os.ReadFile(path); err == nil || !bytes.Equal(left, whole[:cut]) || !strings.Contains(err.Error(), path+": not the dump of this run") {
					t.Fatalf("%s cut at %d of %d: %v", name, cut, kept.Bytes, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s cut at %d: %v", name, cut, err)
			}
			steps(w, 3, 3)
			if again, _ := os.ReadFile(path); !bytes.Equal(again, whole) {
				t.Fatalf("%s cut at %d: %d bytes, want %d", name, cut, len(again), len(whole))
			}
			// A run that had kept nothing begins its dump again.
			os.WriteFile(path, whole[:cut], 0o644)
			if w, err = open(path, 0, nil); err != nil {
				t.Fatalf("%s cut at %d, from the start: %v", name, cut, err)
			}
			steps(w, 1, 3)
			if again, _ := os.ReadFile(path); !bytes.Equal(again, whole) {
				t.Fatalf("%s cut at %d, from the start: %d bytes, want %d", name, cut, len(again), len(whole))
			}
		}
		if err := CheckRunDump(dir, path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for what, longer := range map[string][]byte{"a byte more": append(bytes.Clone(whole), 'x'), "doubled": append(bytes.Clone(whole), whole...)} {
			os.WriteFile(path, longer, 0o644)
			if err := CheckRunDump(dir, path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes follow its %d", len(longer)-len(whole), len(whole))) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for i := 0; i < int(kept.Bytes); i += 1 + len(whole)/60 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1
			os.WriteFile(path, flipped, 0o644)
			_, err := open(path, 2, &kept)
			if left, _ := os.ReadFile(path); err == nil || !bytes.Equal(left, flipped) || CheckRunDump(dir, path) == nil {
				t.Errorf("%s, a bit of byte %d: %v", name, i, err)
			}
		}
		os.WriteFile(path, whole, 0o644)
		for want, attempt := range map[string]func() (*DumpWriter, error){
			"this run is dumped to " + path:               func() (*DumpWriter, error) { return open("", 2, &kept) },
			"this run has come to step 2 without --dump":  func() (*DumpWriter, error) { return open(path, 2, nil) },
			"is there already and is not the dump of":     func() (*DumpWriter, error) { return OpenRunDump(t.TempDir(), path, "demo", 0, nil) },
			"there already and is not the dump of this":   func() (*DumpWriter, error) { return CreateDump(path) },
			filepath.Join(dir, "no") + ": no such folder": func() (*DumpWriter, error) { return CreateDump(filepath.Join(dir, "no", name)) },
		} {
			_, err := attempt()
			var fe *FolderError
			if left, _ := os.ReadFile(path); !errors.As(err, &fe) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !bytes.Equal(left, whole) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		// Somebody's text in the place of a dump that had nothing to keep yet.
		os.WriteFile(path, []byte("my notes"), 0o644)
		if _, err := open(path, 0, nil); err == nil || !strings.Contains(err.Error(), "is not the dump of this run") {
			t.Errorf("%s: over a text: %v", name, err)
		}
	}
	if _, err := os.Stat("no"); err == nil {
		t.Error("a folder was made")
	}
}

// inflate undoes the compression of a .gz file.
func inflate(t *testing.T, raw []byte, name string) []byte {
	t.Helper()
	if !strings.HasSuffix(name, ".gz") {
		return raw
	}
	z := must.Get(gzip.NewReader(bytes.NewReader(raw)))(t)
	return must.Get(io.ReadAll(z))(t)
}

func FuzzDumpLine(f *testing.F) {
	line, _ := dumpOf(1, 0).appendJSON(nil)
	f.Add(line)
	f.Add([]byte(`{"token_ids":[1],"logp_old":["nan"],"routes_rollout":[[[1,2],[3,4]]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d DumpLine
		if json.Unmarshal(text, &d) != nil {
			return
		}
		again, err := d.appendJSON(nil)
		if err != nil {
			return // lists of unequal length
		}
		var e DumpLine
		if err := json.Unmarshal(again, &e); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		for _, r := range []*Routes{&d.RoutesRollout, &d.RoutesLearner, &d.PromptRoutesRollout, &d.PromptRoutesLearner} {
			if len(r.Expert) == 0 {
				r.Layers, r.TopK = 0, 0 // the shape of no tokens cannot be seen in nested lists
			}
		}
		if diff := cmp.Diff(d, e, cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
	})
}
