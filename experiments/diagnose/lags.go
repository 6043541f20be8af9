package diagnose

import (
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
)

// dose is how the size goes with the lag, where several are recorded.
func (s *deviations) dose() (slope, rank *float64) {
	var m moments
	lags := map[int]bool{}
	var lag, size []float64
	for n, k := range s.rows {
		if k.lag >= 0 && s.median[n] > 0 {
			lags[k.lag] = true
			lag, size = append(lag, float64(k.lag)), append(size, s.median[n])
			m.add(elementary.Log(float64(1+k.lag)), elementary.Log(s.median[n]))
		}
	}
	xx, _, xy := m.centred()
	if len(lags) < leastLags || m.n < leastTagged || xx == 0 {
		return nil, nil
	}
	return new(xy / xx), new(spearman(lag, size))
}

// spearman is the correlation of ranks.
func spearman(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	var m moments
	for i := range a {
		m.add(a[i], b[i])
	}
	return m.pearson()
}

// ranks are the places in order, their mean where values are equal.
func ranks(x []float64) []float64 {
	sorted := slices.Sorted(slices.Values(x))
	r := make([]float64, len(x))
	for i, v := range x {
		from, _ := slices.BinarySearch(sorted, v)
		to := from
		for to < len(sorted) && sorted[to] == v {
			to++
		}
		r[i] = float64(from+to-1) / 2
	}
	return r
}

// lagOf is how many updates the oldest token of a response is behind the step that trained on it, -1 if unknown.
// A step's number is one more than the updates before it.
func lagOf(r *reader.Row) int {
	if r.Head == reader.Unknown || r.Step == reader.Unknown || r.Head < 0 {
		return -1
	}
	return max(0, r.Step-1-r.Head)
}

// meanLag is that of the responses, nil unless every one is tagged.
func meanLag(rows []*kept) *float64 {
	sum := 0.0
	for _, k := range rows {
		if k.lag < 0 {
			return nil
		}
		sum += float64(k.lag)
	}
	return new(sum / float64(len(rows)))
}
