package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// enoughSeeds is how many seeds the published headline has, and a comparison asks for.
const enoughSeeds = 10

// Finding says the result in a few sentences, computed from the outcomes: first what
// happens without a correction, then with which corrections no seed degrades, then what
// so few seeds cannot show.
func (h *HeadlineResult) Finding() string { return strings.ReplaceAll(h.lead(), "**", "") }

// lead is Finding with the names in bold.
func (h *HeadlineResult) lead() string { return leadOf(h.Outcomes()) }

func leadOf(outcomes []ArmOutcome) string {
	var bare, degraded, within, rest []string
	criterion, seeds := "", 0
	for _, o := range outcomes {
		if o.Name == control {
			continue
		}
		setting, method := titleParts(o.Title)
		n, of := o.degradedOrCollapsed()
		seeds = max(seeds, of)
		count := fmt.Sprintf("%d of %s", n, figure.Count(of, "seed"))
		switch {
		case len(o.Final) == 0:
			rest = append(rest, "**"+o.Title+"** ("+o.verdict().Text+")")
			continue
		case method == "uncorrected":
			bare = append(bare, fmt.Sprintf("**%s** on **%s**", setting, count))
		case n > 0:
			degraded = append(degraded, fmt.Sprintf("**%s** (%s)", o.Title, count))
		case slices.ContainsFunc(o.Verdicts, func(f record.Verdict) bool { return f != record.NotCollapsed }):
			rest = append(rest, "**"+o.Title+"** ("+o.verdict().Text+")")
		default:
			within = append(within, "**"+o.Title+"**")
		}
		if criterion = fmt.Sprintf("degrades (ends more than %g below equal engines)", record.DegradationLoss); o.MinusEqual == nil {
			criterion = fmt.Sprintf("collapses (ends %.0f %% or more below its own peak)", 100*record.CollapseLoss)
		}
	}
	var parts []string
	for _, list := range []struct {
		head  string
		names []string
	}{
		{"Without a correction the pass rate " + criterion + ": ", bare}, {"With a correction, on no seed: ", within},
		{"With a correction, on at least one: ", degraded}, {"Other outcomes: ", rest},
	} {
		if len(list.names) > 0 {
			parts = append(parts, list.head+strings.Join(list.names, "; ")+".")
		}
	}
	if p := math.Ldexp(1, 1-seeds); p > 0.05 && seeds > 0 { // of 2^n signs, two are as far
		parts = append(parts, fmt.Sprintf("With %s a paired sign-flip permutation test cannot be significant at 5 %% (its smallest p-value is %.2g): at least six seeds are needed.", figure.Count(seeds, "seed"), p))
	}
	return strings.Join(parts, " ")
}

// NextSeeds is how many seeds to try next, 0 where there are enough.
func (h *HeadlineResult) NextSeeds() int {
	if len(h.Runs) > 0 && len(h.Runs[0]) < enoughSeeds {
		return enoughSeeds
	}
	return 0
}
