package age

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// rateLaw is the bound on the learning rate under staleness of 2607.01083 with its constants as rates times updates:
// a batch's surrogate bias of O(S·η) and its sum over T updates each stay below what the run can stand.
type rateLaw struct {
	// Batch is R_batch/G, Critical is R_crit/G.
	Batch, Critical float64
}

// stable is the greatest stable learning rate at a staleness of S updates over T updates: min(Batch/S, Critical/T).
func (l rateLaw) stable(staleness, updates float64) float64 {
	return min(l.Batch/staleness, l.Critical/updates)
}

// horizon is the number of updates to collapse at a rate: Critical/η, whatever S, and at most S where Batch/S is exceeded.
func (l rateLaw) horizon(staleness, rate float64) float64 {
	h := l.Critical / rate
	if rate > l.Batch/staleness {
		h = min(h, staleness)
	}
	return h
}

// The arms of lag-rate-law: staleness in updates, 0 is on-policy and enters no slope, and rates a factor of 2 apart.
var (
	rateLags  = []int{0, 4, 16, 64}
	rateRates = []string{"2.5e-4", "5e-4", "1e-3", "2e-3", "4e-3"}
)

// rateUpdates is the length of a run, rateLooks how often its weights are evaluated.
const rateUpdates, rateLooks = 480, 20

// rateOf is the number of a rate of the grid.
func rateOf(rate string) float64 {
	x, err := strconv.ParseFloat(rate, 64)
	if err != nil {
		panic(err)
	}
	return x
}

