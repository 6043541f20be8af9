package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/results/stats"
)

// methodFactor is the factor of a ladder's corrections, whose first value is none; the other factors make the stressor, of which the first
// is equal engines. Arms that were written out have both as labels.
const (
	methodFactor = "method"
	titleLabel   = "title"
	problemLabel = "problem"
)

// oneStressor is the stressor of a ladder whose arms differ by method alone: none of them has equal engines.
const oneStressor = "all arms"

// What a declared check compares.
const (
	statisticLimit = "limit"
	statisticLevel = "level"
	statisticFinal = "final"
)

// Declared is a check that was written down before the runs.
type Declared struct {
	// Name says what is expected, Alternative what is true otherwise; Primary marks those that the conclusion rests on.
	Name        string `yaml:"name" json:"name"`
	Alternative string `yaml:"alternative" json:"alternative,omitempty"`
	Primary     bool   `yaml:"primary" json:"primary,omitempty"`
	// Statistic is limit (a ratio of the arms' limits), level (a difference of their levels) or final (a difference of their last pass
	// rates at one learning rate).
	Statistic string `yaml:"statistic" json:"statistic"`
	// Arms are compared with Over, by their values without the rate: "64, none". Ratios of several are adjusted together.
	Arms []string `yaml:"arms" json:"arms"`
	Over string   `yaml:"over" json:"over"`
	// Since names two arms: the level of each of Arms counts from that of the first one, and that of Over from the second one's, so that
	// the difference is one of gains, or of losses to a stressor.
	Since []string `yaml:"since" json:"since,omitempty"`
	// At is the learning rate of final; HalfLimit names in its place the arm at half of whose limit it is. The nearest rate of the ladder
	// counts.
	At        float64 `yaml:"at" json:"at,omitempty"`
	HalfLimit string  `yaml:"half limit of" json:"half limit of,omitempty"`
	// Needs is above, below or within: the interval of a ratio lies above or below Bound, or within a factor of it; that of a
	// difference above or below Bound, or within it on both sides.
	Needs string  `yaml:"needs" json:"needs"`
	Bound float64 `yaml:"bound" json:"bound"`

	line string // where it was written, as file:line
}

// ladderArm is an arm over its rates, with what it came to.
type ladderArm struct {
	label, stressor, method string
	within                  string   // its value of the factor Index.Within
	rungs                   [][]*Row // what was run at each rate, increasing
	rates                   []float64
}

// ladderArms are the arms of a folder that have runs.
func (d *Folder) ladderArms() (list []*ladderArm) {
	ladders, labels := d.ladders()
	for i, rungs := range ladders {
		values := d.Arms[rungs[0].arm].Values
		a := &ladderArm{label: labels[i], within: values[d.Within]}
		var stressor []string
		for _, f := range d.Factors {
			switch value := values[f.Name]; f.Name {
			case d.rateColumn():
			case methodFactor:
				a.method = value
			case ArmFactor:
				a.method, stressor = cmp.Or(values[titleLabel], value), append(stressor, values[problemLabel])
			default:
				stressor = append(stressor, value)
			}
		}
		a.stressor = cmp.Or(strings.Join(stressor, ", "), oneStressor)
		for _, r := range rungs {
			if rows := d.having(d.Arms[r.arm].Values); len(rows) > 0 {
				a.rungs, a.rates = append(a.rungs, rows), append(a.rates, r.rate)
			}
		}
		if len(a.rungs) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// only are the runs of some seeds.
func (a *ladderArm) only(seeds func(uint64) bool) *ladderArm {
	own := *a
	own.rungs, own.rates = nil, nil
	for i, rows := range a.rungs {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return !seeds(r.Seed) })
		if len(rows) > 0 {
			own.rungs, own.rates = append(own.rungs, rows), append(own.rates, a.rates[i])
		}
	}
	return &own
}

func (a *ladderArm) trials() (list []stats.Trial) {
	for i, rows := range a.rungs {
		for _, r := range rows {
			list = append(list, stats.Trial{Unit: r.Seed, Rate: a.rates[i], Success: r.stable()})
		}
	}
	return list
}

// whole are the places of the rates that all of the arm's models ran.
func (a *ladderArm) whole() (list []int) {
	most := 0
	for _, rows := range a.rungs {
		most = max(most, len(rows))
	}
	for i, rows := range a.rungs {
		if len(rows) == most {
			list = append(list, i)
		}
	}
	return list
}

