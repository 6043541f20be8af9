package reduction

import (
	"context"

	"driftlab/experiments/claims/claim"
)

// sequenceLearners are learners by how their attention is spread over ranks.
var sequenceLearners = []struct{ name, numerics string }{
	{"one rank", "bf16-online"},
	{"8 positions a rank", "bf16-cp8"},
	{"4 tensor-parallel ranks", "bf16-tp4"},
}

func sequenceParallel() claim.Claim {
	return claim.Claim{
		ID:        "sequence-parallel",
		Title:     "A bf16 learner whose ranks share the keys of a sequence is further from the rollout engine than one that does not, by a factor of 1.5 in exact KL",
		Statement: "Sequence parallelism in the learner greatly raises the mismatch with the rollout engine.",
		Source:    "SkyRL's account of off-policy correction, on a finding of Yao et al., 2025.",
		Figure:    "sequence parallelism of the Ulysses style in the learner greatly raises the mismatch; no figure",
		Threshold: "Exact KL, learner with 8 positions a rank over learner on one rank, geometric mean over models: t-interval above 1.5. Reported: tensor parallelism of four ranks over one rank.",
		Setup: "bf16 rollouts with flash-decoding, scored at the same weights by bf16 learners: flash attention on one rank; ring attention over ranks that hold the keys of 8 positions each, whose results are rounded to bf16 before they are merged; " +
			"tensor parallelism of four ranks. Natural: chain-base, responses up to the stop token. Amplified: a random model of eight layers, 96 tokens. Threshold, formats and sizes were declared before any run.",
		LeftOut: "Sequence parallelism of the Ulysses style, which the source names: it gives each rank whole heads and cuts no sum, so that with kernels that do not depend on the number of rows its bits are those of one rank. " +
			"What it changes in a real learner (other kernels for other shapes, for one) is not modelled.",
		Commands: []string{"simulate measure --rollout bf16-flash-decoding --learner bf16-cp8"},
		Declared: claim.BeforeResults,
		Unit:     claim.Model,
		Version:  1,
		Measure:  measureSequenceParallel,
		Judge:    judgeSequenceParallel,
	}
}

func measureSequenceParallel(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	base, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	rollout := claim.Numerics("bf16-flash-decoding")
	for _, m := range []struct {
		name  claim.Level
		probe claim.Probe
	}{
		{claim.Natural, claim.Probe{Params: base, Sequences: e.Pick(2048, 256, 8), Tokens: 32, Stops: true}},
		{claim.Amplified, claim.Probe{Params: e.Deep(8, 8, 256, 128), Sequences: e.Pick(48, 16, 3), Tokens: e.Pick(96, 64, 16)}},
	} {
		m.probe.Rollout, m.probe.Distributions = rollout, true
		var kl, largest []float64
		for _, l := range sequenceLearners {
			_, g := e.Measure(m.probe, claim.Numerics(l.numerics))
			kl, largest = append(kl, g.ExactKL), append(largest, g.MaxAbsDlogp)
		}
		o.Set(string(m.name)+" KL", kl...)
		o.Set(string(m.name)+" largest", largest...)
	}
	return o, ctx.Err()
}

func judgeSequenceParallel(j *claim.Judge) {
	var names []string
	for _, l := range sequenceLearners {
		names = append(names, l.name)
	}
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		kl, largest := string(d)+" KL", string(d)+" largest"
		j.Primary(claim.Ratio(d, "exact KL, 8 positions a rank over one rank", j.Entry(kl, 1), j.Entry(kl, 0), 1.5))
		j.Secondary(claim.ReportRatio(d, "exact KL, 4 tensor-parallel ranks over one rank", j.Entry(kl, 2), j.Entry(kl, 0)))
		j.Secondary(claim.ReportRatio(d, "largest difference of log-probs, 8 positions a rank over one rank", j.Entry(largest, 1), j.Entry(largest, 0)))
	}
	j.Evidence.Picture = j.Bars("Gap by how the learner's attention is spread over ranks", "exact KL (nats per token)", true, names,
		j.Listed("chain-base", "natural KL"), j.Listed("8 random layers", "amplified KL"))
	j.Evidence.Table = j.NamedTable("Gap by how the learner's attention is spread over ranks", "learner", names, "natural KL", "natural largest", "amplified KL", "amplified largest")
}
