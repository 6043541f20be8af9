package table

import (
	"fmt"
	"math"

	"driftlab/experiments/sweep"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// The columns of the sweeps that the table reads. A stressor's label against names the
// stressor value whose runs, by the control, are its matched ones: the same way of
// learning without the stress.
const (
	methodColumn   = "method"
	groupColumn    = "group"
	settingColumn  = "setting"
	stressorColumn = "stressor"
	letterColumn   = "letter"
	doseColumn     = "dose"
	rateColumn     = "rate"
	againstColumn  = "against"
	escapesColumn  = "escapes"
	learnsColumn   = "learns"
	askedColumn    = "asked"
)

// control is the method that every other one is compared with: none.
const control = "none"

// matchedStressor is the control without a stressor.
const matchedStressor = "matched"

// healthy is the letter of the stressor that is none: nothing may cost anything there.
const healthy = "G"

// Stage is a sweep with what it has so far.
type Stage struct {
	// Name is the sweep's, such as screen.
	Name string
	// Index is what the sweep plans, Runs the outcomes of the cells that are there.
	Index *sweep.Index
	Runs  []sweep.Outcome
	// Missing says which runs are missing; empty if none is.
	Missing string
	// Again are rows drawn from it on fresh seeds; nil if nobody has made them.
	Again *Stage
}

// Row is a line of the table: what became of a method under a stressor, at one
// learning rate.
type Row struct {
	Stage, Method, Group, Setting, Stressor, Letter, Dose, Rate string
	// Escapes: the stressor learns from negatives alone, by way of the advantage, and what
	// the method learns from is not that, or has no negatives.
	Escapes bool
	// Asked: the method is one of those that people ask about most.
	Asked bool
	// Against is the stressor value of the matched controls.
	Against string
	// N is the number of seeds that have both the run and its matched one.
	N int
	// AUC and Final are the differences to the matched controls, paired by seed: of the mean
	// pass rate over the whole run, and of the last three evaluations.
	AUC, Final stats.Interval
	// OverNone is what the method brings against none under the same stressor, of the
	// whole run; over the seeds that have the control.
	OverNone stats.Interval
	// Drawdown is the worst fall of a seed below its own best before; Collapses counts
	// the seeds that collapsed, stopped ones among them.
	Drawdown  float64
	Collapses int
	// ESS is the mean effective sample size of whole responses, as a share; Masked and
	// Clipped are the shares of tokens that a mask took out and that a loss clipped.
	ESS, Masked, Clipped float64
	// Acted counts the seeds whose weights came out otherwise than the control's under
	// the same stressor; of the control, otherwise than the matched control's.
	Acted int
	// Cost is in token passes, relative to the control under the same stressor.
	Cost   float64
	bySeed map[uint64]float64 // AUC's differences
}

// Command makes the row alone, with the runs that it is compared with.
func (r Row) Command() string {
	return "simulate sweep " + r.Stage + " --only " + r.only()
}

// only chooses the row's runs of its sweep, and those that it is compared with.
func (r Row) only() string {
	methods := r.Method
	if methods != control {
		methods = control + "+" + methods
	}
	return fmt.Sprintf("%s=%s,%s=%s+%s,%s=%s", methodColumn, methods, stressorColumn, r.Against, r.Stressor, rateColumn, r.Rate)
}

// cellKey is where a run belongs; task is empty where the sweep has one task.
type cellKey struct {
	task, method, stressor, rate string
	seed                         uint64
}

// placeOf is a point's place, without a seed.
func placeOf(values map[string]string) cellKey {
	return cellKey{task: values[taskColumn], method: values[methodColumn], stressor: values[stressorColumn], rate: values[rateColumn]}
}

// book finds runs by their place.
type book map[cellKey]*sweep.Outcome

func (s *Stage) book() book {
	b := book{}
	for i := range s.Runs {
		o := &s.Runs[i]
		key := placeOf(o.Values)
		key.seed = o.Seed
		b[key] = o
	}
	return b
}

// Rows are the lines of a stage in the order of its plan: those with a matched control for
// one seed at least. Matched controls have none of their own.
func (s *Stage) Rows() []Row {
	book := s.book()
	var rows []Row
	at := map[cellKey]int{}
	var pairs [][]pair
	for i := range s.Runs {
		o := &s.Runs[i]
		v := o.Values
		if v[againstColumn] == "" {
			continue
		}
		p := pair{run: o,
			matched: book[cellKey{method: control, stressor: v[againstColumn], rate: v[rateColumn], seed: o.Seed}],
			control: book[cellKey{method: control, stressor: v[stressorColumn], rate: v[rateColumn], seed: o.Seed}]}
		if p.matched == nil {
			continue
		}
		key := placeOf(v)
		if _, ok := at[key]; !ok {
			at[key] = len(rows)
			rows = append(rows, Row{Stage: s.Name, Method: v[methodColumn], Group: v[groupColumn], Setting: v[settingColumn],
				Stressor: v[stressorColumn], Letter: v[letterColumn], Dose: v[doseColumn], Rate: v[rateColumn], Against: v[againstColumn],
				Asked: v[askedColumn] != "", Escapes: v[escapesColumn] != "" && v[escapesColumn] == v[learnsColumn]})
			pairs = append(pairs, nil)
		}
		pairs[at[key]] = append(pairs[at[key]], p)
	}
	for i := range rows {
		rows[i].judge(pairs[i])
	}
	return rows
}

// pair is a run with those it is compared with; the control may not be there yet.
type pair struct{ run, matched, control *sweep.Outcome }

// judge fills the figures of a row from its pairs.
func (r *Row) judge(pairs []pair) {
	r.N, r.bySeed = len(pairs), map[uint64]float64{}
	var auc, final, over, ess, masked, clipped, cost []float64
	for _, p := range pairs {
		whole, matched := curve(p.run, p.matched), curve(p.matched, p.matched)
		r.bySeed[p.run.Seed] = stats.Average(whole) - stats.Average(matched)
		auc = append(auc, r.bySeed[p.run.Seed])
		final = append(final, ending(whole)-ending(matched))
		r.Drawdown = max(r.Drawdown, float64(p.run.Drawdown))
		if p.run.Verdict.IsCollapse() || p.run.Verdict == record.Stopped {
			r.Collapses++
		}
		ess = measured(ess, p.run, "gap/ess_sequence")
		masked = measured(masked, p.run, "correction/masked_fraction")
		clipped = measured(clipped, p.run, "actor/pg_clipfrac")
		compared := p.control
		if p.run == p.control {
			compared = p.matched
		}
		if compared != nil && p.run.Trace.Parts(compared.Trace) > 0 {
			r.Acted++
		}
		if p.control != nil {
			over = append(over, stats.Average(whole)-stats.Average(curve(p.control, p.matched)))
			cost = append(cost, passes(p.run.Tokens)/passes(p.control.Tokens))
		}
	}
	r.AUC, r.Final, r.OverNone = stats.T(auc), stats.T(final), stats.T(over)
	r.ESS, r.Masked, r.Clipped, r.Cost = stats.Average(ess), stats.Average(masked), stats.Average(clipped), stats.Average(cost)
}

// measured appends a run's mean of a metric, unless it has none.
func measured(list []float64, o *sweep.Outcome, metric string) []float64 {
	if v, ok := o.Means[metric]; ok && !math.IsNaN(float64(v)) {
		list = append(list, float64(v))
	}
	return list
}

// passes is the cost in forward passes of a token: training one is three.
func passes(t sweep.Tokens) float64 {
	return float64(t.Generated + t.Scored + 3*t.Trained)
}

// curve is the pass rate of a run at the evaluations, after the start, of its matched
// one. A run that stopped solves nothing from there on: it must not gain by having no
// bad end.
func curve(o, matched *sweep.Outcome) []float64 { return passRates(o, stepsOf(matched)) }

// stepsOf are the steps of a run's evaluations after the start.
func stepsOf(o *sweep.Outcome) (steps []int) {
	for _, step := range o.Evals.Step {
		if step > 0 {
			steps = append(steps, step)
		}
	}
	return steps
}

// passRates are those of a run at the steps, zero where it had stopped.
func passRates(o *sweep.Outcome, steps []int) []float64 {
	at := map[int]float64{}
	for i, step := range o.Evals.Step {
		at[step] = float64(o.Evals.Value[i])
	}
	list := make([]float64, len(steps))
	for i, step := range steps {
		list[i] = at[step]
	}
	return list
}

// ending is the mean of the last evaluations.
func ending(curve []float64) float64 {
	return stats.Average(curve[max(len(curve)-record.Window, 0):])
}
