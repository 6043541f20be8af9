package simulation

import (
	"slices"

	"driftlab/trainer/method/schedule"
)

// Figures are what a Run is judged by. Idle ratios are shares of the makespan.
type Figures struct {
	// Seconds is the makespan, StepSeconds the part of it per update; a tick is a
	// microsecond.
	Seconds     float64 `json:"makespan_s"`
	StepSeconds float64 `json:"step_s"`
	// Throughput is the trained response tokens per second, Tokens that with their
	// prompts.
	Throughput float64 `json:"throughput_tokens_per_s"`
	Tokens     float64 `json:"throughput_with_prompts_per_s"`
	schedule.Use
	// RolloutSeconds is the time in which any worker generates.
	RolloutSeconds float64 `json:"rollout_s"`
	// Waste is the share of decoded tokens that are never trained; Thrown is that
	// of the ones that were thrown away, the others were on their way at the end.
	Waste  float64 `json:"waste"`
	Thrown float64 `json:"thrown_away"`
	// Reprefilled is the prefilled tokens of prefixes that had been in a cache before.
	Reprefilled int `json:"reprefilled_tokens"`
	// LagMean, LagMax and LagHistogram are of trained samples, in versions.
	LagMean      float64 `json:"lag_mean"`
	LagMax       int     `json:"lag_max"`
	LagHistogram []int   `json:"lag_histogram"`
	// TokenLagMean is the mean over trained tokens.
	TokenLagMean float64 `json:"token_lag_mean"`
	// LengthRatio is the mean length of trained responses by that of all begun: a
	// filter by staleness is a filter by length. prime_rl with max_off_policy 1, 2, 4 and 8 trains on
	// 0.42, 0.50, 0.63 and 0.79 of the sampled mean length (64 devices, law reasoning, 20 updates, one seed).
	LengthRatio float64 `json:"trained_by_sampled_length"`
	// Mixed is the share of trained responses with tokens of several versions.
	Mixed float64 `json:"mixed_responses"`
	// Copies is the most copies of the weights that were kept at once in addition to the
	// learner's and one in each worker.
	Copies int `json:"weight_copies"`
	// Dropped and Requeued are samples.
	Dropped  int `json:"dropped_samples"`
	Requeued int `json:"requeued_samples"`
}

// FiguresOf judges a run.
func FiguresOf(r *Run) Figures {
	n := r.Counts
	whole := float64(r.Makespan)
	f := Figures{
		Use: r.Use, Seconds: whole / 1e6, StepSeconds: ratio(whole/1e6, float64(len(r.Updates))),
		Throughput: ratio(float64(n.TrainedTokens), whole/1e6), Tokens: ratio(float64(n.TrainedTokens+n.PromptTokens), whole/1e6),
		Waste: ratio(float64(n.DecodedTokens-n.TrainedTokens), float64(n.DecodedTokens)), Thrown: ratio(float64(n.WastedTokens), float64(n.DecodedTokens)),
		Reprefilled: n.ReprefilledTokens, LagMax: max(len(n.Lags)-1, 0), LagHistogram: n.Lags,
		LagMean: mean(n.Lags), TokenLagMean: mean(n.TokenLags),
		LengthRatio: ratio(ratio(float64(n.TrainedTokens), float64(n.Responses)), ratio(float64(r.StartedTokens), float64(r.Started))),
		Mixed:       ratio(float64(n.Mixed), float64(n.Responses)), Copies: n.Copies, Dropped: n.Dropped, Requeued: n.Requeued,
	}
	f.RolloutSeconds = float64(covered(r.Log, r.Makespan)) / 1e6
	return f
}

// covered is the time up to an end in which at least one worker generates.
func covered(log []schedule.Span, end int) int {
	spans := slices.DeleteFunc(slices.Clone(log), func(s schedule.Span) bool { return s.Lane == schedule.Learner || s.Activity != schedule.Generating })
	slices.SortFunc(spans, func(a, b schedule.Span) int { return a.From - b.From })
	total, until := 0, 0
	for _, s := range spans {
		if to := min(s.To, end); to > until {
			total += to - max(s.From, until)
			until = to
		}
	}
	return total
}

// mean is that of a histogram.
func mean(histogram []int) float64 {
	sum, n := 0, 0
	for value, count := range histogram {
		sum += value * count
		n += count
	}
	return ratio(float64(sum), float64(n))
}

// ratio is a/b, 0 if there is nothing to divide by.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
