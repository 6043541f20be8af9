package main

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"driftlab/cmd/simulate/program"
	"driftlab/experiments/measure"
	"driftlab/experiments/measure/explain"
	runs "driftlab/experiments/run"
	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// nodePage is a page in Node: it asks for one job after the other, and prints of each what ends it, a line each. The files
// that a reader chooses lie on the disk.
//
//go:embed testdata/lab/node.js
var nodePage string

// nodeJob is what the page asks for, nodeAnswer what it hears.
type nodeJob struct {
	Request map[string]any `json:"request"`
	Files   []string       `json:"files,omitempty"`
}

type nodeAnswer struct {
	ID                      int
	Rows, Tokens            int
	Digest, Fault, Document string
	Result                  json.RawMessage
	Panels                  []figure.Figure
	Tables                  []struct{ Rows [][]string }
}

// compiledProgram is the program of the lab, as the command lab serves it.
var compiledProgram = sync.OnceValues(func() (lab.Program, error) {
	return program.Load(context.Background(), func() error {
		if !*exhaustive {
			return errors.New("the program is not compiled for these sources, which takes a minute or two: -exhaustive compiles it, and so does simulate lab")
		}
		return nil
	})
})

// inNode has a module of the program do jobs, one after the other, each an answer.
func inNode(t *testing.T, module func(lab.Program) []byte, jobs []nodeJob) []nodeAnswer {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil || testing.Short() {
		t.Skip("takes Node")
	}
	p, err := compiledProgram()
	if err != nil && !*exhaustive {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	z := must.Get(gzip.NewReader(bytes.NewReader(module(p))))(t)
	wasm := must.Get(io.ReadAll(z))(t)
	asked := must.Get(json.Marshal(jobs))(t)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "page.cjs"), filepath.Join(dir, program.SupportFile), filepath.Join(dir, "module.wasm"), filepath.Join(dir, "jobs.json")}
	for i, data := range [][]byte{[]byte(nodePage), p.Support, wasm, asked} {
		must.Do(t, os.WriteFile(paths[i], data, 0o666))
	}
	out, err := exec.Command(node, paths...).CombinedOutput()
	var list []nodeAnswer
	for line := range strings.Lines(string(out)) {
		var a nodeAnswer
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.ID != 7 {
			t.Fatalf("%v\n%.2000s", err, out)
		}
		list = append(list, a)
	}
	if err != nil || len(list) != len(jobs) {
		t.Fatalf("%d answers to %d jobs: %v\n%.2000s", len(list), len(jobs), err, out)
	}
	return list
}

// TestSameBytes: a run in WebAssembly has the digest of the same run here, gaps at equal
// weights have the same figures, and bad input is told.
func TestSameBytes(t *testing.T) {
	small := []string{"steps=3", "rollout.prompts=2", "rollout.group=4", "rollout.numerics=fp8-w8a8", "learner.numerics=bf16", "eval={every: 2, prompts: 4}", "correction.weights=token_tis"}
	few := []string{"rollout.prompts=2", "rollout.numerics=fp8-w8a8", "rollout.max_tokens=12", "learner.minibatches=2", "eval.every=0"}
	ask := func(do, name string, set ...string) nodeJob {
		return nodeJob{Request: map[string]any{"id": 7, "do": do, "recipe": name, "set": set}}
	}
	answers := inNode(t, func(p lab.Program) []byte { return p.Gzip }, []nodeJob{ask("train", "headline", small...),
		ask("measure", "default", "rollout.prompts=1", "rollout.group=2", "rollout.numerics=bf16"),
		ask("explain", "default", few...), ask("flips", "default", few...), ask("train", "headline", "steps=none")})
	there, gap, followed, flipped, bad := answers[0], answers[1], answers[2], answers[3], answers[4]

	r := must.Get(recipe.Load("headline", small...))(t)
	here := must.Get(runs.Run(context.Background(), r, runs.Options{Workers: runtime.NumCPU()}))(t)
	if there.Digest != here.Digest() || there.Rows != r.Steps+1 {
		t.Errorf("in WebAssembly %d rows and digest %s, here %s", there.Rows, there.Digest, here.Digest())
	}
	var measured measure.Measurement
	if err := json.Unmarshal(gap.Result, &measured); err != nil || len(measured.Pairs) != 1 || gap.Tokens == 0 || gap.Tokens != measured.Pairs[0].Gap.Tokens || len(gap.Panels) != 3 {
		t.Errorf("no gap: %+v", gap)
	}
	r = must.Get(recipe.Load("default", few...))(t)
	u := must.Get(explain.Follow(context.Background(), r, explain.Request{Step: 1, Tokens: record.UpdateTokens}))(t)
	var told record.Update
	if err := json.Unmarshal(followed.Result, &told); err != nil || len(u.Tokens) == 0 || !reflect.DeepEqual(told.Tokens, u.Tokens) || len(followed.Panels) == 0 {
		t.Errorf("in WebAssembly %d tokens are followed, and not as the %d here: %v", len(told.Tokens), len(u.Tokens), err)
	}
	flips := must.Get(measure.Flips(r, record.FlipsResponses, 1))(t)
	var routed record.Flips
	if err := json.Unmarshal(flipped.Result, &routed); err != nil || !reflect.DeepEqual(routed.Margin, flips.Margin) || routed.KLFree != flips.KLFree || len(flipped.Panels) != 6 {
		t.Errorf("%d panels of flips, exact KL %g, here %g: %v", len(flipped.Panels), routed.KLFree, flips.KLFree, err)
	}
	if !strings.Contains(bad.Fault, "steps") {
		t.Errorf("a fault reads %q", bad.Fault)
	}
}

