package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study"
	"driftlab/experiments/study/sources"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"

	"mvdan.cc/sh/v3/shell"
)

var exhaustive = flag.Bool("exhaustive", false, "run every command of the list of coverage, as in nightly tests, in place of reading its names and flags")

// TestPublishedCoverage: the published list is what the program says now, in tables that a person can read; a shell can read each command.
func TestPublishedCoverage(t *testing.T) {
	list := sources.Coverage()
	var pasted strings.Builder
	command := regexp.MustCompile("`((?:\\./simulate|go test) [^`]+)`")
	for _, p := range sources.CoveragePages(list) {
		checkPublished(t, p.Name, p.Text)
		for table := range strings.SplitSeq(p.Text, "\n\n") {
			if rows := strings.Count(table, "\n| "); rows > 61 {
				t.Errorf("%s: a table of %d rows", p.Name, rows-1)
			}
		}
		for _, m := range command.FindAllStringSubmatch(p.Text, -1) {
			pasted.WriteString(m[1] + "\n")
		}
	}
	sh := exec.Command("sh", "-n")
	sh.Stdin = strings.NewReader(pasted.String())
	if out, err := sh.CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("sh -n: %v: %s", err, out)
	}
}

// TestCoverageCommands: every command of the list, and of that of figures, has a subcommand and flags that exist, names
// recipes, methods, systems, fields and files that exist, and a recipe that is valid with its changes,
// each of which acts. A shell reads the command as it is meant.
func TestCoverageCommands(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	list := sources.Coverage()
	for _, f := range sources.Figures() {
		list = append(list, sources.Covered{Item: f.ID, Answers: f.Answers})
	}
	seen := map[string]bool{}
	for _, c := range list {
		for _, line := range c.Answers {
			kind, rest, _ := strings.Cut(line, " ")
			if slices.Contains([]string{"claim", "check", "map", "reading"}, kind) || seen[line] {
				continue
			}
			if pkg, name, _ := strings.Cut(rest, " "); kind == "test" {
				files := must.Get(filepath.Glob(pkg + "/*_test.go"))(t)
				if !slices.ContainsFunc(files, func(file string) bool {
					return strings.Contains(string(must.Get(os.ReadFile(file))(t)), "\nfunc "+name+"(")
				}) {
					t.Errorf("%s: no test %s in %s", c.Item, name, pkg)
				}
				continue
			}
			seen[line] = true
			typed, err := shell.Fields(sources.CoverageCommand(line), nil)
			if err != nil || !slices.Equal(typed, strings.Fields(line)) {
				t.Errorf("%s: a shell reads %s as %q (%v)", c.Item, sources.CoverageCommand(line), typed, err)
			}
			if err := tryCommand(t, strings.Fields(line)); err != nil {
				t.Errorf("%s: simulate %s: %v", c.Item, line, err)
			}
		}
	}
}

// TestCoverageReadings: how far stale rollouts are behind fresh ones in what was read from the runs of a study is what its cells say, over
// base models.
func TestCoverageReadings(t *testing.T) {
	dir := filepath.Join("..", "..", "results", "published", "stability", "staleness")
	cells := must.Get(record.ReadCells(dir, must.Get(record.ReadSums(dir))(t)))(t)
	rates := map[string]map[uint64][]float64{}
	for _, key := range cells.Keys() {
		c, o := cells.Get(key), study.Outcome{}
		must.Do(t, json.Unmarshal(c.Outcome, &o))
		if rates[c.Arm] == nil {
			rates[c.Arm] = map[uint64][]float64{}
		}
		for i, step := range o.Evals.Step {
			if step == 50 || step == 100 || step == 1000 {
				rates[c.Arm][c.Seed] = append(rates[c.Arm][c.Seed], float64(o.Evals.Value[i]))
			}
		}
	}
	list := sources.Coverage()
	text := list[slices.IndexFunc(list, func(c sources.Covered) bool { return strings.HasPrefix(c.Item, "stale data helps early") })].Found
	for _, c := range []struct {
		lag, rate string
		at        []int // of 50, 100 and 1,000 updates
	}{{"2", "2.5e-4", []int{0, 2}}, {"8", "2.5e-4", []int{0, 2}}, {"64", "5e-4", []int{0, 1, 2}}} {
		stale, fresh := rates[c.lag+", none, "+c.rate], rates["0, none, "+c.rate]
		for _, at := range c.at {
			var behind []float64
			for _, seed := range slices.Sorted(maps.Keys(stale)) {
				behind = append(behind, fresh[seed][at]-stale[seed][at])
			}
			i := stats.T(behind)
			if want := fmt.Sprintf("%.3f (%.3f to %.3f)", i.Estimate, i.Low, i.High); !strings.Contains(strings.Join(text, " "), want) {
				t.Errorf("lag %s at %s: behind by %s of %d models", c.lag, c.rate, want, i.N)
			}
		}
	}
}

