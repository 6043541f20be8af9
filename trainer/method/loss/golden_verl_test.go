package loss

import (
	"math"
	"slices"
	"strings"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/golden"
)

var verlMatchers = []golden.Matcher{
	{File: "verl/agg_loss*.json", Match: matchAggLoss},
	{File: "verl/entropy*.json", Source: "compute_entropy_loss", Match: matchEntropyLoss},
	{File: "verl/entropy*.json", Source: "entropy_from_logits", Match: matchEntropyRows},
	{File: "verl/entropy*.json", Source: "logprobs_from_logits", Match: matchLogProbs},
	{File: "verl/kl_penalty*.json", Match: matchKLPenalty},
	{File: "verl/kl_controller*.json", Match: matchKLController},
	{File: "verl/policy_loss_bypass_mode*.json", Match: matchBypass},
	{File: "verl/policy_loss_*.json", Match: matchVerlLoss},
}

// verlAggregation reads an aggregation as verl's functions are given it.
func verlAggregation(mode string, info golden.Values) Aggregation {
	return Aggregation{
		Mode: mode, Ranks: info.IntOr("dp_size", 1), Tokens: info.IntOr("batch_num_tokens", 0),
		Sequences: info.IntOr("global_batch_size", 0), Horizon: horizonOf(mode, info),
	}
}

func horizonOf(mode string, info golden.Values) int {
	if mode != "seq-mean-token-sum-norm" {
		return 0
	}
	return info.IntOr("loss_scale_factor", 0)
}

// verlBatch reads the columns verl's losses take.
func verlBatch(c *golden.Case) *batch.Batch {
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	b.Now.Logp = c.Inputs.FlatOr("log_prob")
	b.Anchor = c.Inputs.FlatOr("old_log_prob")
	b.LogpRoll = c.Inputs.FlatOr("rollout_log_prob")
	b.Advantage = c.Inputs.FlatOr("advantages")
	b.Weight = c.Inputs.FlatOr("rollout_is_weights")
	return b
}

// matchAggLoss aggregates the case's loss matrix as its own log-probs: the
// derivative of Σ agg·loss with respect to the matrix is agg.
func matchAggLoss(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("loss_mask"))
	agg := verlAggregation(c.Params.String("loss_agg_mode"), c.Params)
	b.Now.Logp = c.Inputs.Flat("loss_mat")
	err := agg.Validate()
	if _, raised := c.Outputs["error"]; raised {
		k.Error(err)
		return
	}
	out := &Grad{}
	f, err := start(out, b, agg)
	if err != nil {
		k.Fail("%v", err)
		return
	}
	f.eachToken(func(n int) (value, dlogp float64) { return b.Now.Logp[n], 1 })
	k.Scaled("loss", out.Loss, f.tokens)
	if c.Outputs.Has("grad_loss_mat") {
		k.Vector("grad_loss_mat", out.DLogp)
	}
}

func matchKLPenalty(c *golden.Case, k *golden.Check) {
	e, err := parseEstimator(c.Params.String("kl_penalty"))
	if _, raised := c.Outputs["error"]; raised || err != nil {
		k.Error(err)
		return
	}
	logp, ref := c.Inputs.Flat("logprob"), c.Inputs.Flat("ref_logprob")
	value, derivative := make([]float64, len(logp)), make([]float64, len(logp))
	for i := range logp {
		value[i], derivative[i] = e.At(logp[i]-ref[i], VerlBounds)
	}
	k.Vector("kl", value)
	k.Vector("grad_logprob", derivative)
}

