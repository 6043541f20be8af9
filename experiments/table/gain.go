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
}

// sign is 1 where a method is told better than none, -1 where worse, and else 0.
func (g Gain) sign() int {
	if g.P <= alpha {
		return cmp.Compare(g.Estimate, 0)
	}
	return 0
}

// Better and Worse report whether a method is told from none, and on which side.
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

// scores are the differences of methods to the matched runs by stressor and seed, each
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

// tell fills the gains of methods over none, whose scores are given.
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
	p := stats.WestfallYoung(lists)
	for i := range list {
		for j := range scores[i] {
			k := i*len(scores[i]) + j
			list[i].Gain = append(list[i].Gain, Gain{stats.T(lists[k]), record.Number(p[k])})
		}
	}
}

// told says how many methods a stage tells from none, and what its seeds can tell.
func (r *Ranking) told() string {
	if !r.Stage.whole() {
		return " No method is told from none before all of them are."
	}
	if !r.Stage.tells() {
		return fmt.Sprintf(" %d seeds tell no method from none: their sign-flip test knows no p below %g.", len(r.Stage.Index.Seeds), r.Stage.leastP())
	}
	better, worse := 0, 0
	var harm []string
	var widths []float64
	for _, m := range r.Methods {
		for _, g := range m.Gain {
			if g.High > g.Low {
				widths = append(widths, (g.High-g.Low)/2)
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
	text := fmt.Sprintf(" %d are better than none under some stressor (↑), %d are worse under some (↓)", better, worse)
	switch {
	case len(harm) > 0:
		text += ", and of a healthy run the same is told of " + strings.Join(harm, ", ") + "."
	case r.hasHealthy():
		text += ", none harms a healthy run."
	default:
		text += "."
	}
	text += r.turned()
	if len(widths) > 0 {
		slices.Sort(widths)
		text += fmt.Sprintf(" What is not told may be there all the same: before any adjustment half of the differences to none are known no better than ±%.2f.", widths[len(widths)/2])
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

// idle says how many comparisons are of a method that did nothing.
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
	text := fmt.Sprintf(" In %d of the %d comparisons of a method under a stressor the method did nothing (=): every run equals that of no method to the last bit, or the plan leaves it out because it cannot act. "+
		"They do not count as no significant difference.", idle, all)
	if len(nowhere) > 0 {
		text += " Nowhere did anything: " + strings.Join(nowhere, ", ") + "."
	}
	return text
}

// turned names the methods that are told better at one dose of a stressor and worse at
// another; nothing where no stressor has two doses.
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
		return " None is told better at one dose of a stressor and worse at another."
	}
	return " Told better at one dose of a stressor and worse at another: " + strings.Join(turned, ", ") + "."
}
