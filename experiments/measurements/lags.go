package measurements

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// countedTraining trains the arms of each allowance of AReaL's schedule, and then runs the schedule on the clock.
type countedTraining struct {
	claim.Training `yaml:",inline"`
	// Allowances are the ends of arms' names. Lagging is the column whose late mean Lags record, of figures.
	Allowances []string
	Lags       []string
	Clock      virtualClock
}

// Measure records each allowance's arms and figure of the clock, then the lags.
func (m *countedTraining) Measure(e *claim.Env, o *claim.Observation) {
	for k, allowance := range m.Allowances {
		part, clock := m.Training, m.Clock
		part.Arms, clock.Figures = nil, m.Clock.Figures[k:k+1]
		for _, a := range m.Arms {
			if strings.HasSuffix(a.Name, allowance) {
				part.Arms = append(part.Arms, a)
			}
		}
		part.Measure(e, o)
		clock.Measure(e, o)
	}
	for _, name := range m.Lags {
		o.Append("lag", claim.Late(o.List(name)))
	}
}

// matchedRate trains an arm, the same under a guard that scales its learning rate, and the same at the mean of the rates
// that the guard used.
type matchedRate struct {
	Steps                   []int // of the full, the quick and the tiny size
	Rates, Columns, Set     []string
	Plain, Scaled, Constant string // names
	Guard, Scale            string // the guard, and the column of its factor
}

// Measure records the pass rates, and the rates of the matched arm.
func (m *matchedRate) Measure(e *claim.Env, o *claim.Observation) {
	for _, rate := range m.Rates {
		run := func(o *claim.Observation, name, rate string, columns []string, set ...string) {
			e.PassRates(o, name, m.Steps[e.Size], columns, slices.Concat(m.Set, []string{claim.SetLR(rate)}, set)...)
		}
		run(o, claim.AtLR(m.Plain, rate), rate, m.Columns)
		name, scaled := claim.AtLR(m.Scaled, rate), new(claim.Observation)
		run(scaled, name, rate, []string{m.Scale}, m.Guard)
		o.Set(name, scaled.List(name)...)
		value := claim.Must(strconv.ParseFloat(rate, 64))
		value *= stats.Average(scaled.List(claim.ArmColumn(name, m.Scale)))
		run(o, claim.AtLR(m.Constant, rate), strconv.FormatFloat(value, 'g', -1, 64), nil)
		o.Set(claim.AtLR("matched", rate), value)
	}
}

// alarmLead are, for the runs of an arm that collapse, the updates from the first window in which the mean of a column is
// below 0.3 to the first in which that of another is 30 % below its best, as means over the runs of a unit.
func alarmLead(j *claim.Judge, rates, texts []string) []float64 {
	arm, warning, falls := texts[0], texts[1], texts[2]
	out := make([][]float64, len(j.Runs))
	for i, o := range j.Runs {
		for _, rate := range rates {
			name := claim.AtLR(arm, rate)
			if !claim.Collapsed(o.List(name)) {
				continue
			}
			early := firstWindow(o.List(claim.ArmColumn(name, warning)), func(_, mean float64) bool { return mean < 0.3 })
			late := firstWindow(o.List(claim.ArmColumn(name, falls)), record.HasCollapsed)
			if !math.IsInf(early, 0) || !math.IsInf(late, 0) {
				n := float64(len(o.List(claim.ArmColumn(name, warning))))
				out[i] = append(out[i], min(late, n)-min(early, n))
			}
		}
	}
	return j.Pooled(out)
}

// A lagRun is a run as the law of lags and effective samples sees it.
type lagRun struct {
	lag, ess float64 // logarithms
	stable   bool
}

// lagName is the figure of a run: its family, its lag, its learning rate.
var lagName = regexp.MustCompile(`^(.*), lag (\d+) at lr [^,]+$`)

