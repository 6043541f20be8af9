package reproduce

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments/claims"
	"driftlab/experiments/claims/claim"
	"driftlab/results/record"
)

// Packed observations judge as before, and one whose digit changed is refused: the seals are
// those of what is packed.
func TestPackedObservationsAreSealed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out [1]") // not a pattern
	c, ok := claims.Lookup("three-policy-bound")
	if !ok {
		t.Fatal("no such claim")
	}
	if _, err := Run(context.Background(), Options{Claims: []string{c.ID}, Seeds: 2, Size: claim.Tiny, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	verdict := func() ([]byte, error) {
		list, err := Kept(dir)
		if err != nil {
			return nil, err
		}
		return verdictText(&list[0])
	}
	before, err := verdict()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Pack(dir, false); n != 2 || err != nil {
		t.Fatalf("%d observations packed, want 2 (%v)", n, err)
	}
	if after, err := verdict(); err != nil || !bytes.Equal(after, before) {
		t.Errorf("packed, it is judged otherwise (%v)", err)
	}
	at := filepath.Join(claimFolder(dir, c), sizeFolder(c, claim.Tiny))
	files, err := record.ReadPackedFiles(os.DirFS(at), ".")
	if err != nil {
		t.Fatal(err)
	}
	digit := bytes.LastIndexAny(files[seedFile(2)], "12345678")
	files[seedFile(2)][digit]++
	if err := os.WriteFile(filepath.Join(at, seedFile(2)), files[seedFile(2)], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Pack(dir, false); err == nil {
		t.Error("a changed observation was packed")
	}
	if _, err := record.PackFiles(at, seedFiles); err != nil {
		t.Fatal(err)
	}
	if _, err := verdict(); err == nil || !strings.Contains(err.Error(), "not as it was written") || !strings.Contains(err.Error(), seedFile(2)) {
		t.Errorf("of a changed digit: %v", err)
	}
}
