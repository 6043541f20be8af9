package tables

import (
	"fmt"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method/metrics"
)

const intervalNote = "interval of the bootstrap over responses."

func sampleText(m *measure.Measurement) string {
	return fmt.Sprintf("%d prompts × %d responses of at most %d tokens", m.Prompts, m.Group, m.MaxTokens)
}

// sumK3 adds up what the responses of a resample have.
func sumK3(list []metrics.ResponseGap, responses []int) (k3 float64, tokens int) {
	for _, i := range responses {
		k3, tokens = k3+list[i].K3, tokens+list[i].Tokens
	}
	return k3, tokens
}

// k3Interval is the interval of the mean k3 over tokens.
func k3Interval(p *measure.PairGap) stats.Interval {
	return stats.Bootstrap(len(p.Responses), func(responses []int) float64 {
		k3, tokens := sumK3(p.Responses, responses)
		return k3 / float64(max(tokens, 1))
	})
}

// removedInterval is the interval of the share of k3 that replay removes; a resample
// without a gap has nothing to remove.
func removedInterval(p *measure.PairGap) stats.Interval {
	return stats.Bootstrap(len(p.Responses), func(responses []int) float64 {
		free, _ := sumK3(p.Responses, responses)
		left, _ := sumK3(p.ReplayedResponses, responses)
		if free == 0 {
			return 0
		}
		return 1 - left/free
	})
}

// largestToken is the share of k3 that one token has.
func largestToken(p *measure.PairGap) float64 {
	sum, largest := 0.0, 0.0
	for _, r := range p.Responses {
		sum, largest = sum+r.K3, max(largest, r.Largest)
	}
	return largest / sum
}

// GapInterval says how sure the figures of a pair are.
type GapInterval struct {
	// Rollout and Learner name the pair, Tokens is how many were scored.
	Rollout string `json:"rollout"`
	Learner string `json:"learner"`
	Tokens  int    `json:"tokens"`
	// K3 is the mean over tokens with its 95 % interval over responses.
	K3 stats.Interval `json:"k3"`
	// Removed is the share of k3 that replaying the routes removes, LargestToken
	// that of one token; nil for a dense model and where there is no gap.
	Removed      *stats.Interval `json:"removed_by_replay,omitempty"`
	LargestToken *float64        `json:"largest_token,omitempty"`
}

// GapIntervals are the intervals of a measurement's pairs, as its tables show them.
func GapIntervals(m *measure.Measurement) []GapInterval {
	list := make([]GapInterval, 0, len(m.Pairs))
	for _, p := range m.Pairs {
		i := GapInterval{Rollout: p.Rollout, Learner: p.Learner, Tokens: p.Gap.Tokens, K3: k3Interval(&p)}
		if p.Gap.HasRoutes && p.Replayed != nil && p.Gap.K3 > 0 {
			i.Removed, i.LargestToken = new(removedInterval(&p)), new(largestToken(&p))
		}
		list = append(list, i)
	}
	return list
}

func intervalCell(i stats.Interval, end func(float64) figure.Cell) figure.Cell {
	return figure.Word(end(i.Low).Text + " to " + end(i.High).Text)
}
