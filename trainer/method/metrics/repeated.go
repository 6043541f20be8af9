package metrics

import (
	"math"
	"sync"

	"driftlab/trainer/method/batch"
)

// runLength is the number of tokens of a run that Repeated looks for.
const runLength = 4

// seenRuns is the memory of one response's runs.
var seenRuns = sync.Pool{New: func() any { return map[[runLength]int32]bool{} }}

// Repeated is the share of runs of four generated tokens, ending at the positions from
// to to of their response, that occurred before in it: 0 where there is no run. The
// first run of a response ends at position 4.
func Repeated(b *batch.Batch, from, to int) float64 {
	seen := seenRuns.Get().(map[[runLength]int32]bool)
	defer seenRuns.Put(seen)
	again, all := 0.0, 0.0
	for i := range b.Len() {
		clear(seen)
		first, end := b.Span(i)
		generated := 0 // tokens in a row
		for n := first; n < end; n++ {
			generated++
			if !b.Mask[n] {
				generated = 0
			}
			if generated < runLength {
				continue
			}
			run := [runLength]int32(b.Token[n+1-runLength:])
			if at := n + 1 - first; at > from && at <= to {
				all++
				if seen[run] {
					again++
				}
			}
			seen[run] = true
		}
	}
	return again / max(all, 1)
}

// repeated appends that share over whole responses.
func repeated(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	if len(b.Token) != b.Tokens() {
		return dst
	}
	return append(dst, batch.Metric{Name: "response/repeated_runs", Value: Repeated(b, 0, math.MaxInt)})
}