// lagRuns are the runs of a replication, of one family or, with "", of all.
func lagRuns(o *claim.Observation, family string) []lagRun {
	var runs []lagRun
	for _, name := range o.Names() {
		parts := lagName.FindStringSubmatch(name)
		if parts == nil || family != "" && family != parts[1] {
			continue
		}
		lag, _ := strconv.Atoi(parts[2])
		ess := o.List(claim.ArmColumn(name, "gap/ess_sequence"))
		runs = append(runs, lagRun{
			lag: elementary.Log(float64(lag)), ess: elementary.Log(max(stats.Average(ess[:(len(ess)+1)/2]), 1e-6)),
			stable: !claim.Collapsed(o.List(name)),
		})
	}
	return runs
}

// lagLaw is stable where level + lag·log L + ess·log ESS is above one half.
type lagLaw struct{ level, lag, ess float64 }

// fitLagLaw puts the line between the labels by least squares.
func fitLagLaw(runs []lagRun) lagLaw {
	var lag, ess, label []float64
	for _, r := range runs {
		y := 0.0
		if r.stable {
			y = 1
		}
		lag, ess, label = append(lag, r.lag), append(ess, r.ess), append(label, y)
	}
	level, slopes := stats.Regress(label, lag, ess)
	return lagLaw{level, slopes[0], slopes[1]}
}

func (l lagLaw) stable(r lagRun) bool {
	return l.level+float64(l.lag*r.lag)+float64(l.ess*r.ess) > 0.5
}

// exponent is alpha of L = c·ESS^alpha on the line.
func (l lagLaw) exponent() float64 { return -l.ess / l.lag }

// sharesWarmStart reports that two replications share a warm start: seeds that differ by ten do.
func sharesWarmStart(j *claim.Judge, a, b int) bool { return j.Seeds[a]%10 == j.Seeds[b]%10 }

// otherLagRuns are the runs of all replications but one and its twin; -1 leaves none out.
func otherLagRuns(j *claim.Judge, left int, family string) []lagRun {
	var runs []lagRun
	for i, o := range j.Runs {
		if left < 0 || !sharesWarmStart(j, i, left) || len(j.Runs) == 1 {
			runs = append(runs, lagRuns(o, family)...)
		}
	}
	return runs
}

// lagLawRight is the share of a replication's runs that the law labels right, which is fitted to the runs of other warm starts.
func lagLawRight(j *claim.Judge, _, _ []string) []float64 {
	right := make([]float64, len(j.Runs))
	for i, o := range j.Runs {
		l, runs := fitLagLaw(otherLagRuns(j, i, "")), lagRuns(o, "")
		for _, r := range runs {
			if l.stable(r) == r.stable {
				right[i] += 1 / float64(len(runs))
			}
		}
	}
	return j.Means(right)
}

// lagLawStable is the share of runs that are stable.
func lagLawStable(o *claim.Observation) (share float64) {
	runs := lagRuns(o, "")
	for _, r := range runs {
		if r.stable {
			share += 1 / float64(len(runs))
		}
	}
	return share
}

// lagLawESS is the least logarithm of the effective samples of any run.
func lagLawESS(j *claim.Judge, _, _ []string) []float64 {
	lowest := 0.0
	for _, o := range j.Runs {
		for _, r := range lagRuns(o, "") {
			lowest = min(lowest, r.ess)
		}
	}
	return []float64{lowest}
}

// lagLawExponent are the pseudo-values of the jackknife of a family's exponent, one per warm start.
func lagLawExponent(j *claim.Judge, _, texts []string) []float64 {
	var left []float64
	for i := range j.Runs {
		first := true
		for k := range i {
			first = first && !sharesWarmStart(j, i, k)
		}
		if first {
			left = append(left, fitLagLaw(otherLagRuns(j, i, texts[0])).exponent())
		}
	}
	n := float64(len(left))
	all := fitLagLaw(otherLagRuns(j, -1, texts[0])).exponent()
	return stats.Each(left, func(alpha float64) float64 { return float64(n*all) - float64((n-1)*alpha) })
}

