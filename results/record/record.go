package record

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// Record is a run directory read back.
type Record struct {
	// Dir is the folder the run was read from.
	Dir string
	// Name and Seed are the recipe's.
	Name string
	Seed uint64
	// Recipe is the resolved recipe, as text.
	Recipe []byte
	// Columns are the metrics, in the order they first appear.
	Columns []Column
	// Steps is the number of steps on record; the evaluation before the first
	// update, step 0, is none.
	Steps int
	// Summary is nil while the run is unfinished.
	Summary *Summary
	// Clock is what the virtual clock of an asynchronous schedule says of the run, as
	// of the last snapshot while that is unfinished; nil for other schedules.
	Clock *Clock
}

// Column is one metric of a run over its steps. Steps at which the metric was
// not logged (an evaluation every 20 steps, say) are absent, not zero.
type Column struct {
	Name  string
	Step  []int
	Value []float64
}

// Last returns the newest value; ok is false for an empty column.
func (c *Column) Last() (value float64, ok bool) {
	if c == nil || len(c.Value) == 0 {
		return 0, false
	}
	return c.Value[len(c.Value)-1], true
}

// At returns the value of a step; ok is false where there is none.
func (c *Column) At(step int) (value float64, ok bool) {
	if c == nil {
		return 0, false
	}
	i, ok := slices.BinarySearch(c.Step, step)
	if !ok {
		return 0, false
	}
	return c.Value[i], true
}

// Updated returns the values that an update came before: all but that of step 0,
// the evaluation of the weights a run starts from.
func (c *Column) Updated() []float64 {
	if len(c.Step) > 0 && c.Step[0] == 0 {
		return c.Value[1:]
	}
	return c.Value
}

// Column returns the metric of that name, nil when the run never logged it.
func (r *Record) Column(name string) *Column {
	if i := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
		return &r.Columns[i]
	}
	return nil
}

// Add appends the figures of one step to the record's columns: a run that is
// kept in memory and one that was read back look the same.
func (r *Record) Add(step int, metrics []Metric) {
	if step > 0 { // the evaluation before the first update is no step
		r.Steps++
	}
	for _, m := range metrics {
		i := slices.IndexFunc(r.Columns, func(c Column) bool { return c.Name == m.Name })
		if i < 0 {
			i = len(r.Columns)
			r.Columns = append(r.Columns, Column{Name: m.Name})
		}
		r.Columns[i].Step = append(r.Columns[i].Step, step)
		r.Columns[i].Value = append(r.Columns[i].Value, m.Value)
	}
}

// SameRecipe returns an error that names the first line where the recipe of
// the record and the given one differ.
func (r *Record) SameRecipe(recipe []byte) error {
	return sameRecipe(filepath.Join(r.Dir, RecipeFile), r.Recipe, recipe)
}

// Load reads a run directory, finished or not. A last line that is still being
// written is left out. A record that is not whole is an error that says where.
func Load(dir string) (*Record, error) {
	recipePath := filepath.Join(dir, RecipeFile)
	recipe, err := ReadFile(recipePath)
	if err != nil {
		return nil, folderError(recipePath, err)
	}
	r := &Record{Dir: dir, Recipe: recipe}
	// The recipe's meaning belongs to another package; only its two labels are read here.
	var label struct {
		Name string `yaml:"name"`
		Seed uint64 `yaml:"seed"`
	}
	if err := yaml.Unmarshal(recipe, &label); err != nil {
		return nil, &FolderError{Path: recipePath, Problem: err.Error(), Fix: "remove the folder and run again", Err: err}
	}
	r.Name, r.Seed = label.Name, label.Seed
	finished := Finished(dir) // before the record is read, which may still grow
	path := filepath.Join(dir, MetricsFile)
	data, err := ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(path, err)
	}
	if err := eachStep(path, data, func(step int, metrics []Metric) bool {
		r.Add(step, metrics)
		return true
	}); err != nil {
		return nil, err
	}
	var clock []byte
	if r.Clock, clock, err = readOptional[Clock](dir, ClockFile); err != nil {
		return nil, err
	}
	if !finished {
		return r, nil
	}
	r.Summary = new(Summary)
	text, err := readJSON(filepath.Join(dir, SummaryFile), r.Summary)
	if err != nil {
		return nil, err
	}
	if r.Steps != r.Summary.Steps {
		return nil, &FolderError{Path: path, Problem: fmt.Sprintf("the record ends at step %d, %s counts %d", r.Steps, SummaryFile, r.Summary.Steps),
			Fix: "remove the folder and run again"}
	}
	if err := checkSeal(dir, map[string][]byte{RecipeFile: recipe, MetricsFile: data, SummaryFile: text, ClockFile: clock}); err != nil {
		return nil, err
	}
	return r, nil
}

