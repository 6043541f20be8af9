package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/stats"
)

// Ranking is what a stage says, worked out once.
type Ranking struct {
	Stage *Stage
	Rows  []Row
	// Again are some of the rows on fresh seeds; nil if nobody has made them.
	Again []Row
	// Stressors are named in the order of their letters.
	Stressors []string
	// Methods are those that the stage has under every stressor, the least regret first.
	Methods []Standing
}

// Standing is how a method does over all stressors.
type Standing struct {
	Method, Group, Setting string
	// AUC is its mean difference to the matched controls by stressor, in the ranking's order
	// of them, over the learning rates. Where the plan leaves a method out because it
	// cannot act there, it is the control's.
	AUC []float64
	// Idle reports, in the same order, whether it changed no bit of any run under the
	// stressor, or was left out of the plan because it cannot act there: its figure is the
	// control's, and no evidence that it makes no difference.
	Idle []bool
	// Gain is what it brings against none, in the same order; empty until the stage is whole.
	Gain []Gain
	// Regret is how far AUC lies below the best method of each stressor: the mean over
	// stressors, with its interval over seeds once the stage is whole, and the worst, which
	// WorstAt names.
	Regret  stats.Interval
	Worst   float64
	WorstAt string
	// Harms reports whether it is significantly worse than no correction in a healthy run.
	Harms bool
	// DominatedBy is a method that is at least as good under every stressor and better
	// under one, the one of least regret; empty if there is none.
	DominatedBy string
	// SameAs is the method before it in the plan whose runs all have the same bits; empty if
	// there is none.
	SameAs string
	// Acted reports whether it changed a bit anywhere, Asked that people ask about it most.
	Acted, Asked bool
	place        int // in the plan
}

// stressorsOf are the stressors of rows, in the order of their letters.
func stressorsOf(rows []Row) []string {
	letters := map[string]string{}
	var names []string
	for _, r := range rows {
		if _, ok := letters[r.Stressor]; !ok {
			letters[r.Stressor] = r.Letter
			names = append(names, r.Stressor)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(letters[a], letters[b]) })
	return names
}

// row is the first one of a stressor, which says what it is.
func (r *Ranking) row(stressor int) Row {
	return r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Stressor == r.Stressors[stressor] })]
}

// doses are the places of the stressors, those of one letter together.
func (r *Ranking) doses() (list [][]int) {
	for j := range r.Stressors {
		if j == 0 || r.row(j).Letter != r.row(j-1).Letter {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], j)
	}
	return list
}

// hasHealthy reports whether one of the stressors is none.
func (r *Ranking) hasHealthy() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Letter == healthy })
}

// Rank ranks the methods by regret.
func (s *Stage) Rank() Ranking {
	rows := s.Rows()
	r := Ranking{Stage: s, Rows: rows, Stressors: stressorsOf(rows)}
	r.Methods = s.standings(rows, r.Stressors)
	if s.Again != nil {
		r.Again = s.Again.Rows()
	}
	return r
}

// standings are the methods that the stage has under every stressor, by regret.
func (s *Stage) standings(rows []Row, stressors []string) []Standing {
	var list []Standing
	for _, one := range byMethod(rows) {
		if m, ok := s.standing(one, rows, stressors); ok {
			m.place = len(list)
			list = append(list, m)
		}
	}
	best := make([]int, len(stressors))
	for j := range stressors {
		for i := range list {
			if list[i].AUC[j] > list[best[j]].AUC[j] {
				best[j] = i
			}
		}
		for i := range list {
			m := &list[i]
			behind := list[best[j]].AUC[j] - m.AUC[j]
			m.Regret.Estimate += behind / float64(len(stressors))
			if m.WorstAt == "" || behind > m.Worst {
				m.Worst, m.WorstAt = behind, stressors[j]
			}
		}
	}
	if s.whole() {
		scores := s.scores(list, rows, stressors)
		regretOverSeeds(list, scores, best)
		tell(list, scores)
		for i := range list {
			list[i].Harms = slices.ContainsFunc(rows, func(r Row) bool {
				return r.Letter == healthy && list[i].gain(slices.Index(stressors, r.Stressor)).Worse()
			})
		}
	}
	first := map[string]string{} // method by its runs
	for i, traces := range s.traces(list) {
		if _, ok := first[traces]; !ok {
			first[traces] = list[i].Method
			continue
		}
		list[i].SameAs = first[traces]
	}
	slices.SortStableFunc(list, func(a, b Standing) int { return cmp.Compare(a.Regret.Estimate, b.Regret.Estimate) })
	for i := range list {
		for j := range list {
			if dominates(list[j].AUC, list[i].AUC) {
				list[i].DominatedBy = list[j].Method
				break
			}
		}
	}
	return list
}

