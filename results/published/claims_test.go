package published

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
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
		verdict, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := os.ReadFile(filepath.Join(dir, "picture.svg"))
		if err != nil {
			t.Fatal(err)
		}
		claims[filepath.Base(dir)] = Claim{verdict, string(picture)}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("claims.json.gz", Gzip(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, Gunzip(packedClaims)) {
		t.Error("claims.json.gz is not what the claims' folders have; `go generate ./results/published` makes it")
	}
}