// TestSameDocument: what the page computes of a dump is the document of the command, byte for byte, for every format that the command reads.
func TestSameDocument(t *testing.T) {
	dir := t.TempDir()
	dumps := must.Get(filepath.Abs(filepath.Join("..", "..", "testdata", "dumps")))(t)
	const config = "algorithm:\n  rollout_correction:\n    rollout_is: token\n    rollout_is_threshold: 2.0\n"
	hostile, settings := filepath.Join(dir, "zeros.jsonl"), filepath.Join(dir, "verl.yaml")
	must.Do(t, errors.Join(os.WriteFile(hostile, make([]byte, 1<<20), 0o666), os.WriteFile(settings, []byte(config), 0o666)))
	formats := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dumps, filepath.FromSlash(name)))
		}
		return paths
	}
	cases := []struct {
		name    string
		files   []string
		request map[string]any
		flags   []string
		fault   string
	}{
		{name: "every format", request: map[string]any{}, files: formats("nemo/lagrun/train_data_step43.jsonl.gz", "prime/identical/token_exports/step_59/rank_0.jsonl.gz", "prime/identical/token_exports/step_59/STABLE", "verl/text/21.jsonl", "areal/text/42/1002.jsonl",
			"slime/temp/train_data/6.pt", "slime/rollout_only/rollout_data/55.pt", "skyrl/lag/dumped_data/global_step_54_training_input.pkl", "trl/text/completions/completions_00041.parquet")},
		{name: "with a configuration", files: formats("nemo/lagrun/train_data_step43.jsonl.gz"), request: map[string]any{"config": config, "top_p": 0.9}, flags: []string{"--config", settings, "--top-p", "0.9"}},
		{name: "no dump", request: map[string]any{}, files: []string{hostile}, fault: "no complete row"},
	}
	var jobs []nodeJob
	for _, c := range cases {
		c.request["id"] = 7
		jobs = append(jobs, nodeJob{c.request, c.files})
	}
	for i, there := range inNode(t, func(p lab.Program) []byte { return p.Diagnose }, jobs) {
		c := cases[i]
		t.Run(c.name, func(t *testing.T) {
			var here, stderr strings.Builder
			status := run(append(append([]string{"diagnose", "--json"}, c.flags...), c.files...), &here, &stderr)
			if (status != statusOK) != (c.fault != "") {
				t.Fatal(status, stderr.String())
			}
			if there.Document != strings.ReplaceAll(here.String(), settings, "the configuration") {
				t.Errorf("the page's document has %d bytes, the command's %d:\n%.3000s\n%.3000s", len(there.Document), here.Len(), there.Document, here.String())
			}
			if !strings.Contains(there.Fault, c.fault) || (there.Fault == "") != (c.fault == "") || strings.Contains(there.Fault, "\n") {
				t.Errorf("a fault reads %q", there.Fault)
			}
			if c.fault == "" && len(there.Tables) < 2 {
				t.Errorf("%d tables", len(there.Tables))
			}
		})
	}
}
