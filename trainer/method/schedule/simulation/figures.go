package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/stream"
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
	// 0.42, 0.50, 0.63 and 0.79 of the sampled mean length (64 devices, length distribution reasoning, 20 updates, one seed).
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
	return Figures{
		Use: r.Use, Seconds: whole / 1e6, StepSeconds: ratio(whole/1e6, float64(len(r.Updates))),
		RolloutSeconds: float64(covered(r.Log, r.Makespan)) / 1e6,
		Throughput:     ratio(float64(n.TrainedTokens), whole/1e6), Tokens: ratio(float64(n.TrainedTokens+n.PromptTokens), whole/1e6),
		Waste: ratio(float64(n.DecodedTokens-n.TrainedTokens), float64(n.DecodedTokens)), Thrown: ratio(float64(n.WastedTokens), float64(n.DecodedTokens)),
		Reprefilled: n.ReprefilledTokens, LagMax: max(len(n.Lags)-1, 0), LagHistogram: n.Lags,
		LagMean: mean(n.Lags), TokenLagMean: mean(n.TokenLags),
		LengthRatio: ratio(ratio(float64(n.TrainedTokens), float64(n.Responses)), ratio(float64(r.StartedTokens), float64(r.Started))),
		Mixed:       ratio(float64(n.Mixed), float64(n.Responses)), Copies: n.Copies, Dropped: n.Dropped, Requeued: n.Requeued,
	}
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

// Law says how long responses are. Lengths are lognormal: a part of the logarithm
// belongs to the prompt, and so to all of its group, the rest to the response.
type Law struct {
	// Name is how it is chosen.
	Name string
	// Median is the median length of a turn, in tokens.
	Median int
	// Sigma is the standard deviation of the logarithm, in thousandths; 0 makes all equal.
	Sigma int
	// Cap cuts at that many medians; 0 for none.
	Cap int
	// Correlation is the correlation of two responses to one prompt, in thousandths.
	Correlation int
	// Turns is the number of turns an episode may have, one as likely as another.
	Turns int
	// Refuse is the percentage of samples that are refused when they are done.
	Refuse int
}

// laws are the preset distributions.
var laws = []Law{
	// P99 ten times the median (DORA, Laminar) is ln 10 / 2.326 = .99; DORA's mean of
	// 2.4K with a cap of 30K gives the median and the cap, Seer asserts that a group's
	// lengths are alike: its correlation is inferred.
	{Name: "reasoning", Median: 1470, Sigma: 990, Cap: 20, Correlation: 600, Turns: 1},
	{Name: "mild", Median: 1470, Sigma: 600, Cap: 20, Correlation: 600, Turns: 1},
	// Sums of turns; a tool is called between two, and costs what the cluster says. Its
	// reply has no tokens here.
	{Name: "agentic", Median: 300, Sigma: 600, Cap: 20, Correlation: 600, Turns: 16},
	{Name: "fixed", Median: 2400, Turns: 1},
}

// Laws are the names of the presets.
func Laws() []string {
	return stats.Map(laws, func(l Law) string { return l.Name })
}

// LookupLaw finds a preset; the error names the nearest.
func LookupLaw(name string) (Law, error) {
	if i := slices.IndexFunc(laws, func(l Law) bool { return l.Name == name }); i >= 0 {
		return laws[i], nil
	}
	return Law{}, method.UnknownName(name, Laws())
}

func (l Law) refused(seed uint64, sample int) bool {
	return l.Refuse > 0 && int(stream.New(seed+1, stream.Lengths, sample).Uint64()>>32)*100>>32 < l.Refuse
}

// turns appends the numbers of tokens after which each turn of that response to the prompt
// with that number ends. They depend on nothing else, so that every policy has the same work.
func (l Law) turns(ends []int, seed uint64, prompt, response int) []int {
	ofPrompt := stream.New(seed, stream.Lengths, 2*prompt)
	own := stream.New(stream.ID(stream.Lengths, 2*prompt+1)^seed, stream.Lengths, response)
	turns := 1 + int(ofPrompt.Uint64()>>32)*l.Turns>>32
	sigma := float64(l.Sigma) / 1000
	shared := sigma * math.Sqrt(float64(l.Correlation)/1000)
	alone := sigma * math.Sqrt(1-float64(l.Correlation)/1000)
	common := normal(ofPrompt)
	n := 0
	for range turns {
		x := float64(shared*common) + float64(alone*normal(own))
		turn := max(1, int(math.Round(float64(l.Median)*elementary.Exp(x))))
		if l.Cap > 0 {
			turn = min(turn, l.Cap*l.Median)
		}
		n += turn
		ends = append(ends, n)
	}
	return ends
}

// normal draws a standard normal value by Box and Muller's formula, out of functions
// that have the same bits on every processor; those of math/rand have not.
func normal(r *rand.Rand) float64 {
	const unit = 1.0 / (1 << 53)
	u := float64(r.Uint64()>>11+1) * unit // in (0, 1]
	angle := float64(float64(r.Uint64()>>11) * unit)
	return math.Sqrt(-2*elementary.Log(u)) * elementary.CosPi(2*angle)
}

// FreeRunning is a system whose slots are always full and whose samples go through a queue to the trainer, as the
// closed forms of its mean age see it. The mean age is the mean lag of trained samples, in versions, with weights
// that reach running requests at once.
//
// Source: Applied Compute, appliedcompute.com/research/staleness-in-fully-async-rl (July 2026), in two transcripts
// that agree; that whole-group slots lose the factor Tail follows from Little's law on groups and is ours.
type FreeRunning struct {
	// Concurrency is C, the responses in flight; Batch is B, the responses per update.
	Concurrency, Batch float64
	// Tail is M, the mean of a group's longest length over the mean length, at least 1.
	Tail float64
	// SingleSlots says that a response frees its slot when it ends; without it a group frees all of its slots
	// when its last response ends.
	SingleSlots bool
	// Utilisation is rho, the throughput of the rollout over that of the trainer: below 1 the trainer's busy share.
	Utilisation float64
	// Queue is q, the batches that the queue holds before it drops its oldest sample.
	Queue float64
}

// beforeQueue is the mean number of versions from a sample's first token to the queue: C/B, times M with single
// slots. Above a utilisation of 1 an update takes longer than the rollout of a batch, and fewer of them pass.
func (f FreeRunning) beforeQueue() float64 {
	age := f.Concurrency / f.Batch
	if f.SingleSlots {
		age *= f.Tail
	}
	return age / max(1, f.Utilisation)
}

// inQueue is the mean number of versions from there to training: rho below a utilisation of 1 and
// (2q + rho - 1)/(2 rho) above it. The two meet at 1 for q = 1 alone.
func (f FreeRunning) inQueue() float64 {
	if f.Utilisation <= 1 {
		return f.Utilisation
	}
	return (float64(2*f.Queue) + f.Utilisation - 1) / float64(2*f.Utilisation)
}

// MeanAge is the sum of both. It does not contain the mean length.
func (f FreeRunning) MeanAge() float64 { return f.beforeQueue() + f.inQueue() }

// Tail estimates M of a group of the given size from that many prompts of the distribution.
func (l Law) Tail(seed uint64, group, prompts int) float64 {
	var ends []int
	longest, sum := 0, 0
	for prompt := range prompts {
		most := 0
		for response := range group {
			ends = l.turns(ends[:0], seed, prompt, response)
			n := ends[len(ends)-1]
			sum, most = sum+n, max(most, n)
		}
		longest += most
	}
	return ratio(float64(longest*group), float64(sum))
}

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
