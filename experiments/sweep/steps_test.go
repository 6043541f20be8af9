package sweep

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"driftlab/results/record"
)

// TestSteps: what is kept of a run is read back, to six digits, with gaps and with
// what is not finite.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, stepsFolder), 0o777); err != nil {
		t.Fatal(err)
	}
	var r record.Record
	r.Add(0, []record.Metric{{Name: "val/learner/pass_rate", Value: 0.25}})
	r.Add(1, []record.Metric{{Name: "gap/k3", Value: 1.0 / 3}, {Name: "not kept", Value: 1}})
	r.Add(2, []record.Metric{{Name: "gap/k3", Value: math.Inf(1)}, {Name: "actor/entropy", Value: math.NaN()}, {Name: "val/learner/pass_rate", Value: 1}})
	if err := keepSteps(dir, "x", &r); err != nil {
		t.Fatal(err)
	}
	got, err := readSteps(dir, "x")
	if err != nil || got.Steps != 2 || len(got.Columns) != 3 {
		t.Fatalf("%+v (%v)", got, err)
	}
	k3, entropy, val := got.Column("gap/k3"), got.Column("actor/entropy"), got.Column("val/learner/pass_rate")
	if len(k3.Value) != 2 || k3.Value[0] != 0.333333 || !math.IsInf(k3.Value[1], 1) {
		t.Errorf("gap/k3 %v", k3)
	}
	if len(entropy.Value) != 1 || entropy.Step[0] != 2 || !math.IsNaN(entropy.Value[0]) || val.Step[0] != 0 || val.Step[1] != 2 {
		t.Errorf("actor/entropy %v, val %v", entropy, val)
	}
	if err := os.WriteFile(filepath.Join(dir, stepsFolder, stepsName("x")), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readSteps(dir, "x"); err == nil {
		t.Error("a torn file is taken")
	}
}
