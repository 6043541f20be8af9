package study

import (
	"bytes"
	"path/filepath"
	"testing"

	"driftlab/results/record"
	"driftlab/results/stability"
)

// The published map is what its published runs come to, judged again.
func TestPublishedMapJudgedAgain(t *testing.T) {
	m, err := stability.Published()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Studies {
		d, err := Read(filepath.Join("../../results/published/stability", s.Name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := record.Document(&s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := record.Document(d.Limits())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the published figures are not those of the published runs", s.Name)
		}
	}
	if len(m.Studies) == 0 {
		t.Error("the published map has no study")
	}
}
