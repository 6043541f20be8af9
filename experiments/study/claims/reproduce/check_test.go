package reproduce

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/must"
)

// TestCheck: nothing changes in what this version published, and a verdict, a figure and the version of a
// measurement that differ are listed, each with its reason.
func TestCheck(t *testing.T) {
	const id = "length-trap"
	root := t.TempDir()
	dir := filepath.Join(root, "claims", id)
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "..", "results", "published", "claims", id))))
	text := must.Get(os.ReadFile(filepath.Join(dir, verdictFile)))(t)
	if changes, checked, err := Check(root); len(changes) > 0 || checked != 1 || err != nil {
		t.Errorf("%+v, %d checked, %v", changes, checked, err)
	}
	length, _ := claims.Lookup(id)
	f := must.Get(openFolder(root, length, claim.Full))(t)
	for _, c := range []struct {
		from, to string
		want     Change
	}{
		{`"verdict":"reproduced"`, `"verdict": "undecided"`, Change{id, "undecided", "reproduced", "the same observations have another verdict"}},
		{`4.207726653219593`, `4.25`, Change{id, "reproduced", "reproduced", "the verdict stays, figures of its checks change"}},
		{`"version":4`, `"version":3`, Change{id, "reproduced", "", "the observations are of version 3 of the claim's measurement, now it is version 4: measure them again"}},
	} {
		other := bytes.Replace(text, []byte(c.from), []byte(c.to), 1)
		if bytes.Equal(other, text) {
			t.Fatalf("%s is not in the verdict file", c.from)
		}
		must.Do(t, f.Write(verdictFile, other))
		changes, checked, err := Check(root)
		if err != nil || checked != 1 || len(changes) != 1 || changes[0] != c.want {
			t.Errorf("%s: %+v, %d checked, %v; want %+v", c.to, changes, checked, err, c.want)
		}
	}
}