// byMethod parts rows by their method, in their order.
func byMethod(rows []Row) [][]Row {
	var parts [][]Row
	at := map[string]int{}
	for _, r := range rows {
		i, ok := at[r.Method]
		if !ok {
			i = len(parts)
			at[r.Method] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], r)
	}
	return parts
}

// standing gathers a method's figures; ok is false while one is missing, and for a method
// that escapes a stressor.
func (s *Stage) standing(own, all []Row, stressors []string) (m Standing, ok bool) {
	m = Standing{Method: own[0].Method, Group: own[0].Group, Setting: own[0].Setting, Asked: own[0].Asked}
	if escapes(own) {
		return m, false
	}
	for _, stressor := range stressors {
		under := rowsOf(own, m.Method, stressor)
		if len(under) == 0 && !s.plans(m.Method, stressor) {
			under = rowsOf(all, control, stressor)
		}
		if len(under) == 0 {
			return m, false
		}
		var auc []float64
		acted := 0
		for _, r := range under {
			auc = append(auc, r.AUC.Estimate)
			if r.Method == m.Method {
				acted += r.Acted
			}
		}
		m.Idle = append(m.Idle, acted == 0)
		m.AUC = append(m.AUC, stats.Average(auc))
	}
	for _, r := range own {
		m.Acted = m.Acted || r.Acted > 0
	}
	return m, true
}

// escapes reports whether a method escapes a stressor.
func escapes(own []Row) bool { return slices.ContainsFunc(own, func(r Row) bool { return r.Escapes }) }

// rowsOf are the rows of a method under a stressor, one for each learning rate.
func rowsOf(rows []Row, method, stressor string) (list []Row) {
	for _, r := range rows {
		if r.Method == method && r.Stressor == stressor {
			list = append(list, r)
		}
	}
	return list
}

// plans reports whether the stage is to run a method under a stressor.
func (s *Stage) plans(method, stressor string) bool {
	for _, p := range s.Index.Points {
		if p.Values[methodColumn] == method && p.Values[stressorColumn] == stressor {
			return true
		}
	}
	return false
}

// dominates reports whether a is nowhere below b and somewhere above.
func dominates(a, b []float64) bool {
	above := false
	for i := range a {
		if a[i] < b[i] {
			return false
		}
		above = above || a[i] > b[i]
	}
	return above
}

// traces are what the weights and samples of each method's runs were, all of them in the
// order of the plan.
func (s *Stage) traces(list []Standing) []string {
	of := make(map[string]*strings.Builder, len(list))
	for _, m := range list {
		of[m.Method] = new(strings.Builder)
	}
	for i := range s.Runs {
		o := &s.Runs[i]
		v := o.Values
		if b := of[v[methodColumn]]; b != nil && v[againstColumn] != "" {
			fmt.Fprintln(b, v[stressorColumn], v[rateColumn], o.Seed, o.Trace)
		}
	}
	traces := make([]string, len(list))
	for i, m := range list {
		traces[i] = of[m.Method].String()
	}
	return traces
}
