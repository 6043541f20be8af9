package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/experiments/measurements"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/sources"
	"driftlab/precision/elementary"
	"driftlab/precision/must"
	"driftlab/results"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
)

const devices = "schedule verl_partial k=4 staleness_percent=50 cluster.generate=50 cluster.batch=64 costs.learn_token=700 --json --gpus "

// figureRuns are the commands whose results drawings show, by name.
var figureRuns = map[string]string{
	"passk":      "evaluate default --set task.difficulty=[3,12] --prompts 100 --samples 256 --k 1,10 --json",
	"skyrl":      "train fp8-uncorrected --set correction=skyrl_all --set rollout.numerics=fp4-all --set steps=60 -q",
	"devices-32": devices + "32", "devices-64": devices + "64", "devices-128": devices + "128",
}

// figureFiles are published observations, and columns of runs by their names.
type figureFiles struct {
	judges map[string]*claim.Judge
	runs   map[string]map[string][]float64
}

// of is the value of an expression in each unit.
func (f *figureFiles) of(t *testing.T, text string) [][]float64 {
	t.Helper()
	id, expression, ok := strings.Cut(text, ": ")
	if run, isRun := strings.CutPrefix(id, "run "); isRun { // a column, over one of a run if there are two
		column, other, over := strings.Cut(expression, " / ")
		x := slices.Clone(f.runs[run][column])
		if run, column, _ := strings.Cut(other, ": "); over {
			x[0] /= f.runs[run][column][0]
		}
		return [][]float64{x}
	}
	c, known := claims.Lookup(id)
	if !ok || !known {
		t.Fatalf("%q names no claim", text)
	}
	if f.judges[id] == nil {
		dir := filepath.Join("..", "..", "results", "published", "claims", id)
		store := must.Get(study.OpenStore(dir, ""))(t)
		var verdict struct {
			Seeds []uint64
		}
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, "verdict.json")))(t), &verdict))
		j := &claim.Judge{Seeds: verdict.Seeds, SharedWarmStarts: c.Unit != claim.Draw}
		for _, seed := range j.Seeds {
			o := new(claim.Observation)
			must.Do(t, json.Unmarshal(must.Get(store.Cell(fmt.Sprintf("full-v%d/seed-%d", c.Version, seed)))(t).Outcome, o))
			j.Runs = append(j.Runs, o)
		}
		f.judges[id] = j
	}
	return must.Get(f.judges[id].Evaluate(&measurements.Library, c.Rates, expression))(t)
}

// columnsOf makes a run.
func columnsOf(t *testing.T, command string) (columns map[string][]float64) {
	t.Helper()
	var out, stderr bytes.Buffer
	a, args := &app{ctx: t.Context(), stdout: &out, stderr: &stderr}, strings.Fields(command)
	dir := filepath.Join(t.TempDir(), "run")
	if args[0] == "train" {
		args = append(args, "--out", dir)
	}
	must.Do(t, a.dispatch(args))
	columns = map[string][]float64{}
	switch args[0] {
	case "train":
		text := must.Get(os.ReadFile(filepath.Join(dir, "metrics.jsonl")))(t)
		for _, name := range []string{"is_ratio_mean", "is_ratio_std", "gap/dlogp_mean", "gap/dlogp_max", "outlier_seq_masked_ratio"} {
			for _, found := range regexp.MustCompile(`"`+name+`":([^,}]+)`).FindAllSubmatch(text, -1) {
				columns[name] = append(columns[name], must.Get(strconv.ParseFloat(string(found[1]), 64))(t))
			}
		}
		for name, x := range columns {
			columns[name] = claim.Blocks(x, 3)
		}
	case "schedule":
		for i, found := range regexp.MustCompile(`"makespan_s": ([0-9.]+)`).FindAllSubmatch(out.Bytes(), 2) {
			columns[[]string{"asynchronous", "synchronous"}[i]] = []float64{must.Get(strconv.ParseFloat(string(found[1]), 64))(t)}
		}
	case "evaluate":
		var d []evaluated
		must.Do(t, json.Unmarshal(out.Bytes(), &d))
		slices.SortFunc(d[0].Counts, func(a, b [2]int) int { return cmp.Compare(b[0], a[0]) }) // from easy to hard
		counted, fitted := make([]float64, 10), make([]float64, 10)
		var k1, k10 []float64
		for _, c := range d[0].Counts {
			p := float64(c[0]) / float64(c[1])
			k1, k10 = append(k1, p), append(k10, passk.Unbiased(c[1], c[0], 10))
			counted[min(int(p*10), 9)]++
		}
		const steps = 10000
		total := 0.0
		for i := range steps {
			x := (float64(i) + 0.5) / steps
			w := elementary.Pow(x, d[0].Alpha-1) * elementary.Pow(1-x, d[0].Beta-1)
			fitted[i*10/steps] += w
			total += w
		}
		fitted = stats.Each(fitted, func(w float64) float64 { return w / total * float64(len(k1)) })
		columns = map[string][]float64{"prompts by pass rate": counted, "prompts by fitted pass rate": fitted, "pass@1 by tenth": claim.Blocks(k1, len(k1)/10), "pass@10 by tenth": claim.Blocks(k10, len(k10)/10)}
	}
	for name, x := range columns {
		columns[name] = stats.Each(x, short)
	}
	return columns
}

