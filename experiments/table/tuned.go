package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// Tuned compares settings at their own learning rates: the stage transfer, whose rates follow from
// the tuning stage.
type Tuned struct {
	// Models is the number of base models of a task, TuningModels that of those which the rates were
	// tuned on; Rates are the learning rates that were tried.
	Models       int      `json:"models"`
	TuningModels int      `json:"tuning_models"`
	Rates        []string `json:"rates"`
	// Tasks are those of which every run is there.
	Tasks []TunedTask `json:"tasks"`
	// Scales are the same settings in longer runs and in a larger model, at the rates that were tuned
	// for a task.
	Scales []TunedTask `json:"scales,omitempty"`
	// BetweenTasks is the primary check of transfer: the rank correlation of gains between tasks, under
	// the same stressor; N is the number of comparisons, 0 with fewer than two tasks.
	BetweenTasks stats.Interval `json:"rank_correlation_between_tasks"`
	// Missing says what the stages plan and do not have yet.
	Missing []string `json:"missing,omitempty"`

	tuning      map[string][]Tuning // by task
	transferred *transfer
}

// TunedTask is a task with its problems and settings.
type TunedTask struct {
	Name string `json:"name"`
	// TunedOn is the task whose tuned rates the settings have, where it is another.
	TunedOn  string         `json:"tuned_on,omitempty"`
	Problems []TunedProblem `json:"problems"`
	// Settings are in the order of their mean gain over the stressors.
	Settings []TunedSetting `json:"settings"`
	// Critical is the |t| of the family-wise test of the task (stats.WestfallYoungCritical).
	Critical record.Number `json:"critical_t"`
}

// TunedProblem is a stressor of a task.
type TunedProblem struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
	// Rate is the tuned learning rate without a correction, Uncorrected its mean pass rate of the
	// whole run; MatchedRate and Matched are those of the control without a stressor.
	Rate        string  `json:"rate"`
	Uncorrected float64 `json:"uncorrected"`
	MatchedRate string  `json:"matched_rate"`
	Matched     float64 `json:"matched"`
	// Recommended is the setting with the highest mean in the tuning stage, none included.
	Recommended string `json:"recommended"`
	// MeanCommon is the mean gain over the settings where they and the control have the learning rate
	// 1e-3 (in the tuning stage), MeanTuned that at their own rates.
	MeanCommon record.Number `json:"mean_gain_at_1e-3"`
	MeanTuned  record.Number `json:"mean_gain_at_tuned_rates"`
}

// TunedSetting is a method with its parameters.
type TunedSetting struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Recipe are its changes to a recipe, as --set takes them.
	Recipe []string `json:"recipe"`
	// SameAs is an earlier setting whose runs of the tuning stage all have the same bits.
	SameAs string `json:"same_as,omitempty"`
	// Effects are in the order of the problems.
	Effects []TunedEffect `json:"effects"`
}

// TunedEffect is a setting at its own rate under a stressor: the mean pass rate of the whole run
// minus that without a correction at that one's own rate.
type TunedEffect struct {
	Effect
	// Rate is the tuned learning rate, RateLow to RateHigh its range: the rates around it at which
	// the tuning stage's mean is within 0.05 of the best.
	Rate     string `json:"rate,omitempty"`
	RateLow  string `json:"rate_low,omitempty"`
	RateHigh string `json:"rate_high,omitempty"`
	// AtEdge: the tuned rate is the lowest or the highest that was tried.
	AtEdge bool `json:"at_edge,omitempty"`
	// PassRate is the mean pass rate of the whole run.
	PassRate float64 `json:"pass_rate"`
	// Smallest is the smallest gain that the test detects with 80 % power.
	Smallest record.Number `json:"smallest"`
	// OverClipped is the gain over the control with four minibatches; no interval where the stage has
	// no such runs under the stressor.
	OverClipped stats.Interval `json:"over_clipped"`

	byModel []float64 // gains
}

// clippedControl is the control whose clip acts.
const clippedControl = "minibatches-4"