// verlLoss builds the loss a file of verl's cases tests, from its parameters.
func verlLoss(c *golden.Case) Loss {
	p := c.Params
	agg := verlAggregation(p.String("loss_agg_mode"), p.Sub("global_batch_info"))
	eps := p.FloatOr("clip_ratio", 0)
	low, high := p.FloatOr("clip_ratio_low", eps), p.FloatOr("clip_ratio_high", eps)
	switch lossOf(c) {
	case "vanilla":
		return &PPOClip{EpsLow: low, EpsHigh: high, DualClip: p.Float("clip_ratio_c"), LogClamp: 20, Aggregation: agg}
	case "reinforce":
		return &Reinforce{Anchor: Roll, Aggregation: agg}
	case "gpg":
		return &GPG{Aggregation: agg}
	case "cispo":
		return &CISPO{EpsLow: low, EpsHigh: high, Level: "token", Anchor: Old, LogClamp: 20, Aggregation: agg}
	case "sapo": // verl forces its aggregation, and the global counts with it
		agg.Mode, agg.Horizon = "seq-mean-token-mean", 0
		return &SAPO{TauPos: p.Float("tau_pos"), TauNeg: p.Float("tau_neg"), Level: "token", Anchor: Old, LogClamp: 20, Aggregation: agg}
	case "gspo":
		agg.Mode, agg.Horizon = "seq-mean-token-mean", 0
		return &GSPOToken{RatioMask: "post", EpsLow: low, EpsHigh: high, LogCap: 10, Aggregation: agg}
	case "geo_mean":
		return &GMPO{EpsLow: low, EpsHigh: high, Clip: "token", Normalise: true, Epsilon: 1e-8}
	case "dppo_tv":
		return &DPPO{DeltaLow: low, DeltaHigh: high, Cap: p.Float("clip_ratio_c"), LogClamp: 20, Anchor: Old, MaskAnchor: Old, Aggregation: agg, outside: outsideTV}
	case "dppo_kl":
		return &DPPO{DeltaLow: low, DeltaHigh: high, Cap: p.Float("clip_ratio_c"), LogClamp: 20, Anchor: Old, MaskAnchor: Old, Aggregation: agg, outside: outsideKL}
	case "dro":
		return &DRO{Beta: p.Float("dro_beta"), Aggregation: agg}
	case "kl_cov":
		return &KLCov{Share: p.Float("kl_cov_ratio"), Beta: p.Float("ppo_kl_coef"), Aggregation: agg}
	case "clip_cov":
		return &ClipCov{EpsLow: low, EpsHigh: high, Share: p.Float("clip_cov_ratio"), Low: p.Float("clip_cov_lb"),
			High: p.Float("clip_cov_ub"), Aggregation: agg}
	}
	panic("no loss for " + c.Source)
}

// lossOf takes verl's name of the loss from the source of the case.
func lossOf(c *golden.Case) string {
	_, name, _ := strings.Cut(c.Source, "compute_policy_loss_")
	name, _, _ = strings.Cut(name, " ")
	return name
}

func matchVerlLoss(c *golden.Case, k *golden.Check) {
	l, b := verlLoss(c), verlBatch(c)
	switch l := l.(type) {
	case *ClipCov:
		l.shuffle = matchDraw(c, k, l, b)
	case *KLCov:
		matchChosen(c, k, l, b)
	}
	out := evaluate(k, l, b)
	k.Scaled("loss", out.Loss, largestTerm(out))
	k.Vector("grad_log_prob", out.DLogp)
	metrics(c, k, out)
}

// matchDraw compares clip-cov's candidates and returns the peer's shuffle.
func matchDraw(c *golden.Case, k *golden.Check, l *ClipCov, b *batch.Batch) func([]int) {
	width := len(c.Inputs.Matrix("response_mask")[0])
	positions := func(tokens []int) []float64 {
		flat := []float64{}
		for _, n := range tokens {
			flat = append(flat, float64(n/width), float64(n%width))
		}
		return flat
	}
	perm := c.Outputs.FlatOr("perm")
	var chosen []int
	shuffle := func(eligible []int) {
		k.Vector("eligible", positions(eligible))
		drawn := make([]int, len(eligible))
		for i, j := range perm {
			drawn[i] = eligible[int(j)]
		}
		if perm == nil {
			copy(drawn, eligible)
		}
		copy(eligible, drawn)
		chosen = append([]int{}, eligible...)
	}
	l.shuffle = shuffle
	evaluate(k, l, b)
	k.Vector("perm", perm) // the recorded draw is an input to us
	number := max(1, math.Floor(l.Share*float64(tokensOf(b))))
	if c.Outputs.Has("clip_num") {
		k.Scalar("clip_num", number)
	} else {
		k.Equal("clip_num", nil)
	}
	if perm == nil { // nothing was drawn
		chosen = nil
	}
	k.Vector("selected", positions(chosen[:min(len(chosen), int(number))]))
	return shuffle
}

