package measurements

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// blockMiddles records the middles of blocks of updates, in hundreds of updates.
type blockMiddles struct {
	Figure string
	Steps  sizes
	Blocks int
}

func (m *blockMiddles) Measure(e *claim.Env, o *claim.Observation) {
	for k := range m.Blocks {
		o.Append(m.Figure, (float64(k)+0.5)*float64(m.Steps.of(e))/float64(m.Blocks)/100)
	}
}

// distance asks trained weights how far they are from chain-base, by the length of the latter.
type distance struct{}

// Ask answers "change"; weights of another form have no distance.
func (distance) Ask(e *claim.Env, p *model.Params) map[string]float64 {
	start := e.Base(0)
	if len(start.Theta) != len(p.Theta) {
		return nil
	}
	return map[string]float64{"change": measure.RelativeDistance(p.Theta, start.Theta)}
}

// explained is the R² of a straight line of y over x, 0 where it rises.
func explained(x, y []float64) float64 {
	if len(x) < 3 || stats.Slope(x, y) >= 0 {
		return 0
	}
	return stats.RSquared(x, y)
}

// ceiling is b - a of a fit y = -a·exp(x) + b: what it says of a policy without entropy.
func ceiling(x, y []float64) float64 {
	if len(x) < 3 {
		return math.NaN()
	}
	b, slope := stats.Regress(y, stats.Each(x, elementary.Exp))
	return b + slope[0]
}

// randomStart is a training in whose changes $start is a time that is drawn for each replication.
type randomStart struct {
	Low, Width float64
	Training   claim.Training
}

func (m *randomStart) Measure(e *claim.Env, o *claim.Observation) {
	start := fmt.Sprintf("%.4f", m.Low+float64(m.Width*e.Rand(promptStream).Float64()))
	t := m.Training
	t.Arms = slices.Clone(t.Arms)
	for i, a := range t.Arms {
		t.Arms[i].Set = slices.Clone(a.Set)
		for k, text := range a.Set {
			t.Arms[i].Set[k] = strings.ReplaceAll(text, "$start", start)
		}
	}
	t.Measure(e, o)
}

// surgeGrowth is the growth of the mean length over its first twenty updates that is an alarm.
const surgeGrowth = 1.2

// surgeReward and surgeLength are the columns of surges.
const surgeReward, surgeLength = "critic/score/mean", "response_length/mean"

// surges are the runs of an arm.
type surges struct {
	// leads are, for the runs that collapse, the updates by which the length's alarm comes before
	// the reward's, as means over those of one warm start.
	leads []float64
	// collapsed and healthy are how many runs there are of either; early of the healthy ones raise
	// the length's alarm.
	collapsed, early, healthy int
}

func surgesOf(j *claim.Judge, rates []string, arm string) (s surges) {
	each := make([][]float64, len(j.Runs))
	for i, o := range j.Runs {
		for _, rate := range rates {
			name := claim.AtLR(arm, rate)
			reward, length := o.List(claim.ArmColumn(name, surgeReward)), o.List(claim.ArmColumn(name, surgeLength))
			first, end := stats.Average(length[:min(20, len(length))]), float64(len(length))
			at := firstWindow(length, func(_, mean float64) bool { return mean > surgeGrowth*first })
			means := windows(reward)
			if len(means) > 0 && !record.HasCollapsed(stats.Max(means), means[len(means)-1]) {
				s.healthy++
				if !math.IsInf(at, 1) {
					s.early++
				}
				continue
			}
			s.collapsed++
			each[i] = append(each[i], min(firstWindow(reward, record.HasCollapsed), end)-min(at, end))
		}
	}
	s.leads = j.Pooled(each)
	return s
}

// surgesNote counts the runs of an arm, at the learning rates that follow its name and level.
func surgesNote(j *claim.Judge, texts []string) string {
	s := surgesOf(j, texts[2:], texts[1])
	return fmt.Sprintf("%s: %d of %d runs at a constant rate collapse, from %d warm starts; %d of the %d others raise the length's alarm.",
		texts[0], s.collapsed, s.collapsed+s.healthy, len(s.leads), s.early, s.healthy)
}