// Measure compares the settings of the tasks and scales that are whole. The stages judged and scales
// may be nil.
func Measure(tune, judged, scales *Stage) *Tuned {
	named, err := AllNamed()
	if err != nil {
		panic("table: a shipped sweep: " + err.Error())
	}
	tunings := tune.Tunings()
	t := &Tuned{TuningModels: len(tune.Index.Seeds), tuning: map[string][]Tuning{}}
	for _, one := range tunings {
		same, inactive := tune.sameRuns(one.Task)
		one.idle = same[one.Method] != "" || inactive[cellKey{method: one.Method, stressor: one.Stressor}]
		t.tuning[one.Task] = append(t.tuning[one.Task], one)
		for _, rate := range one.Rates {
			if !slices.Contains(t.Rates, rate) {
				t.Rates = append(t.Rates, rate)
			}
		}
	}
	tuned, settings := tune.tunedTasks(tunings)
	for _, f := range tune.Index.Factors {
		if f.Name != taskColumn {
			continue
		}
		for _, task := range f.Values {
			if !slices.Contains(tuned, task) {
				t.Missing = append(t.Missing, fmt.Sprintf("the tuning of the task %s", task))
				continue
			}
			if untuned := tune.untuned(task, settings[task]); len(untuned) > 0 {
				t.Missing = append(t.Missing, fmt.Sprintf("the tuning of %s on %s", strings.Join(untuned, ", "), task))
			}
			done, planned := 0, 0
			if judged != nil {
				t.Models = len(judged.Index.Seeds)
				done, planned = judged.progress(task)
			}
			if planned == 0 { // A published stage has the points of the tasks that were tuned when it was run.
				t.Missing = append(t.Missing, fmt.Sprintf("all runs of the stage transfer on %s", task))
				continue
			}
			if done < planned {
				t.Missing = append(t.Missing, fmt.Sprintf("%d of %d runs of the stage transfer on %s", planned-done, planned, task))
				continue
			}
			t.Tasks = append(t.Tasks, judged.tunedTask(task, task, t.tuning[task], tune, named))
		}
	}
	if scales != nil {
		t.measureScales(scales, tune, named)
	}
	t.transferred = t.transfer()
	if x := t.transferred.Tasks; x.N > 0 {
		t.BetweenTasks = shortenedInterval(x)
	}
	return t
}

// measureScales compares the settings of the scales that are whole.
func (t *Tuned) measureScales(scales, tune *Stage, named []Named) {
	from := map[string]string{}
	for _, p := range scales.Index.Points {
		from[p.Values[taskColumn]] = p.Values[tunedColumn]
	}
	for _, f := range scales.Index.Factors {
		if f.Name != taskColumn {
			continue
		}
		for _, scale := range f.Values {
			switch done, planned := scales.progress(scale); {
			case planned == 0:
				t.Missing = append(t.Missing, fmt.Sprintf("all runs of the stage scales on %s", scale))
			case done < planned:
				t.Missing = append(t.Missing, fmt.Sprintf("%d of %d runs of the stage scales on %s", planned-done, planned, scale))
			default:
				t.Scales = append(t.Scales, scales.tunedTask(scale, from[scale], t.tuning[from[scale]], tune, named))
			}
		}
	}
}