// levelAt is the place of the rate with the best mean among those below the limit, or among all where none is below it.
func (a *ladderArm) levelAt() int {
	limit, _ := stats.LimitRange(a.trials())
	best, mean := -1, math.Inf(-1)
	for _, below := range []bool{true, false} {
		for _, i := range a.whole() {
			if m := stats.Average(finals(a.rungs[i])); m >= mean && (!below || a.rates[i] <= limit) { // the higher rate of two that are equal
				best, mean = i, m
			}
		}
		if best >= 0 {
			break
		}
	}
	return best
}

// edge reports whether a rate is the lowest or the highest one that was run.
func (a *ladderArm) edge(rate float64) bool {
	return rate == a.rates[0] || rate == a.rates[len(a.rates)-1]
}

// heldOut has the run of each model at the best rate of the other models: a level whose rate is not chosen on what it is measured by.
func (a *ladderArm) heldOut() (rows []*Row) {
	for _, r := range a.rungs[a.levelAt()] {
		others := a.only(func(seed uint64) bool { return seed != r.Seed })
		if len(others.rungs) == 0 {
			return nil
		}
		own := a.rungs[slices.Index(a.rates, others.rates[others.levelAt()])]
		if i := slices.IndexFunc(own, func(o *Row) bool { return o.Seed == r.Seed }); i >= 0 {
			rows = append(rows, own[i])
		}
	}
	return rows
}

// finals are the last pass rates of runs.
func finals(rows []*Row) []float64 { return stats.Map(rows, (*Row).finalRate) }

// shared are the last pass rates of arms by the models that all of them have.
func shared(arms ...[]*Row) (list [][]float64) {
	list = make([][]float64, len(arms))
models:
	for _, r := range arms[0] {
		rates := make([]float64, len(arms))
		for k, rows := range arms {
			i := slices.IndexFunc(rows, func(o *Row) bool { return o.Seed == r.Seed })
			if i < 0 {
				continue models
			}
			rates[k] = rows[i].finalRate()
		}
		for k, rate := range rates {
			list[k] = append(list[k], rate)
		}
	}
	return list
}

// gained are the differences of two arms by model, or of their differences to two others, and their mean; nil where no model has all.
func gained(arms [][]*Row) ([]float64, stability.Mean) {
	rates := shared(arms...)
	if rates[0] == nil {
		return nil, stability.Mean{}
	}
	differences := stats.Differences(rates[0], rates[1])
	if len(rates) == 2 {
		return differences, meanOf(stats.TShares(rates[0], rates[1]))
	}
	differences = stats.Differences(differences, stats.Differences(rates[2], rates[3]))
	return differences, meanOf(stats.T(differences))
}

// sides are two arms by the models that judge both: those that confirm where both have any, else those that located the limits.
func (d *Folder) sides(a, b *ladderArm) (x, y *ladderArm) {
	confirm := func(seed uint64) bool { return slices.Contains(d.Confirm, seed) }
	if x, y = a.only(confirm), b.only(confirm); len(x.rungs) > 0 && len(y.rungs) > 0 {
		return x, y
	}
	located := func(seed uint64) bool { return !confirm(seed) && !slices.Contains(d.Fresh, seed) }
	return a.only(located), b.only(located)
}

// Limits judges the ladders of a folder with runs that maps learning rates; nil for any other.
func (d *Folder) Limits() *stability.Study {
	if d.rateColumn() == "" || len(d.Rows) == 0 {
		return nil
	}
	arms := d.ladderArms()
	s := &stability.Study{Name: d.Name, Title: d.Title, Arms: []stability.Arm{}, Checks: []stability.Check{}}
	s.Equal, s.None = arms[0].stressor, arms[0].method
	others := slices.DeleteFunc(slices.Clone(d.Factors), func(f IndexFactor) bool {
		return slices.Contains([]string{d.rateColumn(), methodFactor, ArmFactor}, f.Name)
	})
	s.Factor = strings.Join(stats.Map(others, func(f IndexFactor) string { return f.Name }), ", ")
	for _, all := range arms {
		equal := arms[slices.IndexFunc(arms, func(o *ladderArm) bool { return o.within == all.within })] // the first with its value of Index.Within
		none := new(ladderArm)
		if i := slices.IndexFunc(arms, func(a *ladderArm) bool { return a.stressor == all.stressor && a.method == s.None }); i >= 0 {
			none = arms[i]
		}
		a, _ := d.sides(all, all)
		l := a.levelAt()
		rows := a.rungs[l]
		out := stability.Arm{Stressor: a.stressor, Method: a.method, Edge: all.edge(a.rates[l]), Limit: rangeOf(stats.LimitOf(a.trials())), LevelRate: stability.RateName(a.rates[l]), Level: meanOf(stats.T(finals(rows)).Within(0, 1)), HeldOut: record.Number(stats.Average(finals(a.heldOut()))),
			FirstK3: record.Number(average(rows, firstK3)), K3: mean(rows, "gap/k3"), Flips: mean(rows, "routes/flip_token"), Speed: record.Number(d.speed(all, equal))}
		out.OverNone, out.GainNone = d.against(all, none)
		if equal != arms[0] {
			out.Equal = equal.stressor
		}
		if all.stressor != oneStressor {
			out.OverEqual, out.GainEqual = d.against(all, equal)
		}
		for i, rows := range a.rungs {
			r := stability.Rate{Rate: a.rates[i], Runs: len(rows), Finals: stats.Each(finals(rows), func(v float64) float64 { return stats.Digits(v, 6) })}
			for _, row := range rows {
				if row.stable() {
					r.Stable++
					if row.finalRate() <= float64((1-record.CollapseLoss)*float64(row.Peak)) {
						out.Low++
					}
				}
				if row.Verdict.IsCollapse() {
					r.Collapsed++
				}
			}
			share := stats.ClopperPearson(r.Collapsed, r.Runs)
			r.CollapsedLow, r.CollapsedHigh = record.Number(share.Low), record.Number(share.High)
			out.Rates = append(out.Rates, r)
		}
		out.Fresh = d.onFresh(all, none, &out)
		s.Arms = append(s.Arms, out)
	}
	s.Predictions = predictions(s, d.Predict)
	for _, check := range d.Judge {
		s.Checks = append(s.Checks, d.judged(check, arms)...)
	}
	return s
}

