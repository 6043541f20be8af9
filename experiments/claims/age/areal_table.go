package age

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
)

var (
	arealEtas  = []int{0, 4, 16}
	arealRates = []string{"3e-4", "6e-4"}
)

// arealArms are the objectives of the table.
var arealArms = []struct {
	name string
	set  []string
}{
	{"naive", []string{"correction.mode=bypass"}},
	{"decoupled", []string{"loss=decoupled_ppo"}},
}

func arealTable() claim.Claim {
	return claim.Claim{
		ID:        "areal-table",
		Title:     "On the chain task under AReaL's schedule with eta 4 and 16, decoupled PPO reaches a higher pass rate than a clip against the rollout policy (learning rates 3e-4 and 6e-4)",
		Statement: "Trained by AReaL's schedule with an allowance of 4 to 16, the decoupled objective keeps a higher pass rate than PPO whose clip is against the policy that sampled.",
		Source:    "AReaL, 2505.24298, table of the staleness ablation.",
		Figure:    "AIME24 at eta 0: 42.0; eta 4: naive 23.3, decoupled 42.2; eta 8: 35.7, 41.0; eta 16: 35.8, 38.7; without a bound 34.0, 36.9",
		Threshold: "Pass rate, decoupled minus naive, mean over eta 4 and 16 and two learning rates: above 0, sign-flip p < 0.05.",
		Setup: "GRPO on chain-base, equal engines, AReaL's schedule on a virtual clock of three workers and a learner, 80 batches of eight prompts with four updates each, so that an allowance of 4 is 16 updates; naive is PPO's clip against the recorded log-probs, " +
			"decoupled is AReaL's loss with the weight cut at 5; learning rates 3e-4 and 6e-4. " + claim.PassRateNote +
			"The same number of samples and updates in every arm. An earlier version made one update of a batch, at 7e-4 and 1e-3: decoupled PPO's own clip was idle, which is not the source's setting, and naive PPO was ahead by 0.16.",
		LeftOut: "Eta of 1 and 8 and without a bound, which the claim areal-bounds has. AReaL's rule bounds a count, and so the mean lag, not the lag of one sample: violations are of the count.",
		Differs: &claim.Difference{Published: 0.109, Level: claim.Natural, Check: "pass rate, decoupled minus naive, eta 4 and 16",
			Why: "The paper's figure is the mean of 18.9 points at eta 4 and 2.9 at eta 16 on AIME24. Decoupled PPO clips against the weights at the start of a batch and lets go of those that sampled; its weights, cut at 5, move further per update. " +
				"Suspected is that at rates which are high for so small a model the clip against the sampler, which stops what has moved far, protects from collapse, and that decoupled PPO has nothing in its place.",
			Experiment: "What would tell is how many updates a batch makes, and with it how often each clip acts: one and sixteen in place of four, at eta 16; and the anchor of the decoupled clip, the weights at the start of the batch or their moving average. It has not been measured."},
		Commands: []string{`simulate train headline --set steps=80 --set learner.minibatches=4 --set "schedule={name: areal, eta: 16}" --set loss=decoupled_ppo --set learner.optimizer.lr=6e-4`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run,
		Version:  2,
		Measure:  measureAReaL,
		Judge:    judgeAReaL,
	}
}

func measureAReaL(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(80, 20, 6)
	var lag []float64
	for _, eta := range arealEtas {
		for _, rate := range arealRates {
			for _, a := range arealArms {
				name := arealName(a.name, eta)
				if eta == 0 && a.name != arealArms[0].name {
					// At no lag both weigh every token by 1 and clip alike.
					continue
				}
				set := append([]string{fmt.Sprintf("schedule={name: areal, eta: %d}", eta), "learner.minibatches=4", claim.SetLR(rate)}, a.set...)
				if err := e.PassRates(ctx, o, claim.AtLR(name, rate), steps, []string{"staleness/tokens/mean"}, set...); err != nil {
					return nil, err
				}
			}
		}
		lag = append(lag, claim.Late(o.List(claim.ArmColumn(claim.AtLR(arealName("naive", eta), arealRates[0]), "staleness/tokens/mean"))))
		beyond, err := beyondTheCount(e, eta)
		if err != nil {
			return nil, err
		}
		o.Set(fmt.Sprintf("beyond the count, eta %d", eta), beyond)
	}
	o.Set("lag", lag...)
	return o, nil
}

func arealName(arm string, eta int) string {
	if eta == 0 {
		return "eta 0"
	}
	return fmt.Sprintf("%s, eta %d", arm, eta)
}

// audited is AReaL's rule, with the number of times that the count was beyond it.
type audited struct {
	schedule.AReaL
	beyond int
}

// Admit looks at the count before it asks the rule.
func (a *audited) Admit(v schedule.View) int {
	if v.Accepted+v.Running > (a.Eta+v.Version+1)*v.Batch {
		a.beyond++
	}
	return a.AReaL.Admit(v)
}

// beyondTheCount runs the rule on the clock with this replication's lengths.
func beyondTheCount(e *claim.Env, eta int) (float64, error) {
	law, err := reasoning(990)
	if err != nil {
		return 0, err
	}
	p := &audited{AReaL: schedule.AReaL{Eta: eta}}
	_, err = simulated(e, clusterOf(e, settings[1]).Apart(), p, law)
	return float64(p.beyond), err
}

func judgeAReaL(j *claim.Judge) {
	j.PrimaryOver(arealRates, func(rates []string) claim.Check {
		mean := func(arm string) []float64 {
			return averaged(j.Late(rates, arealName(arm, 4)), j.Late(rates, arealName(arm, 16)))
		}
		return claim.Better(claim.Natural, "pass rate, decoupled minus naive, eta 4 and 16", stats.Differences(mean("decoupled"), mean("naive")))
	})
	for _, rate := range arealRates {
		for _, eta := range arealEtas[1:] {
			one := func(arm string) []float64 { return j.Late([]string{rate}, arealName(arm, eta)) }
			j.Secondary(claim.Report(claim.Natural, fmt.Sprintf("pass rate, decoupled minus naive, eta %d, lr %s", eta, rate), stats.Differences(one("decoupled"), one("naive"))))
		}
	}
	for _, a := range arealArms {
		var x []float64
		var y [][]float64
		for _, eta := range arealEtas {
			x = append(x, elementary.Log(float64(1+eta))/elementary.Log(2))
			y = append(y, j.Late(arealRates, arealName(a.name, eta)))
		}
		j.Secondary(claim.Report(claim.Natural, "slope of the pass rate on log2(1 + eta), "+a.name, slopes(x, y)))
	}
	for _, eta := range arealEtas {
		j.Secondary(claim.Zero(claim.Exact, fmt.Sprintf("admissions beyond the count, eta %d", eta), j.Column(fmt.Sprintf("beyond the count, eta %d", eta))))
	}
	for k, eta := range arealEtas {
		j.Secondary(claim.Report(claim.Natural, fmt.Sprintf("mean lag of the tokens, eta %d", eta), j.Entry("lag", k)))
	}
	j.PassRateBars("Pass rate after training on stale rollouts", arealRates, []string{"eta 0", "naive, eta 4", "decoupled, eta 4", "naive, eta 16", "decoupled, eta 16"})
}
