package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestRandomWeights says once, in one line, that a recipe starts from nothing.
func TestRandomWeights(t *testing.T) {
	small := []string{"--set", "steps=1", "--set", "rollout.prompts=2", "--set", "rollout.group=2", "--set", "rollout.max_tokens=8", "--set", "eval.every=0"}
	for _, command := range [][]string{{"train", "default"}, {"measure", "default"}, {"compare", "default", "--seeds", "2"}} {
		for _, checkpoint := range []string{"", "chain-base"} {
			var stdout, stderr bytes.Buffer
			args := append(append(command, small...), "--set", "checkpoint="+checkpoint, "--out", filepath.Join(t.TempDir(), "out"))
			if status := run(args, &stdout, &stderr); status != 0 {
				t.Fatalf("%v: status %d: %s", args, status, &stderr)
			}
			want := "simulate: note: default has no checkpoint and starts from random weights: set checkpoint: chain-base, or make one with `"
			if checkpoint != "" {
				want = ""
			}
			if got := stderr.String(); strings.Count(got, "no checkpoint") != len(want)/max(len(want), 1) || !strings.HasPrefix(got, want) || want != "" && !strings.Contains(got, " pretrain`\n") {
				t.Errorf("%s, checkpoint %q: %q", strings.Join(command, " "), checkpoint, got)
			}
		}
	}
	var stdout, stderr bytes.Buffer
	args := append(append([]string{"measure", "linear-attention"}, small...), "--set", "model.layers=2") // a shipped checkpoint has other layers
	if status := run(args, &stdout, &stderr); status != 0 || !strings.Contains(stderr.String(), "starts from random weights: make one with `") {
		t.Errorf("%v: status %d, %q", args, status, &stderr)
	}
}