// onFresh is what models that judged nothing say of an arm; nil where none ran it.
func (d *Folder) onFresh(a, none *ladderArm, judged *stability.Arm) *stability.Fresh {
	fresh := func(seed uint64) bool { return slices.Contains(d.Fresh, seed) }
	x, y := a.only(fresh), none.only(fresh)
	if len(x.rungs) == 0 {
		return nil
	}
	limit := rangeOf(stats.LimitOf(x.trials()))
	f := &stability.Fresh{Limit: limit, LimitAgrees: limit.Near(judged.Limit, 2), GainAgrees: true}
	own, _ := d.sides(a, a)
	base, _ := d.sides(none, none)
	if judged.GainNone.N > 0 && len(y.rungs) > 0 {
		i, k := x.at(own.rates[own.levelAt()], d.Ladder), y.at(base.rates[base.levelAt()], d.Ladder)
		if i >= 0 && k >= 0 {
			both := shared(x.rungs[i], y.rungs[k])
			f.GainNone = meanOf(stats.TShares(both[0], both[1]))
		}
	}
	if g := judged.GainNone; f.GainNone.N > 0 && g.N > 1 && g.Low*g.High > 0 {
		f.GainAgrees = f.GainNone.Estimate*g.Estimate > 0
	}
	return f
}

// against are the ratio of the limits of two arms and the paired difference of their levels; nothing where an arm is missing.
func (d *Folder) against(a, b *ladderArm) (ratio stability.Range, gain stability.Mean) {
	if a, b = d.sides(a, b); len(a.rungs) == 0 || len(b.rungs) == 0 || a.label == b.label {
		return ratio, gain
	}
	both := shared(a.rungs[a.levelAt()], b.rungs[b.levelAt()])
	return rangeOf(stats.LimitRatio(a.trials(), b.trials())), meanOf(stats.TShares(both[0], both[1]))
}

func rangeOf(l stats.Limit) stability.Range {
	return stability.Range{From: record.Number(l.From), To: record.Number(l.To), Low: record.Number(l.Low), High: record.Number(l.High), N: l.Units}
}

func meanOf(i stats.Interval) stability.Mean {
	return stability.Mean{Estimate: record.Number(i.Estimate), Low: record.Number(i.Low), High: record.Number(i.High), N: i.N}
}

// mean is the mean of a kept metric over runs.
func mean(rows []*Row, name string) record.Number {
	return record.Number(average(rows, func(o *Outcome) record.Number { return o.known(name) }))
}

// firstK3 is the mismatch of the first window of a run.
func firstK3(o *Outcome) record.Number {
	if w := o.Windows.Values["gap/k3"]; len(w) > 0 {
		return w[0]
	}
	return record.Number(math.NaN())
}

