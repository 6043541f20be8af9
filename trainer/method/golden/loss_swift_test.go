package golden

import (
	"math"
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	diagnose "driftlab/trainer/method/metrics"
)

// swiftKL adds ms-swift's penalty, of which the loss has the mean over tokens.
func swiftKL(c *Case, k *Check, out *loss.Grad) {
	beta := c.Params.Float("beta")
	if beta == 0 {
		return
	}
	kl := klTerm(loss.K3, beta, loss.VerlBounds, loss.Aggregation{})
	k.OK(kl.AddLoss(out, paperBatch(c)))
}

func matchFIPO(c *Case, k *Check) {
	b, l := paperBatch(c), peerLoss("ms-swift/fipo", c.Params, loss.Aggregation{})
	out := evaluate(k, l, b)
	k.Vector("influence_weight", noted(k, l, b, "f"))
	swiftKL(c, k, out)
	valueAndGradient(k, out)
	for _, name := range []string{"future_kl_mean", "influence_weight_mean", "safety_keep_ratio"} {
		metric(k, out, name, "fipo/"+name)
	}
}

func matchREAL(c *Case, k *Check) {
	b := paperBatch(c)
	b.Group = Groups(c.Inputs.Strings("group"))
	out := evaluate(k, &loss.REAL{Tau: c.Params.Float("real_tau")}, b)
	swiftKL(c, k, out)
	valueAndGradient(k, out)
}

func matchGVPO(c *Case, k *Check) {
	b := paperBatch(c)
	b.Group = Groups(c.Inputs.Strings("group"))
	out := evaluate(k, &loss.GVPO{Beta: c.Params.Float("gvpo_beta")}, b)
	k.Scalar("loss", out.Loss)
	if c.Outputs.Has("grad") {
		k.Vector("grad", out.DLogp)
	}
}

func matchSDAR(c *Case, k *Check) {
	b := paperBatch(c)
	b.Teacher.Logp = c.Inputs.Flat("teacher_logp")
	term := &loss.SDAR{Coef: 1, Beta: c.Params.Float("sdar_gate_beta"), Aggregation: allRows(c)}
	out := &loss.Grad{}
	out.Reset(b.Tokens())
	k.OK(term.AddLoss(out, b))
	valueAndGradient(k, out)
	for _, name := range []string{"sdar/gate_mean", "sdar/gate_active_ratio", "sdar/teacher_gap_mean"} {
		metric(k, out, name, name)
	}
}

// matchPositiveNLL runs NeMo-RL's loss with the term. A response whose sample mask is 0 is not there.
func matchPositiveNLL(c *Case, k *Check) {
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
		k.OK(pipeline.Apply(b, correction.AtBatch))
	}
	agg := loss.Aggregation{}
	if !p.Bool("token_level_loss") {
		agg.Mode, agg.Sequences = "seq-mean-token-mean", 0
		for _, there := range c.Inputs.Flat("sample_mask") {
			agg.Sequences += int(there)
		}
	}
	matchMismatch(b, k)
	out := evaluate(k, peerLoss("nemo-rl/ppo", p, agg), b)
	term := &loss.PositiveNLL{Coef: p.Float("positive_example_nll_weight")}
	k.OK(term.AddLoss(out, b))
	valueAndGradient(k, out)
	nll, _ := out.Metric("positive_nll_loss")
	if term.Coef == 0 { // the peer does not compute it then
		nll = 0
	}
	k.Scalar("positive_nll_loss", nll)
}

// matchMismatch matches what NeMo-RL logs of the gap with every loss.
func matchMismatch(b *batch.Batch, k *Check) {
	figures := *b
	figures.Old.Logp = b.Anchor
	for _, m := range diagnose.Peer(nil, &figures, "nemo-rl") {
		k.Scalar(m.Name, m.Value)
	}
}

