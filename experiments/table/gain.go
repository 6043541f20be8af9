package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// alpha is the level at which a stage tells that a method does something, over all of
// its methods and stressors together.
const alpha = 0.05

// Gain is what a method brings under a stressor: its mean pass rate over the whole run
// minus that of no method, paired by seed and over the learning rates.
type Gain struct {
	stats.Interval
	// P is the p-value of the sign-flip test, adjusted for every other gain of the stage
	// (stats.WestfallYoung); nan where the method changes nothing, and until the stage is
	// whole: nobody looks before.
	P record.Number `json:"p"`
	// detectable is the smallest effect that the test, adjusted for all others, detects with 80 %
	// power; nan where nothing is tested.
	detectable float64
}

// sign is 1 where a method is significantly better than no correction, -1 where worse, and else 0.
func (g Gain) sign() int {
	if g.P <= alpha {
		return cmp.Compare(g.Estimate, 0)
	}
	return 0
}

// Better and Worse report whether a method is significantly different from no correction, and on which side.
func (g Gain) Better() bool { return g.sign() > 0 }

// Worse is described at Better.
func (g Gain) Worse() bool { return g.sign() < 0 }

// gain is the gain under a stressor by its place; nothing while there is none.
func (m *Standing) gain(stressor int) Gain {
	if stressor >= len(m.Gain) {
		return Gain{P: record.Number(math.NaN())}
	}
	return m.Gain[stressor]
}

// whole reports whether all that the stage plans is there.
func (s *Stage) whole() bool { return len(s.Runs) == s.Index.Cells() }

// leastP is the least p-value that the stage's sign flips can come to.
func (s *Stage) leastP() float64 { return math.Ldexp(1, 1-len(s.Index.Seeds)) }

// tells reports whether the stage can tell a method from none.
func (s *Stage) tells() bool { return s.whole() && s.leastP() <= alpha }

// scores are the differences of methods to the matched controls by stressor and seed, each
// over the learning rates; where the plan leaves a method out they are the control's.
func (s *Stage) scores(list []Standing, rows []Row, stressors []string) [][][]float64 {
	scores := make([][][]float64, len(list))
	for i, m := range list {
		for _, stressor := range stressors {
			own := rowsOf(rows, m.Method, stressor)
			if len(own) == 0 {
				own = rowsOf(rows, control, stressor)
			}
			seeds := make([]float64, len(s.Index.Seeds))
			for _, r := range own {
				for k, seed := range s.Index.Seeds {
					seeds[k] += r.bySeed[seed] / float64(len(own))
				}
			}
			scores[i] = append(scores[i], seeds)
		}
	}
	return scores
}

// regretOverSeeds gives each regret its interval, with the best method of each stressor
// held.
func regretOverSeeds(list []Standing, scores [][][]float64, best []int) {
	for i := range list {
		var regret []float64 // by seed
		for j, b := range best {
			behind := stats.Differences(scores[b][j], scores[i][j])
			if regret == nil {
				regret = make([]float64, len(behind))
			}
			for k, v := range behind {
				regret[k] += v / float64(len(best))
			}
		}
		over := stats.T(regret)
		list[i].Regret.Low, list[i].Regret.High, list[i].Regret.N = over.Low, over.High, over.N
	}
}

// tell fills the effects of methods against no correction, whose scores are given.
func tell(list []Standing, scores [][][]float64) {
	none := slices.IndexFunc(list, func(m Standing) bool { return m.Method == control })
	if none < 0 {
		return
	}
	var lists [][]float64
	for i := range list {
		for j := range scores[i] {
			lists = append(lists, stats.Differences(scores[i][j], scores[none][j]))
		}
	}
	p, critical := stats.WestfallYoung(lists), stats.WestfallYoungCritical(lists, alpha)
	for i := range list {
		for j := range scores[i] {
			k := i*len(scores[i]) + j
			detectable := math.NaN()
			if !math.IsNaN(p[k]) {
				detectable = stats.SmallestEffectBeyond(stats.Deviation(lists[k]), len(lists[k]), critical)
			}
			list[i].Gain = append(list[i].Gain, Gain{stats.T(lists[k]), record.Number(p[k]), detectable})
		}
	}
}

// testName names the test behind every arrow, with its level.
const testName = "paired sign-flip permutation test, family-wise 5 %, adjusted by Westfall and Young"

// distinct counts the settings, those with the same bits in every run as one.
func (r *Ranking) distinct() (n int) {
	for _, m := range r.Methods {
		if m.SameAs == "" {
			n++
		}
	}
	return n
}