// matchChosen compares kl-cov's selection as a set.
func matchChosen(c *golden.Case, k *golden.Check, l *KLCov, b *batch.Batch) {
	out := evaluate(k, l, b)
	width := len(c.Inputs.Matrix("response_mask")[0])
	want := map[int]bool{}
	for _, p := range c.Outputs.Matrix("selected") {
		want[int(p[0])*width+int(p[1])] = true
	}
	for n, x := range out.work2() {
		if (x == 1) != want[n] {
			k.Fail("token %d selected: %v, want %v", n, x == 1, want[n])
		}
	}
	k.Vector("selected", c.Outputs.Flat("selected")) // compared as a set above
}

// work2 is the selection a covariance method left in its working memory.
func (g *Grad) work2() []float64 { return g.buffers[2] }

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
func largestTerm(out *Grad) float64 {
	largest := 0.0
	for _, d := range out.DLogp {
		largest = max(largest, math.Abs(d))
	}
	return largest
}

func matchKLController(c *golden.Case, k *golden.Check) {
	switch {
	case strings.Contains(c.Source, "compute_rewards"):
		rewards := c.Inputs.Flat("token_level_scores")
		ref := c.Inputs.Flat("ref_log_prob")
		for n, old := range c.Inputs.Flat("old_log_prob") {
			value, _ := K1.At(old-ref[n], KLBounds{})
			rewards[n] -= c.Params.Float("kl_ratio") * value
		}
		k.Vector("rewards", rewards)
	case strings.Contains(c.Source, "apply_kl_penalty"):
		matchApplyKL(c, k)
	default:
		controller := Controller{Target: c.Params.FloatOr("target_kl", 0), Horizon: c.Params.FloatOr("horizon", 0)}
		coef := c.Params.Float("kl_coef")
		values := []float64{coef}
		for _, update := range c.Inputs.Matrix("updates") {
			coef = controller.Next(coef, update[0], int(update[1]))
			values = append(values, coef)
		}
		k.Vector("values", values)
	}
}

func matchApplyKL(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	b.TokenReward = c.Inputs.Flat("token_level_scores")
	b.Old.Logp, b.Ref.Logp = c.Inputs.Flat("old_log_probs"), c.Inputs.Flat("ref_log_prob")
	e, err := parseEstimator(c.Params.String("kl_penalty"))
	if err != nil {
		k.Fail("%v", err)
		return
	}
	term := NewKLTerm(e)
	term.In, term.Coef = InReward, c.Params.Float("kl_coef")
	term.Controller = Controller{Target: c.Params.Float("target_kl"), Horizon: c.Params.Float("horizon")}
	before := term.Coefficient()
	kl, err := term.AddReward(b)
	if err != nil {
		k.Fail("%v", err)
	}
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
func vocabulary(c *golden.Case) (logp []float64, vocab int) {
	logits := c.Inputs.Flat("logits")
	cube := c.Inputs["logits"].([]any)
	vocab = len(cube[0].([]any)[0].([]any))
	return logSoftmax(logits, vocab), vocab
}

func matchEntropyLoss(c *golden.Case, k *golden.Check) {
	b := golden.Batch(c.Inputs.Matrix("response_mask"))
	var logp []float64
	logp, b.Vocab = vocabulary(c)
	out := &Grad{}
	out.Reset(b.Tokens())
	// verl's function returns +H, to be subtracted by its caller.
	if err := addEntropy(out, b, logp, -1, Aggregation{Mode: c.Params.String("loss_agg_mode")}); err != nil {
		k.Fail("%v", err)
	}
	k.Scalar("loss", out.Loss)
	k.Vector("grad_logits", out.DLogits)
}

func matchEntropyRows(c *golden.Case, k *golden.Check) {
	logp, vocab := vocabulary(c)
	var entropy, squares []float64
	scratch := make([]float64, vocab)
	for at := 0; at < len(logp); at += vocab {
		entropy = append(entropy, entropyRow(scratch, logp[at:at+vocab], 0))
		sum := 0.0
		for _, lp := range logp[at : at+vocab] {
			sum += math.Exp(2 * lp)
		}
		squares = append(squares, sum)
	}
	k.Vector("entropy", entropy)
	k.Vector("sum_pi_squared", squares)
}

func matchLogProbs(c *golden.Case, k *golden.Check) {
	logp, vocab := vocabulary(c)
	var picked []float64
	for n, label := range c.Inputs.Flat("labels") {
		picked = append(picked, logp[n*vocab+int(label)])
	}
	k.Vector("logprobs", picked)
	k.Vector("naive", picked)
}
