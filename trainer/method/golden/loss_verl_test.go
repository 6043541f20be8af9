package golden

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/trace"
)

// verlAggregation reads an aggregation as verl's functions are given it.
func verlAggregation(mode string, info Values) loss.Aggregation {
	return loss.Aggregation{
		Mode: mode, Ranks: info.IntOr("dp_size", 1), Tokens: info.IntOr("batch_num_tokens", 0),
		Sequences: info.IntOr("global_batch_size", 0), Horizon: horizonOf(mode, info),
	}
}

func horizonOf(mode string, info Values) int {
	if mode != "seq-mean-token-sum-norm" {
		return 0
	}
	return info.IntOr("loss_scale_factor", 0)
}

// verlBatch reads the columns verl's losses take.
func verlBatch(c *Case) *batch.Batch {
	b := Batch(c.Inputs.Matrix("response_mask"))
	b.Now.Logp = c.Inputs.FlatOr("log_prob")
	b.Anchor = c.Inputs.FlatOr("old_log_prob")
	b.LogpRoll = c.Inputs.FlatOr("rollout_log_prob")
	b.Advantage = c.Inputs.FlatOr("advantages")
	b.Weight = c.Inputs.FlatOr("rollout_is_weights")
	return b
}

// matchAggLoss aggregates the case's loss matrix as its own log-probs: the
// derivative of Σ agg·loss with respect to the matrix is agg.
func matchAggLoss(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("loss_mask"))
	agg := verlAggregation(c.Params.String("loss_agg_mode"), c.Params)
	err := agg.Validate()
	if _, raised := c.Outputs["error"]; raised {
		k.Error(err)
		return
	}
	// The cross-entropy of an advantage of -1 is the log-prob.
	b.Now.Logp, b.Advantage = c.Inputs.Flat("loss_mat"), slices.Repeat([]float64{-1}, b.Tokens())
	out := evaluate(k, &loss.GPG{Aggregation: agg}, b)
	k.Scaled("loss", out.Loss, float64(tokensOf(b)))
	if c.Outputs.Has("grad_loss_mat") {
		k.Vector("grad_loss_mat", out.DLogp)
	}
}

func matchKLPenalty(c *Case, k *Check) {
	e, err := parseEstimator(c.Params.String("kl_penalty"))
	if _, raised := c.Outputs["error"]; raised || err != nil {
		k.Error(err)
		return
	}
	logp, ref := c.Inputs.Flat("logprob"), c.Inputs.Flat("ref_logprob")
	value, derivative := make([]float64, len(logp)), make([]float64, len(logp))
	for i := range logp {
		value[i], derivative[i] = e.At(logp[i]-ref[i], loss.VerlBounds)
	}
	k.Vector("kl", value)
	k.Vector("grad_logprob", derivative)
}

// verlLoss builds the loss a file of verl's cases tests, from its parameters.
func verlLoss(c *Case) loss.Loss {
	agg := verlAggregation(c.Params.String("loss_agg_mode"), c.Params.Sub("global_batch_info"))
	if name := lossOf(c); name == "sapo" || name == "gspo" { // verl forces its aggregation, and the global counts with it
		agg.Mode, agg.Horizon = "seq-mean-token-mean", 0
	}
	return peerLoss("verl/"+lossOf(c), c.Params, agg)
}

// lossOf takes verl's name of the loss from the source of the case.
func lossOf(c *Case) string {
	_, name, _ := strings.Cut(c.Source, "compute_policy_loss_")
	name, _, _ = strings.Cut(name, " ")
	return name
}

func matchVerlLoss(c *Case, k *Check) {
	l, b := verlLoss(c), verlBatch(c)
	out := evaluate(k, l, b)
	lossMetrics(c, k, out)
	switch l := l.(type) {
	case *loss.ClipCov:
		out = matchDraw(c, k, l, b)
	case *loss.KLCov:
		matchChosen(c, k, l, b)
	}
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad_log_prob", out.DLogp)
}

