// Package memorytest holds methods against their Memory: what a method does must
// follow from its parameters, its state and the batch, and nothing else.
//
// What it is not: it knows no method. The tests of each group of methods say how theirs are used.
package memorytest

import (
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method"
)

// Check uses a fresh method on the batches 0 to n-1 in their order, and for each of
// them another fresh one that is given the first one's state before it and used on
// that batch alone: their results must be the same bits. So a method that remembers
// without being a Memory, or forgets part of its state, is an error; and so is a
// Memory that takes a state cut short. remembers says whether the past made a
// difference at all: if not, nothing was tested.
func Check[T any](n int, fresh func() T, use func(m T, k int) ([]float64, error)) (remembers bool, err error) {
	whole := fresh()
	for k := range n {
		resumed, naive := fresh(), fresh()
		if m, ok := any(whole).(method.Memory); ok {
			state := m.AppendState(nil)
			if err := any(resumed).(method.Memory).SetState(state); err != nil {
				return remembers, fmt.Errorf("its own state: %w", err)
			}
			if again := any(resumed).(method.Memory).AppendState(nil); !slices.Equal(again, state) {
				return remembers, fmt.Errorf("%d bytes of state became %d others", len(state), len(again))
			}
			if len(state) == 0 || any(fresh()).(method.Memory).SetState(state[:len(state)-1]) == nil {
				return remembers, fmt.Errorf("%d bytes of state, cut short, were accepted", len(state))
			}
		}
		want, err := use(whole, k)
		if err != nil {
			return remembers, err
		}
		want = slices.Clone(want)
		got, err := use(resumed, k)
		if err != nil {
			return remembers, err
		}
		if !same(want, got) {
			return remembers, fmt.Errorf("batch %d: resumed %v, without interruption %v", k, got, want)
		}
		if got, err = use(naive, k); err != nil || !same(want, got) {
			remembers = true
		}
	}
	return remembers, nil
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
