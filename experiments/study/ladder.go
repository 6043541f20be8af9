package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// Ladder are learning rates by factors of 2, of which each arm runs those that its outcomes ask for. From From it climbs until every
// seed fails and goes down while the lowest rate is the best or fewer than half of the seeds succeed there: an arm ends at an edge
// that still works only at Lowest or Highest. The seeds that confirm then run the rates from the best one below the limit up to the
// first at which every seed failed, go down in their turn while the lowest is the best, and where all of them part between two rates, run
// the rate in the middle. Fresh seeds run the rates of those that confirm, after them. What is run follows from the outcomes alone.
type Ladder struct {
	From float64 `yaml:"from" json:"from"`
	// Lowest and Highest bound the rates: 16 times below and above From unless they are given.
	Lowest  float64 `yaml:"lowest" json:"lowest"`
	Highest float64 `yaml:"highest" json:"highest"`
	// Find is level for the search above, or limit: then the rates are bisected for the limit alone.
	Find string `yaml:"find" json:"find"`
	// Fewer are values of Plan.Within that fewer models run, where a run is long.
	Fewer []Fewer `yaml:"fewer" json:"fewer,omitempty"`
}

// Fewer is a value of a factor that only the first Models models of a plan run.
type Fewer struct {
	Value  string `yaml:"value" json:"value"`
	Models int    `yaml:"models" json:"models"`
}

// What a ladder finds.
const (
	findLevel = "level"
	findLimit = "limit"
)

// rateFactor is the factor of the rates of a ladder.
const rateFactor = "rate"

// fill sets what was left out, and says what is wrong; empty where nothing is.
func (l *Ladder) fill() string {
	const reach = 16 // the pilot's limits, with and without corrections, lie within it
	l.Find = cmp.Or(l.Find, findLevel)
	l.Lowest, l.Highest = cmp.Or(l.Lowest, l.From/reach), cmp.Or(l.Highest, l.From*reach)
	switch {
	case !(l.From > 0 && l.Lowest > 0 && l.Lowest <= l.From && l.From <= l.Highest) || math.IsInf(l.Highest, 1):
		return "a ladder of learning rates needs 0 < lowest <= from <= highest, such as {from: 5e-4}"
	case l.Highest/l.Lowest > 1<<16:
		return fmt.Sprintf("%g to %g are more than 16 factors of 2: choose lowest and highest nearer to from", l.Lowest, l.Highest)
	case l.Find != findLevel && l.Find != findLimit:
		return fmt.Sprintf("find: %q is neither level nor limit", l.Find)
	}
	return ""
}

// rates are all of the ladder, increasing: the steps by factors of 2, and between two of them the middle, in two digits.
func (l *Ladder) rates() []float64 {
	rate := l.From
	for rate/2 >= l.Lowest {
		rate /= 2
	}
	list := []float64{rate}
	for ; 2*rate <= l.Highest; rate *= 2 {
		middle, _ := strconv.ParseFloat(strconv.FormatFloat(rate*math.Sqrt2, 'e', 1, 64), 64)
		list = append(list, middle, 2*rate)
	}
	return list
}

// isStep reports whether a rate is From by factors of 2.
func (l *Ladder) isStep(rate float64) bool {
	fraction, _ := math.Frexp(rate / l.From) // 0.5 of a power of 2, 0.7 of a middle
	return fraction < 0.55 || fraction > 0.95
}

func (l *Ladder) names() []string { return stats.Map(l.rates(), stability.RateName) }

// factor is the factor of the learning rates.
func (l *Ladder) factor() Factor {
	f := Factor{Name: rateFactor, field: rateField}
	for _, name := range l.names() {
		change, err := recipe.ParseChange("rates", rateField+"="+name)
		if err != nil {
			panic("study: " + err.Error()) // a number is one
		}
		f.Values = append(f.Values, Value{Name: name, Set: []recipe.Change{change}})
	}
	return f
}

// place is a cell of an index: an arm with a seed, by their numbers, and of which ladder it is.
type place struct{ arm, seed, ladder int }

// rung is a rate of a ladder: an arm of the index.
type rung struct {
	rate float64
	arm  int
}

// rateColumn is the factor of learning rates over which a study maps where training is stable: that of a ladder, or of the rates that the
// arms of a plan share; empty for none.
func (x *Index) rateColumn() string {
	switch {
	case x.Ladder != nil:
		return rateFactor
	case len(x.Factors) == 2 && x.Factors[0].Name == ArmFactor && x.Factors[1].Name == rateField:
		return rateField
	}
	return ""
}

