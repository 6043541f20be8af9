package main

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"driftlab/experiments/study"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/tensorboard"
	"driftlab/trainer/method/metrics"
)

type reportCmd struct {
	Dir   string `arg:"" complete:"dirs" help:"A run, or a folder with runs at any depth."`
	Board string `name:"tensorboard" help:"Write the metrics as event files for TensorBoard, too, with a folder for each run." placeholder:"DIR" complete:"dirs"`
	jsonFlag
	outFlag
}

// reported is the document of report --json.
type reported struct {
	Report string      `json:"report"`
	Plots  []string    `json:"plots"`
	Metric string      `json:"metric"`
	Arms   []armResult `json:"arms"`
}

// plotted are the metrics that also become files of their own.
var plotted = []string{"val/learner/pass_rate", "val/rollout/pass_rate", "critic/score/mean", "gap/k3", "routes/flip_token", "actor/entropy", "response_length/mean"}

// Run writes the report.
func (c *reportCmd) Run(a *app) error {
	records, err := record.LoadAll(c.Dir)
	if err != nil {
		return cmp.Or(sweepFolder(c.Dir), err)
	}
	out := cmp.Or(c.Out, c.Dir)
	if err := ownPage(out, runsPage); err != nil {
		return err
	}
	report := results.FromRuns(records, glossary(records)...)
	doc := reported{Report: filepath.Join(out, pageFile), Metric: results.JudgedBy(records)}
	doc.Arms = armsOf(results.Group(records), doc.Metric)
	if doc.Plots, err = writeReport(doc.Report, report, records); err != nil {
		return err
	}
	if c.Board != "" {
		for _, r := range records {
			folder, err := filepath.Rel(c.Dir, r.Dir) // TensorBoard names runs by their folders
			if err != nil || folder == "." {
				folder = filepath.Base(r.Dir)
			}
			if err := record.WriteNew(filepath.Join(c.Board, folder, tensorboard.FileName), tensorboard.Events(r)); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return a.printJSON(doc)
	}
	for _, b := range report.Sections[0].Blocks {
		if t, ok := b.(*figure.Figure); ok && t.Kind == figure.Table {
			a.printTable(t)
		}
	}
	fmt.Fprintf(a.stdout, "Report: %s\n", doc.Report)
	if c.Board != "" {
		fmt.Fprintf(a.stdout, "TensorBoard: tensorboard --logdir %s\n", record.ShellWord(c.Board))
	}
	return nil
}

// writeReport writes the page and, next to it, the plots: the main metrics, also over the virtual time of an asynchronous schedule, pass@k
// and, of a single run, the timeline of its clock and its lags.
func writeReport(path string, report results.Report, records []*record.Record) (plots []string, err error) {
	if err := results.WriteReport(path, report); err != nil {
		return nil, err
	}
	groups, terms := results.Group(records), glossary(records)
	var pictures []study.Picture
	add := func(name string, chart figure.Figure) {
		if len(chart.Series)+len(chart.Lanes) > 0 {
			pictures = append(pictures, study.Picture{Name: strings.ReplaceAll(name, "/", "-"), Figure: &chart, Endings: []string{".svg"}})
		}
	}
	for _, metric := range plotted {
		add(metric, results.ChartOf(groups, metric, terms))
	}
	add("pass-at-k", results.PassAtKOf(groups))
	for _, metric := range []string{"val/learner/pass_rate", "critic/score/mean"} {
		add(metric+"-time", results.TimeChartOf(groups, metric, terms))
	}
	if len(records) == 1 && records[0].Clock != nil {
		add("timeline", *results.TimelineOf(records[0].Clock))
		add("lags", *results.LagsOf(records[0].Clock))
	}
	return savePictures(filepath.Dir(path), pictures)
}

// savePictures writes pictures in all their forms into the folder plots of another.
func savePictures(dir string, pictures []study.Picture) ([]string, error) {
	plots := []string{}
	for _, p := range pictures {
		for _, ending := range p.Endings {
			path := filepath.Join(dir, "plots", p.Name+ending)
			if err := results.SavePlot(path, p.Figure); err != nil {
				return nil, err
			}
			plots = append(plots, path)
		}
	}
	return plots, nil
}

// glossary explains the metrics that the records hold.
func glossary(records []*record.Record) []results.Term {
	var terms []results.Term
	for _, name := range results.MetricNames(records) {
		if t, ok := metrics.Lookup(name); ok {
			terms = append(terms, results.Term(t))
		}
	}
	return terms
}

// armResult is one recipe over its seeds.
type armResult struct {
	Name string      `json:"name"`
	Runs []runResult `json:"runs"`
}

// runResult is one run. Start is the evaluation before the first update, Mean
// the mean of all after it; Peak and Final are as in record.RunOutcome. What was not
// measured is left out.
type runResult struct {
	Dir     string         `json:"dir"`
	Seed    uint64         `json:"seed"`
	Steps   int            `json:"steps"`
	Status  string         `json:"status"`
	Reason  string         `json:"reason,omitempty"`
	Verdict record.Verdict `json:"verdict"`
	Start   *float64       `json:"start,omitempty"`
	Mean    *float64       `json:"mean,omitempty"`
	Peak    *float64       `json:"peak,omitempty"`
	Final   *float64       `json:"final,omitempty"`
}

// seedsFrom lists n seeds in a row.
func seedsFrom(first uint64, n int) ([]uint64, error) {
	if left := math.MaxUint64 - first; uint64(n-1) > left {
		return nil, bad("--seeds: %d consecutive seeds from %d exceed %d: choose a lower --seed", n, first, uint64(math.MaxUint64))
	}
	return study.SeedsInRow(first, n), nil
}

// armsOf are the figures of the table.
func armsOf(groups []results.RunGroup, metric string) []armResult {
	var arms []armResult
	for _, g := range groups {
		arm := armResult{Name: g.Name}
		for _, r := range g.Runs {
			run := runResult{Dir: r.Dir, Seed: r.Seed, Steps: r.Steps}
			if r.Summary != nil {
				run.Status, run.Reason = r.Summary.Status, r.Summary.Reason
			}
			c := record.Judge(r, metric)
			run.Verdict = c.Verdict
			run.Start, run.Mean, run.Peak, run.Final = measured(c.Start), measured(c.Mean), measured(c.Peak), measured(c.Final)
			arm.Runs = append(arm.Runs, run)
		}
		arms = append(arms, arm)
	}
	return arms
}

// measured is nil for a figure that was not.
func measured(x record.Number) *float64 {
	if math.IsNaN(float64(x)) {
		return nil
	}
	return new(float64(x))
}
