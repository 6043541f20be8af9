// Package stability is the published map of stability: for each stressor and correction the largest stable learning rate, the level
// that is reached and how fast, judged on base models. Whatever recommends a correction asks it here.
//
// What it is not: it runs and judges nothing; package experiments/study does.
package stability

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/results/figure"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// LeastModels is the number of base models below which nothing is recommended.
const LeastModels = 10

// Map are the studies of the map.
type Map struct {
	Studies []Study `json:"studies"`
}

// Study is a map of learning rates over one kind of stressor.
type Study struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Factor is what the stressors differ by, such as the lag.
	Factor string `json:"factor,omitempty"`
	// Equal names the stressor that is none: equal engines and fresh rollouts; None the method that corrects nothing.
	Equal  string  `json:"equal"`
	None   string  `json:"none"`
	Arms   []Arm   `json:"arms"`
	Checks []Check `json:"checks"`
	// Predictions are limits that a law predicts.
	Predictions []Prediction `json:"predictions,omitempty"`
}

// Prediction is the limit of an arm as a multiple of that of equal engines, by a law that was fitted to other arms.
type Prediction struct {
	Arm string `json:"arm"`
	// Exponents are those of the factors, in their order; Ratio is what is predicted, with the interval of a new arm.
	Exponents []Mean `json:"exponents"`
	Ratio     Mean   `json:"ratio"`
	// Measured is what the arm came to once it ran.
	Measured Range `json:"measured"`
}

// Arm is a correction under a stressor, over all learning rates.
type Arm struct {
	Stressor string `json:"stressor"`
	Method   string `json:"method"`
	// Equal names the equal engines that the arm is compared with, where they are not the study's: those of its task or size.
	Equal string `json:"equal,omitempty"`
	// Limit is the largest stable learning rate; OverNone and OverEqual are its ratios to that of no correction under the stressor and of
	// equal engines without a correction.
	// Low is the number of stable runs that lost 30 % of their own best, which is then below 1/3.
	Limit     Range `json:"limit"`
	Low       int   `json:"low,omitempty"`
	OverNone  Range `json:"over_none"`
	OverEqual Range `json:"over_equal"`
	// Level is the last pass rate at the best rate below the limit, LevelRate that rate; Edge: no lower one was run, or no higher one.
	// GainNone and GainEqual are the paired differences to no correction and to equal engines, each at its own best rate.
	LevelRate string `json:"level_rate"`
	Edge      bool   `json:"edge"`
	// HeldOut is the mean of the last pass rates at the rates that are best on the other models.
	HeldOut   record.Number `json:"held_out"`
	Level     Mean          `json:"level"`
	GainNone  Mean          `json:"gain_none"`
	GainEqual Mean          `json:"gain_equal"`
	// Speed is the median number of updates to 0.9 of the level of equal engines at the largest rate below the limit, infinite where
	// half of the models do not get there.
	Speed record.Number `json:"speed"`
	// FirstK3 and K3 are the mismatch in the first ten updates and over the run, Flips the share of tokens with another route, at the
	// rate of the level.
	FirstK3 record.Number `json:"first_k3"`
	K3      record.Number `json:"k3"`
	Flips   record.Number `json:"flips"`
	// Rates are what was run, increasing.
	Rates []Rate `json:"rates"`
	// Fresh is what models say that neither located nor judged; nil where none was run.
	Fresh *Fresh `json:"fresh,omitempty"`
}

// Fresh is an arm on fresh models, at the rates at which others judged it.
type Fresh struct {
	Limit Range `json:"limit"`
	// GainNone is the difference to no correction, each at the rate of its judged level.
	GainNone Mean `json:"gain_none"`
	// LimitAgrees: the limits may lie within a factor of 2. GainAgrees: the difference has the sign of the judged one, where that is significant.
	LimitAgrees bool `json:"limit_agrees"`
	GainAgrees  bool `json:"gain_agrees"`
}

// Rate is an arm at one learning rate.
type Rate struct {
	Rate float64 `json:"rate"`
	// Runs were made, Stable of them end within 0.1 of their own best; Collapsed fell 30 % or more below it, to the end or for 100 updates.
	Runs      int `json:"runs"`
	Stable    int `json:"stable"`
	Collapsed int `json:"collapsed"`
	// CollapsedLow and CollapsedHigh are the interval of Clopper and Pearson of the share that collapsed.
	CollapsedLow  record.Number `json:"collapsed_low"`
	CollapsedHigh record.Number `json:"collapsed_high"`
	// Finals are the last pass rates by model.
	Finals record.Floats `json:"finals"`
}