// ladders are the arms of an index that differ in their rate alone, each by increasing rate; the label is the arm's label without its
// rate.
func (x *Index) ladders() (list [][]rung, labels []string) {
	for i := range x.Arms {
		rate, err := strconv.ParseFloat(x.Arms[i].Values[x.rateColumn()], 64)
		if err != nil {
			continue
		}
		label := x.valuesBut(x.rateColumn(), x.Arms[i].Values)
		at := slices.Index(labels, label)
		if at < 0 {
			at, labels, list = len(labels), append(labels, label), append(list, nil)
		}
		list[at] = append(list[at], rung{rate, i})
	}
	for _, rungs := range list {
		slices.SortFunc(rungs, func(a, b rung) int { return int(math.Copysign(1, a.rate-b.rate)) })
	}
	return list, labels
}

// wanted are the places that are to have an outcome, as far as the outcomes so far tell: all of them, or of each ladder
// what has been run so far and what is to be run next, and what the declared checks at one rate need in addition.
func (x *Index) wanted(done map[string]*Outcome) []place { return x.asked(done, x.Judge) }

// asked is wanted for some of the declared checks.
func (x *Index) asked(done map[string]*Outcome, checks []Declared) (list []place) {
	if x.Ladder == nil {
		for i, a := range x.Arms {
			for k := range a.Keys {
				list = append(list, place{i, k, 0})
			}
		}
		return list
	}
	climbs, labels := x.climbs(done)
	for _, check := range checks {
		if check.Statistic != statisticFinal {
			continue
		}
		rate := check.At
		if at := slices.Index(labels, check.HalfLimit); at >= 0 {
			if climbs[at].stuck {
				continue // its limit is not known yet
			}
			rate = halfOf(climbs[at].seen)
		}
		for number, label := range labels {
			if c := &climbs[number]; label == check.Over || slices.Contains(check.Arms, label) {
				c.visit(c.rungs[nearest(c.rungs, rate)], 0, len(x.Seeds)-len(x.Fresh))
			}
		}
	}
	for _, c := range climbs {
		list = append(list, c.places...)
	}
	return list
}

// climbs are the searches of all ladders as far as the outcomes tell, with their labels.
func (x *Index) climbs(done map[string]*Outcome) (climbs []climb, labels []string) {
	ladders, labels := x.ladders()
	climbs = make([]climb, len(ladders))
	for number, rungs := range ladders {
		c := &climbs[number]
		*c = climb{x: x, done: done, number: number, asked: map[place]bool{}}
		for _, r := range rungs {
			if x.Ladder.isStep(r.rate) {
				c.rungs = append(c.rungs, r)
			} else {
				c.middles = append(c.middles, r)
			}
		}
		c.run()
	}
	return climbs, labels
}

// premature are the keys of cells that locate an arm's limit, judge the arm or check it on fresh models, before all that are to do so
// have run: levels at different rates would be compared on different models, or the ladder end where the runs do.
func (x *Index) premature(done map[string]*Outcome) map[string]bool {
	early := map[string]bool{}
	if x.Ladder == nil {
		return early
	}
	climbs, _ := x.climbs(done)
	for _, c := range climbs {
		from := len(x.Seeds) - len(x.Fresh)
		switch {
		case !c.located:
			from = 0
		case !c.judged:
			from -= len(x.Confirm)
		case !c.stuck:
			continue
		}
		for _, r := range append(slices.Clone(c.rungs), c.middles...) {
			for _, key := range x.Arms[r.arm].Keys[from:] {
				early[key] = true
			}
		}
	}
	return early
}

// halfOf is half the limit of trials, or half of the end of the ladder beyond which it lies.
func halfOf(trials []stats.Trial) float64 {
	from, to := stats.LimitRange(trials)
	if math.IsInf(to, 1) {
		return from / 2
	}
	return to / 2
}

// clearly is how much nearer a rate is than a lower one to be taken in its place.
const clearly = 0.95

// nearest is the rung whose rate is nearest to a given one by the factor between them; the lower one where a rate is about in the
// middle, as half the limit is where all seeds part between the same two rates.
func nearest(rungs []rung, rate float64) int {
	best, least := 0, math.Inf(1)
	for i, r := range rungs {
		if factor := max(r.rate/rate, rate/r.rate); factor < clearly*least {
			best, least = i, factor
		}
	}
	return best
}

// climb is the search of one ladder.
type climb struct {
	x    *Index
	done map[string]*Outcome
	// rungs are the steps, middles the rates between them.
	rungs, middles []rung
	number         int
	places         []place
	seen           []stats.Trial // of the seeds that locate
	stuck          bool          // a rung lacks an outcome
	located        bool          // the seeds that locate have run to the end of the search
	judged         bool          // what the seeds are to judge has been run
	asked          map[place]bool
}

// tally is what a rung came to.
type tally struct {
	runs, successes int
	final           float64 // mean
}