// TestCoverageActs: what clips, masks or replays does so in the run that the list names for it.
func TestCoverageActs(t *testing.T) {
	if !*exhaustive {
		t.Skip("trains")
	}
	list := sources.Coverage()
	for method, metric := range map[string]string{
		"loss=gmpo": "actor/pg_clipfrac_lower", "loss=dppo_tv": "actor/pg_clipfrac", "loss=dppo_kl": "actor/pg_clipfrac", "loss=m2po": "actor/pg_clipfrac", "loss=m2_mask": "m2po/masked",
		"terms=[alp]": "alp/sigma_mean", "correction.masks=[geometric]": "correction/seq_masked_fraction", `correction.masks=[{"name":"opsm"`: "rollout_corr/rollout_rs_opsm_masked_fraction",
		"correction.masks=[trm]": "correction/seq_masked_fraction", "correction.masks=[seq_mean_k1]": "correction/seq_masked_fraction", "loss=aspo": "actor/pg_clipfrac_lower", "correction=skyrl_outlier": "correction/seq_masked_fraction",
		"correction=skyrl_token_mask": "correction/masked_fraction", "correction=decoupled_seq_is_rs": "correction/seq_masked_fraction", "loss=trm": "correction/seq_masked_fraction",
		"correction=skyrl_token_tis": "rollout_corr/k3_kl", "correction=skyrl_geometric": "correction/seq_masked_fraction", "correction.weights=sequence_mis": "correction/seq_masked_fraction",
	} {
		at := slices.IndexFunc(list, func(c sources.Covered) bool { return strings.Contains(strings.Join(c.Answers, " "), method) })
		if at < 0 {
			t.Errorf("no command has %s", method)
			continue
		}
		line := list[at].Answers[slices.IndexFunc(list[at].Answers, func(a string) bool { return strings.Contains(a, method) })]
		line, _, _ = strings.Cut(line, " --dump")
		out := filepath.Join(t.TempDir(), "run")
		a := &app{ctx: context.Background(), stdout: io.Discard, stderr: io.Discard}
		must.Do(t, a.dispatch(append(strings.Fields(line), "--set", "steps=24", "--set", "eval.every=0", "-q", "--out", out)))
		if acts := regexp.MustCompile(`"` + metric + `":-?(0\.0*[1-9]|[1-9])`); !acts.Match(must.Get(os.ReadFile(filepath.Join(out, "metrics.jsonl")))(t)) {
			t.Errorf("simulate %s: %s is 0 in every step", line, metric)
		}
	}
}

// tryCommand reads a command, and runs it if it takes no time or the test is exhaustive.
func tryCommand(t *testing.T, args []string) error {
	t.Helper()
	var out, stderr bytes.Buffer
	folder := t.TempDir()
	quick, slow := map[string][]string{
		"train":    {"-q", "--out", filepath.Join(folder, "run"), "--set", "steps=2", "--set", "eval.every=0"},
		"measure":  {"-q", "--out", filepath.Join(folder, "run")},
		"diagnose": {"--out", filepath.Join(folder, "run")},
		"evaluate": {"-q"},
		"pretrain": {"-q", "--out", filepath.Join(folder, "run"), "--set", "pretrain.steps=2"},
	}[args[0]]
	if *exhaustive && slow {
		if at := slices.Index(args, "--dump"); at >= 0 {
			args[at+1] = filepath.Join(folder, args[at+1])
		}
		args = append(args, quick...)
		a := &app{ctx: context.Background(), stdout: &out, stderr: &stderr}
		return a.dispatch(args)
	}
	c := new(cli)
	a := &app{ctx: context.Background(), stdout: &out, stderr: &stderr}
	a.parser = newParser(a, c)
	k, err := a.parser.Parse(args)
	if err != nil {
		return err
	}
	switch args[0] {
	case "train":
		config, err := c.Train.readConfig(a)
		if err != nil {
			return err
		}
		if config != nil {
			if c.Train.before, err = config.Changes(); err != nil {
				return err
			}
		}
		r, err := c.Train.load(c.Train.Recipe)
		if err != nil {
			return err
		}
		for _, n := range recipe.NoEffects(r) {
			if !n.OfUsualLoss() {
				return errors.New(n.Note)
			}
		}
		return nil
	case "measure":
		m := &c.Measure
		m.setBy("--rollout", "rollout.numerics", m.Rollout)
		m.setBy("--learner", "learner.numerics", m.Learner)
		_, err := m.load(m.Recipe)
		return err
	case "evaluate":
		_, err := c.Evaluate.load(c.Evaluate.What[0])
		return err
	case "diagnose":
		_, err := os.Stat(args[1])
		return err
	case "study":
		_, err := readPlan(args[1])
		return err
	case "pretrain":
		_, err := c.Pretrain.load(c.Pretrain.Recipe)
		return err
	}
	return k.Run(a)
}

// TestCoverageFaults: what names nothing is an error.
func TestCoverageFaults(t *testing.T) {
	for _, line := range []string{
		"feature\tS4\tPPO\t\t",
		"statement\tS9\tx\tclaim tp-order\t",
		"thing\tS4\tx\tclaim tp-order\t",
		"statement\tS4\tx\tclaim tp-border\t",
		"statement\tS4\tx\tcheck tp-order: distinct\t",
		"statement\tS4\tx\tmap staleness: 17, none\t",
		"statement\tS4\tx",
	} {
		if _, err := sources.ParseCoverage(line + "\n"); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
	for _, line := range []string{"train defaults", "train default --set loss=pppo", "train default --sett x=1", "methods pppo", "schedule areals", "trains default", "diagnose no-such-file"} {
		if err := tryCommand(t, strings.Fields(line)); err == nil {
			t.Errorf("simulate %s is accepted", line)
		}
	}
}