// stalenessRun is a curve of pass rates at a staleness, in updates, and a learning rate.
type stalenessRun struct {
	staleness, rate float64
	name            string
	curve           []float64
}

// stalenessName is the figure of such a run.
var stalenessName = regexp.MustCompile(`^staleness (\d+) at lr (\S+)$`)

// stalenessRuns are the runs of a replication, with rates in their order.
func stalenessRuns(o *claim.Observation) (runs []stalenessRun) {
	for _, name := range o.Names() {
		if parts := stalenessName.FindStringSubmatch(name); parts != nil {
			staleness, _ := strconv.Atoi(parts[1])
			rate, _ := strconv.ParseFloat(parts[2], 64)
			runs = append(runs, stalenessRun{float64(staleness), rate, parts[2], o.List(name)})
		}
	}
	return runs
}

// collapse is the index of the evaluation from which a run stays below its own best, of the first n; -1 without one.
func collapse(rates []float64, n int) int {
	rates = rates[:min(n, len(rates))]
	peak, at := stats.Max(rates), len(rates)
	for at > 0 && record.HasCollapsed(peak, rates[at-1]) {
		at--
	}
	if at == len(rates) || at < slices.Index(rates, peak) {
		return -1
	}
	return at
}

// allEvaluations and halfOfThem are numbers of evaluations of a run, the first one included.
const allEvaluations, halfOfThem = 21, 11

// greatestStable is the logarithm of the greatest stable rate at a staleness, in the first n evaluations.
func greatestStable(o *claim.Observation, staleness float64, n int) float64 {
	last := 0.0
	for _, r := range stalenessRuns(o) {
		if r.staleness != staleness {
			continue
		}
		if collapse(r.curve, n) >= 0 {
			return elementary.Log(r.rate) - math.Ln2/2
		}
		last = r.rate
	}
	return elementary.Log(last) + math.Ln2/2
}

// stalenesses are the distinct values above 0 in the runs, in their order.
func stalenesses(o *claim.Observation) (list []float64) {
	for _, r := range stalenessRuns(o) {
		if r.staleness > 0 && !slices.Contains(list, r.staleness) {
			list = append(list, r.staleness)
		}
	}
	return list
}

// eachRun is a function of the runs as one of a library, a value for each.
func eachRun(of func(o *claim.Observation) float64) func(j *claim.Judge, rates, texts []string) []float64 {
	return func(j *claim.Judge, _, _ []string) []float64 { return j.Each(of) }
}

// stableSlope is the slope of the greatest stable rate over the staleness, both in logarithms.
func stableSlope(o *claim.Observation) float64 {
	var x, y []float64
	for _, s := range stalenesses(o) {
		x, y = append(x, elementary.Log(s)), append(y, greatestStable(o, s, allEvaluations))
	}
	return stats.Slope(x, y)
}

// stableDoubling is log2 of the greatest stable rate of all updates over that of their first half.
func stableDoubling(o *claim.Observation) (mean float64) {
	list := stalenesses(o)
	for _, s := range list {
		mean += (greatestStable(o, s, allEvaluations) - greatestStable(o, s, halfOfThem)) / math.Ln2
	}
	return mean / float64(len(list))
}

// collapseSlopes are the slopes of the updates to collapse over rate and staleness, all in logarithms, in the runs that
// collapse at a staleness above 0, after an intercept; nil where they do not determine both.
func collapseSlopes(o *claim.Observation) []float64 {
	var t, rates, lags []float64
	for _, r := range stalenessRuns(o) {
		if at := collapse(r.curve, allEvaluations); at >= 0 && r.staleness > 0 {
			t, rates, lags = append(t, elementary.Log(float64(at))), append(rates, elementary.Log(r.rate)), append(lags, elementary.Log(r.staleness))
		}
	}
	if len(t) < 4 || slices.Max(rates) == slices.Min(rates) || slices.Max(lags) == slices.Min(lags) {
		return nil
	}
	beta, _ := stats.Solve([][]float64{slices.Repeat([]float64{1}, len(t)), rates, lags}, t)
	return beta
}