// LoadAll reads every run at or below dir, in the sorted order of their paths.
// A folder without runs is an error.
func LoadAll(dir string) ([]*Record, error) {
	var folders []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return folderError(path, err)
		}
		if !entry.IsDir() && entry.Name() == RecipeFile {
			folders = append(folders, filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(folders)
	records := make([]*Record, 0, len(folders))
	for _, folder := range folders {
		r, err := Load(folder)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, &FolderError{Path: dir, Problem: "no run here or below", Fix: "give a folder that holds a " + RecipeFile}
	}
	return records, nil
}

// How a run ended.
const (
	// StatusFinished means that every step of the recipe was taken.
	StatusFinished = "finished"
	// StatusStopped means that a guard, or a value that is not finite, ended the run early.
	StatusStopped = "stopped"
)

// Summary is what a run says of itself at its end. It holds nothing that
// depends on the machine, so equal runs have equal summaries.
type Summary struct {
	// Name is the recipe's.
	Name string `json:"name"`
	// Seed is the recipe's.
	Seed uint64 `json:"seed"`
	// Steps is the number of steps taken.
	Steps int `json:"steps"`
	// Status is StatusFinished or StatusStopped.
	Status string `json:"status"`
	// Reason says why a run stopped: the step and the tensor or guard; else empty.
	Reason string `json:"reason"`
	// Metrics are the figures of the run as a whole, in the order they are shown.
	Metrics Metrics `json:"metrics"`
}

// Metric returns the figure of that name, and whether there is one.
func (s *Summary) Metric(name string) (float64, bool) {
	if i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return s.Metrics[i].Value, true
	}
	return 0, false
}

// Clock is what the virtual clock of an asynchronous schedule leaves: counts over
// the whole run, and its last stretch as a timeline, so that the file of a long run
// is no longer than a short one's. It holds nothing that depends on the machine.
type Clock struct {
	// System is the schedule, Workers the number of rollout engines, Slots the
	// requests that each serves at once.
	System  string `json:"system"`
	Workers int    `json:"workers"`
	Slots   int    `json:"slots"`
	// Lags counts the trained samples by how many published versions their oldest
	// token is behind, TokenLags the trained tokens.
	Lags      []int `json:"sample_lags"`
	TokenLags []int `json:"token_lags"`
	// Spans are who did what from From to To, in ticks.
	From  int         `json:"from"`
	To    int         `json:"to"`
	Spans []ClockSpan `json:"timeline"`
}

