package age

import (
	"context"
	"fmt"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// shares are the generation's shares of a synchronous step of the precise stack,
// loading of weights aside.
var shares = []float64{0.1, 0.3, 0.5, 0.7, 0.9}

// medians are the median lengths.
var medians = []int{1470, 256, 32}

// stacks are what is compared with the precise one, whose learner trusts the
// sampler's log-probs.
var stacks = []struct {
	name string
	// speed is how much faster it decodes, in hundredths; scored says that the
	// correction needs a scoring pass of the learner; load is what quantising and
	// loading the weights take, in hundredths of loading alone.
	speed  int
	scored bool
	load   int
}{
	{"fp8 at 1.4x, TIS", 140, true, 200},
	{"fp8 at 1.4x, uncorrected", 140, false, 200},
	{"fp8 at 1.15x, TIS", 115, true, 200},
	{"bit-equal at 1/1.34", 75, false, 100},
}

func speedupHonesty() claim.Claim {
	return claim.Claim{
		ID:        "speedup-honesty",
		Title:     "By the costs of the virtual clock, fp8 rollouts at 1.4 times the speed with TIS save time only above a break-even share of generation",
		Statement: "A rollout that decodes 1.4 times as fast and is corrected by TIS gains time per update only above a break-even share of generation, which lies between 0.3 and 0.9.",
		Source:    "FP8-RL, 2601.18150; verl's fp8 page; TBIK; SGLang's deterministic mode.",
		Figure:    "fp8 rollouts +10 % to +20 % (8B, linear layers), +30 % to +50 % (30B), 44 % with an fp8 KV cache; exactness costs 22 % to 63 % (TBIK), 34 % (SGLang)",
		Threshold: "The share of generation at which time per update, fp8 with TIS, equals that of the precise stack: interval inside [0.3, 0.9].",
		Setup: "Synchronous updates of 64 prompts with eight responses on 32 devices of the virtual clock, twelve updates per replication; lengths lognormal with sigma 0.99, median 1470. The learner's cost per token gives generation 0.1 to 0.9 of the precise stack's step; " +
			"between these shares the logarithm of the gain is interpolated. TIS pays one scoring pass, a third of the training; quantising the weights doubles the time of loading them (inferred). " +
			"Reported: without correction, at 1.15 times, a bit-equal rollout at 1/1.34, medians of 256 and 32 tokens; and the slack, how many more updates a quantised run may need before its gain is gone. " +
			"Speeds come from the published range and were written down before a run. This is arithmetic on declared costs: the draws vary the lengths of responses and replicate no measurement of a stack.",
		LeftOut:  "How many more updates a quantised run needs to a target reward: training measures that; the slack says what it may cost.",
		Commands: []string{"simulate schedule sync costs.decode_step=1714 costs.decode_slot=1071 --gpus 32"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureHonesty,
		Judge:    judgeHonesty,
	}
}

// unscored is the synchronous loop of a learner that trusts the sampler's log-probs.
type unscored struct{ schedule.Sync }

// Traits are those of Sync with the sampler's log-probs as the old ones: no pass.
func (u *unscored) Traits() schedule.Traits {
	t := u.Sync.Traits()
	t.Old = schedule.Rollout
	return t
}

func measureHonesty(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	law, err := reasoning(990)
	if err != nil {
		return nil, err
	}
	for _, median := range medians {
		law.Median = median
		gains := make([][]float64, len(stacks))
		for _, share := range shares {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			c := clusterOf(e, settings[1])
			c.Steps = e.Pick(12, 8, 4)
			if c.Costs.LearnToken, err = learnCost(e, c, law, share); err != nil {
				return nil, err
			}
			base, err := simulated(e, c.Together(), &unscored{}, law)
			if err != nil {
				return nil, err
			}
			for k, s := range stacks {
				costs := c
				costs.Costs.DecodeStep = c.Costs.DecodeStep * 100 / s.speed
				costs.Costs.DecodeSlot = c.Costs.DecodeSlot * 100 / s.speed
				costs.Costs.Sync = c.Costs.Sync * s.load / 100
				var p schedule.Policy = &unscored{}
				if s.scored {
					p = &schedule.Sync{}
				}
				run, err := simulated(e, costs.Together(), p, law)
				if err != nil {
					return nil, err
				}
				gains[k] = append(gains[k], float64(base.Makespan)/float64(run.Makespan))
			}
		}
		for k, s := range stacks {
			o.Set(gainOf(s.name, median), gains[k]...)
		}
	}
	return o, nil
}

func gainOf(stack string, median int) string { return fmt.Sprintf("%s, median %d", stack, median) }

// learnCost is the learner's cost per token at which generation takes that share
// of a step of the precise stack.
func learnCost(e *claim.Env, c simulation.Cluster, law simulation.Law, share float64) (int, error) {
	run, err := simulated(e, c.Together(), &unscored{}, law)
	if err != nil {
		return 0, err
	}
	training := 0
	for _, s := range run.Log {
		if s.Activity == schedule.Training {
			training += s.To - s.From
		}
	}
	generation := simulation.FiguresOf(run).RolloutSeconds * 1e6
	return int(math.Round(float64(c.Costs.LearnToken) * generation * (1 - share) / share / float64(training))), nil
}

// breakEven is the share at which the logarithm of the gain crosses zero from
// below; NaN where it does not.
func breakEven(gain []float64) float64 {
	log := stats.Logs(gain)
	for k := 1; k < len(log); k++ {
		if log[k-1] <= 0 && log[k] > 0 {
			part := -log[k-1] / (log[k] - log[k-1])
			return shares[k-1] + float64(part*(shares[k]-shares[k-1]))
		}
	}
	return math.NaN()
}

func judgeHonesty(j *claim.Judge) {
	for _, median := range medians {
		for k, s := range stacks {
			name := gainOf(s.name, median)
			if s.scored {
				even := j.Each(func(o *claim.Observation) float64 { return breakEven(o.List(name)) })
				if k == 0 && median == medians[0] {
					j.Primary(claim.Arithmetic(claim.Within(claim.Exact, "break-even share of generation, "+name, even, 0.3, 0.9)))
				} else {
					j.Secondary(claim.Report(claim.Natural, "break-even share of generation, "+name, even))
				}
			}
			j.Secondary(claim.Report(claim.Natural, "gain at a share of 0.9, "+name, j.Entry(name, 4)))
			j.Secondary(claim.Report(claim.Natural, "gain at a share of 0.3, "+name, j.Entry(name, 1)))
		}
	}
	slack := elementary.Exp(stats.Average(stats.Logs(j.Entry(gainOf(stacks[0].name, medians[0]), 4)))) - 1
	j.Note("Where generation takes 0.9 of a step, a run with %s may need %.0f %% more updates than the precise one before its gain is gone.", stacks[0].name, 100*slack)
	c := claim.Chart("Time per update of the precise stack over that of others", "share of generation in a step", "gain", "Below 1 the correction costs more than the format saves. Virtual clock, synchronous, median length 1470.", false)
	var columns []string
	for _, s := range stacks {
		c.Series = append(c.Series, j.Arm(s.name, shares, gainOf(s.name, medians[0])))
	}
	for _, median := range medians {
		columns = append(columns, gainOf(stacks[0].name, median))
	}
	j.Evidence.Picture = c
	j.Evidence.Table = j.CurvesTable("Gain by the share of generation and the median length", "share", shares, columns...)
}
