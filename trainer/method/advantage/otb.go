package advantage

import (
	"cmp"
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// OTB is the optimal token baseline: one baseline per position, weighted by how
// much gradient each response has gathered up to it.
//
// w is Batch.Weight, where the correction has filled it: estimate after the
// correction stage for that. A group of one has no baseline. verl's docstring scales W_t by
// w_t², its code every increment, which is the default here; the two agree for sequence
// weights. The multi-turn form (verl's tir_optimal_token_baseline) compares the j-th
// generated token of each response in place of the j-th position, so that tool output does
// not shift the columns.
type OTB struct {
	Asymmetry `yaml:",inline"`
	// Eps is added to the sum of the weights.
	Eps float64 `yaml:"eps" default:"1e-8" range:"[0,inf]"`
	// ZeroTail leaves the one longest response without a baseline beyond the
	// second longest, where it would be its own.
	ZeroTail bool `yaml:"zero_tail" default:"true"`
	// Scale says where importance weights enter: "increment" or "cumulative".
	Scale string `yaml:"scale" default:"increment" oneof:"increment cumulative"`

	multiTurn bool
	groups    groups
	energy    []float64 // W_t per token
	column    []int     // of each generated token

	numerator, denominator []float64 // of the baseline, per column
}

// Estimate fills b.Return and b.Advantage from TokenReward, LogpOld and SumSquares.
func (e *OTB) Estimate(b *batch.Batch) error {
	if err := e.groups.find(b, batch.Mask, batch.TokenReward, batch.LogpOld, batch.SumSquares); err != nil {
		return err
	}
	if err := returns(b, 1, Carry); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	columns := e.accumulate(b)
	for rows := range e.groups.All() {
		e.group(b, rows, columns)
	}
	e.apply(b)
	return nil
}

// accumulate fills W and the column of every token, and returns the number of columns.
func (e *OTB) accumulate(b *batch.Batch) int {
	e.energy = batch.Zeroed(e.energy, b.Tokens())
	e.column = batch.Zeroed(e.column, b.Tokens())
	columns := 0
	for i := range b.Len() {
		from, _ := b.Span(i)
		sum, generated := 0.0, 0
		for n := range b.Where(i, b.Mask) {
			a, weight := 1-2*elementary.Exp(b.Old.Logp[n])+b.Old.SumSquares[n], 1.0
			if b.Weight != nil {
				weight = b.Weight[n] * b.Weight[n]
			}
			if e.Scale == "cumulative" {
				sum += a
				e.energy[n] = sum * weight
			} else {
				sum += float64(a * weight)
				e.energy[n] = sum
			}
			e.column[n] = n - from
			if e.multiTurn {
				e.column[n] = generated
			}
			generated++
			columns = max(columns, e.column[n]+1)
		}
	}
	return columns
}

// group fills the advantages of the responses of a group.
func (e *OTB) group(b *batch.Batch, rows []int, columns int) {
	e.numerator, e.denominator = batch.Zeroed(e.numerator, columns), batch.Zeroed(e.denominator, columns)
	longest, second, unique := 0, 0, -1
	members := 0
	for _, i := range rows {
		length := 0
		for n := range b.Where(i, b.Mask) {
			length++
			e.numerator[e.column[n]] += float64(b.Return[n] * e.energy[n])
			e.denominator[e.column[n]] += e.energy[n]
		}
		if length > 0 || !e.multiTurn {
			members++
		}
		switch {
		case length > longest:
			longest, second, unique = length, longest, i
		case length == longest:
			second, unique = length, -1
		case length > second:
			second = length
		}
	}
	for _, i := range rows {
		for n := range b.Where(i, b.Mask) {
			c := e.column[n]
			baseline := e.numerator[c] / (e.denominator[c] + e.Eps)
			if members == 1 || e.denominator[c] == 0 || e.ZeroTail && i == unique && c >= second {
				baseline = 0
			}
			b.Advantage[n] = b.Return[n] - baseline
		}
	}
}

// OPOB is VCPO's optimal off-policy baseline: the constant that minimises the
// variance of the importance-weighted gradient of a group.
//
// n is the norm of the score, ScoreNorm, not of the reward-weighted gradient; w is the
// importance weight of the response, not clipped. The baseline includes the response
// itself, so the gradient is biased by terms of order 1/G. A group of one would always get
// 0; its baseline is 0. For VCPO's scope minibatch run it over one group.
type OPOB struct {
	Asymmetry `yaml:",inline"`
	// Eps is added to the sum of the weights.
	Eps float64 `yaml:"eps" default:"1e-8" range:"[0,inf]"`
	// Weighted includes w².
	Weighted bool `yaml:"weighted" default:"true"`
	// Cap truncates w in the baseline, .inf for none.
	Cap float64 `yaml:"cap" default:"inf" range:"(0,inf]"`
	// LengthNorm divides the weights by L².
	LengthNorm bool `yaml:"length_norm"`
	// Aggregate is "mean", "median" or "winsorized" (rewards cut to the weighted
	// 5% and 95% quantiles).
	Aggregate string `yaml:"aggregate" default:"mean" oneof:"mean median winsorized"`
	// Std divides A by the group's standard deviation plus 1e-6.
	Std bool `yaml:"std"`

	groups groups
	weight []float64
	order  []int
}

// Estimate fills b.Advantage from Reward, ScoreNorm, LogpOld and LogpRoll.
func (e *OPOB) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.ScoreNorm); err != nil {
		return err
	}
	if e.Weighted {
		if err := b.Require(batch.LogpOld, batch.LogpRoll); err != nil {
			return err
		}
	}
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, rows []int) {
		baseline := e.baseline(b, reward, rows)
		scale := 1.0
		if e.Std {
			scale = deviation(reward) + 1e-6
		}
		for i, r := range reward {
			score[i] = (r - baseline) / scale
		}
	})
}

