package scaling

import (
	"fmt"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
)

// size is what scale means here: a model's, and that of its answers.
type size struct {
	// Layers and Width are of the residual stream, Vocabulary is in tokens.
	Layers, Width, Vocabulary int
	// Experts is the number of a layer, TopK how many of them a token visits; a
	// dense model has neither.
	Experts, TopK int
	// Length is that of an answer, in tokens.
	Length int
}

// modelFamily is the kind of model that a law is fitted to.
type modelFamily string

// The families. A dense model is as wide inside as two of the other's experts.
const (
	moeFamily   modelFamily = "MoE"
	denseFamily modelFamily = "dense"
)

// base is where the axes meet: every rung but the corners differs from it along
// one of them.
var base = size{Layers: 2, Width: 32, Vocabulary: 128, Experts: 8, TopK: 2, Length: lengthOf(baseChapters)}

// axis is one dimension of Size.
type axis struct {
	name, unit string
	of         func(*size) *int
}

var axes = []axis{
	{"depth", "layers", func(s *size) *int { return &s.Layers }},
	{"width", "width", func(s *size) *int { return &s.Width }},
	{"vocabulary", "tokens of the vocabulary", func(s *size) *int { return &s.Vocabulary }},
	{"length", "tokens of an answer", func(s *size) *int { return &s.Length }},
	{"experts", "experts", func(s *size) *int { return &s.Experts }},
	{"experts visited", "experts visited", func(s *size) *int { return &s.TopK }},
}

// axes of a family: a dense model has no experts.
func (f modelFamily) axes() []axis {
	if f == denseFamily {
		return axes[:4]
	}
	return axes
}

// coordinates are the logarithms of a size over the base's, axis by axis.
func (f modelFamily) coordinates(s size) []float64 {
	origin := base
	var x []float64
	for _, a := range f.axes() {
		x = append(x, elementary.Log(float64(*a.of(&s))/float64(*a.of(&origin))))
	}
	return x
}

// rung is one size of one family, and how much of it is measured.
type rung struct {
	Family modelFamily
	Size   size
	// Corner keeps the rung out of the fit: it differs from the base along every
	// axis at once, and the law has to predict it.
	Corner bool
	// Steps is the length of the warm start. Wider models need fewer of them, long
	// answers more.
	Steps int
	// Start changes the weights that the warm start begins with.
	Start claim.Start
	// Every is n where every n-th seed has a model of this rung; 1 for all.
	Every int
	// Answers is how many are sampled of each model.
	Answers int
}

// Steps of a warm start, those of long answers and of the longest, and answers of
// a model, where a rung does not say.
const (
	usualSteps   = 200
	longSteps    = 300
	longestSteps = 500
	usualAnswers = 512
)

// allRungs is the ladder. Its rungs have ten models each, five of the dense ones, and
// three at the corners: as many for each that a law is fitted to, so that no mean
// counts for more than another.
func allRungs() []rung {
	var list []rung
	add := func(f modelFamily, change func(*rung)) {
		r := rung{Family: f, Size: base, Steps: usualSteps, Every: 1, Answers: usualAnswers}
		if f == denseFamily {
			r.Size.Experts, r.Size.TopK, r.Every = 0, 0, 2
		}
		change(&r)
		list = append(list, r)
	}
	for _, f := range []modelFamily{moeFamily, denseFamily} {
		add(f, func(*rung) {})
		for _, n := range []int{4, 8, 16} {
			add(f, func(r *rung) { r.Size.Layers = n })
		}
		add(f, func(r *rung) { r.Size.Width = 64 })
		add(f, func(r *rung) { r.Size.Width, r.Steps = 128, 50 })
		add(f, func(r *rung) { r.Size.Width, r.Steps, r.Answers = 256, 45, usualAnswers/2 })
		for _, n := range []int{32, 512, 4096} {
			add(f, func(r *rung) {
				r.Size.Vocabulary = n
				if n > 512 { // whose distributions fill memory
					r.Answers /= 8
				}
			})
		}
		for _, n := range []int{52, 103} { // chapters
			add(f, func(r *rung) { r.Size.Length, r.Steps, r.Answers = lengthOf(n), longSteps, 2500/n })
		}
		if f == moeFamily {
			add(f, func(r *rung) { r.Size.Length, r.Steps, r.Answers = lengthOf(205), longestSteps, 2500/205 })
			for _, n := range [][2]int{{16, 2}, {32, 4}, {64, 2}, {64, 8}} {
				add(f, func(r *rung) { r.Size.Experts, r.Size.TopK = n[0], n[1] })
			}
		}
		add(f, func(r *rung) {
			r.Corner, r.Every, r.Answers = true, 3, 96
			r.Size.Layers, r.Size.Width, r.Size.Vocabulary, r.Size.Length = 6, 64, 512, lengthOf(26)
			if f == moeFamily {
				r.Size.Experts, r.Size.TopK = 32, 4
			}
		})
	}
	return list
}

// Name says which rung it is; observations carry it.
func (r rung) Name() string {
	s := r.Size
	name := fmt.Sprintf("%s, %d layers, width %d, vocabulary %d, length %d", r.Family, s.Layers, s.Width, s.Vocabulary, s.Length)
	if r.Family == moeFamily {
		name += fmt.Sprintf(", %d experts top-%d", s.Experts, s.TopK)
	}
	return name
}

// short names what sets the rung apart from the base.
func (r rung) short() string {
	origin := base
	var parts []string
	for _, a := range r.Family.axes() {
		if n := *a.of(&r.Size); n != *a.of(&origin) {
			parts = append(parts, fmt.Sprintf("%s %d", a.name, n))
		}
	}
	if len(parts) == 0 {
		return "base"
	}
	return strings.Join(parts, ", ")
}

// ladder is what an Env of that size measures of the rungs: a preview has shorter
// warm starts, fewer rungs and no model above 8 layers or of width 64.
func ladder(size claim.Size) []rung {
	if size == claim.Full {
		return allRungs()
	}
	var list []rung
	for _, r := range allRungs() {
		s := r.Size
		if r.Corner || s.Layers > 8 || s.Width > 64 || s.Vocabulary > 512 || s.Length > lengthOf(52) || s.Experts > 32 && s.TopK > 2 {
			continue
		}
		r.Every, r.Steps, r.Answers = 1, min(r.Steps, 70), max(r.Answers/8, 4)
		if size == claim.Tiny {
			r.Steps, r.Answers = 2, 2
		}
		list = append(list, r)
	}
	return list
}
