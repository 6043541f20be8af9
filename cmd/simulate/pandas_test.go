package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// pythonWithPandas is a Python that has pandas, such as Debian's; the test skips itself where there is none.
func pythonWithPandas(t *testing.T) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import pandas").Run() == nil {
			return python
		}
	}
	t.Skip("there is no Python with pandas")
	return ""
}

// TestPandasLines runs the Python lines of the page of sweeps on a sweep's table of steps: they print the
// mean of each setting, and write a file for each run whose steps count from 0. The notebook ranks the settings.
func TestPandasLines(t *testing.T) {
	page := must.Get(os.ReadFile("../../experiments/study/README.md"))(t)
	block := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page of sweeps has no Python lines")
	}
	notebook := must.Get(filepath.Abs("../../experiments/study/ranking.py"))(t)
	python := pythonWithPandas(t)
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	args := strings.Fields("sweep fp8-uncorrected --sweep correction.weights=none,token_tis --seeds 2 --set steps=2 --set rollout.prompts=2 --set rollout.group=2 --steps --out runs/steps -q")
	if status := run(args, &out, &errs); status != 0 {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	printed, err := exec.Command(python, "-c", string(block[1])).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	for _, word := range []string{"correction.weights", "none", "token_tis", "step"} {
		if !strings.Contains(string(printed), word) {
			t.Errorf("%q is not in\n%s", word, printed)
		}
	}
	t.Setenv("MPLBACKEND", "agg")
	t.Setenv("FIGURE", "gap/k3")
	printed, err = exec.Command(python, notebook).CombinedOutput()
	if err != nil || !regexp.MustCompile(`gap/k3, minus that of none \([0-9.e-]+\)\n +gain +standard error +seeds\s+correction.weights\s+token_tis +\S+ +\S+ +2\n`).Match(printed) {
		t.Errorf("%v\n%s", err, printed)
	}
	single, err := filepath.Glob("runs/steps/????????????????.csv")
	if err != nil || len(single) != 4 {
		t.Fatalf("%q, %v: want 4 files", single, err)
	}
	for _, name := range single {
		text := must.Get(os.ReadFile(name))(t)
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(rows) != 4 || rows[0][2] != "step" || rows[1][2]+rows[2][2]+rows[3][2] != "012" {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