// speed is the median number of updates to 0.9 of the level of equal engines, at the largest rate below the limit.
func (d *Folder) speed(a, equal *ladderArm) float64 {
	const share = 0.9
	a, equal = d.sides(a, equal)
	if len(a.rungs) == 0 || len(equal.rungs) == 0 {
		return math.NaN()
	}
	goal := share * stats.Average(finals(equal.rungs[equal.levelAt()]))
	limit, _ := stats.LimitRange(a.trials())
	fastest := -1
	for _, i := range a.whole() {
		if a.rates[i] <= limit {
			fastest = i
		}
	}
	if fastest < 0 {
		return math.NaN()
	}
	updates := stats.Map(a.rungs[fastest], func(r *Row) float64 {
		if k := slices.IndexFunc(r.Evals.Value, func(v record.Number) bool { return float64(v) >= goal }); k >= 0 {
			return float64(r.Evals.Step[k])
		}
		return math.Inf(1)
	})
	slices.Sort(updates)
	return updates[len(updates)/2] // the higher of two in the middle: infinities have no mean
}

// judged is what became of a declared check, a line for each of its arms that has runs.
func (d *Folder) judged(check Declared, arms []*ladderArm) (list []stability.Check) {
	find := func(label string) *ladderArm {
		i := slices.IndexFunc(arms, func(a *ladderArm) bool { return a.label == label })
		if i < 0 {
			return nil
		}
		return arms[i]
	}
	rate := check.At
	if half := find(check.HalfLimit); half != nil {
		own, _ := d.sides(half, half)
		rate = halfOf(own.trials())
	}
	over := find(check.Over)
	var made []judge.Check
	for _, label := range check.Arms {
		a := find(label)
		if a == nil || over == nil {
			continue
		}
		a, b := d.sides(a, over)
		line := stability.Check{Name: check.Name, Alternative: check.Alternative, Primary: check.Primary, Arm: label, Over: check.Over}
		var c judge.Check
		switch check.Statistic {
		case statisticLimit:
			ratio := stats.LimitRatio(a.trials(), b.trials())
			c = judge.LimitRatio(check.Name, ratio, check.Needs, check.Bound)
			line.Value = rangeOf(ratio).Text(stability.FactorText)
		default:
			x, y := a.levelAt(), b.levelAt()
			if check.Statistic == statisticFinal {
				x, y = a.at(rate, d.Ladder), b.at(rate, d.Ladder)
			}
			if x < 0 || y < 0 {
				continue
			}
			own, others := [][]*Row{a.rungs[x], b.rungs[y]}, [][]*Row{a.heldOut(), b.heldOut()}
			for _, label := range check.Since {
				if before := find(label); before != nil {
					before, _ = d.sides(before, before)
					own, others = append(own, before.rungs[before.levelAt()]), append(others, before.heldOut())
				}
			}
			if len(own) != 2+len(check.Since) {
				continue // an arm has no runs yet
			}
			differences, shown := gained(own)
			if differences == nil {
				continue
			}
			if check.Since != nil {
				line.Over += fmt.Sprintf(", from %s and %s on", check.Since[0], check.Since[1])
			}
			c = judge.Difference(check.Name, differences, check.Needs, check.Bound)
			line.Value = shown.Text(true)
			if check.Statistic == statisticLevel {
				if find(label).edge(a.rates[x]) || over.edge(b.rates[y]) {
					line.Value += " (edge)"
				}
				if differences, shown := gained(others); differences != nil {
					line.HeldOut = shown.Text(true)
					if again := judge.Difference(check.Name, differences, check.Needs, check.Bound).Outcome; again != c.Outcome {
						line.HeldOut += ", " + again.Term()
					}
				}
			}
			line.Smallest = record.Number(c.Power.Smallest)
			if check.Statistic == statisticFinal {
				line.Arm += fmt.Sprintf(" at %s", stability.RateName(a.rates[x]))
			}
		}
		line.Needs = c.Needs
		made, list = append(made, c), append(list, line)
	}
	if check.Statistic == statisticLimit && check.Needs != judge.NeedsWithin { // a difference must meet its bound in each line
		judge.AdjustFamily(made)
	}
	for i := range list {
		list[i].Outcome = made[i].Outcome.Term()
		if n, most := made[i].Value.N, max(len(d.Confirm), stability.LeastModels); n < most {
			list[i].Outcome = fmt.Sprintf("%s, preliminary: %d models of %d", list[i].Outcome, n, most)
		}
	}
	return list
}

// at is the place of the step of the ladder nearest to a rate, the lower of two, -1 where it is none of those around it.
func (a *ladderArm) at(rate float64, l *Ladder) int {
	best, least := -1, 0.0
	for i, own := range a.rates {
		factor := max(own/rate, rate/own)
		if l.isStep(own) && factor < math.Sqrt2*1.03 && (best < 0 || factor < clearly*least) {
			best, least = i, factor
		}
	}
	return best
}
