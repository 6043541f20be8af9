package claim_test

import (
	"io/fs"
	"path"
	"testing"

	"driftlab/experiments/measurements"
	"driftlab/experiments/studies"
	"driftlab/experiments/study/claims/claim"
)

// TestStudies checks each claim of package studies.
func TestStudies(t *testing.T) {
	checked := 0
	err := fs.WalkDir(studies.Claims, "claims", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".yaml" || path.Base(name) == "order.yaml" {
			return err
		}
		text, err := fs.ReadFile(studies.Claims, name)
		if err != nil {
			return err
		}
		if err := claim.Checked(text, &measurements.Library); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checked++
		return nil
	})
	if err != nil || checked == 0 {
		t.Errorf("%d claims are checked: %v", checked, err)
	}
}
