package tables

import (
	"context"
	"math"
	"strings"
	"testing"

	"driftlab/experiments/measure"
	"driftlab/precision/must"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// TestRemovedInterval is wide where one response carries the gap, and has no
// width where all are alike.
func TestRemovedInterval(t *testing.T) {
	alike := &measure.PairGap{}
	for range 50 {
		alike.Responses = append(alike.Responses, metrics.ResponseGap{Tokens: 10, K3: 4, Largest: 1})
		alike.ReplayedResponses = append(alike.ReplayedResponses, metrics.ResponseGap{Tokens: 10, K3: 1, Largest: 1})
	}
	if i := removedInterval(alike); i.Low != 0.75 || i.High != 0.75 || i.Estimate != 0.75 || i.N != 50 {
		t.Errorf("alike: %+v", i)
	}
	if i := k3Interval(alike); i.Low != 0.4 || i.High != 0.4 {
		t.Errorf("alike: %+v", i)
	}
	if x := largestToken(alike); x != 1.0/200 {
		t.Errorf("alike: largest token %g", x)
	}
	one := &measure.PairGap{Responses: append([]metrics.ResponseGap{{Tokens: 10, K3: 1000, Largest: 990}}, alike.Responses...),
		ReplayedResponses: append([]metrics.ResponseGap{{Tokens: 10}}, alike.ReplayedResponses...)}
	// Without that response, which 1 of e resamples lacks, the share is 0.75.
	if i := removedInterval(one); i.Low != 0.75 || i.High < 0.97 || math.Abs(i.Estimate-(1-50.0/1200)) > 1e-12 {
		t.Errorf("one: %+v", i)
	}
	if x := largestToken(one); math.Abs(x-990.0/1200) > 1e-12 {
		t.Errorf("one: largest token %g", x)
	}
	if i := removedInterval(&measure.PairGap{Responses: make([]metrics.ResponseGap, 3), ReplayedResponses: make([]metrics.ResponseGap, 3)}); i.Low != 0 || i.High != 0 {
		t.Errorf("no gap: %+v", i)
	}
}

// TestGapTables names the setting in the titles, and gives intervals of what was
// measured.
func TestGapTables(t *testing.T) {
	r := must.Get(recipe.Load("default", "rollout.prompts=4", "rollout.group=4", "rollout.max_tokens=24"))(t)
	m := must.Get(measure.Gaps(context.Background(), measure.GapRequest{Recipe: r, Pairs: measure.UsualPairs()[:4]}))(t)
	for _, table := range []string{GapTable(m).Markdown(), RouteTable(m).Markdown()} {
		if !strings.Contains(table, "4 prompts × 4 responses of at most 24 tokens") || !strings.Contains(table, "95 %") {
			t.Errorf("table:\n%s", table)
		}
	}
	for _, p := range m.Pairs {
		i := k3Interval(&p)
		if math.Abs(i.Estimate-p.Gap.K3) > 1e-9*p.Gap.K3 || i.N != 16 || i.Low > i.Estimate || i.High < i.Estimate {
			t.Errorf("%s: %+v of %g", p.Rollout, i, p.Gap.K3)
		}
		if left := removedInterval(&p).Estimate; p.Gap.K3 > 0 && math.Abs(left-(1-p.Replayed.K3/p.Gap.K3)) > 1e-9 {
			t.Errorf("%s: %g removed, replay leaves %g of %g", p.Rollout, left, p.Replayed.K3, p.Gap.K3)
		}
	}
}