// numbers are the values of expressions, with intervals where there are several units.
func (f *figureFiles) numbers(t *testing.T, of, across []string) (n sources.Numbers) {
	t.Helper()
	for _, text := range of {
		units := f.of(t, text)
		for k := range units[0] {
			var each []float64
			for _, u := range units {
				each = append(each, u[k])
			}
			i := stats.T(each)
			n.Y = append(n.Y, short(i.Estimate))
			if len(units) > 1 {
				n.Low, n.High = append(n.Low, short(i.Low)), append(n.High, short(i.High))
			}
		}
	}
	if across != nil {
		n.X = f.numbers(t, across, nil).Y
	}
	return n
}

// short has four significant digits.
func short(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64) // it was a number
	return x
}

// lined is a document with a line for each value of an object.
func lined(text []byte) string {
	return strings.NewReplacer(`},"`, "},\n\"", `],"`, "],\n\"").Replace(string(text)) + "\n"
}

// TestPublishedFigures: numbers, pictures and page are what published files and the list have now.
func TestPublishedFigures(t *testing.T) {
	const runs = "figures/runs.json"
	files := &figureFiles{map[string]*claim.Judge{}, map[string]map[string][]float64{}}
	if *update || *exhaustive {
		for name, command := range figureRuns {
			files.runs[name] = columnsOf(t, command)
		}
		checkPublished(t, runs, lined(must.Get(json.Marshal(files.runs))(t)))
	}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("../../results/published/"+runs))(t), &files.runs))
	list := sources.Figures()
	numbers := map[string]sources.Numbers{}
	for _, s := range list {
		for _, d := range s.Drawings {
			for k, of := range d.Drawn {
				if of.Of != nil {
					n := files.numbers(t, of.Of, of.Across)
					n.Fill(&d.Series[k])
					numbers[d.Title+": "+of.Name] = n
				}
			}
		}
	}
	text := lined(must.Get(json.Marshal(numbers))(t))
	const path = "../../experiments/study/sources/figures.json"
	if *update {
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	if string(must.Get(os.ReadFile(path))(t)) != text {
		t.Errorf("%s is not what published files have: go test ./cmd/simulate -run %s -update", path, t.Name())
	}
	for _, s := range list {
		for i, d := range s.Drawings {
			checkPublished(t, "figures/"+s.DrawingName(i), string(results.SVG(&d.Figure)))
		}
	}
	checkPublished(t, "figures/README.md", sources.FiguresPage(list))
}

// auditFigures are the figures and tables of the sources that an audit of 2026-11-28 listed.
const auditFigures = `skyrl-ratio skyrl-differences skyrl-outliers areal-table replay-by-n passk-by-difficulty beta-fit r1-growth deepscaler-u simplerl-u narrow-sets
	kl-length kl-loss math-reward math-accuracy grpo-fix bigmath-u hard-reward-by-length easy-reward-by-length hard-lengths easy-lengths easy-and-hard
	penalty-lengths penalty-scores penalty-by-difficulty length-trap kl-estimators async-by-devices presets decision-tree bias-variance-plane`

// TestFiguresAreComplete: every figure that the audit listed has its row, each with a state and a picture, an answer or a reason.
func TestFiguresAreComplete(t *testing.T) {
	ids, states := map[string]bool{}, map[string]int{}
	for _, s := range sources.Figures() {
		if ids[s.ID] || s.Name == "" || s.Shows == "" || s.Because == "" || s.Answers == nil {
			t.Errorf("%s: twice, or without a name, what it shows, a reason or an answer", s.ID)
		}
		ids[s.ID] = true
		states[s.State]++
		for _, d := range s.Drawings {
			for _, of := range d.Series {
				if len(of.Y) == 0 {
					t.Errorf("%s: %s has no values", s.ID, of.Name)
				}
			}
		}
	}
	for _, id := range strings.Fields(auditFigures) {
		if !ids[id] {
			t.Errorf("no row %s", id)
		}
	}
	for state := range states {
		if !slices.Contains([]string{"same", "weaker", "opposite", "proxy", "not shown yet", "not shown"}, state) {
			t.Errorf("state %q", state)
		}
	}
	if states["not shown"] > 3 {
		t.Errorf("%d figures are not shown", states["not shown"])
	}
}
