package published

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "write the packed files")

// TestPackedFiles packs the files of the map and of the alarms again.
func TestPackedFiles(t *testing.T) {
	texts := map[string]string{}
	for _, path := range append(must.Get(filepath.Glob("stability/*.svg"))(t), Alarms, Stability, RealGaps) {
		texts[filepath.ToSlash(path)] = string(must.Get(os.ReadFile(path))(t))
	}
	if len(texts) < 7 {
		t.Fatalf("%d files", len(texts))
	}
	pack(t, "files.json.gz", packedFiles, texts)
}

// TestPackedClaims packs the folders of the published claims again.
func TestPackedClaims(t *testing.T) {
	claims := map[string]Claim{}
	for _, path := range must.Get(filepath.Glob("claims/*/verdict.json"))(t) {
		dir := filepath.Dir(path)
		var verdict map[string]json.RawMessage
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), &verdict))
		for _, list := range []string{"checks", "fresh_checks"} {
			verdict[list] = withoutSeeds(t, verdict[list])
		}
		picture := must.Get(os.ReadFile(filepath.Join(dir, "picture.svg")))(t)
		claims[filepath.Base(dir)] = Claim{must.Get(json.Marshal(verdict))(t), string(picture)}
	}
	if len(claims) == 0 {
		t.Fatal("no published claims")
	}
	pack(t, "claims.json.gz", packedClaims, claims)
}

// withoutSeeds is a list of checks without the effects by seed, which only files have.
func withoutSeeds(t *testing.T, list json.RawMessage) json.RawMessage {
	if list == nil {
		return json.RawMessage("null")
	}
	var checks []map[string]json.RawMessage
	must.Do(t, json.Unmarshal(list, &checks))
	for _, c := range checks {
		delete(c, "seeds")
	}
	return must.Get(json.Marshal(checks))(t)
}

// pack compares a packed file with what it should have, or writes it.
func pack(t *testing.T, name string, packed []byte, of any) {
	text := must.Get(json.Marshal(of))(t)
	switch {
	case *update:
		must.Do(t, os.WriteFile(name, Gzip(text), 0o666))
	case !bytes.Equal(text, Gunzip(packed)):
		t.Errorf("%s is not what the published files have; `go generate ./results/published` makes it", name)
	}
}
