package study

import (
	"bytes"
	"path/filepath"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/results/stability"
)

// The published map is what its published runs come to, judged again.
func TestPublishedMapJudgedAgain(t *testing.T) {
	m := stability.Published()
	for _, s := range m.Studies {
		d := must.Get(Read(filepath.Join("../../results/published/stability", s.Name)))(t)
		want := must.Get(record.Document(&s))(t)
		got := must.Get(record.Document(d.Limits()))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the published figures are not those of the published runs", s.Name)
		}
	}
	if len(m.Studies) == 0 {
		t.Error("the published map has no study")
	}
}
