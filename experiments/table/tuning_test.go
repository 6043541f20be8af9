package table_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results/record"
)

var update = flag.Bool("update", false, "write the published files and the plan of the stage transfer anew")

// ran makes the outcome of a run with the pass rates of its evaluations, the first before any update.
func ran(method, stressor, against string, seed uint64, trace string, rates ...float64) sweep.Outcome {
	o := sweep.Outcome{Values: map[string]string{"method": method, "group": "g-" + method, "stressor": stressor, "dose": "16", "against": against},
		Seed: seed, Status: record.StatusFinished, RunOutcome: record.RunOutcome{Verdict: record.NotCollapsed}, Trace: sweep.Trace(trace)}
	for i, v := range rates {
		o.Evals.Step = append(o.Evals.Step, 10*i)
		o.Evals.Value = append(o.Evals.Value, record.Number(v))
	}
	return o
}

// tuneRun makes the outcome of a run of a stage with tasks; its mean pass rate is the value.
func tuneRun(task, method, stressor, rate string, seed uint64, value float64) sweep.Outcome {
	against := "matched"
	if stressor == "matched" {
		against = ""
	}
	o := ran(method, stressor, against, seed, fmt.Sprintf("%s%s%v", method, rate, value), 0.1, value, value)
	o.Run = fmt.Sprint(task, method, stressor, rate, seed)
	o.Values["task"], o.Values["rate"], o.Values["letter"] = task, rate, "C"
	return o
}

// tasksStage is a stage with tasks, whose plan is what has run and no more.
func tasksStage(name string, runs ...sweep.Outcome) table.Stage {
	s := table.Stage{Name: name, Index: &sweep.Index{Name: name}, Runs: runs}
	task := sweep.IndexFactor{Name: "task"}
	at := map[string]int{}
	for _, o := range runs {
		v := o.Values
		if !slices.Contains(task.Values, v["task"]) {
			task.Values = append(task.Values, v["task"])
		}
		if !slices.Contains(s.Index.Seeds, o.Seed) {
			s.Index.Seeds = append(s.Index.Seeds, o.Seed)
		}
		key := fmt.Sprint(v["task"], v["method"], v["stressor"], v["rate"])
		if _, ok := at[key]; !ok {
			at[key] = len(s.Index.Points)
			s.Index.Points = append(s.Index.Points, sweep.IndexPoint{Values: v})
		}
		p := &s.Index.Points[at[key]]
		p.Runs = append(p.Runs, o.Run)
	}
	s.Index.Factors = []sweep.IndexFactor{task}
	return s
}

// The tuned rate has the highest mean, the smaller one of equal ones; its range ends where a rate
// is more than 0.05 lower; what is not whole is not tuned, and a stopped run counts as zero.
func TestTunings(t *testing.T) {
	var runs []sweep.Outcome
	add := func(method string, values ...float64) {
		for i, v := range values {
			runs = append(runs, tuneRun("chain", method, "age", []string{"2.5e-4", "5e-4", "1e-3", "2e-3"}[i], 1, v))
		}
	}
	add("none", .5, .6, .6, .4)
	add("x", .68, .6, .66, .7)
	add("stopped", .9, .5, .5, .5)
	last := &runs[8] // the first of stopped
	last.Status, last.Evals.Step, last.Evals.Value = record.StatusStopped, last.Evals.Step[:2], last.Evals.Value[:2]
	add("part", .5, .5, .5, .5)
	s := tasksStage("tune", runs...)
	s.Runs = s.Runs[:len(s.Runs)-1]
	list := s.Tunings()
	var got []string
	for _, u := range list {
		got = append(got, fmt.Sprintf("%s %s %s-%s edge %v", u.Method, u.Rate(), u.Rates[u.Low], u.Rates[u.High], u.AtEdge()))
	}
	want := []string{"none 5e-4 5e-4-1e-3 edge false", "x 2e-3 1e-3-2e-3 edge true", "stopped 5e-4 2.5e-4-2e-3 edge false"}
	if !slices.Equal(got, want) {
		t.Errorf("tuned %q, want %q", got, want)
	}
	if v := list[2].Means[0]; math.Abs(v-.45) > 1e-12 {
		t.Errorf("a run that stopped halfway has the mean %v, want .45", v)
	}
}

