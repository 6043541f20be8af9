package loss

import (
	"math"
	"slices"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/golden"
	diagnose "driftlab/trainer/method/metrics"
)

// swiftMatchers are those of ms-swift, NeMo-RL and verl's recipes.
var swiftMatchers = []golden.Matcher{
	{File: "ms-swift/fipo*.json", Match: matchFIPO},
	{File: "ms-swift/real*.json", Match: matchREAL},
	{File: "ms-swift/rlsd_sdar*.json", Source: "compute_sdar_loss", Match: matchSDAR},
	{File: "nemo-rl/positive_nll*.json", Match: matchPositiveNLL},
	{File: "ms-swift/rlsd_sdar*.json", Source: "apply_rlsd_reweight", Match: matchRLSD},
	{File: "miles/opd_topk*.json", Match: matchOPDTopK},
	{File: "nemo-rl/mopd*.json", Match: matchMOPD},
	{File: "verl-recipe/flowrl*.json", Match: matchFlowRL},
	{File: "verl-recipe/gvpo*.json", Match: matchGVPO},
}

// swiftKL adds ms-swift's penalty, of which the loss has the mean over tokens.
func swiftKL(c *golden.Case, k *golden.Check, out *Grad) {
	beta := c.Params.Float("beta")
	if beta == 0 {
		return
	}
	kl := &KLTerm{Coef: beta, In: InLoss, Bounds: VerlBounds, estimator: K3}
	if err := kl.AddLoss(out, paperBatch(c)); err != nil {
		k.Fail("%v", err)
	}
}

func matchFIPO(c *golden.Case, k *golden.Check) {
	p, b := c.Params, paperBatch(c)
	l := &FIPO{EpsLow: p.Float("epsilon_low"), EpsHigh: p.Float("epsilon_high"), Delta: p.FloatOr("delta", 0), HalfLife: p.Float("fipo_decay_rate"),
		ClipRange: p.FloatOr("fipo_clip_range", 0), ClipHighOnly: p.Bool("fipo_clip_high_only"), SafetyThreshold: p.FloatOr("fipo_safety_threshold", 0)}
	out := evaluate(k, l, b)
	k.Vector("influence_weight", out.work(2, 0)[:b.Tokens()])
	swiftKL(c, k, out)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	for _, name := range []string{"future_kl_mean", "influence_weight_mean", "safety_keep_ratio"} {
		value, _ := out.Metric("fipo/" + name)
		k.Scalar(name, value)
	}
}

func matchREAL(c *golden.Case, k *golden.Check) {
	b := paperBatch(c)
	b.Group = golden.Groups(c.Inputs.Strings("group"))
	out := evaluate(k, &REAL{Tau: c.Params.Float("real_tau")}, b)
	swiftKL(c, k, out)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
}

func matchGVPO(c *golden.Case, k *golden.Check) {
	b := paperBatch(c)
	b.Group = golden.Groups(c.Inputs.Strings("group"))
	out := evaluate(k, &GVPO{Beta: c.Params.Float("gvpo_beta")}, b)
	k.Scalar("loss", out.Loss)
	if c.Outputs.Has("grad") {
		k.Vector("grad", out.DLogp)
	}
}

func matchSDAR(c *golden.Case, k *golden.Check) {
	b := paperBatch(c)
	b.Teacher.Logp = c.Inputs.Flat("teacher_logp")
	term := &SDAR{Coef: 1, Beta: c.Params.Float("sdar_gate_beta"), Aggregation: Aggregation{Mode: c.Params.String("loss_agg_mode")}}
	// The peer's row modes divide by all rows.
	if mode := map[string]string{"seq-mean-token-sum": "seq-all-token-sum", "seq-mean-token-mean": "grpo"}[term.Aggregation.Mode]; mode != "" {
		term.Aggregation.Mode = mode
	}
	out := &Grad{}
	out.Reset(b.Tokens())
	if err := term.AddLoss(out, b); err != nil {
		k.Fail("%v", err)
	}
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	for _, name := range []string{"sdar/gate_mean", "sdar/gate_active_ratio", "sdar/teacher_gap_mean"} {
		value, _ := out.Metric(name)
		k.Scalar(name, value)
	}
}

// matchPositiveNLL runs NeMo-RL's loss with the term. A response whose sample mask is 0 is not there.
func matchPositiveNLL(c *golden.Case, k *golden.Check) {
	p, b := c.Params, paperBatch(c)
	b.Reward = c.Inputs.Flat("rewards")
	for i, there := range c.Inputs.Flat("sample_mask") {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			b.Mask[n] = b.Mask[n] && there != 0
		}
	}
	if p.Bool("use_importance_sampling_correction") {
		pipeline := &correction.Pipeline{Clamp: math.Inf(1), Weights: &correction.TokenTIS{Floor: p.FloatOr("truncated_importance_sampling_ratio_min", 0),
			Cap: p.Float("truncated_importance_sampling_ratio")}}
		if err := pipeline.Apply(b, correction.AtBatch); err != nil {
			k.Fail("%v", err)
		}
	}
	agg := Aggregation{}
	if !p.Bool("token_level_loss") {
		agg.Mode, agg.Sequences = "seq-mean-token-mean", 0
		for _, there := range c.Inputs.Flat("sample_mask") {
			agg.Sequences += int(there)
		}
	}
	matchMismatch(b, k)
	out := evaluate(k, &PPOClip{EpsLow: p.Float("ratio_clip_min"), EpsHigh: p.Float("ratio_clip_max"), DualClip: p.FloatOr("ratio_clip_c", 0), Aggregation: agg}, b)
	term := &PositiveNLL{Coef: p.Float("positive_example_nll_weight")}
	if err := term.AddLoss(out, b); err != nil {
		k.Fail("%v", err)
	}
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	nll, _ := out.Metric("positive_nll_loss")
	if term.Coef == 0 { // the peer does not compute it then
		nll = 0
	}
	k.Scalar("positive_nll_loss", nll)
}