func lagRateLaw() claim.Claim {
	return claim.Claim{
		ID:        "lag-rate-law",
		Title:     "On the chain task with a clipped surrogate, the greatest stable learning rate falls as the inverse of the staleness (4 to 64 updates, 480 updates)",
		Statement: "The slope of the logarithm of the greatest stable learning rate over that of the staleness is -1 within 0.3.",
		Source:    "2607.01083, its abstract and a digest of its text.",
		Figure:    "bias of the surrogate gradient O(S·η), η << min(R_batch/(S·G), R_crit/(T·G)); 1B and 3B models, S 8 to 32: the greatest stable rate goes as 1/S, and t·η at collapse is 3.2e-5 whatever S",
		Threshold: "Slope over staleness 4, 16 and 64, one per base model: interval inside [-1.3, -0.7]. The horizon binds in its place where that slope is inside [-0.3, 0.3] and the next below -0.7: " +
			"log2 of the greatest stable rate of 480 updates over that of the first 240 of the same runs. Also checked: slopes of the logarithm of the updates to collapse over those of rate, inside [-1.3, -0.7], and staleness, inside [-0.3, 0.3].",
		Setup: "PPO's clip of the ratio to the sampler's weights (bypass), on the chain task with programs of 2 to 5 operations, equal fp32 engines, 480 updates of one batch each; every rollout by the weights of S updates ago, S 0, 4, 16 or 64; rates 2.5e-4 to 4e-3 a factor of 2 apart: twenty runs per base model. " +
			"Base models are of two layers, warm-started for 900 steps, one per replication. Unstable is a run that ends 30 % below its own best of 20 evaluations of 128 held-out prompts; its collapse is the first evaluation from which it stays there. " +
			"The greatest stable rate is the geometric mean of the first unstable rate and that below it; a rate outside the grid counts as half a factor of 2 beyond its end. " +
			"Pilot runs of 120 updates, shipped weights, seed 9001, S 4 and 64: both stable at 1e-3, both collapsed at 4e-3 and 1.6e-2; the rates were placed by them.",
		LeftOut:  "A refresh of the sampler every S updates, whose lags are 0 to S-1; the cosine of consecutive gradients, which no run here records; M2PO and other objectives for which the law should fail.",
		Commands: []string{`simulate train headline --set steps=480 --set "schedule={name: lag, k: 64}" --set correction.mode=bypass --set learner.optimizer.lr=1e-3 --set "task.difficulty=[2, 5]"`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run,
		// One run of every arm for each of ten base models.
		Replications: claim.LeastReplications,
		Version:      1,
		Measure:      measureRateLaw,
		Judge:        judgeRateLaw,
	}
}

func rateArm(lag int, rate string) string { return claim.AtLR(fmt.Sprintf("staleness %d", lag), rate) }

func measureRateLaw(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	warm, err := e.Warm(ctx, "chain-base", fmt.Sprintf("pretrain.steps=%d", e.Pick(900, 300, 3)), "task.difficulty=[2,5]")
	if err != nil {
		return nil, err
	}
	o, steps := new(claim.Observation), e.Pick(rateUpdates, 120, 4)
	for _, lag := range rateLags {
		schedule := "schedule=sync"
		if lag > 0 {
			schedule = fmt.Sprintf("schedule={name: lag, k: %d}", lag)
		}
		for _, rate := range rateRates {
			c, err := e.Train(ctx, []string{"val/learner/pass_rate"}, steps, "checkpoint="+warm, "task.difficulty=[2,5]", fmt.Sprintf("steps=%d", steps),
				fmt.Sprintf("eval={every: %d, prompts: %d}", max(steps/rateLooks, 1), e.Pick(128, 64, 2)), schedule, "correction.mode=bypass", claim.SetLR(rate))
			if err != nil {
				return nil, err
			}
			rates := slices.Clone(c[0])
			for len(rates) < min(rateLooks+1, steps) { // a value that is not finite ended the run
				rates = append(rates, 0)
			}
			o.Set(rateArm(lag, rate), rates...)
		}
	}
	return o, nil
}

// collapse is the index of the evaluation from which a run stays below its own best, of the first n; -1 without one.
func collapse(rates []float64, n int) int {
	rates = rates[:min(n, len(rates))]
	peak, at := stats.Max(rates), len(rates)
	for at > 0 && record.HasCollapsed(peak, rates[at-1]) {
		at--
	}
	if at == len(rates) || at < slices.Index(rates, peak) {
		return -1
	}
	return at
}

// greatest is the logarithm of the greatest stable rate at a staleness, in the first n evaluations.
func greatest(o *claim.Observation, lag, n int) float64 {
	for _, rate := range rateRates {
		if collapse(o.List(rateArm(lag, rate)), n) >= 0 {
			return elementary.Log(rateOf(rate)) - math.Ln2/2
		}
	}
	return elementary.Log(rateOf(rateRates[len(rateRates)-1])) + math.Ln2/2
}

// rateSlope is that of the greatest stable rate over the staleness, both in logarithms.
func rateSlope(o *claim.Observation) float64 {
	var x, y []float64
	for _, lag := range rateLags[1:] {
		x, y = append(x, elementary.Log(float64(lag))), append(y, greatest(o, lag, rateLooks+1))
	}
	return stats.Slope(x, y)
}

// horizonSlopes are those of the updates to collapse over rate and staleness, all in logarithms, in the runs that
// collapse at a staleness above 0; ok is false where they do not determine both.
func horizonSlopes(o *claim.Observation) (rate, staleness float64, ok bool) {
	var t, rates, lags []float64
	for _, lag := range rateLags[1:] {
		for _, r := range rateRates {
			if at := collapse(o.List(rateArm(lag, r)), rateLooks+1); at >= 0 {
				t, rates, lags = append(t, elementary.Log(float64(at))), append(rates, elementary.Log(rateOf(r))), append(lags, elementary.Log(float64(lag)))
			}
		}
	}
	if len(t) < 4 || slices.Max(rates) == slices.Min(rates) || slices.Max(lags) == slices.Min(lags) {
		return 0, 0, false
	}
	ones := slices.Repeat([]float64{1}, len(t))
	beta, ok := stats.Solve([][]float64{ones, rates, lags}, t)
	if !ok {
		return 0, 0, false
	}
	return beta[1], beta[2], true
}

func judgeRateLaw(j *claim.Judge) {
	j.Primary(claim.Within(claim.Natural, "slope of the greatest stable rate over staleness", j.Each(rateSlope), -1.3, -0.7))
	doubled := func(o *claim.Observation) float64 {
		sum := 0.0
		for _, lag := range rateLags[1:] {
			sum += (greatest(o, lag, rateLooks+1) - greatest(o, lag, rateLooks/2+1)) / math.Ln2
		}
		return sum / float64(len(rateLags)-1)
	}
	j.Secondary(claim.Above(claim.Natural, "log2 of the greatest stable rate of all updates over that of the first half", j.Each(doubled), -0.3))
	var overRate, overStaleness []float64
	collapsed, runs := 0, 0
	for _, o := range j.Runs {
		if r, s, ok := horizonSlopes(o); ok {
			overRate, overStaleness = append(overRate, r), append(overStaleness, s)
		}
		for _, lag := range rateLags {
			for _, rate := range rateRates {
				runs++
				if collapse(o.List(rateArm(lag, rate)), rateLooks+1) >= 0 {
					collapsed++
				}
			}
		}
	}
	if len(overRate) > 1 {
		j.Secondary(claim.Within(claim.Natural, "slope of the updates to collapse over rate, staleness held", overRate, -1.3, -0.7))
		j.Secondary(claim.Within(claim.Natural, "slope of the updates to collapse over staleness, rate held", overStaleness, -0.3, 0.3))
	}
	j.Note("%d of %d runs collapse; the slopes of the updates to collapse are of %d of %d replications, in which enough runs do. Where fewer than a third collapse the grid is too low to answer.", collapsed, runs, len(overRate), len(j.Runs))
	ratePicture(j)
}

// ratePicture shows the greatest stable rate by staleness next to the law with its constants from this table, and how many runs collapse.
func ratePicture(j *claim.Judge) {
	t := &figure.Figure{Kind: figure.Table, Title: "Runs that collapse", Columns: []figure.Column{{Name: "staleness"}}}
	for _, rate := range rateRates {
		t.Columns = append(t.Columns, figure.Column{Name: "lr " + rate, Align: figure.Right})
	}
	t.Columns = append(t.Columns, figure.Column{Name: "greatest stable rate", Align: figure.Right}, figure.Column{Name: "law", Align: figure.Right})
	mean := func(lag int) float64 {
		sum := 0.0
		for _, o := range j.Runs {
			sum += greatest(o, lag, rateLooks+1) / float64(len(j.Runs))
		}
		return elementary.Exp(sum)
	}
	last := rateLags[len(rateLags)-1]
	law := rateLaw{Batch: mean(last) * float64(last), Critical: mean(rateLags[1]) * rateUpdates}
	var names []string
	for _, lag := range rateLags {
		names = append(names, fmt.Sprintf("staleness %d", lag))
		cells := []figure.Cell{figure.Word(fmt.Sprint(lag))}
		for _, rate := range rateRates {
			n := 0
			for _, o := range j.Runs {
				if collapse(o.List(rateArm(lag, rate)), rateLooks+1) >= 0 {
					n++
				}
			}
			cells = append(cells, figure.Word(fmt.Sprintf("%d of %d", n, len(j.Runs))))
		}
		predicted := figure.Word("")
		if lag > 0 {
			predicted = figure.Number(law.stable(float64(lag), rateUpdates), 2)
		}
		t.Add(append(cells, figure.Number(mean(lag), 2), predicted)...)
	}
	t.Note = fmt.Sprintf("Greatest stable rate: geometric mean over replications. Law: min(R_batch/(S·G), R_crit/(T·G)) with the constants that fit the first and last staleness, %.2g and %.2g.", law.Batch, law.Critical)
	j.Evidence.Table = t
	j.PassRateBars("Late pass rate by staleness", rateRates, names)
}