// matchFlowRL gives every response a prompt of its own, whose log Z moves by the gradient.
func matchFlowRL(c *Case, k *Check) {
	b := paperBatch(c)
	logZ := c.Inputs.Flat("log_z")
	l := &loss.FlowRL{Beta: c.Params.Float("flowrl_beta_coef"), Cap: c.Params.Float("importance_weight_max"), LogZRate: 1}
	ids := make([]float64, len(logZ)) // the state has the bits of the prompts' numbers
	for i := range logZ {
		b.PromptID = append(b.PromptID, int64(i))
		ids[i] = math.Float64frombits(uint64(i))
	}
	k.OK(l.SetState(method.AppendState(nil, ids, logZ)))
	out := evaluate(k, l, b)
	slopes, moved := make([]float64, len(logZ)), make([]float64, len(logZ))
	k.OK(method.ReadState(l.AppendState(nil), ids, moved))
	for i := range slopes {
		slopes[i] = (logZ[i] - moved[i]) / float64(len(logZ))
	}
	valueAndGradient(k, out)
	k.Vector("grad_log_z", slopes)
	for _, name := range []string{"actor/log_z", "actor/log_reward", "actor/importance_weight", "actor/ppo_kl", "actor/ref_kl"} {
		metric(k, out, name, name)
	}
}

// matchMOPD is the loss reinforce with the teacher signal as the advantage, distillation
// advantage raw of a recipe, and the weighting icepop.
func matchMOPD(c *Case, k *Check) {
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
		k.OK(pipeline.Apply(b, correction.AtBatch))
	}
	compared(k, &loss.Reinforce{Anchor: loss.Old}, b)
}

func matchRLSD(c *Case, k *Check) {
	p, b := c.Params, paperBatch(c)
	b.Teacher.Logp, b.Step = c.Inputs.Flat("teacher_logp"), c.Inputs.Int("global_step")
	term := &loss.RLSD{Lambda: p.Float("rlsd_lambda"), ClipRange: p.Float("rlsd_reweight_clip_range"), Warmup: p.Int("rlsd_lambda_warmup_steps"),
		Decay: p.Int("rlsd_lambda_decay_steps"), NegativeOnly: p.Bool("rlsd_negative_only")}
	k.OK(term.Prepare(b))
	scaled := make([]float64, b.Tokens()) // the peer clears masked advantages, which nothing here reads
	for n, m := range b.Mask {
		if m {
			scaled[n] = b.Advantage[n]
		}
	}
	k.Vector("advantages", scaled)
	out := &loss.Grad{}
	k.OK(term.AddLoss(out, b))
	lambda, _ := out.Metric("rlsd_lambda")
	k.Scalar("rlsd_lambda", lambda)
}

// matchOPDTopK takes the divergence of a token from its lowered advantage.
func matchOPDTopK(c *Case, k *Check) {
	p, advantages := c.Params, c.Inputs.Flat("adv")
	term := &loss.OPDTopK{Coef: p.Float("opd_kl_coef"), TopK: p.Int("opd_log_prob_top_k"), Strategy: p.String("opd_top_k_strategy"), Weights: p.String("opd_reward_weight_mode")}
	b := Batch([][]float64{slices.Repeat([]float64{1}, len(advantages))})
	b.Advantage = advantages
	if term.TopK == 0 {
		b.Old.Logp, b.Teacher.Logp = c.Inputs.Flat("old_logp"), c.Inputs.Flat("teacher_logp")
	} else {
		student := c.Inputs.Matrix("student_logp")
		k.single, b.Vocab = true, len(student[0])
		b.Old.Logp, b.Teacher.Logp = make([]float64, b.Tokens()), make([]float64, b.Tokens())
		b.Old.Dist, b.Teacher.Dist = single(student...), single(c.Inputs.Matrix("teacher_logp")...)
	}
	k.OK(term.Prepare(b))
	if term.TopK != 0 {
		divergence := make([]float64, len(advantages))
		for n, a := range b.Advantage {
			divergence[n] = (advantages[n] - a) / term.Coef
		}
		k.Vector("reverse_kl", divergence)
	}
	k.Vector("advantages", b.Advantage)
}