// significance counts the settings with a significant effect, and states the precision.
func (r *Ranking) significance() string {
	if !r.Stage.whole() {
		return " Significance is tested once every run is there."
	}
	if !r.Stage.tells() {
		return fmt.Sprintf(" With %d seeds no difference can be significant: the least p of a paired sign-flip test is %g.", len(r.Stage.Index.Seeds), r.Stage.leastP())
	}
	better, worse := 0, 0
	var harm []string
	var widths, detectable []float64
	unproven := 0
	for _, m := range r.Methods {
		if m.SameAs != "" {
			continue
		}
		for _, g := range m.Gain {
			if g.High > g.Low {
				widths = append(widths, (g.High-g.Low)/2)
				detectable = append(detectable, g.detectable)
			}
			if math.Abs(g.Estimate) >= large && g.sign() == 0 {
				unproven++
			}
		}
		if slices.ContainsFunc(m.Gain, Gain.Better) {
			better++
		}
		if slices.ContainsFunc(m.Gain, Gain.Worse) {
			worse++
		}
		if m.Harms {
			harm = append(harm, "`"+m.Method+"`")
		}
	}
	text := fmt.Sprintf(" %d of %d distinct settings are significantly better than no correction under at least one stressor (↑), and %d are significantly worse under at least one (↓)", better, r.distinct()-1, worse)
	switch {
	case len(harm) > 0:
		text += "; without a stressor, significantly worse are " + strings.Join(harm, ", ") + "."
	case r.hasHealthy():
		text += "; without a stressor none is significantly worse."
	default:
		text += "."
	}
	text += r.turned()
	if len(widths) > 0 {
		slices.Sort(widths)
		slices.Sort(detectable)
		text += fmt.Sprintf(" An effect without an arrow is not significant, which does not show that it is zero: the median half-width of the unadjusted 95 %% intervals is %.2f, and the test detects effects of %.2f with 80 %% power (median). %d effects of %.2f or more have no arrow.",
			widths[len(widths)/2], detectable[len(detectable)/2], unproven, large)
	}
	return text
}

// NoEffects are the parts of the stage's recipes that cannot act, by its methods and
// stressors.
func (r *Ranking) NoEffects() []recipe.NoEffect {
	list := r.Stage.Index.NoEffects()
	for i := range list {
		list[i].Where = r.Stage.Name + " " + list[i].Where
	}
	return list
}

// idle counts the comparisons of a setting that cannot act under the stressor.
func (r *Ranking) idle() string {
	idle, all := 0, 0
	var nowhere []string
	for _, m := range r.Methods {
		if m.Method == control {
			continue
		}
		own := 0
		for _, is := range m.Idle {
			if is {
				own++
			}
		}
		idle, all = idle+own, all+len(m.Idle)
		if own == len(m.Idle) {
			nowhere = append(nowhere, "`"+m.Method+"`")
		}
	}
	if idle == 0 {
		return ""
	}
	text := fmt.Sprintf(" In %d of the %d comparisons the setting cannot act under the stressor (=): every run has the same bits as without a correction, or the plan leaves the runs out for that reason. "+
		"These comparisons do not count as \"no significant difference\".", idle, all)
	if len(nowhere) > 0 {
		text += " Cannot act under any stressor: " + strings.Join(nowhere, ", ") + "."
	}
	return text
}

// turned names the settings that are significantly better at one level of a stressor and
// significantly worse at another; nothing where no stressor has two levels.
func (r *Ranking) turned() string {
	doses := r.doses()
	if len(doses) == len(r.Stressors) {
		return ""
	}
	var turned []string
	for _, m := range r.Methods {
		better := func(stressor int) bool { return m.gain(stressor).Better() }
		worse := func(stressor int) bool { return m.gain(stressor).Worse() }
		for _, own := range doses {
			if slices.ContainsFunc(own, better) && slices.ContainsFunc(own, worse) {
				turned = append(turned, fmt.Sprintf("`%s` (%s)", m.Method, r.row(own[0]).Letter))
			}
		}
	}
	if len(turned) == 0 {
		return " No setting is significantly better at one level of a stressor and significantly worse at another." + r.signChange()
	}
	return " Significantly better at one level of a stressor and significantly worse at another: " + strings.Join(turned, ", ") + "."
}

// signChange is the setting with the largest difference between its effects at two levels of a stressor
// that have different signs: what is not significant may still be there.
func (r *Ranking) signChange() string {
	most, text := 0.0, ""
	for _, m := range r.Methods {
		if m.Method == control {
			continue
		}
		for _, own := range r.doses() {
			for _, low := range own {
				for _, high := range own {
					a, b := m.gain(low), m.gain(high)
					if apart := b.Estimate - a.Estimate; a.Estimate < 0 && b.Estimate > 0 && apart > most {
						most = apart
						text = fmt.Sprintf(" That absence is weak evidence: `%s` has %+.2f (%+.2f to %+.2f) under `%s` and %+.2f (%+.2f to %+.2f) under `%s`, the largest change of sign.",
							m.Method, a.Estimate, a.Low, a.High, r.Stressors[low], b.Estimate, b.Low, b.High, r.Stressors[high])
					}
				}
			}
		}
	}
	return text
}
