package page

import (
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/diagnosetest"
)

// diagnosed is the analysis of a shipped dump under a name of the test's own.
func diagnosed(t *testing.T, path, name string) (diagnose.Report, []diagnose.Shown) {
	t.Helper()
	a := diagnose.New(diagnose.Options{})
	diagnosetest.Read(t, a, filepath.Join("..", "..", "..", "testdata", "dumps", path), name)
	return a.Report(), a.Shown()
}

// TestPage: a page has what was decided, what to paste and the evidence, and reads no name of a dump as markup.
func TestPage(t *testing.T) {
	r, shown := diagnosed(t, "nemo/lagrun/train_data_step43.jsonl.gz", "<b>`x`.jsonl")
	if len(shown) != 3 || len(shown[0].Tokens) < 20 {
		t.Fatalf("%d responses are shown", len(shown))
	}
	p := Of(r, shown)
	text := string(p.HTML())
	for _, want := range []string{
		"Diagnosis of &lt;b&gt;", r.Decisions[len(r.Decisions)-1].Advice, "rollout_is: token", "# trl has no mask geometric",
		"law-identity", "recommended", "correlation of errors of one token id", "detection rate", "mean exp|d|", "slime, a comment", "token_mult_prob_error", `class="token less4"`, `class="token more1"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "<b>") || strings.Contains(text, `src="http`) {
		t.Error("a name of the dump is read as markup, or something is fetched")
	}
	var headings []string
	for _, s := range p.Sections {
		headings = append(headings, s.Heading)
	}
	if got := strings.Join(headings, ", "); got != "What to do, Findings, Decision table, Likely causes, Checks of the data, Token by token, Effect of each correction on these tokens, Early-warning signals, Where sources disagree, Files" {
		t.Error(got)
	}
}

// A dump to repair has nothing to paste, and one without a gap no tokens.
func TestPageOfOtherVerdicts(t *testing.T) {
	r, shown := diagnosed(t, "slime/temp/train_data/6.pt", "6.pt")
	p := Of(r, shown)
	text := string(p.HTML())
	if strings.Contains(text, "to be pasted") || strings.Contains(text, "Effect of each correction on these tokens") || !strings.Contains(text, "no importance correction before that") {
		t.Error("a correction before the repair")
	}
	r, shown = diagnosed(t, "verl/text/21.jsonl", "21.jsonl")
	p = Of(r, shown)
	if text := string(p.HTML()); strings.Contains(text, "Token by token") || !strings.Contains(text, "There is no gap to measure") {
		t.Error("tokens of a text")
	}
}