// visit asks for a rung with some seeds, by number from first on, and returns what it came to so far.
func (c *climb) visit(r rung, first, end int) (t tally) {
	a := &c.x.Arms[r.arm]
	for _, f := range c.x.Ladder.Fewer {
		if f.Value == a.Values[c.x.Within] {
			end = min(end, f.Models)
		}
	}
	for k := first; k < end; k++ {
		at := place{r.arm, k, c.number}
		o := c.done[a.Keys[k]]
		if c.asked[at] {
			continue // by another check
		}
		c.asked[at], c.places = true, append(c.places, at)
		if o == nil {
			c.stuck = true
			continue
		}
		t.runs++
		if o.stable() {
			t.successes++
		}
		t.final += float64(o.finalRate() / float64(end-first))
		if k < len(c.x.Seeds)-len(c.x.Fresh) {
			c.seen = append(c.seen, stats.Trial{Unit: c.x.Seeds[k], Rate: r.rate, Success: o.stable()})
		}
	}
	return t
}

// run asks for one rung after another until one lacks outcomes, or the ladder is done.
func (c *climb) run() {
	l, end := c.x.Ladder, len(c.x.Seeds)-len(c.x.Fresh)
	locate := end - len(c.x.Confirm)
	from := len(c.rungs) - 1
	for from > 0 && c.rungs[from].rate > l.From {
		from--
	}
	tallies := map[int]tally{}
	visit := func(i int) tally {
		if _, there := tallies[i]; !there {
			tallies[i] = c.visit(c.rungs[i], 0, locate)
		}
		return tallies[i]
	}
	low, high := from, from
	if l.Find == findLimit {
		low, high = -1, len(c.rungs)
		for at := from; high-low > 1 && !c.stuck; at = (low + high) / 2 {
			if t := visit(at); 2*t.successes >= t.runs {
				low = at
			} else {
				high = at
			}
		}
		low, high = max(low, 0), min(high, len(c.rungs)-1)
	} else {
		for t := visit(from); !c.stuck && t.successes > 0 && high+1 < len(c.rungs); {
			high++
			t = visit(high)
		}
		for !c.stuck && low > 0 && (c.best(tallies, math.Inf(1)) == low || 2*tallies[low].successes < tallies[low].runs) {
			low--
			visit(low)
		}
	}
	if c.stuck {
		return
	}
	c.located = true
	judges := 0
	if len(c.x.Confirm) > 0 {
		judges = locate
		if l.Find == findLevel {
			limit, _ := stats.LimitRange(c.seen)
			low = c.best(tallies, limit)
		}
		clear(tallies)
		for i := low; i <= high; i++ {
			tallies[i] = c.visit(c.rungs[i], judges, end)
		}
		for l.Find == findLevel && !c.stuck && low > 0 && c.best(tallies, math.Inf(1)) == low { // no level at an edge
			low--
			tallies[low] = c.visit(c.rungs[low], judges, end)
		}
	}
	for i := low; i < high && !c.stuck; i++ {
		under, over := tallies[i], tallies[i+1]
		if under.runs > 0 && under.successes == under.runs && over.runs > 0 && over.successes == 0 {
			between := func(r rung) bool { return c.rungs[i].rate < r.rate && r.rate < c.rungs[i+1].rate }
			if k := slices.IndexFunc(c.middles, between); k >= 0 {
				c.visit(c.middles[k], judges, end)
			}
		}
	}
	c.judged = !c.stuck
	for i := low; i <= high && !c.stuck; i++ { // once all of them are judged
		c.visit(c.rungs[i], end, len(c.x.Seeds))
	}
}

// best is the rung with the best mean among those up to a limit, or of all where none is; the higher rate of two that are equal.
func (c *climb) best(tallies map[int]tally, limit float64) int {
	best := -1
	for i, r := range c.rungs { // in order, not over the map
		if t, there := tallies[i]; there && r.rate <= limit && (best < 0 || t.final >= tallies[best].final) {
			best = i
		}
	}
	if best < 0 {
		return c.best(tallies, math.Inf(1))
	}
	return best
}

// stableLoss is how far below its own best a run may end and be called stable.
const stableLoss = 0.1

// stable reports whether a run ends within 0.1 of its own best: the success by which a limit is defined. A run that stopped is none.
func (o *Outcome) stable() bool {
	const rounding = 1e-12 // of the means that are subtracted
	return o.Status == record.StatusFinished && float64(o.Peak)-float64(o.Final) <= stableLoss+rounding
}

// finalRate is where a run ended; 0 for one that ended at a value that is not finite before it was evaluated.
func (o *Outcome) finalRate() float64 {
	if math.IsNaN(float64(o.Final)) {
		return 0
	}
	return float64(o.Final)
}