// judgedStages are a tuning stage and a judged one on two tasks: x gains .2 on both, y loses.
func judgedStages() (tune, judged table.Stage) {
	var tuned, ran []sweep.Outcome
	for _, task := range []string{"addition", "chain"} {
		for _, rate := range []string{"5e-4", "1e-3"} {
			tuned = append(tuned, tuneRun(task, "none", "matched", rate, 1, .8), tuneRun(task, "none", "age", rate, 1, .5),
				tuneRun(task, "x", "age", rate, 1, map[string]float64{"5e-4": .6, "1e-3": .7}[rate]), tuneRun(task, "y", "age", rate, 1, .4))
		}
		for seed := uint64(11); seed < 21; seed++ {
			wiggle := float64(seed%4) / 100
			ran = append(ran, tuneRun(task, "none", "matched", "5e-4", seed, .8), tuneRun(task, "none", "age", "5e-4", seed, .5+wiggle),
				tuneRun(task, "x", "age", "1e-3", seed, .7), tuneRun(task, "y", "age", "5e-4", seed, .4+2*wiggle))
		}
	}
	return tasksStage("tune", tuned...), tasksStage("transfer", ran...)
}

// Gains are those over no correction at its own rate, by base model; the recommended setting is that
// of the tuning stage.
func TestTuned(t *testing.T) {
	tune, judged := judgedStages()
	got := table.Measure(&tune, &judged, nil)
	if len(got.Tasks) != 2 || len(got.Missing) != 0 || got.Models != 10 || got.TuningModels != 1 {
		t.Fatalf("%d tasks of %d models, missing %q", len(got.Tasks), got.Models, got.Missing)
	}
	task := got.Tasks[0]
	if p := task.Problems[0]; p.Rate != "5e-4" || p.Recommended != "x" || math.Abs(p.Uncorrected-.515) > 1e-9 || p.Matched != .8 {
		t.Errorf("the problem is %+v", p)
	}
	for _, s := range task.Settings {
		e := s.Effects[0]
		switch s.Name {
		case "x":
			if e.Rate != "1e-3" || math.Abs(e.Estimate-.185) > 1e-9 || e.Significant() != 1 || !(e.Smallest > 0) {
				t.Errorf("x: %+v", e)
			}
		case "y":
			if math.Abs(e.Estimate+.085) > 1e-9 || e.Significant() != -1 {
				t.Errorf("y: %+v", e)
			}
		}
	}
	judged.Runs = judged.Runs[:len(judged.Runs)-1]
	if part := table.Measure(&tune, &judged, nil); len(part.Tasks) != 1 || len(part.Missing) != 1 || !strings.Contains(part.Missing[0], "1 of 40 runs") {
		t.Errorf("with a run missing: %d tasks, missing %q", len(part.Tasks), part.Missing)
	}
}

// A larger scale is judged at the rates of the task that its column tuned names, when all of its runs are there.
func TestScales(t *testing.T) {
	tune, judged := judgedStages()
	var ran []sweep.Outcome
	for seed := uint64(21); seed < 24; seed++ {
		for _, o := range []sweep.Outcome{tuneRun("long", "none", "matched", "5e-4", seed, .9), tuneRun("long", "none", "age", "5e-4", seed, .5),
			tuneRun("long", "x", "age", "1e-3", seed, .4), tuneRun("long", "y", "age", "5e-4", seed, .75)} {
			o.Values["tuned"] = "addition"
			ran = append(ran, o)
		}
	}
	scales := tasksStage("scales", ran...)
	got := table.Measure(&tune, &judged, &scales)
	if len(got.Tasks) != 2 || len(got.Scales) != 1 {
		t.Fatalf("%d tasks, %d scales, missing %q", len(got.Tasks), len(got.Scales), got.Missing)
	}
	long := got.Scales[0]
	if long.Name != "long" || long.TunedOn != "addition" || long.Problems[0].Rate != "5e-4" {
		t.Errorf("the scale is %+v", long)
	}
	for _, s := range long.Settings {
		if e, want := s.Effects[0], map[string]float64{"x": -.1, "y": .25}[s.Name]; math.Abs(e.Estimate-want) > 1e-9 {
			t.Errorf("%s: %+v", s.Name, e)
		}
	}
	scales.Runs = scales.Runs[1:]
	if part := table.Measure(&tune, &judged, &scales); len(part.Scales) != 0 || len(part.Missing) != 1 || !strings.Contains(part.Missing[0], "1 of 12 runs") {
		t.Errorf("with a run missing: %d scales, missing %q", len(part.Scales), part.Missing)
	}
}

