package diagnose

import "slices"

// identities is the correlation of errors over pairs of one token id and one step, of
// different prompts, and that over pairs of different steps in units of it. What is a
// function of the log-odds is taken off before: ids differ in these, too. So is what pairs
// of any ids have in common, which is what a permutation would leave.
func (s *deviations) identities(limit float64) (icc, turn *float64, many bool) {
	type key struct {
		id   int32
		step int
		who  uint64
	}
	sums := map[key]*pairSum{}
	var order []key
	values := s.withoutOdds(limit)
	squares := 0.0
	for i, x := range s.all {
		if x.id < 0 {
			return nil, nil, false
		}
		k := s.rows[x.row]
		at := key{x.id, k.step, k.prompt}
		if !k.prompted {
			at.who = uint64(k.number)
		}
		if sums[at] == nil {
			sums[at] = &pairSum{}
			order = append(order, at)
		}
		sums[at].sum += values[i]
		sums[at].n++
		squares += float64(values[i] * values[i])
	}
	type place struct {
		id   int32
		step int
	}
	ids, steps := map[place]*pairSum{}, map[int32]*pairSum{}
	var within, between pairSum // sums of products, and how many
	var places []place
	var distinct []int32
	for _, at := range order {
		x := sums[at]
		p := place{at.id, at.step}
		if ids[p] == nil {
			ids[p] = &pairSum{}
			places = append(places, p)
		}
		ids[p].add(*x)
		within.subtract(*x)
	}
	for _, p := range places {
		x := ids[p]
		within.square(*x)
		if steps[p.id] == nil {
			steps[p.id] = &pairSum{}
			distinct = append(distinct, p.id)
		} else {
			steps[p.id].shared = true
		}
		steps[p.id].add(*x)
		between.subtract(*x)
	}
	shared := 0
	for _, id := range distinct {
		between.square(*steps[id])
		if steps[id].shared {
			shared++
		}
	}
	mean := squares / float64(len(s.all))
	if len(distinct) < leastIDs || within.n < leastPairsOfIDs || mean == 0 {
		return nil, nil, false
	}
	icc = new(within.sum / within.n / mean)
	if shared >= leastSharedIDs && between.n >= leastPairsOfIDs && *icc > 0.02 {
		turn = new(max(-1, min(1, between.sum/between.n/mean / *icc)))
	}
	return icc, turn, len(distinct) >= manyIDs
}

// pairSum is a sum of errors and their number, or of products of pairs and theirs.
type pairSum struct {
	sum, n float64
	shared bool
}

func (p *pairSum) add(x pairSum) { p.sum, p.n = p.sum+x.sum, p.n+x.n }

// square adds the products of all with all of a part, subtract takes them off.
func (p *pairSum) square(x pairSum) {
	p.sum, p.n = p.sum+float64(x.sum*x.sum), p.n+float64(x.n*x.n)
}

func (p *pairSum) subtract(x pairSum) {
	p.sum, p.n = p.sum-float64(x.sum*x.sum), p.n-float64(x.n*x.n)
}

// withoutOdds are the errors, bounded, less the mean of those of like log-odds.
func (s *deviations) withoutOdds(limit float64) []float64 {
	order := make([]int, len(s.all))
	values := make([]float64, len(s.all))
	for i, x := range s.all {
		order[i] = i
		values[i] = max(-limit, min(limit, x.v))
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := s.all[a].odds, s.all[b].odds; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for b := range bins {
		part := order[b*len(order)/bins : (b+1)*len(order)/bins]
		sum := 0.0
		for _, i := range part {
			sum += values[i]
		}
		for _, i := range part {
			values[i] -= sum / float64(len(part))
		}
	}
	return values
}
