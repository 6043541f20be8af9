package record

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestArchive: what is unpacked is the folder of a finished run, file by file.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	recipe := []byte("name: small\nseed: 3\n")
	run, err := Create(dir, recipe)
	if err != nil {
		t.Fatal(err)
	}
	metrics := []Metric{{Name: "gap/k3", Value: 0.25}}
	if err := run.Step(1, metrics); err != nil {
		t.Fatal(err)
	}
	summary := Summary{Name: "small", Seed: 3, Steps: 1, Status: StatusFinished, Metrics: metrics}
	if err := run.Finish(summary); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := WriteArchive(&archive, &Record{Recipe: recipe, Summary: &summary}, AppendStep(nil, 1, metrics), map[string][]byte{"config.json": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range z.File {
		if f.Name == CheckpointFolder+"/config.json" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		have, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s: %q in the archive, %q in the folder, %v", f.Name, have, want, err)
		}
		seen++
	}
	if files, _ := os.ReadDir(dir); seen != len(files) {
		t.Errorf("%d files in the archive, %d in the folder", seen, len(files))
	}
}
