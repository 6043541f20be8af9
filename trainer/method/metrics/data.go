package metrics

import (
	"cmp"
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Limits are the length limits that clip ratios compare with; 0 means the
// longest of the batch, verl's padded width at best.
type Limits struct {
	// Response is the largest number of generated tokens a response may have. One
	// that is cut sooner, since what a tool wrote filled it, is not at the limit.
	Response int
	// Prompt is the largest number of prompt tokens.
	Prompt int
}

// data appends verl's compute_data_metrics: rewards, advantages, returns,
// values and lengths. Columns that are not recorded are left out. A response's
// score is Reward; its reward is the sum of TokenReward, which a KL penalty may
// have changed. Lengths count generated tokens; a response without any is
// aborted and has no score.
func data(dst []batch.Metric, b *batch.Batch, limit Limits) []batch.Metric {
	var score, reward, length, live masked.Running
	for i := range b.Len() {
		from, to := b.Span(i)
		n := float64(masked.Count(b.Mask[from:to]))
		length.Add(n)
		if n == 0 {
			continue
		}
		live.Add(n)
		if b.Reward != nil {
			score.Add(b.Reward[i])
		}
		if b.TokenReward != nil {
			sum := 0.0
			for _, r := range b.TokenReward[from:to] {
				sum += r
			}
			reward.Add(sum)
		}
	}
	if b.Reward != nil {
		dst = append3(dst, &score, "critic/score/mean", "critic/score/max", "critic/score/min")
	}
	if b.TokenReward != nil {
		dst = append3(dst, &reward, "critic/rewards/mean", "critic/rewards/max", "critic/rewards/min")
	}
	dst = appendColumn(dst, b.Advantage, b.Mask, "critic/advantages/mean", "critic/advantages/max", "critic/advantages/min")
	dst = appendColumn(dst, b.Return, b.Mask, "critic/returns/mean", "critic/returns/max", "critic/returns/min")
	dst = appendColumn(dst, b.Value, b.Mask, "critic/values/mean", "critic/values/max", "critic/values/min")
	if b.Value != nil && b.Return != nil {
		dst = append(dst, batch.Metric{Name: "critic/vf_explained_var", Value: explained(b)})
	}
	return lengths(dst, b, limit, &length, &live)
}

// append3 appends mean, maximum and minimum under three names.
func append3(dst []batch.Metric, r *masked.Running, mean, largest, smallest string) []batch.Metric {
	return append(dst, batch.Metric{Name: mean, Value: r.Mean},
		batch.Metric{Name: largest, Value: r.Largest}, batch.Metric{Name: smallest, Value: r.Smallest})
}

// appendColumn appends mean, maximum and minimum of a column over the mask.
func appendColumn(dst []batch.Metric, x []float64, mask []bool, mean, largest, smallest string) []batch.Metric {
	if x == nil {
		return dst
	}
	var r masked.Running
	for n := range masked.Kept(mask) {
		r.Add(x[n])
	}
	return append3(dst, &r, mean, largest, smallest)
}

// explained is 1 − Var(return − value)/(Var(return) + 1e-5), with unbiased
// variances, as verl has it.
func explained(b *batch.Batch) float64 {
	var residual, total masked.Running
	for n := range masked.Kept(b.Mask) {
		residual.Add(b.Return[n] - b.Value[n])
		total.Add(b.Return[n])
	}
	left, all := residual.Deviation(), total.Deviation()
	return 1 - left*left/(float64(all*all)+1e-5)
}

// lengths appends response and prompt lengths and the shares at their limits.
func lengths(dst []batch.Metric, b *batch.Batch, limit Limits, length, live *masked.Running) []batch.Metric {
	limit.Response = cmp.Or(limit.Response, int(length.Largest))
	atLimit, prompts := 0, masked.Running{}
	for i := range b.Len() {
		from, to := b.Span(i)
		if masked.Count(b.Mask[from:to]) == limit.Response {
			atLimit++
		}
	}
	rows := float64(max(b.Len(), 1))
	dst = append3(dst, length, "response_length/mean", "response_length/max", "response_length/min")
	dst = append(dst, batch.Metric{Name: "response_length/clip_ratio", Value: float64(atLimit) / rows})
	if live.N > 0 {
		dst = append3(dst, live, "response_length_non_aborted/mean", "response_length_non_aborted/max", "response_length_non_aborted/min")
		dst = append(dst, batch.Metric{Name: "response_length_non_aborted/clip_ratio", Value: float64(atLimit) / float64(live.N)})
	}
	dst = append(dst, batch.Metric{Name: "response/aborted_ratio", Value: (rows - float64(live.N)) / rows})
	if len(b.Token) == b.Tokens() {
		dst = append(dst, batch.Metric{Name: "response/repeated_runs", Value: Repeated(b, 0, math.MaxInt)})
	}
	if b.Prompt == nil {
		return dst
	}
	for _, p := range b.Prompt {
		prompts.Add(float64(len(p)))
	}
	limit.Prompt = cmp.Or(limit.Prompt, int(prompts.Largest))
	full := 0
	for _, p := range b.Prompt {
		if len(p) == limit.Prompt {
			full++
		}
	}
	dst = append3(dst, &prompts, "prompt_length/mean", "prompt_length/max", "prompt_length/min")
	return append(dst, batch.Metric{Name: "prompt_length/clip_ratio", Value: float64(full) / rows})
}