// Range is a limit, or a ratio of two, that may be known from one side only: From and To are equal where it is a number.
type Range struct {
	From record.Number `json:"from"`
	To   record.Number `json:"to"`
	Low  record.Number `json:"low"`
	High record.Number `json:"high"`
	N    int           `json:"n"`
}

// Mean is a mean with its 95 % interval over models; NaN where it was not measured.
type Mean struct {
	Estimate record.Number `json:"estimate"`
	Low      record.Number `json:"low"`
	High     record.Number `json:"high"`
	N        int           `json:"n"`
}

// Check is a check that was declared before the runs, for one arm, with what became of it.
type Check struct {
	Name        string `json:"name"`
	Alternative string `json:"alternative,omitempty"`
	Primary     bool   `json:"primary"`
	Arm         string `json:"arm"`
	Over        string `json:"over"`
	// Value is the statistic with its interval, Needs the condition to meet, Outcome what became of it.
	Value   string `json:"value"`
	Needs   string `json:"needs"`
	Outcome string `json:"outcome"`
	// HeldOut is a difference of levels at the rates that are best on the other models, and its outcome where that is another one.
	HeldOut string `json:"held_out,omitempty"`
	// Smallest is the least difference that this number of models would show with 80 % power; 0 where the check is no test of means.
	Smallest record.Number `json:"smallest,omitempty"`
}

// RateText writes a learning rate: 4.9e-4.
func RateText(v float64) string {
	return orEnd(v, figure.ShortExponent(strconv.FormatFloat(v, 'e', 1, 64)))
}

// RateName is a learning rate of a ladder as people write it: 2.5e-4.
func RateName(rate float64) string {
	return figure.ShortExponent(strconv.FormatFloat(rate, 'e', -1, 64))
}

// FactorText writes a ratio: 2.1.
func FactorText(v float64) string { return orEnd(v, figure.FormatNumber(v, 3)) }

// orEnd is the text of a number, unless it is an end of all.
func orEnd(v float64, text string) string {
	switch {
	case v == 0:
		return "0"
	case math.IsInf(v, 0):
		return "∞"
	}
	return text
}

// Near reports whether two ranges are within a factor of each other at some of their places.
func (r Range) Near(o Range, factor float64) bool {
	return float64(r.From) <= factor*float64(o.To) && float64(o.From) <= factor*float64(r.To)
}

// Text is the range with its interval: "7.1e-4 (5.0e-4 to 1.0e-3)", or the end of the rates beyond which it lies: "above 4.0e-3".
func (r Range) Text(of func(float64) string) string {
	from, to := float64(r.From), float64(r.To)
	switch {
	case r.N == 0:
		return ""
	case from == to:
		return fmt.Sprintf("%s (%s to %s)", of(from), of(float64(r.Low)), of(float64(r.High)))
	case from > 0 && math.IsInf(to, 1):
		return "above " + of(from)
	case from == 0 && !math.IsInf(to, 1):
		return "below " + of(to)
	case from > 0:
		return of(from) + " to " + of(to)
	}
	return "not determined"
}

// Text is the mean with its interval.
func (m Mean) Text(signed bool) string {
	if m.N == 0 || math.IsNaN(float64(m.Estimate)) {
		return ""
	}
	form := "%.2f"
	if signed {
		form = "%+.2f"
	}
	if m.N < 2 {
		return fmt.Sprintf(form, float64(m.Estimate))
	}
	return fmt.Sprintf(form+" ("+form+" to "+form+")", float64(m.Estimate), float64(m.Low), float64(m.High))
}

// Arm finds a correction under a stressor; nil if there is none.
func (s *Study) Arm(stressor, method string) *Arm {
	return find(s.Arms, func(a Arm) bool { return a.Stressor == stressor && a.Method == method })
}

// Study finds a study of the map; nil if it is not there.
func (m *Map) Study(name string) *Study {
	return find(m.Studies, func(s Study) bool { return s.Name == name })
}