// matchMismatch matches what NeMo-RL logs of the gap with every loss.
func matchMismatch(b *batch.Batch, k *golden.Check) {
	figures := *b
	figures.Old.Logp = b.Anchor
	for _, m := range diagnose.Peer(nil, &figures, "nemo-rl") {
		k.Scalar(m.Name, m.Value)
	}
}

// matchFlowRL gives every response a prompt of its own, whose log Z moves by the gradient.
func matchFlowRL(c *golden.Case, k *golden.Check) {
	b := paperBatch(c)
	logZ := c.Inputs.Flat("log_z")
	l := &FlowRL{Beta: c.Params.Float("flowrl_beta_coef"), Cap: c.Params.Float("importance_weight_max"), LogZRate: 1, logZ: slices.Clone(logZ)}
	for i := range logZ {
		l.prompts = append(l.prompts, int64(i))
	}
	b.PromptID = l.prompts
	out := evaluate(k, l, b)
	slopes := make([]float64, len(logZ))
	for i := range slopes {
		slopes[i] = (logZ[i] - l.logZ[i]) / float64(len(logZ))
	}
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
	k.Vector("grad_log_z", slopes)
	for _, name := range []string{"actor/log_z", "actor/log_reward", "actor/importance_weight", "actor/ppo_kl", "actor/ref_kl"} {
		value, _ := out.Metric(name)
		k.Scalar(name, value)
	}
}

// matchMOPD is the loss reinforce with the teacher signal as the advantage, distillation
// advantage raw of a recipe, and the weighting icepop.
func matchMOPD(c *golden.Case, k *golden.Check) {
	p, b := c.Params, paperBatch(c)
	matchMismatch(b, k)
	teacher := c.Inputs.Flat("teacher_logp")
	b.Advantage = make([]float64, b.Tokens())
	sum, tokens := 0.0, 0.0
	for n, m := range b.Mask {
		if m {
			b.Advantage[n] = teacher[n] - b.Anchor[n]
			sum += b.Advantage[n]
			tokens++
		}
	}
	k.Vector("advantages", b.Advantage)
	k.Scalar("on_policy_distillation/teacher_student_logprob_gap_mean", sum/tokens)
	if p.Bool("use_importance_sampling_correction") {
		pipeline := &correction.Pipeline{Clamp: math.Inf(1), Weights: &correction.IcePop{
			Low: p.Float("truncated_importance_sampling_ratio_min"), High: p.Float("truncated_importance_sampling_ratio")}}
		if err := pipeline.Apply(b, correction.AtBatch); err != nil {
			k.Fail("%v", err)
		}
	}
	out := evaluate(k, &Reinforce{Anchor: Old}, b)
	k.Scalar("loss", out.Loss)
	k.Vector("grad", out.DLogp)
}

func matchRLSD(c *golden.Case, k *golden.Check) {
	p, b := c.Params, paperBatch(c)
	b.Teacher.Logp, b.Step = c.Inputs.Flat("teacher_logp"), c.Inputs.Int("global_step")
	term := &RLSD{Lambda: p.Float("rlsd_lambda"), ClipRange: p.Float("rlsd_reweight_clip_range"), Warmup: p.Int("rlsd_lambda_warmup_steps"),
		Decay: p.Int("rlsd_lambda_decay_steps"), NegativeOnly: p.Bool("rlsd_negative_only")}
	if err := term.Prepare(b); err != nil {
		k.Fail("%v", err)
	}
	scaled := make([]float64, b.Tokens()) // the peer clears masked advantages, which nothing here reads
	for n, m := range b.Mask {
		if m {
			scaled[n] = b.Advantage[n]
		}
	}
	k.Vector("advantages", scaled)
	k.Scalar("rlsd_lambda", term.lambda(b.Step))
}

// matchOPDTopK compares the divergence of rows in float64, which no batch has.
func matchOPDTopK(c *golden.Case, k *golden.Check) {
	p, advantages := c.Params, c.Inputs.Flat("adv")
	term := &OPDTopK{Coef: p.Float("opd_kl_coef"), TopK: p.Int("opd_log_prob_top_k"), Strategy: p.String("opd_top_k_strategy"), Weights: p.String("opd_reward_weight_mode")}
	var divergence []float64
	if term.TopK == 0 {
		b := golden.Batch([][]float64{slices.Repeat([]float64{1}, len(advantages))})
		b.Old.Logp, b.Teacher.Logp, b.Advantage = c.Inputs.Flat("old_logp"), c.Inputs.Flat("teacher_logp"), advantages
		if err := term.Prepare(b); err != nil {
			k.Fail("%v", err)
		}
		k.Vector("advantages", b.Advantage)
		return
	}
	teacher := c.Inputs.Matrix("teacher_logp")
	for n, student := range c.Inputs.Matrix("student_logp") {
		divergence = append(divergence, topKDivergence(term, student, teacher[n]))
		advantages[n] -= term.Coef * divergence[n]
	}
	k.Vector("reverse_kl", divergence)
	k.Vector("advantages", advantages)
}
