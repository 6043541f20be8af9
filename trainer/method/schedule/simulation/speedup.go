package simulation

import (
	"sync"

	"driftlab/trainer/method/schedule"
)

// Report is a policy on a cluster compared with the synchronous loop on the same devices,
// with the same prompts, lengths and costs.
type Report struct {
	Policy string `json:"policy"`
	Figures
	// Speedup is the same run under the definitions of different papers.
	Speedup Speedup `json:"speedup"`
	// Synchronous are the figures of the loop it is compared with.
	Synchronous Figures `json:"synchronous"`

	Run *Run `json:"-"`
}

// Speedup is by what a policy is faster than the synchronous loop, in the words of
// several papers. What a definition cannot say is 0.
type Speedup struct {
	// EqualTokens is trained response tokens per second, on the same devices; all
	// passes, prefills, loads and thrown-away tokens are paid. The definition to use.
	EqualTokens float64 `json:"equal_trained_tokens"`
	// AReaL is hours for as many updates, against its own synchronous run: the same
	// division of the devices.
	AReaL float64 `json:"areal_hours_own_sync"`
	// Verl is hours for as many samples, against devices that do both.
	Verl float64 `json:"verl_hours"`
	// DoraStep is the time per step, DoraTokens prompt and response tokens per
	// second, DoraRollout the part of a step in which the learner waits for rollouts.
	DoraStep    float64 `json:"dora_step"`
	DoraTokens  float64 `json:"dora_tokens"`
	DoraRollout float64 `json:"dora_rollout_phase"`
	// Throughput is tokens per second at this point of the grid; Laminar,
	// AsyncFlow, StreamRL and ROLL report the best of theirs.
	Throughput float64 `json:"throughput_laminar_roll"`
	// RolloutOnly is decoded tokens per second of rollout: Seer, APRIL.
	RolloutOnly float64 `json:"rollout_only_seer_april"`
	// OverlapBound is what overlapping alone could gain: (T_g + T_t)/max(T_g, T_t)
	// of the synchronous step, at most 2. What is above it comes from the tail.
	OverlapBound float64 `json:"overlap_bound"`
}

// Incomparable says which published speed-ups have no counterpart here.
const Incomparable = "LlamaRL (10.7x) and DistFlow are against another code base, Periodic Asynchrony's threefold includes other optimisations: neither can be computed from one cost table."

// Compare runs a policy, the synchronous loop on all devices, and that on the
// policy's own division of them.
func Compare(c Cluster, name string, policy schedule.Policy, law Law, seed uint64) (Report, error) {
	r := Report{Policy: name}
	if err := c.Validate(); err != nil {
		return r, err
	}
	law.Refuse = c.Refuse
	var runs [3]*Run
	var errs [3]error
	var wait sync.WaitGroup
	for i, arm := range []struct {
		config schedule.Config
		policy schedule.Policy
	}{{c.For(policy), policy}, {c.Together(), &schedule.Sync{}}, {c.For(policy), &schedule.Sync{}}} {
		wait.Go(func() { runs[i], errs[i] = Simulate(arm.config, arm.policy, law, seed) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return r, err
		}
	}
	own := FiguresOf(runs[2])
	r.Run, r.Figures, r.Synchronous = runs[0], FiguresOf(runs[0]), FiguresOf(runs[1])
	r.Speedup = speedup(runs[0], runs[1], r.Figures, r.Synchronous, own)
	return r, nil
}

// speedup compares a run with the synchronous one and with its own.
func speedup(run, sync *Run, f, base, own Figures) Speedup {
	samples := func(r *Run, f Figures) float64 { return ratio(f.Seconds, float64(r.Counts.Trained)) }
	gen := base.RolloutSeconds
	train := base.Seconds - gen
	return Speedup{
		EqualTokens: ratio(f.Throughput, base.Throughput),
		AReaL:       ratio(own.StepSeconds, f.StepSeconds),
		Verl:        ratio(samples(sync, base), samples(run, f)),
		DoraStep:    ratio(base.StepSeconds, f.StepSeconds),
		DoraTokens:  ratio(f.Tokens, base.Tokens),
		DoraRollout: ratio(base.StepSeconds*base.IdleTrainer, f.StepSeconds*f.IdleTrainer),
		Throughput:  ratio(f.Tokens, base.Tokens),
		RolloutOnly: ratio(
			ratio(float64(run.Counts.DecodedTokens), f.RolloutSeconds),
			ratio(float64(sync.Counts.DecodedTokens), base.RolloutSeconds)),
		OverlapBound: ratio(gen+train, max(gen, train)),
	}
}