// matchDraw compares clip-cov's candidates, and returns the loss of the peer's draw: PPO's clip
// of the batch in which the drawn tokens have their gates closed.
func matchDraw(c *Case, k *Check, l *loss.ClipCov, b *batch.Batch) *loss.Grad {
	width := len(c.Inputs.Matrix("response_mask")[0])
	positions := func(tokens []int) []float64 {
		flat := []float64{}
		for _, n := range tokens {
			flat = append(flat, float64(n/width), float64(n%width))
		}
		return flat
	}
	var eligible, chosen []int
	all := *l
	all.Share = 1 // draws every candidate
	for n, token := range explained(k, &all, b).Tokens {
		if token.Branch == trace.Dropped {
			eligible = append(eligible, n)
		}
	}
	k.Vector("eligible", positions(eligible))
	perm := c.Outputs.FlatOr("perm")
	k.Vector("perm", perm) // the recorded draw is an input to us
	number := max(1, math.Floor(l.Share*float64(tokensOf(b))))
	if c.Outputs.Has("clip_num") {
		k.Scalar("clip_num", number)
	} else {
		k.Equal("clip_num", nil)
	}
	for _, j := range perm[:min(len(perm), int(number))] {
		chosen = append(chosen, eligible[int(j)])
	}
	k.Vector("selected", positions(chosen))
	open := *b
	open.Gate = slices.Repeat([]bool{true}, b.Tokens())
	for _, n := range chosen {
		open.Gate[n] = false
	}
	return evaluate(k, &loss.PPOClip{EpsLow: l.EpsLow, EpsHigh: l.EpsHigh, LogClamp: l.LogClamp, Aggregation: l.Aggregation}, &open)
}

// matchChosen compares kl-cov's selection as a set.
func matchChosen(c *Case, k *Check, l *loss.KLCov, b *batch.Batch) {
	out := evaluate(k, l, b)
	width := len(c.Inputs.Matrix("response_mask")[0])
	want := map[int]bool{}
	for _, p := range c.Outputs.Matrix("selected") {
		want[int(p[0])*width+int(p[1])] = true
	}
	free := *l
	free.Beta = 0
	for n, d := range evaluate(k, &free, b).DLogp {
		if b.Now.Logp[n] == b.Anchor[n] || !b.Mask[n] { // nothing shows
			continue
		}
		if held := d != out.DLogp[n]; held != want[n] {
			k.Fail("token %d selected: %v, want %v", n, held, want[n])
		}
	}
	k.Vector("selected", c.Outputs.Flat("selected")) // compared as a set above
}

// tokensOf counts the active tokens.
func tokensOf(b *batch.Batch) int {
	tokens := 0
	for _, m := range b.Active() {
		if m {
			tokens++
		}
	}
	return tokens
}

// largestTerm bounds the terms of a loss by its largest derivative: sums of
// opposite signs leave fewer digits than their terms had.
func largestTerm(out *loss.Grad) float64 {
	largest := 0.0
	for _, d := range out.DLogp {
		largest = max(largest, math.Abs(d))
	}
	return largest
}

func matchKLController(c *Case, k *Check) {
	switch {
	case strings.Contains(c.Source, "compute_rewards"):
		rewards := c.Inputs.Flat("token_level_scores")
		ref := c.Inputs.Flat("ref_log_prob")
		for n, old := range c.Inputs.Flat("old_log_prob") {
			value, _ := loss.K1.At(old-ref[n], loss.KLBounds{})
			rewards[n] -= c.Params.Float("kl_ratio") * value
		}
		k.Vector("rewards", rewards)
	case strings.Contains(c.Source, "apply_kl_penalty"):
		matchApplyKL(c, k)
	default:
		controller := loss.Controller{Target: c.Params.FloatOr("target_kl", 0), Horizon: c.Params.FloatOr("horizon", 0)}
		coef := c.Params.Float("kl_coef")
		values := []float64{coef}
		for _, update := range c.Inputs.Matrix("updates") {
			coef = controller.Next(coef, update[0], int(update[1]))
			values = append(values, coef)
		}
		k.Vector("values", values)
	}
}