// The stage scales runs every setting at the rate that the published tuning stage chose for the task.
func TestScalesAreTuned(t *testing.T) {
	done, err := sweep.Read(filepath.Join(publishedTable, "tune"))
	if err != nil {
		t.Fatal(err)
	}
	stage := table.Stage{Name: "tune", Index: done.Index, Runs: done.Rows}
	rates := map[[3]string]string{}
	for _, one := range stage.Tunings() {
		rates[[3]string{one.Task, one.Stressor, one.Method}] = one.Rate()
	}
	for _, p := range grids(t)["scales"].Cells {
		v := p.Values
		if want := rates[[3]string{v["tuned"], v["stressor"], v["method"]}]; v["rate"] != want {
			t.Errorf("%s under %s: rate %s, the tuned one is %q", v["method"], v["stressor"], v["rate"], want)
		}
	}
}

// The page of transfer and the sentences follow from the stages, and equal stages make equal pages.
func TestTransferPage(t *testing.T) {
	tune, judged := judgedStages()
	page := func() string {
		files, err := table.Measure(&tune, &judged, nil).Files()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(files, func(f table.File) bool { return f.Name == "transfer.md" })
		return string(files[i].Data)
	}
	first := page()
	if !strings.Contains(first, "No verdict") { // two settings make no rank correlation
		t.Errorf("a verdict without enough settings:\n%s", first)
	}
	if page() != first {
		t.Error("a second time the page differs")
	}
}

// The plan of the judged stage has every setting at its tuned rate; a second time it does not change.
func TestTransferPlan(t *testing.T) {
	tune, _ := judgedStages()
	file := []byte("name: transfer\n# from the tuning stage:\nold\n# end of the tuning stage's part.\nrest\n")
	text := []byte("name: tune\nfactors:\n  - name: task\nonly:\n  - {a: [b]}\n")
	got, err := table.TransferPlan(file, text, &tune)
	want := "name: transfer\n# from the tuning stage:\nfactors:\n  - name: task\nonly:\n" +
		"  - {task: [addition], stressor: [matched], rate: [5e-4], method: [none]}\n" +
		"  - {task: [addition], stressor: [age], rate: [5e-4], method: [none, y]}\n" +
		"  - {task: [addition], stressor: [age], rate: [1e-3], method: [x]}\n" +
		"  - {task: [chain], stressor: [matched], rate: [5e-4], method: [none]}\n" +
		"  - {task: [chain], stressor: [age], rate: [5e-4], method: [none, y]}\n" +
		"  - {task: [chain], stressor: [age], rate: [1e-3], method: [x]}\n" +
		"# end of the tuning stage's part.\nrest\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if again, err := table.TransferPlan(got, text, &tune); err != nil || !bytes.Equal(again, got) {
		t.Errorf("a second time it changes: %v\n%s", err, again)
	}
	if _, err := table.TransferPlan(text, text, &tune); err == nil {
		t.Error("a file without marks was taken")
	}
}

// The stage transfer runs what the published tuning stage chose.
func TestTransferIsTuned(t *testing.T) {
	dir := filepath.Join(publishedTable, "tune")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no tuning stage is published")
	}
	done, err := sweep.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	tune, _ := table.Text("tune")
	path := filepath.Join("sweeps", "transfer.yaml")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := table.TransferPlan(file, tune, &table.Stage{Name: "tune", Index: done.Index, Runs: done.Rows})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(want, file) {
		return
	}
	if !*update {
		t.Fatal("sweeps/transfer.yaml is not what the published tuning stage chooses: run this test with -update")
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The published comparison at tuned rates is what the published runs of the stages make.
func TestPublishedTuned(t *testing.T) {
	var stages []*table.Stage
	for _, name := range []string{"tune", "transfer", "scales"} {
		done, err := sweep.Read(filepath.Join(publishedTable, name))
		if err != nil {
			t.Fatal(err)
		}
		stages = append(stages, &table.Stage{Name: name, Index: done.Index, Runs: done.Rows, Missing: done.Missing()})
	}
	tuned := table.Measure(stages[0], stages[1], stages[2])
	files, err := tuned.Files()
	if err != nil {
		t.Fatal(err)
	}
	effects, err := table.PublishedEffects()
	if err != nil {
		t.Fatal(err)
	}
	whole := *effects
	whole.Tuned = tuned
	text, err := whole.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, table.File{Name: "effects.json", Data: text}) {
		path := filepath.Join(publishedTable, f.Name)
		if *update {
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if filepath.Ext(f.Name) == ".png" { // the fonts' edges may be drawn otherwise elsewhere
			continue
		}
		if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, f.Data) {
			t.Errorf("%s is not what the published runs make (%v): run this test with -update", f.Name, err)
		}
	}
}