// ClockSpan is a stretch of the timeline. What is in none was waiting.
type ClockSpan struct {
	// Lane is the worker, -1 for the learner.
	Lane int `json:"lane"`
	// Activity is generating, prefilling, loading, scoring, training, pushing or calling.
	Activity string `json:"does"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	// Version is the version of the weights, as published.
	Version int `json:"version"`
	// Busy is the share of the worker's slots that decoded; 0 for what is not generating.
	Busy float64 `json:"busy,omitempty"`
}

// WriteClock writes the clock's file into a run directory.
func WriteClock(dir string, c *Clock) error {
	text, err := jsonLine(c)
	if err != nil {
		return err
	}
	return WriteFile(dir, ClockFile, text)
}

// Window is the number of consecutive evaluations whose mean stands for a
// run's peak and for its end.
const Window = 3

// CollapseLoss is the share of its peak that a run must lose to be called
// collapsed.
const CollapseLoss = 0.3

// DegradationLoss is how far below the end of its matched control a run must end to be
// called degraded.
const DegradationLoss = 0.1

// recovery is the number of updates within which a run that has collapsed must be back
// above the line, or else it has collapsed whatever comes later.
const recovery = 100

// lowestRate is the pass rate below which a run solves nothing to speak of: of
// the 64 prompts that evaluations usually have, three lucky samples.
const lowestRate = 0.05

// Verdict is the outcome of a run, as data have it.
type Verdict string

// The verdicts, in the order in which a row of runs names them.
const (
	// Stopped is a run that a guard, or a value that is not finite, ended.
	Stopped Verdict = "stopped early"
	// DeadAtOnce is a run that could do something at the start and nothing from
	// the first evaluation after it on.
	DeadAtOnce Verdict = "dead at once"
	// Collapsed is a run that lost CollapseLoss of its peak (see HasCollapsed) and stayed
	// there to its end, or for a hundred updates.
	Collapsed Verdict = "collapsed"
	// NeverLearned is a run that could do nothing at the start nor later: it had
	// nothing to lose.
	NeverLearned Verdict = "never learned"
	// TooFew is a run with fewer evaluations than a collapse takes to show: three for
	// the end, and one for the peak.
	TooFew Verdict = "too few evaluations"
	// Running is a run without a summary yet.
	Running Verdict = "still running"
	// NotJudged is a run without the metric.
	NotJudged Verdict = "not judged"
	// NotCollapsed is a run with none of these.
	NotCollapsed Verdict = "held"
)

// Verdicts are all of them, in that order.
var Verdicts = [...]Verdict{Stopped, DeadAtOnce, Collapsed, NeverLearned, TooFew, Running, NotJudged, NotCollapsed}

// IsCollapse reports whether the verdict is a collapse, at once or later.
func (v Verdict) IsCollapse() bool { return v == Collapsed || v == DeadAtOnce }

// RunOutcome is the outcome of a run, by one metric. Its figures are NaN for a run
// without the metric.
type RunOutcome struct {
	// Start is the evaluation before the first update, NaN if there was none.
	Start Number `json:"start"`
	// Final is the mean of the last three evaluations, Mean that of all after the
	// start; Peak is the best mean of three consecutive ones, or the start where that is
	// higher.
	Final Number `json:"final"`
	Mean  Number `json:"mean"`
	Peak  Number `json:"peak"`
	// Drawdown is the furthest that such a mean lay below the highest before it, the
	// start included: 0 for a run that only rises.
	Drawdown Number `json:"drawdown"`
	// Verdict sums it up.
	Verdict Verdict `json:"fate"`
}

// Lost is the share of the peak that the end lacks, 0 for a peak of 0.
func (o RunOutcome) Lost() float64 {
	if o.Peak > 0 {
		return float64(1 - o.Final/o.Peak)
	}
	return 0
}

// HasCollapsed is the one criterion of a collapse: it reports whether a value lies
// CollapseLoss or more below the peak before it. Where the peak is not above zero there
// was nothing to lose.
func HasCollapsed(peak, value float64) bool {
	// 10 prompts of 18 to 7 are a loss of exactly the share, which rounded means miss by an ulp.
	const ulps = 1e-12
	return peak > 0 && value <= (1-CollapseLoss+ulps)*peak
}

// HasDegraded is the one criterion of a degradation: it reports whether a run ends more
// than DegradationLoss below its matched control, the same seed without the stressor.
func HasDegraded(control, final float64) bool { return final < control-DegradationLoss }

// CollapseRule is the rule in words, for the note of a table.
func CollapseRule() string {
	return fmt.Sprintf("Collapsed: %.0f %% or more below the run's own peak, to the end or for %d updates.", 100*CollapseLoss, recovery)
}

// Judge says what became of a run, by one metric.
func Judge(r *Record, metric string) RunOutcome {
	curve := curveOf(r.Column(metric))
	nan := Number(math.NaN())
	o := RunOutcome{Start: Number(curve.start), Mean: nan, Peak: nan, Final: nan, Drawdown: Number(curve.drawdown())}
	if peak, final, ok := PeakAndEnd(curve.values); ok {
		o.Mean, o.Peak, o.Final = Number(stats.Average(curve.values)), Number(max(peak, curve.peak)), Number(final)
	}
	o.Verdict = curve.verdict(float64(o.Peak), strings.HasSuffix(metric, "pass_rate"))
	switch {
	case r.Summary == nil:
		o.Verdict = Running
	case r.Summary.Status == StatusStopped:
		o.Verdict = Stopped
	}
	return o
}

// JudgeAll judges several runs by the same metric.
func JudgeAll(runs []*Record, metric string) []RunOutcome {
	return stats.Map(runs, func(r *Record) RunOutcome { return Judge(r, metric) })
}

// curve is what a run can be judged by: the finite values of a metric.
type curve struct {
	start  float64 // NaN if there was no evaluation before the first update
	peak   float64 // of the start alone, minus infinity without one
	steps  []int   // of the values after it
	values []float64
}

func curveOf(column *Column) curve {
	c := curve{start: math.NaN(), peak: math.Inf(-1)}
	if column == nil {
		return c
	}
	for i, v := range column.Value {
		switch {
		case !finite(v):
		case column.Step[i] == 0:
			c.start, c.peak = v, v
		default:
			c.steps, c.values = append(c.steps, column.Step[i]), append(c.values, v)
		}
	}
	return c
}

// verdict judges a run that came to its end. A rate counts as something from
// lowestRate on, any other metric as soon as it is above zero.
func (c curve) verdict(peak float64, rate bool) Verdict {
	started, evaluations := finite(c.start), len(c.values)
	if started {
		evaluations++
	}
	something := func(v float64) bool { return v > 0 && (!rate || v >= lowestRate) }
	switch {
	case len(c.values) == 0:
		return NotJudged
	case evaluations <= Window:
		return TooFew
	case !something(peak):
		return NeverLearned
	case started && !slices.ContainsFunc(c.values, something):
		return DeadAtOnce
	case c.collapsed():
		return Collapsed
	}
	return NotCollapsed
}

// collapsed follows the means of consecutive evaluations: below the line at the
// end, or for as long as a recovery may take.
func (c curve) collapsed() bool {
	peak, since := c.peak, -1 // the step from which it has been below the line
	for i, mean := range runningMeans(c.values) {
		peak = max(peak, mean)
		at := c.steps[min(i+Window, len(c.steps))-1]
		switch {
		case !HasCollapsed(peak, mean):
			since = -1
		case since < 0:
			since = at
		case at-since >= recovery:
			return true
		}
	}
	return since >= 0
}

// drawdown is the largest loss of the means of consecutive evaluations.
func (c curve) drawdown() float64 {
	if len(c.values) == 0 {
		return math.NaN()
	}
	peak, worst := c.peak, 0.0
	for _, mean := range runningMeans(c.values) {
		peak = max(peak, mean)
		worst = max(worst, peak-mean)
	}
	return worst
}

// runningMeans returns the means of consecutive values, three each (of all, if there
// are fewer).
func runningMeans(values []float64) []float64 {
	width := min(Window, len(values))
	var means []float64
	for i := 0; width > 0 && i+width <= len(values); i++ {
		means = append(means, stats.Average(values[i:i+width]))
	}
	return means
}

// PeakAndEnd returns the peak of a curve and its end, both as means of three
// consecutive values (of all, if there are fewer), so that one lucky
// evaluation makes no peak. Values that are not finite are left out; ok is
// false if none is left.
func PeakAndEnd(values []float64) (peak, final float64, ok bool) {
	list := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	peak = math.Inf(-1)
	for _, mean := range runningMeans(list) {
		peak, final = max(peak, mean), mean
	}
	if len(list) == 0 {
		return 0, 0, false
	}
	return peak, final, true
}

// finite reports whether v is neither NaN nor an infinity.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