func matchApplyKL(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("response_mask"))
	b.TokenReward = c.Inputs.Flat("token_level_scores")
	b.Old.Logp, b.Ref.Logp = c.Inputs.Flat("old_log_probs"), c.Inputs.Flat("ref_log_prob")
	e, err := parseEstimator(c.Params.String("kl_penalty"))
	if !k.OK(err) {
		return
	}
	term := loss.NewKLTerm(e)
	term.In, term.Coef = loss.InReward, c.Params.Float("kl_coef")
	term.Controller = loss.Controller{Target: c.Params.Float("target_kl"), Horizon: c.Params.Float("horizon")}
	before := term.Coefficient()
	kl, err := term.AddReward(b)
	k.OK(err)
	k.Vector("token_level_rewards", b.TokenReward)
	k.Scalar("kl_coef_after", term.Coefficient())
	k.Metric("metrics", "actor/reward_kl_penalty", kl)
	k.Metric("metrics", "actor/reward_kl_penalty_coeff", before)
}

// logSoftmax normalises rows of logits of the given width.
func logSoftmax(logits []float64, vocab int) []float64 {
	logp := make([]float64, len(logits))
	for at := 0; at < len(logits); at += vocab {
		row := logits[at : at+vocab]
		largest, sum := slices.Max(row), 0.0
		for _, z := range row {
			sum += math.Exp(z - largest)
		}
		for a, z := range row {
			logp[at+a] = z - largest - math.Log(sum)
		}
	}
	return logp
}

// vocabulary returns the rows of log-probs of a case and their width.
func vocabulary(c *Case) (logp []float64, vocab int) {
	logits := c.Inputs.Flat("logits")
	cube := c.Inputs["logits"].([]any)
	vocab = len(cube[0].([]any)[0].([]any))
	return logSoftmax(logits, vocab), vocab
}

// entropyOf adds the bonus for the entropies of a case.
func entropyOf(c *Case, k *Check, b *batch.Batch, coef float64, agg loss.Aggregation) *loss.Grad {
	var logp []float64
	logp, b.Vocab = vocabulary(c)
	k.single, b.Now.Dist = true, single(logp)
	out := &loss.Grad{}
	out.Reset(b.Tokens())
	k.OK((&loss.Entropy{Coef: coef, Aggregation: agg}).AddLoss(out, b))
	return out
}

func matchEntropyLoss(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("response_mask"))
	// verl's function returns +H, to be subtracted by its caller.
	out := entropyOf(c, k, b, -1, loss.Aggregation{Mode: c.Params.String("loss_agg_mode")})
	k.Scalar("loss", out.Loss)
	k.Vector("grad_logits", out.DLogits)
}

func matchEntropyRows(c *Case, k *Check) {
	logp, vocab := vocabulary(c)
	var entropy, squares []float64
	for at := 0; at < len(logp); at += vocab {
		one := Batch([][]float64{make([]float64, len(logp)/vocab)})
		one.Mask[at/vocab] = true
		h, _ := entropyOf(c, k, one, 1, loss.Aggregation{}).Metric("actor/entropy")
		entropy = append(entropy, h)
		sum := 0.0
		for _, lp := range logp[at : at+vocab] {
			sum += math.Exp(2 * lp)
		}
		squares = append(squares, sum)
	}
	k.Vector("entropy", entropy)
	k.Vector("sum_pi_squared", squares)
}

func matchLogProbs(c *Case, k *Check) {
	logp, vocab := vocabulary(c)
	var picked []float64
	for n, label := range c.Inputs.Flat("labels") {
		picked = append(picked, logp[n*vocab+int(label)])
	}
	k.Vector("logprobs", picked)
	k.Vector("naive", picked)
}
