package reproduce

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// figures is an observation as it is kept.
type figures []struct {
	Name   string        `json:"name"`
	Values record.Floats `json:"values"`
}

// shuffled are observations whose figures have changed their places with others of the
// same length, or else all of their numbers, in every run alike: what was measured of one
// arm is now said of another.
func shuffled(runs []figures, whole bool, rng *rand.Rand) []figures {
	var places [][2]int // figure, entry
	for k, f := range runs[0] {
		for i := range f.Values {
			places = append(places, [2]int{k, i})
		}
	}
	from := slices.Clone(places)
	if whole {
		figure := rng.Perm(len(runs[0]))
		for i, p := range places {
			if other := figure[p[0]]; len(runs[0][other].Values) == len(runs[0][p[0]].Values) {
				from[i][0] = other
			}
		}
	} else {
		rng.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	}
	var out []figures
	for _, run := range runs {
		moved := make(figures, len(run))
		for k, f := range run {
			moved[k].Name, moved[k].Values = f.Name, slices.Clone(f.Values)
		}
		for i, p := range places {
			moved[p[0]].Values[p[1]] = run[from[i][0]].Values[from[i][1]]
		}
		out = append(out, moved)
	}
	return out
}

// tenths are the observations with every number divided by ten.
func tenths(runs []figures) []figures {
	var out []figures
	for _, run := range runs {
		smaller := make(figures, len(run))
		for k, f := range run {
			smaller[k].Name = f.Name
			for _, v := range f.Values {
				smaller[k].Values = append(smaller[k].Values, v/10)
			}
		}
		out = append(out, smaller)
	}
	return out
}

// outcomeOf is what a claim's primary check says of observations; false where it cannot
// read such nonsense.
func outcomeOf(c claim.Claim, seeds []uint64, runs []figures) (o judge.Mark, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	var list []*claim.Observation
	for _, run := range runs {
		one := new(claim.Observation)
		for _, f := range run {
			one.Set(f.Name, f.Values...)
		}
		list = append(list, one)
	}
	j, err := judgeRuns(c, seeds, list)
	if err != nil {
		return o, false
	}
	return j.decisive().Outcome, true
}

// TestVerdictsFollowTheData: no primary check passes, or is open, whatever was measured.
// With the published numbers in other places, or all of them a tenth, it comes out otherwise at least once:
// a scaling law that is fitted to many rungs says nothing of most orders of them.
func TestVerdictsFollowTheData(t *testing.T) {
	if testing.Short() {
		t.Skip("judges every claim forty times")
	}
	list := must.Get(judgedPublished())(t)
	for i := range list {
		r := &list[i]
		was := r.decisive().Outcome
		if was == judge.Failed {
			continue // as most of what is thrown together does
		}
		var runs []figures
		folder := must.Get(openFolder(publishedDir, r.Claim, claim.Full))(t)
		for _, seed := range r.Seeds {
			cell := must.Get(folder.Cell(folder.key(seed)))(t)
			var f figures
			must.Do(t, json.Unmarshal(cell.Outcome, &f))
			runs = append(runs, f)
		}
		id := fnv.New64a() // of the name: a claim that is added leaves the orders of others as they are
		id.Write([]byte(r.Claim.ID))
		rng := rand.New(rand.NewPCG(14, id.Sum64()))
		const tries = 40
		read, other := 0, false
		for try := 0; try < tries && !other; try++ {
			got, ok := outcomeOf(r.Claim, r.Seeds, shuffled(runs, try%2 == 0, rng))
			if ok {
				read++
			}
			other = ok && got != was
		}
		if !other {
			got, ok := outcomeOf(r.Claim, r.Seeds, tenths(runs))
			other = ok && got != was
		}
		if !other {
			t.Errorf("%s: %s, and so it stayed in %d other orders of its numbers", r.Claim.ID, was, read)
		}
	}
}

// TestIntervalText: what is not a finite number is said in words.
func TestIntervalText(t *testing.T) {
	for want, i := range map[string]stats.Interval{
		"2.10 [1.90, 2.40]": {Estimate: 2.1, Low: 1.9, High: 2.4, N: 3}, "2.10": {Estimate: 2.1, Low: 1.9, High: 2.4, N: 1}, "none": stats.T([]float64{math.NaN()}),
		"infinite, no interval":      stats.TRatio([]float64{1, 1, 1}, []float64{0.5, 0, 0}),
		"infinite [0.188, infinite]": {Estimate: math.Inf(1), Low: 0.188, High: math.Inf(1), N: 10},
	} {
		if got := intervalText(i); got != want {
			t.Errorf("%+v: %q, want %q", i, got, want)
		}
	}
}
