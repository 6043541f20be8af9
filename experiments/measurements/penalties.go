package measurements

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/results/stats"
)

// early is the place of the mean length over the first ten steps in what is recorded of a run under a penalty.
const early = 0

// matchedPenalty is the arm of a penalty, of those with its coefficients, that is nearest to nine tenths of the length without
// one at first, the last of equals; and its length over that.
func matchedPenalty(j *claim.Judge, penalty string) (arm string, ratio float64) {
	var arms, rates []string
	for _, name := range j.Runs[0].Names() {
		own, rate, ok := strings.Cut(name, " at lr ")
		if ok && strings.HasPrefix(own, penalty+" ") && !slices.Contains(arms, own) {
			arms = append(arms, own)
		}
		if ok && !slices.Contains(rates, rate) {
			rates = append(rates, rate)
		}
	}
	length := func(arm string) float64 { return stats.Average(penaltyEntry(j, rates, arm, early)) }
	free, nearest := length("none"), math.Inf(1)
	for _, own := range arms {
		bite := length(own) / free
		if d := math.Abs(bite - 0.9); d <= nearest {
			nearest, arm, ratio = d, own, bite
		}
	}
	return arm, ratio
}

// penaltyEntry is an entry of what is recorded of an arm, averaged over learning rates.
func penaltyEntry(j *claim.Judge, rates []string, arm string, k int) []float64 {
	return j.OverRates(rates, arm, func(o *claim.Observation, name string) float64 { return o.List(name)[k] })
}

// penaltyMatched is an entry, the second text, of the matched arm of a penalty, the first.
func penaltyMatched(j *claim.Judge, rates, texts []string) []float64 {
	arm, _ := matchedPenalty(j, texts[0])
	return penaltyEntry(j, rates, arm, claim.Must(strconv.Atoi(texts[1])))
}

func matchedPenaltyNote(j *claim.Judge, texts []string) string {
	arm, ratio := matchedPenalty(j, texts[0])
	return fmt.Sprintf("%s is judged at %s: %.2f of the length without penalty over the first 10 steps.", texts[0], arm, ratio)
}
