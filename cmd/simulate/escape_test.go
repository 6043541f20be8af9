package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/figure"
)

// TestEscape: what a terminal would obey is written out, and text is left alone.
func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain, δ=0.05 → ok\n": "plain, δ=0.05 → ok\n",
		"\x1b[31mred\x07":      `\u001b[31mred\u0007`,
		"over\rwrite\tit\x7f":  `over\u000dwrite\u0009it\u007f`,
		"\u009b31m":            `\u009b31m`,    // the control sequence of eight bits
		"a\u202eb":             `a\u202eb`,     // right to left
		"\x9b31m \xff":         `\x9b31m \xff`, // bytes that are no text
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestEchoIsEscaped: nothing that is typed or read reaches a terminal raw, in an
// error, in a table or in a document.
func TestEchoIsEscaped(t *testing.T) {
	const evil = "a\x1b[2J\u009b31m\r\nb"
	raw := func(s string) bool { return strings.ContainsAny(s, "\x1b\u009b\r") }
	for _, args := range [][]string{
		{"train", evil}, {"train", "--set", evil}, {"train", "--set", evil + "=1"}, {"train", "--set", "seed=" + evil}, {"train", "--seed", evil},
		{"--" + evil}, {evil}, {"help", evil}, {"methods", evil}, {"compare", "default", evil}, {"measure", "--rollout", evil}, {"measure", "--checkpoint", evil},
		{"bench", "--learner", evil}, {"reproduce", evil}, {"report", evil}, {"pretrain", evil}, {"checkpoint", "export", evil, "x"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(args, &stdout, &stderr)
		if got := stderr.String(); status != statusBadInput || raw(got) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: status %d, printed %q", args, status, got)
		}
	}

	var out bytes.Buffer
	a := &app{stdout: &checkedWriter{Writer: &out}}
	table := &figure.Figure{Kind: figure.Table, Title: evil, Columns: []figure.Column{{Name: "name"}}, Note: evil}
	table.Add(figure.Word(evil))
	a.printTable(table)
	if raw(out.String()) {
		t.Errorf("table: %q", out.String())
	}
	out.Reset()
	must.Do(t, a.printJSON(map[string]string{"name": evil}))
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["name"] != evil || raw(out.String()) {
		t.Errorf("%v: %q", err, out.String())
	}
}
