//go:build !js

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"driftlab/experiments/explain"
	"driftlab/experiments/measure"
	"driftlab/experiments/run"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// script talks to the program as a page does: it asks once, and prints what ends the job.
const script = `
const fs = require("fs");
require(process.argv[2]);
globalThis.postMessage = text => {
	const m = typeof text === "string" ? JSON.parse(text) : text;
	if (m.rows) rows += m.rows.length;
	if (m.ready) driftlab(process.argv[4]);
	else if (m.tokens) tokens = m.tokens.log_ratio.length;
	else if (m.digest || m.result || m.fault) process.stdout.write(JSON.stringify({...m, rows, tokens}), () => process.exit(0)); // what is long takes a while
};
let rows = 0, tokens = 0;
const go = new Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[3]), go.importObject).then(r => go.run(r.instance));
`

// TestSameBytes: a run in WebAssembly has the digest of the same run here, gaps at equal
// weights have the same figures, and bad input is told.
func TestSameBytes(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || testing.Short() {
		t.Skip("takes Node, and a minute")
	}
	dir := t.TempDir()
	page, wasm := filepath.Join(dir, "page.cjs"), filepath.Join(dir, "lab.wasm")
	if err := os.WriteFile(page, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", wasm, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		ID     int
		Rows   int
		Tokens int
		Digest string
		Fault  string
		Result json.RawMessage
		Panels []figure.Figure
	}
	ask := func(do, name string, set ...string) (a answer) {
		t.Helper()
		text, _ := json.Marshal(map[string]any{"id": 7, "do": do, "recipe": name, "set": set})
		out, err := exec.Command(node, page, filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"), wasm, string(text)).CombinedOutput()
		if err != nil || json.Unmarshal(out, &a) != nil || a.ID != 7 {
			t.Fatalf("%s: %v\n%s", do, err, out)
		}
		return a
	}
	small := []string{"steps=3", "rollout.prompts=2", "rollout.group=4", "rollout.numerics=fp8-w8a8", "learner.numerics=bf16", "eval={every: 2, prompts: 4}", "correction.weights=token_tis"}
	r, err := recipe.Load("headline", small...)
	if err != nil {
		t.Fatal(err)
	}
	here, err := run.Run(context.Background(), r, run.Options{Workers: runtime.NumCPU()})
	if err != nil {
		t.Fatal(err)
	}
	there := ask("train", "headline", small...)
	if there.Digest != here.Digest() || there.Rows != r.Steps+1 {
		t.Errorf("in WebAssembly %d rows and digest %s, here %s", there.Rows, there.Digest, here.Digest())
	}
	var measured measure.Measurement
	gap := ask("measure", "default", "rollout.prompts=1", "rollout.group=2", "rollout.numerics=bf16")
	if err := json.Unmarshal(gap.Result, &measured); err != nil || len(measured.Pairs) != 1 || gap.Tokens == 0 || gap.Tokens != measured.Pairs[0].Gap.Tokens || len(gap.Panels) != 3 {
		t.Errorf("no gap: %+v", gap)
	}
	few := []string{"rollout.prompts=2", "rollout.numerics=fp8-w8a8", "rollout.max_tokens=12", "learner.minibatches=2", "eval.every=0"}
	if r, err = recipe.Load("default", few...); err != nil {
		t.Fatal(err)
	}
	u, err := explain.Follow(context.Background(), r, explain.Request{Step: 1, Tokens: record.UpdateTokens})
	if err != nil {
		t.Fatal(err)
	}
	var told record.Update
	followed := ask("explain", "default", few...)
	if err := json.Unmarshal(followed.Result, &told); err != nil || len(u.Tokens) == 0 || !reflect.DeepEqual(told.Tokens, u.Tokens) || len(followed.Panels) == 0 {
		t.Errorf("in WebAssembly %d tokens are followed, and not as the %d here: %v", len(told.Tokens), len(u.Tokens), err)
	}
	flips, err := measure.Flips(r, record.FlipsResponses, 1)
	if err != nil {
		t.Fatal(err)
	}
	var routed record.Flips
	flipped := ask("flips", "default", few...)
	if err := json.Unmarshal(flipped.Result, &routed); err != nil || !reflect.DeepEqual(routed.Margin, flips.Margin) || routed.KLFree != flips.KLFree || len(flipped.Panels) != 6 {
		t.Errorf("%d panels of flips, exact KL %g, here %g: %v", len(flipped.Panels), routed.KLFree, flips.KLFree, err)
	}
	if bad := ask("train", "headline", "steps=none"); !strings.Contains(bad.Fault, "steps") {
		t.Errorf("a fault reads %q", bad.Fault)
	}
}
