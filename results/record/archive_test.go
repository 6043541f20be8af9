package record

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"driftlab/precision/must"
)

// TestArchive: what is unpacked is the folder of a finished run, file by file.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	recipe := []byte("name: small\nseed: 3\n")
	run := must.Get(Create(dir, recipe))(t)
	metrics := []Metric{{Name: "gap/k3", Value: 0.25}}
	must.Do(t, run.Step(1, metrics))
	summary := Summary{Name: "small", Seed: 3, Steps: 1, Status: StatusFinished, Metrics: metrics}
	must.Do(t, run.Finish(summary))
	var archive bytes.Buffer
	must.Do(t, WriteArchive(&archive, &Record{Recipe: recipe, Summary: &summary}, AppendStep(nil, 1, metrics), map[string][]byte{"config.json": []byte("{}")}))
	z := must.Get(zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len())))(t)
	seen := 0
	for _, f := range z.File {
		if f.Name == CheckpointFolder+"/config.json" {
			continue
		}
		r := must.Get(f.Open())(t)
		have := must.Get(io.ReadAll(r))(t)
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