// find is the first entry that is meant; nil if there is none.
func find[T any](list []T, meant func(T) bool) *T {
	i := slices.IndexFunc(list, meant)
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Rates are the learning rates of arms, each once, increasing.
func Rates(arms []Arm) (rates []float64) {
	for _, a := range arms {
		for _, r := range a.Rates {
			rates = append(rates, r.Rate)
		}
	}
	slices.Sort(rates)
	return slices.Compact(rates)
}

// At is the arm at a learning rate; nil where it was not run there.
func (a *Arm) At(rate float64) *Rate {
	return find(a.Rates, func(r Rate) bool { return r.Rate == rate })
}

// Baseline puts the name of the method that the others are compared with in the place of no correction, where it is one.
func (s *Study) Baseline(text string) string {
	if s.None == "none" {
		return text
	}
	return strings.NewReplacer("no correction", s.None, "without a correction", "with "+s.None).Replace(text)
}

// Condition is a stressor outside of its table: a number comes with what it is a number of.
func (s *Study) Condition(stressor string) string {
	if _, err := strconv.ParseFloat(stressor, 64); err != nil {
		return stressor
	}
	return s.Factor + " " + stressor
}

// Stressors are the stressors of the study, in its order.
func (s *Study) Stressors() (names []string) {
	for _, a := range s.Arms {
		if !slices.Contains(names, a.Stressor) {
			names = append(names, a.Stressor)
		}
	}
	return names
}

// Published returns the map that the program was released with, which is read once: callers share it.
var Published = sync.OnceValue(func() *Map { return embedded[*Map](published.Stability) })

// embedded is what a published file has.
func embedded[T any](path string) (v T) {
	if err := json.Unmarshal(published.File(path), &v); err != nil {
		panic("stability: " + err.Error()) // it is embedded
	}
	return v
}

// RealGap is the size of a mismatch that was published for training of a real model, in nats per token.
type RealGap struct {
	Name   string  `json:"name"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Source string  `json:"source"`
}

// RealGaps are those next to which the gaps of the map are shown.
var RealGaps = sync.OnceValue(func() []RealGap { return embedded[[]RealGap](published.RealGaps) })

// Problem is a problem that users have, with the study and the stressor that stand for it, its name in other studies, that of longer runs, and
// the stressor of the study size that repeats it on other base models.
type Problem struct{ Name, Title, Study, Stressor, Elsewhere, Longer, Repeat string }

// Problems are the problems of the picture.
var Problems = []Problem{
	{"staleness", "Stale rollouts: a lag of 16 batches", "staleness", "16", "lag-16", "horizon-staleness", "0.103M, 16"},
	{"natural", "A gap of natural size: fp8 rollouts, bf16 learner", "gap", "fp8", "fp8", "horizon-natural", ""},
	{"routing", "A large routing gap: a 4-bit router", "gap", "router-fp4", "router-fp4", "horizon-routing", ""},
}

// Answer is which correction to use for a problem, and why.
type Answer struct {
	Problem
	// Arm is the recommended correction, nil where none is; None is no correction and Equal equal engines.
	Arm, None, Equal *Arm
	// Also are other corrections whose level is significantly above that of none.
	Also []*Arm
	// Harmful are the corrections whose level is significantly below that of none.
	Harmful []*Arm
	// Elsewhere are those that are harmful on another task.
	Elsewhere []*Arm
	// Settled: at least LeastModels models judged it, and no rate that it names stands at an end of those that were run.
	Settled bool
	// Text says it in a sentence or two.
	Text string
}

// cost is a difference of pass rates that the studies declare as none.
const cost = 0.05

// Answer is the answer of the map for a problem; ok is false where the map lacks it. Nothing is to be corrected where neither the level nor
// the limit is below that of equal engines. Else a correction is recommended for its level where that is significantly above that of no
// correction: of several the one that ends highest after 10,000 updates. Else it is recommended for the learning rate that it allows, where
// that limit is significantly higher and costs no level. A correction that is harmful on another task is not recommended.
func (m *Map) Answer(problem string) (answer Answer, ok bool) {
	p := find(Problems, func(p Problem) bool { return p.Name == problem })
	if p == nil || m.Study(p.Study) == nil {
		return answer, false
	}
	answer.Problem = *p
	s := m.Study(p.Study)
	var elsewhere []*Arm // on other tasks, whose arms name equal engines of their own
	if tasks := m.Study("corrections"); tasks != nil {
		for i := range tasks.Arms {
			if a := &tasks.Arms[i]; a.Equal != "" && strings.HasSuffix(a.Stressor, ", "+p.Elsewhere) && a.GainNone.N >= LeastModels {
				elsewhere = append(elsewhere, a)
			}
		}
	}
	answer.None, answer.Equal = s.Arm(answer.Stressor, s.None), s.Arm(s.Equal, s.None)
	if answer.None == nil || answer.Equal == nil {
		return answer, false
	}
	longer := m.longer(p)
	ran := func(a *Arm) *Arm { return find(longer, func(l Arm) bool { return l.Method == a.Method }) }
	lasting := func(a *Arm) float64 { // of what has run for so long, before all else
		if l := ran(a); l != nil {
			return 1 + float64(l.Level.Estimate)
		}
		return float64(a.Level.Estimate)
	}
	tried, byLevel := 0, false // whether the arm is chosen for its level
	for i := range s.Arms {
		a := &s.Arms[i]
		if a.Stressor != answer.Stressor || a.Method == s.None || a.GainNone.N < LeastModels {
			continue
		}
		tried++
		if a.harmful() {
			answer.Harmful = append(answer.Harmful, a)
			continue
		}
		if slices.ContainsFunc(elsewhere, func(o *Arm) bool { return o.Method == a.Method && o.harmful() }) {
			answer.Elsewhere = append(answer.Elsewhere, a)
			continue
		}
		better := answer.Arm == nil
		switch {
		case a.GainNone.Low > 0:
			better = better || !byLevel || lasting(a) > lasting(answer.Arm)
			if byLevel && better {
				answer.Also = append(answer.Also, answer.Arm)
			} else if byLevel {
				answer.Also = append(answer.Also, a)
			}
			byLevel = true
		case byLevel || !(a.OverNone.Low > 1 && a.GainNone.Estimate > -cost):
			better = false
		default:
			better = better || a.OverNone.From > answer.Arm.OverNone.From
		}
		if better {
			answer.Arm = a
		}
	}
	models := answer.None.Level.N
	enough := models >= LeastModels && tried > 0
	answer.Settled = enough && !answer.None.Edge && (answer.Arm == nil || !answer.Arm.Edge)
	none := fmt.Sprintf("Without a correction the largest stable learning rate is %s (equal engines: %s), and training ends at %s (equal engines: %s).",
		answer.None.Limit.Text(RateText), answer.Equal.Limit.Text(RateText), answer.None.Level.Text(false), answer.Equal.Level.Text(false))
	harmless := models >= LeastModels && answer.None.GainEqual.N >= LeastModels && answer.None.GainEqual.Low > -cost && answer.None.OverEqual.Low > 0.5 && answer.None.OverEqual.High >= 1
	if harmless {
		answer.Arm, answer.Settled = nil, !answer.None.Edge
	}
	switch {
	case harmless:
		answer.Text = fmt.Sprintf("Correct nothing. %s The difference is %s.", none, answer.None.GainEqual.Text(true))
	case !enough:
		answer.Arm = nil
		answer.Text = fmt.Sprintf("%s Which correction helps is not judged yet: %d base models ran without one and %d corrections on %d or more; %[4]d models and a correction are needed.", none, models, tried, LeastModels)
	case byLevel:
		answer.Text = fmt.Sprintf("Use %s at a learning rate of %s: training ends at %s, without a correction at %s at its own best rate. The difference is %s.",
			answer.Arm.Method, answer.Arm.LevelRate, answer.Arm.Level.Text(false), answer.None.Level.Text(false), answer.Arm.GainNone.Text(true))
		if len(answer.Also) > 0 && ran(answer.Arm) != nil && !slices.ContainsFunc(answer.Also, func(a *Arm) bool { return ran(a) == nil }) {
			answer.Text += " Of the corrections that help it has the highest mean after 10,000 updates."
		}
	case answer.Arm != nil:
		answer.Text = fmt.Sprintf("Lower the learning rate first. %s If you need a higher rate, %s raises the limit: the ratio is %s.", none, answer.Arm.Method, answer.Arm.OverNone.Text(FactorText))
		higher := slices.DeleteFunc(slices.Clone(answer.Arm.Rates), func(r Rate) bool {
			return r.Rate <= float64(answer.None.Limit.To) || 2*r.Stable < r.Runs || r.Runs < LeastModels
		})
		if len(higher) > 0 {
			answer.Text += fmt.Sprintf(" At stable rates above the limit without a correction it ends at %s.", endsText(higher))
		}
		if size := m.Study("size"); size != nil {
			if a := size.Arm(p.Repeat, answer.Arm.Method); a != nil {
				answer.Text += fmt.Sprintf(" On %d other base models the ratio is %s.", a.OverNone.N, a.OverNone.Text(FactorText))
			}
		}
	default:
		answer.Text = fmt.Sprintf("Use no correction. %s None of %d corrections is significantly better.", none, tried)
	}
	for _, a := range elsewhere {
		task, _, _ := strings.Cut(a.Stressor, ",")
		switch {
		case answer.Arm == nil || a.Method != answer.Arm.Method:
		case byLevel:
			answer.Text += fmt.Sprintf(" On the task %s the difference is %s.", task, a.GainNone.Text(true))
		default:
			answer.Text += fmt.Sprintf(" On the task %s the ratio is %s.", task, a.OverNone.Text(FactorText))
		}
	}
	for _, a := range answer.Also {
		answer.Text += fmt.Sprintf(" %s helps as well: it ends at %s.", a.Method, a.Level.Text(false))
	}
	for _, a := range answer.Harmful {
		best := map[bool]string{false: "its best rate", true: "the best rate that was run"}[a.Edge]
		answer.Text += fmt.Sprintf(" Do not use %s: it ends at %s, at %s, %s.", a.Method, a.Level.Text(false), best, a.LevelRate)
	}
	for _, a := range answer.Elsewhere {
		answer.Text += fmt.Sprintf(" %s is left out: on another task it ends lower than no correction.", a.Method)
	}
	answer.Text += afterLonger(longer, answer.None.Method)
	if (enough || harmless) && !answer.Settled {
		answer.Text += " This is preliminary: the best rate stands at an end of those that were run."
	}
	return answer, true
}

// longer are the arms of a problem after 10,000 updates, of as many models as a recommendation needs.
func (m *Map) longer(p *Problem) []Arm {
	s := m.Study(p.Longer)
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Arms), func(a Arm) bool { return a.Stressor != p.Elsewhere+", 10000" || a.Level.N < LeastModels })
}

// afterLonger says where they end; empty without any.
func afterLonger(arms []Arm, none string) string {
	var list []string
	for _, a := range arms {
		name := a.Method
		if name == none {
			name = "training without a correction"
		}
		list = append(list, name+" ends at "+endsText(a.Rates))
	}
	if list == nil {
		return ""
	}
	return " After 10,000 updates " + strings.Join(list, ", ") + "."
}

// endsText has the mean at the end of training for each learning rate.
func endsText(rates []Rate) string {
	ends := stats.Map(rates, func(r Rate) string { return fmt.Sprintf("%.2f with %s", stats.Average(r.Finals), RateName(r.Rate)) })
	last := len(ends) - 1
	if last < 1 {
		return strings.Join(ends, "")
	}
	return strings.Join(ends[:last], ", ") + " and at " + ends[last]
}

// harmful reports whether the level is significantly below that of no correction.
func (a *Arm) harmful() bool { return a.GainNone.High < 0 && a.GainNone.Estimate < -cost }

// Ask is the answer of the published map.
func Ask(problem string) (answer Answer, ok bool) { return Published().Answer(problem) }

// Measured says what the answer is and of what runs.
func (a *Answer) Measured() string {
	return fmt.Sprintf("measured in runs of this program (%s; k3 %s nats per token; %d base models, 1,000 updates each): %s",
		a.Title, figure.FormatNumber(float64(a.None.K3), 2), a.None.Level.N, a.Text)
}

// Effects are the arms of a correction in all studies, a line each, that were compared with no correction on as many models as a
// recommendation needs.
func (m *Map) Effects(method string) (lines []string) {
	for _, s := range m.Studies {
		for _, a := range s.Arms {
			if a.Method != method || a.Method == s.None || a.GainNone.N < LeastModels {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s, %s, %s: %s", method, s.Name, s.Condition(a.Stressor), s.Baseline(a.Effect())))
		}
	}
	return lines
}

// Effect is what a correction changes, or where it is none, what the stressor does, in one line.
func (a *Arm) Effect() string {
	models, ratio, of := a.Level.N, a.OverEqual, "equal engines"
	text := "pass rate at the end " + a.Level.Text(false)
	if a.GainNone.N > 0 {
		models, ratio, of = a.GainNone.N, a.OverNone, "no correction"
		text += ", difference to no correction " + a.GainNone.Text(true) + ", each at its best rate"
	}
	if ratio.From > 0 || !math.IsInf(float64(ratio.To), 1) {
		text += "; largest stable learning rate over that of " + of + ": " + ratio.Text(FactorText)
	}
	return fmt.Sprintf("%s; %d base models", text, models)
}