// baseline is b of the group of these responses.
func (e *OPOB) baseline(b *batch.Batch, reward []float64, rows []int) float64 {
	if len(reward) == 1 {
		return 0
	}
	e.weight = batch.Zeroed(e.weight, len(reward))
	total := 0.0
	for i, row := range rows {
		w := b.ScoreNorm[row] * b.ScoreNorm[row]
		sum, length := 0.0, 0.0
		for n := range b.Where(row, b.Mask) {
			length++
			if e.Weighted {
				sum += b.Old.Logp[n] - b.LogpRoll[n]
			}
		}
		ratio := min(elementary.Exp(sum), e.Cap)
		w *= ratio * ratio
		if e.LengthNorm {
			w /= max(length, 1) * max(length, 1)
		}
		e.weight[i] = w
		total += w
	}
	if constant(reward) {
		return reward[0]
	}
	low, high := math.Inf(-1), math.Inf(1)
	switch e.Aggregate {
	case "median":
		return e.quantile(reward, 0.5*total)
	case "winsorized":
		low, high = e.quantile(reward, 0.05*total), e.quantile(reward, 0.95*total)
	}
	sum := 0.0
	for i, r := range reward {
		sum += float64(min(max(r, low), high) * e.weight[i])
	}
	if total == 0 { // no response weighs anything, and eps may be 0
		return 0
	}
	return sum / (total + e.Eps)
}

// quantile is the smallest reward up to which the weights add up to cut; 0 if
// all weights are.
func (e *OPOB) quantile(reward []float64, cut float64) float64 {
	if cut == 0 {
		return 0
	}
	e.order = e.order[:0]
	for i := range reward {
		e.order = append(e.order, i)
	}
	slices.SortStableFunc(e.order, func(i, j int) int { return cmp.Compare(reward[i], reward[j]) })
	sum := 0.0
	for _, i := range e.order {
		sum += e.weight[i]
		if sum >= cut {
			return reward[i]
		}
	}
	return reward[e.order[len(e.order)-1]]
}
