package diagnose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/diagnosetest"
	"driftlab/precision/must"
	"driftlab/trainer/recipe/foreign"
)

// A practitionerReport is a case of testdata/reports: a situation of a public report, written anew with synthetic numbers. The
// dumps of a folder are one run, in the order of their names; a configuration lies next to them.
type practitionerReport struct {
	folder string
	files  string // a pattern; all dumps if empty
	config string // a file's name, empty for none
	state  diagnose.State
	// first are phrases of the verdict's lines, says of these or the findings, never of none of both.
	first, says, never []string
}

var practitionerReports = []practitionerReport{
	{folder: "02-loo-advantage-spike", config: "grpo.yaml", state: diagnose.CannotLearn,
		first: []string{"2 of 64 responses have |advantage| up to 2,075", "the others at most 2.3", "-0.95 from the mean", "guard the deviation", "use_leave_one_out_baseline"}, never: []string{"no correction is needed"}},
	{folder: "04-null-logprobs", state: diagnose.Healthy,
		first: []string{"8 of 2866 trained tokens", "in the rollout column only", "tokens that the learner is certain of", "nearly deterministic (entropy collapsed)"}},
	{folder: "01-eos-placeholder", files: "dump.jsonl.gz", config: "skyrl.yaml", state: diagnose.Repair,
		first: []string{"the last token of 42 of 48 responses", "exactly 0", "appended, not sampled", "mask the token that was appended"}},
	{folder: "01-eos-placeholder", files: "dump_sure_eos.jsonl.gz", config: "skyrl.yaml", state: diagnose.Repair,
		first: []string{"the last token of 42 of 48 responses", "exactly 0", "appended, not sampled", "mask the token that was appended"}, never: []string{"temperature, top-p and top-k"}},
	{folder: "06-sleep-reverts-weights", state: diagnose.Genuine,
		first: []string{"from step 3 on the rollout engine has the weights of before step 3", "no sync reaches it", "after the engine wakes up"}, never: []string{"100 to 100"}},
	{folder: "25-mask-one-late", state: diagnose.Repair,
		first: []string{"in 48 of 48 responses", "before the loss mask", "log-prob that is not 0", "the mask begins late by 1"}},
	{folder: "07-staleness-after-recovery", config: "areal.yaml", state: diagnose.Genuine,
		first: []string{"exceeds the configured bound rollout.max_head_offpolicyness = 2 from step 7 on, up to 9", "7: 3, 8: 4, 9: 5", "counter of accepted samples was not restored", "the gap grows: mean |d| 0.016 at step 2, 0.13 at step 13", "from step 7 on by about"}},
	{folder: "11-best-at-k", state: diagnose.Unusable,
		says: []string{"mean@4 0.167", "pass@1 0.167", "pass@4 0.417", "best@4", "0.31", "with replacement"}},
	{folder: "12-cispo-anchor", config: "rollout.yaml",
		says: []string{"the configured loss and correction: mean weight 1.05", "at the lower bound"}, never: []string{"nothing is configured"}},
	{folder: "12-cispo-anchor", config: "old.yaml",
		says: []string{"the clip of the loss cispo cannot act"}},
	{folder: "27-healthy-tis-warned", config: "verl.yaml", state: diagnose.Healthy,
		first: []string{"the engines agree", "no correction is needed"}, says: []string{"harmless: mean weight 1, median 1, ess 1", "none of the token ratios lies above 2"}, never: []string{"hides a gap"}},
	{folder: "27-healthy-tis-warned", config: "skyrl.yaml", state: diagnose.Healthy, // report 37 has the same dump
		says: []string{"not evaluated: truncated: the dump has no finish reason", "harmless"}, never: []string{"has 0 entries", "record it before"}},
	{folder: "15-old-new-differ", config: "verl.yaml", state: diagnose.CannotLearn,
		first: []string{"15.8 % of the tokens outside 1 ± 0.2", "makes one update", "not batch-invariant", "clip fraction is noise", "micro-batch size"}},
	{folder: "16-shaped-reward-phantom", config: "verl.yaml", state: diagnose.CannotLearn,
		first: []string{"in 8 of 12 groups acc is 0 throughout", "as large as elsewhere", "length", "filter groups on acc"}},
	{folder: "17-all-truncated", state: diagnose.CannotLearn,
		first: []string{"nothing can be learned: all advantages are 0", "every reward is 0", "of the responses have the greatest length, 64 tokens", "raise the length limit"}},
	{folder: "21-reference-kl-one-token", state: diagnose.CannotLearn,
		first: []string{"1 token of 2,880 holds 100 % of the k3", "e^22", "k1 ", "k2 ", "clamp"}},
}

// Every public report gets its expected answer in the first lines.
func TestPractitionerReports(t *testing.T) {
	for _, c := range practitionerReports {
		t.Run(c.folder, func(t *testing.T) {
			r, first, all := diagnosedReport(t, c)
			if c.state != "" && r.Verdict.State != c.state {
				t.Errorf("state %s, not %s", r.Verdict.State, c.state)
			}
			for _, p := range c.first {
				if !strings.Contains(first, strings.ToLower(p)) {
					t.Errorf("%q is not in the first lines", p)
				}
			}
			for _, p := range c.says {
				if !strings.Contains(all, strings.ToLower(p)) {
					t.Errorf("%q is not said", p)
				}
			}
			for _, p := range c.never {
				if strings.Contains(all, strings.ToLower(p)) {
					t.Errorf("%q is said", p)
				}
			}
			if t.Failed() {
				t.Logf("it says:\n%s", all)
			}
		})
	}
}

var dumpFile = regexp.MustCompile(`\.(jsonl|pt|pkl|parquet)(\.gz|\.zst)?$`)

// diagnosedReport is the analysis of a case with its first lines, and with all findings after them, in lower case.
func diagnosedReport(t *testing.T, c practitionerReport) (r diagnose.Report, first, all string) {
	t.Helper()
	dir := filepath.Join("testdata", "reports", c.folder)
	o := diagnose.Options{}
	if c.config != "" {
		text := must.Get(os.ReadFile(filepath.Join(dir, c.config)))(t)
		o.Config = must.Get(foreign.ReadAs("", c.config, text))(t)
	}
	pattern := c.files
	if pattern == "" {
		pattern = "*"
	}
	files := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
	files = slices.DeleteFunc(files, func(f string) bool { return !dumpFile.MatchString(f) })
	if len(files) == 0 {
		t.Fatalf("%s: no dump", dir)
	}
	a := diagnose.New(o)
	for _, f := range files {
		diagnosetest.Read(t, a, f, filepath.Base(f))
	}
	r = a.Report()
	first = strings.ToLower(fmt.Sprintf("Log-probs: %s\nLearning: %s\nNext: %s\n", r.Verdict.LogProbs, r.Verdict.Learning, r.Verdict.Next))
	all = first
	for _, f := range r.Findings {
		all += strings.ToLower(fmt.Sprintf("%s: %s; %s\n", f.Level, f, f.Next))
	}
	return r, first, all
}