// collapseSlope is one of these slopes, of the replications that determine them: 1 over the rate, 2 over the staleness.
func collapseSlope(k int) func(j *claim.Judge, rates, texts []string) []float64 {
	return func(j *claim.Judge, _, _ []string) (slopes []float64) {
		for _, o := range j.Runs {
			if beta := collapseSlopes(o); beta != nil {
				slopes = append(slopes, beta[k])
			}
		}
		return slopes
	}
}

// collapsesNote says how many runs collapse.
func collapsesNote(j *claim.Judge, _ []string) string {
	collapsed, runs := 0, 0
	for _, o := range j.Runs {
		for _, r := range stalenessRuns(o) {
			runs++
			if collapse(r.curve, allEvaluations) >= 0 {
				collapsed++
			}
		}
	}
	return fmt.Sprintf("%d of %d runs collapse; the slopes of the updates to collapse are of %d of %d replications, in which enough runs do. Where fewer than a third collapse the grid is too low to answer.",
		collapsed, runs, len(collapseSlope(1)(j, nil, nil)), len(j.Runs))
}

// collapsesTable has how many runs collapse by staleness and rate, and the greatest stable rate next to the bound under staleness of
// 2607.01083 with its constants from the first and the last staleness: a batch's surrogate bias of O(S·η) and its sum over T updates
// each stay below what the run can stand.
func collapsesTable(j *claim.Judge) *figure.Figure {
	const updates = 480
	t := &figure.Figure{Kind: figure.Table, Title: "Runs that collapse", Columns: []figure.Column{{Name: "staleness"}}}
	mean := func(staleness float64) float64 {
		sum := 0.0
		for _, o := range j.Runs {
			sum += greatestStable(o, staleness, allEvaluations) / float64(len(j.Runs))
		}
		return elementary.Exp(sum)
	}
	list := stalenesses(j.Runs[0])
	first, last := list[0], list[len(list)-1]
	batch, critical := mean(last)*last, mean(first)*updates // R_batch/G and R_crit/G
	for _, staleness := range append([]float64{0}, list...) {
		cells := []figure.Cell{figure.Word(fmt.Sprint(staleness))}
		for _, r := range stalenessRuns(j.Runs[0]) {
			if r.staleness != staleness {
				continue
			}
			if staleness == 0 {
				t.Columns = append(t.Columns, figure.Column{Name: "lr " + r.name, Align: figure.Right})
			}
			n := 0
			for _, o := range j.Runs {
				if collapse(o.List(claim.AtLR(fmt.Sprintf("staleness %v", staleness), r.name)), allEvaluations) >= 0 {
					n++
				}
			}
			cells = append(cells, figure.Word(fmt.Sprintf("%d of %d", n, len(j.Runs))))
		}
		predicted := figure.Word("")
		if staleness > 0 {
			predicted = figure.Number(min(batch/staleness, critical/updates), 2)
		}
		t.Add(append(cells, figure.Number(mean(staleness), 2), predicted)...)
	}
	t.Columns = append(t.Columns, figure.Column{Name: "greatest stable rate", Align: figure.Right}, figure.Column{Name: "law", Align: figure.Right})
	t.Note = fmt.Sprintf("Greatest stable rate: geometric mean over replications. Law: min(R_batch/(S·G), R_crit/(T·G)) with the constants that fit the first and last staleness, %.2g and %.2g.", batch, critical)
	return t
}

// breakEvenShare is the share at which the logarithm of a gain crosses zero from below: NaN where it does not.
func breakEvenShare(lists ...[]float64) []float64 {
	shares, log := lists[0], stats.Logs(lists[1])
	for k := 1; k < len(log); k++ {
		if log[k-1] <= 0 && log[k] > 0 {
			part := -log[k-1] / (log[k] - log[k-1])
			return []float64{shares[k-1] + float64(part*(shares[k]-shares[k-1]))}
		}
	}
	return []float64{math.NaN()}
}