// sparedByHeads is what rounding in the head costs less than rounding in the router at equal token KL,
// mean over the router formats that a text lists and over learning rates.
func sparedByHeads(j *claim.Judge, rates, texts []string) []float64 {
	formats := strings.Fields(texts[0])
	return j.Each(func(o *claim.Observation) float64 {
		sum := 0.0
		for _, format := range formats {
			for _, rate := range rates {
				name := claim.AtLR("router "+format, rate)
				sum += headAt(o, rate, earlyKL(o, name)) - claim.Late(o.List(name))
			}
		}
		return sum / float64(len(formats)*len(rates))
	})
}

// earlyKL is the exact KL of an arm's first updates.
func earlyKL(o *claim.Observation, name string) float64 {
	return o.List(claim.ArmColumn(name, "gap/exact_kl"))[0]
}

// headAt is the late pass rate that rounded heads reach at a KL: between the two of the
// ladder around it, linearly in log KL, or that of the nearest end.
func headAt(o *claim.Observation, rate string, kl float64) float64 {
	type rung struct{ log, pass float64 }
	var ladder []rung
	for _, name := range o.Names() {
		if strings.HasPrefix(name, "head ") && strings.HasSuffix(name, claim.AtLR("", rate)) {
			ladder = append(ladder, rung{elementary.Log(earlyKL(o, name)), claim.Late(o.List(name))})
		}
	}
	slices.SortFunc(ladder, func(a, b rung) int { return cmp.Compare(a.log, b.log) })
	at := elementary.Log(kl)
	i := slices.IndexFunc(ladder, func(r rung) bool { return r.log >= at })
	switch i {
	case -1:
		return ladder[len(ladder)-1].pass
	case 0:
		return ladder[0].pass
	}
	below, above := ladder[i-1], ladder[i]
	part := (at - below.log) / (above.log - below.log)
	return below.pass + float64(part*(above.pass-below.pass))
}

// budgetLimits are the budget of the survey's conjecture: what each figure has to stay below.
var budgetLimits = []struct {
	column string
	limit  float64
}{{"gap/exact_tv_p95", 1e-4}, {"rollout_corr/chi2_seq", 0.1}, {"routes/flip_route", 1e-3}}

// inBudget is 1 for a cell, which is a pair of engines, whose uncorrected runs keep to the budget: by the means of the columns that they
// have over updates, all learning rates and replications.
func inBudget(j *claim.Judge, _, texts []string) []float64 {
	cell, inside := texts[0], 1.0
	var rates []string
	for _, name := range j.Runs[0].Names() {
		if rate, own := strings.CutPrefix(name, claim.AtLR(cell, "")); own && !strings.Contains(rate, ",") {
			rates = append(rates, rate)
		}
	}
	for _, l := range budgetLimits {
		if j.Runs[0].Has(claim.ArmColumn(claim.AtLR(cell, rates[0]), l.column)) && !(stats.Average(j.Average(rates, cell, l.column)) < l.limit) {
			inside = 0
		}
	}
	return slices.Repeat([]float64{inside}, j.Independent())
}

// lateMismatch trains the same number of updates with and without a mismatch, from a warm start
// and from the policy that updates without it have made of it.
type lateMismatch struct {
	Warm     []string // changes of chain-base's recipe
	Pretrain sizes
	Before   sizes // updates of the later start
	Steps    sizes
	Set      []string
	Mismatch []string
}

// Measure records pass rates and k3 of the four runs.
func (m *lateMismatch) Measure(e *claim.Env, o *claim.Observation) {
	start := e.Warm("chain-base", append([]string{"pretrain.steps=" + strconv.Itoa(m.Pretrain.of(e))}, m.Warm...)...)
	_, p := e.Trained(nil, m.Before.of(e), append(slices.Clone(m.Set), "checkpoint="+start)...)
	later := e.Keep(fmt.Sprintf("gap-timing-seed%d", e.Seed), p)
	for _, from := range []struct{ name, dir string }{{"early", start}, {"late", later}} {
		for _, arm := range []struct {
			name string
			set  []string
		}{{"matched", nil}, {"mismatch", m.Mismatch}} {
			set := slices.Concat([]string{"checkpoint=" + from.dir}, m.Set, arm.set)
			e.PassRates(o, from.name+", "+arm.name, m.Steps.of(e), []string{"gap/k3"}, set...)
		}
	}
}