// untuned are the settings that the stage plans for a task and has not tuned.
func (s *Stage) untuned(task string, tuned []string) (list []string) {
	for _, p := range s.Index.Points {
		if m := p.Values[methodColumn]; p.Values[taskColumn] == task && !slices.Contains(tuned, m) && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// progress counts a task's cells that are there, and those that are planned.
func (s *Stage) progress(task string) (done, planned int) {
	for _, p := range s.Index.Points {
		if p.Values[taskColumn] == task {
			planned += len(p.Runs)
		}
	}
	for i := range s.Runs {
		if s.Runs[i].Values[taskColumn] == task {
			done++
		}
	}
	return done, planned
}

// tunedTask judges a task whose runs are all there, at the rates that were tuned on the task from.
func (s *Stage) tunedTask(task, from string, tunings []Tuning, tune *Stage, named []Named) TunedTask {
	t := TunedTask{Name: task}
	if from != task {
		t.TunedOn = from
	}
	at := map[cellKey]*Tuning{}
	for i := range tunings {
		at[cellKey{method: tunings[i].Method, stressor: tunings[i].Stressor}] = &tunings[i]
	}
	means := s.meansByModel(task)
	same, inactive := tune.sameRuns(from)
	var methods []string
	group := map[string]string{}
	for _, p := range s.Index.Points {
		v := p.Values
		if v[taskColumn] != task {
			continue
		}
		if m := v[methodColumn]; !slices.Contains(methods, m) {
			methods = append(methods, m)
			group[m] = v[groupColumn]
		}
		if v[againstColumn] == "" || slices.ContainsFunc(t.Problems, func(o TunedProblem) bool { return o.Name == v[stressorColumn] }) {
			continue
		}
		own, matched := cellKey{method: control, stressor: v[stressorColumn]}, cellKey{method: control, stressor: v[againstColumn]}
		t.Problems = append(t.Problems, TunedProblem{Name: v[stressorColumn], Problem: problemText(v[letterColumn], v[doseColumn]),
			Rate: at[own].Rate(), Uncorrected: shortened(stats.Average(means[own])), MatchedRate: at[matched].Rate(), Matched: shortened(stats.Average(means[matched]))})
	}
	var lists [][]float64
	for _, m := range methods {
		own := TunedSetting{Name: m, Group: group[m], Recipe: recipeOf(named, "setting", m), SameAs: same[m]}
		for j := range t.Problems {
			p := &t.Problems[j]
			e, key := TunedEffect{Effect: Effect{P: record.Number(math.NaN())}, Smallest: record.Number(math.NaN())}, cellKey{method: m, stressor: p.Name}
			tuning := at[key]
			if tuning == nil || inactive[key] {
				e.Inactive = m != control
			}
			if tuning != nil {
				e.Rate, e.RateLow, e.RateHigh, e.AtEdge = tuning.Rate(), tuning.Rates[tuning.Low], tuning.Rates[tuning.High], tuning.AtEdge()
				e.PassRate = shortened(stats.Average(means[key]))
				e.byModel = stats.Differences(means[key], means[cellKey{method: control, stressor: p.Name}])
				if clipped := means[cellKey{method: clippedControl, stressor: p.Name}]; clipped != nil && m != clippedControl {
					e.OverClipped = shortenedInterval(stats.T(stats.Differences(means[key], clipped)))
				}
				if first := at[cellKey{method: p.Recommended, stressor: p.Name}]; first == nil || tuning.Means[tuning.Best] > first.Means[first.Best] {
					p.Recommended = m
				}
			}
			own.Effects = append(own.Effects, e)
			if own.tested(j) {
				lists = append(lists, e.byModel)
			}
		}
		t.Settings = append(t.Settings, own)
	}
	t.test(lists)
	t.meanGains(gainsAt(tunings, commonRate))
	slices.SortStableFunc(t.Settings, func(a, b TunedSetting) int { return cmp.Compare(b.meanGain(), a.meanGain()) })
	return t
}

// test fills intervals and significance of the effects, whose lists by model are given in their
// order, but for those that are not tested.
func (t *TunedTask) test(lists [][]float64) {
	p := stats.WestfallYoung(lists)
	critical := stats.WestfallYoungCritical(lists, alpha)
	t.Critical = record.Number(shortened(critical))
	k := 0
	for i := range t.Settings {
		for j := range t.Settings[i].Effects {
			e := &t.Settings[i].Effects[j]
			if e.byModel == nil {
				continue
			}
			over := stats.T(e.byModel)
			e.Estimate, e.Low, e.High = shortened(over.Estimate), shortened(over.Low), shortened(over.High)
			if !t.Settings[i].tested(j) {
				continue
			}
			e.P = record.Number(p[k])
			e.Smallest = record.Number(shortened(stats.SmallestEffectBeyond(stats.Deviation(e.byModel), len(e.byModel), critical)))
			k++
		}
	}
}

// meanGains fills the mean gains over the settings, those at the common rate given.
func (t *TunedTask) meanGains(common *gains) {
	for j := range t.Problems {
		p := &t.Problems[j]
		var own, at []float64
		for i := range t.Settings {
			if s := &t.Settings[i]; s.tested(j) {
				own = append(own, s.Effects[j].Estimate)
				if byModel := common.by[s.Name][p.Name]; byModel != nil {
					at = append(at, stats.Average(byModel))
				}
			}
		}
		p.MeanTuned, p.MeanCommon = record.Number(shortened(stats.Average(own))), record.Number(shortened(stats.Average(at)))
	}
}

// tested reports whether the gain under a stressor is tested: not that of the control, nor of a
// setting that cannot act there or has the same bits as an earlier one.
func (s *TunedSetting) tested(problem int) bool {
	e := &s.Effects[problem]
	return e.Rate != "" && !e.Inactive && s.SameAs == "" && s.Name != control
}

// meanGain is over the stressors; where the setting cannot act its gain is zero.
func (s *TunedSetting) meanGain() float64 {
	sum := 0.0
	for _, e := range s.Effects {
		sum += e.Estimate
	}
	return sum / float64(max(len(s.Effects), 1))
}

// meansByModel are the mean pass rates of the whole run by method and stressor of a task, a value for
// each base model.
func (s *Stage) meansByModel(task string) map[cellKey][]float64 {
	book, steps := s.book(), s.evaluated()
	means := map[cellKey][]float64{}
	for _, p := range s.Index.Points {
		if p.Values[taskColumn] != task {
			continue
		}
		key := cellKey{method: p.Values[methodColumn], stressor: p.Values[stressorColumn]}
		for _, seed := range s.Index.Seeds {
			run := placeOf(p.Values)
			run.seed = seed
			if o := book[run]; o != nil {
				means[key] = append(means[key], stats.Average(passRates(o, steps)))
			}
		}
	}
	return means
}

// sameRuns compares the bits of a task's runs: for each setting an earlier one whose runs all have
// the same, and the settings whose runs under a stressor all have those of no correction.
func (s *Stage) sameRuns(task string) (same map[string]string, inactive map[cellKey]bool) {
	traces, whole := map[cellKey]string{}, map[string]string{}
	var order []string
	for i := range s.Runs {
		o := &s.Runs[i]
		if v := o.Values; v[taskColumn] == task && v[againstColumn] != "" {
			key := cellKey{method: v[methodColumn], stressor: v[stressorColumn]}
			line := fmt.Sprintln(v[rateColumn], o.Seed, o.Trace)
			traces[key] += line
			if whole[key.method] == "" {
				order = append(order, key.method)
			}
			whole[key.method] += v[stressorColumn] + " " + line
		}
	}
	same, inactive = map[string]string{}, map[cellKey]bool{}
	first := map[string]string{}
	for _, m := range order {
		if earlier, ok := first[whole[m]]; ok {
			same[m] = earlier
		} else {
			first[whole[m]] = m
		}
	}
	for key, text := range traces {
		inactive[key] = key.method != control && text == traces[cellKey{method: control, stressor: key.stressor}]
	}
	return same, inactive
}

// shortenedInterval keeps the file short.
func shortenedInterval(i stats.Interval) stats.Interval {
	return stats.Interval{Estimate: shortened(i.Estimate), Low: shortened(i.Low), High: shortened(i.High), N: i.N}
}

// recipeOf are the changes of a named setting or stressor.
func recipeOf(named []Named, kind, name string) []string {
	i := slices.IndexFunc(named, func(n Named) bool { return n.Kind == kind && n.Name == name })
	if i < 0 {
		return []string{}
	}
	return named[i].Recipe
}
