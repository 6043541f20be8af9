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

var update = flag.Bool("update", false, "write claims.json.gz")

// TestClaims packs the folders of the published claims again.
func TestClaims(t *testing.T) {
	folders, err := filepath.Glob("claims/*/verdict.json")
	if err != nil || len(folders) == 0 {
		t.Fatal("no published claims", err)
	}
	claims := map[string]Claim{}
	for _, path := range folders {
		dir := filepath.Dir(path)
		verdict := must.Get(os.ReadFile(path))(t)
		picture := must.Get(os.ReadFile(filepath.Join(dir, "picture.svg")))(t)
		claims[filepath.Base(dir)] = Claim{verdict, string(picture)}
	}
	text := must.Get(json.Marshal(claims))(t)
	if *update {
		must.Do(t, os.WriteFile("claims.json.gz", Gzip(text), 0o666))
		return
	}
	if !bytes.Equal(text, Gunzip(packedClaims)) {
		t.Error("claims.json.gz is not what the claims' folders have; `go generate ./results/published` makes it")
	}
}
