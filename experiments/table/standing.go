package table

import (
	"cmp"
	"math"
	"slices"

	"driftlab/experiments/stats"
)

// Standing is how a method does over all stressors.
type Standing struct {
	Method, Group, Setting string
	// AUC is its mean difference to the matched runs by stressor, in the order of
	// Stressors, over the learning rates. Where the plan leaves a method out because it
	// cannot act there, it is the control's.
	AUC []float64
	// Regret is how far that lies below the best method of each stressor: the mean over
	// stressors, and the worst, which WorstAt names.
	Regret, Worst float64
	WorstAt       string
	// Harms reports whether a healthy run is worse off for it: an interval below zero.
	Harms bool
	// DominatedBy is a method that is at least as good under every stressor and better
	// under one, the one of least regret; empty if there is none.
	DominatedBy string
	// Acted reports whether it changed a bit anywhere.
	Acted bool
	place int // in the plan
}

// Stressors are the stressors of rows, in the order of their letters.
func Stressors(rows []Row) []string {
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

// Standings ranks the methods that the stage has under every stressor, by regret.
func (s *Stage) Standings(rows []Row) []Standing {
	stressors := Stressors(rows)
	var list []Standing
	for _, one := range byMethod(rows) {
		if m, ok := s.standing(one, rows, stressors); ok {
			m.place = len(list)
			list = append(list, m)
		}
	}
	for j := range stressors {
		best := math.Inf(-1)
		for _, m := range list {
			best = max(best, m.AUC[j])
		}
		for i := range list {
			m := &list[i]
			behind := best - m.AUC[j]
			m.Regret += behind / float64(len(stressors))
			if m.WorstAt == "" || behind > m.Worst {
				m.Worst, m.WorstAt = behind, stressors[j]
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Standing) int { return cmp.Compare(a.Regret, b.Regret) })
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
	m = Standing{Method: own[0].Method, Group: own[0].Group, Setting: own[0].Setting}
	if escapes(own) {
		return m, false
	}
	for _, stressor := range stressors {
		auc := aucs(own, m.Method, stressor)
		if len(auc) == 0 && !s.plans(m.Method, stressor) {
			auc = aucs(all, control, stressor)
		}
		if len(auc) == 0 {
			return m, false
		}
		m.AUC = append(m.AUC, stats.Average(auc))
	}
	for _, r := range own {
		m.Acted = m.Acted || r.Acted > 0
		m.Harms = m.Harms || r.Letter == healthy && r.N > 1 && r.AUC.High < 0
	}
	return m, true
}

// escapes reports whether a method escapes a stressor.
func escapes(own []Row) bool { return slices.ContainsFunc(own, func(r Row) bool { return r.Escapes }) }

// aucs are the differences of a method under a stressor, at all rates.
func aucs(rows []Row, method, stressor string) (list []float64) {
	for _, r := range rows {
		if r.Method == method && r.Stressor == stressor {
			list = append(list, r.AUC.Estimate)
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
