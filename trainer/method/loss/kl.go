package loss

import (
	"cmp"
	"errors"
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// KL is a penalty for leaving the reference policy. It acts in one of two
// places, and does nothing in the other: in the loss, where it is
// differentiated, or in the reward, where it is not.
type KL interface {
	// AddLoss adds the term to the result of the policy loss.
	AddLoss(out *Grad, in *batch.Batch) error
	// AddReward subtracts the term from in.TokenReward, filling that column
	// from Reward if it is nil, and adjusts the coefficient. It returns verl's
	// actor/reward_kl_penalty: the mean over responses of the mean over tokens.
	AddReward(in *batch.Batch) (kl float64, err error)
	// Coefficient is the present factor of the term.
	Coefficient() float64
}

// Place says where a KL term acts.
type Place string

// The places.
const (
	InLoss   Place = "loss"
	InReward Place = "reward"
)

// KLTerm is coef·KL(π‖ref) by one of the sample estimators.
//
//	loss:   L += coef·Σ agg·k(logp - ref)
//	reward: r_t -= coef·k(old - ref), by the weights that start the step
//
// verl and TRL weight the KL term neither by the importance weight nor by the
// gate of the policy term, and so does this. In the reward k1 is the usual
// choice; in the loss, on-policy, k2, k1+ or k3+ (whose gradient is the gradient of the
// KL), and off-policy the importance-corrected k3.
type KLTerm struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"0.001" range:"[0,inf]"`
	// In is loss or reward.
	In Place `yaml:"in" default:"loss" oneof:"loss reward"`
	// Controller adapts the coefficient of a penalty in the reward.
	Controller Controller `yaml:"controller"`
	// Bounds are k3's clamps.
	Bounds KLBounds `yaml:"bounds"`
	// Aggregation of the term in the loss.
	Aggregation Aggregation `yaml:"aggregation"`

	estimator Estimator
}

// NewKLTerm returns a term with verl's defaults for the estimator.
func NewKLTerm(e Estimator) *KLTerm {
	k := method.New[KLTerm]()
	k.estimator = e
	return k
}

// Validate checks what the controller needs.
func (k *KLTerm) Validate() error {
	return errors.Join(
		check(k.Controller.Target == 0 || k.Controller.Horizon > 0, "controller.horizon %v: must be above 0", k.Controller.Horizon),
		check(k.Controller.Target == 0 || k.In == InReward, "controller: adapts a penalty in the reward only"))
}

// Coefficient is the present coefficient.
func (k *KLTerm) Coefficient() float64 { return k.Coef }

// AppendState appends the adapted coefficient.
func (k *KLTerm) AppendState(dst []byte) []byte { return method.AppendState(dst, k.Coef) }

// SetState takes what AppendState appended.
func (k *KLTerm) SetState(state []byte) error { return method.ReadState(state, &k.Coef) }

// AddLoss adds the term, if it belongs into the loss.
func (k *KLTerm) AddLoss(out *Grad, in *batch.Batch) error {
	if k.In != InLoss {
		return nil
	}
	return addTerm(out, in, k.Aggregation, k.Coef, batch.Columns{batch.Logp, batch.LogpRef}, func(n int) (value, dlogp float64) {
		return k.estimator.At(in.Now.Logp[n]-in.Ref.Logp[n], k.Bounds)
	})
}

// AddReward subtracts the term, if it belongs into the reward.
func (k *KLTerm) AddReward(in *batch.Batch) (float64, error) {
	if k.In != InReward {
		return 0, nil
	}
	kl, err := penalise(in, k.Coef, batch.Columns{batch.LogpOld, batch.LogpRef}, func(n int) float64 {
		value, _ := k.estimator.At(in.Old.Logp[n]-in.Ref.Logp[n], k.Bounds)
		return value
	})
	if err != nil {
		return 0, err
	}
	k.Coef = k.Controller.Next(k.Coef, kl, in.Len())
	return kl, nil
}

// addTerm adds coef·Σ agg·term to a loss and logs its mean. Importance weights
// and gates do not apply.
func addTerm(out *Grad, in *batch.Batch, agg Aggregation, coef float64, needs batch.Columns, term func(n int) (value, dlogp float64)) error {
	sum := 0.0
	err := weighted(out, in, agg, needs, func(n int, w float64) {
		value, dlogp := term(n)
		sum += float64(w * value)
		out.DLogp[n] += float64(coef * w * dlogp)
	})
	if err != nil {
		return err
	}
	out.Loss += float64(coef * sum)
	out.Add("actor/kl_loss", sum)
	out.Add("actor/kl_coef", coef)
	return nil
}

// weighted calls term for every active token, with the weight of its response in the aggregation; needs are columns beyond Mask.
func weighted(out *Grad, in *batch.Batch, agg Aggregation, needs batch.Columns, term func(n int, w float64)) error {
	if err := cmp.Or(in.Require(batch.Mask), in.Require(needs...)); err != nil {
		return err
	}
	rows := out.work(0, in.Len())
	if err := agg.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	active := in.Active()
	for i, w := range rows {
		for n := range in.Where(i, active) {
			term(n, w)
		}
	}
	return nil
}

// penalise subtracts coef·term from every token's reward and returns the mean
// over responses of the mean over tokens; empty responses count as 0, as in verl.
func penalise(in *batch.Batch, coef float64, needs batch.Columns, term func(n int) float64) (float64, error) {
	if err := cmp.Or(in.Require(batch.Mask), in.Require(needs...)); err != nil {
		return 0, err
	}
	if err := rewardPerToken(in); err != nil {
		return 0, err
	}
	total := 0.0
	for i := range in.Len() {
		sum, length := 0.0, 0.0
		for n := range in.Where(i, in.Mask) {
			value := term(n)
			in.TokenReward[n] -= float64(coef * value)
			sum += value
			length++
		}
		total += sum / (length + 1e-8)
	}
	return total / float64(in.Len()), nil
}

// rewardPerToken places each response's reward on its last generated token, if
// no reward per token has been recorded.
func rewardPerToken(in *batch.Batch) error {
	if in.TokenReward != nil {
		return in.Require(batch.TokenReward)
	}
	if err := in.Require(batch.Reward); err != nil {
		return err
	}
	in.TokenReward = make([]float64, in.Tokens())
	for i, reward := range in.Reward {
		from, to := in.Span(i)
		for n := to - 1; n >= from; n-- {
			if in.Mask[n] {
				in.TokenReward[n] = reward
				break
			}
		}
	}
	return nil
}

// NoKL is the absence of a KL term.
type NoKL struct{}

// AddLoss adds nothing.
func (*NoKL) AddLoss(*Grad, *batch.Batch) error { return nil }

// AddReward subtracts nothing.
func (*NoKL) AddReward(*batch.Batch) (float64, error) { return 0, nil }

// Coefficient is 0.
func (*NoKL) Coefficient() float64 { return 0 }

// estimator is the registry's entry of a sample estimator.
func estimator(e Estimator) method.Entry[KL] {
	return method.Entry[KL]{Spec: method.Spec{Name: string(e)}, New: func() KL { return NewKLTerm(e) }}
}

// Controller adjusts the coefficient of a KL penalty towards a target, as in
// Ziegler et al. (1909.08593, section 2.2):
//
//	β ← β·(1 + clip(KL/target - 1, -0.2, 0.2)·n/horizon)
//
// The zero value is fixed. β does not fall below 0, which n > 5·horizon would
// allow in verl's form.
type Controller struct {
	// Target is the KL to hold, in nats per token as the caller measures it; 0
	// keeps the coefficient fixed.
	Target float64 `yaml:"target" range:"0=a fixed coefficient|(0,inf]"`
	// Horizon is the number of responses over which a deviation of 20 per cent
	// changes the coefficient by as much.
	Horizon float64 `yaml:"horizon" default:"10000"`
}

// Next returns the coefficient after a step that measured kl over n responses.
func (c Controller) Next(coef, kl float64, n int) float64 {
	if c.Target == 0 {
		return coef
	}
	deviation := clamp(kl/c.Target-1, -0.2, 0.2)
	return coef * max(0, 1+deviation*float64(n)/c.Horizon)
}

// Estimator is a per-token estimate of KL(π‖ref) from samples of π, as a
// function of d = logp - ref. On-policy the derivative of k1 has mean zero, that of k2 the
// gradient of the KL as its mean; k3 is unbiased with a biased gradient. A name with + has
// the value of its base form and the derivative of k2. verl's other names are kl (k1), mse
// (k2), low_var_kl (k3).
type Estimator string

// The estimators.
const (
	K1      Estimator = "k1"
	Abs     Estimator = "abs"
	K2      Estimator = "k2"
	K3      Estimator = "k3"
	K1Plus  Estimator = "k1+"
	AbsPlus Estimator = "abs+"
	K2Plus  Estimator = "k2+"
	K3Plus  Estimator = "k3+"
)

// KLBounds are the clamps of k3: Log on u before the exponential, Value on the
// result; 0 is none. Where either is active the derivative is zero.
type KLBounds struct {
	Log   float64 `yaml:"log" default:"20" range:"[0,inf]"`
	Value float64 `yaml:"value" default:"10" range:"[0,inf]"`
}

// VerlBounds are the bounds of verl and SkyRL: ±20 on u, ±10 on the value. ROLL
// clamps only the value; TRL clamps neither.
var VerlBounds = KLBounds{Log: 20, Value: 10}

// At returns the estimate for d = logp - ref and its derivative with respect to logp.
func (e Estimator) At(d float64, bounds KLBounds) (value, derivative float64) {
	switch e {
	case K1:
		return d, 1
	case K1Plus:
		return d, d
	case Abs:
		return math.Abs(d), sign(d)
	case AbsPlus:
		return math.Abs(d), d
	case K2, K2Plus:
		return d * d / 2, d
	case K3:
		return k3(-d, bounds)
	case K3Plus:
		value, _ = k3(-d, bounds)
		return value, d
	}
	panic("loss: unknown KL estimator " + string(e))
}

// k3 is exp(u) - u - 1 and its derivative with respect to logp, -du.
func k3(u float64, bounds KLBounds) (value, derivative float64) {
	x := u
	if bounds.Log > 0 {
		x = clamp(u, -bounds.Log, bounds.Log)
	}
	value = elementary.Expm1(x) - x
	if x == u {
		derivative = -elementary.Expm1(x)
	}
	if bounds.Value > 0 && value > bounds.Value {
		return bounds.Value, 0
	}
	return value, derivative
}

// sign is -1, 0 or 1.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// ExactKL is KL(π‖ref) over the whole vocabulary at every sampled state. It
// has no sampling error; a simulator can afford it.
//
// Its gradient reaches the logits directly (Grad.DLogits), not through the
// sampled token. The states are the sampled ones: no importance weight
// corrects their distribution.
type ExactKL struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"0.001" range:"[0,inf]"`
	// In is loss or reward.
	In Place `yaml:"in" default:"loss" oneof:"loss reward"`
	// Aggregation of the term in the loss.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Coefficient is the coefficient.
func (k *ExactKL) Coefficient() float64 { return k.Coef }

// AddLoss adds the term, if it belongs into the loss.
func (k *ExactKL) AddLoss(out *Grad, in *batch.Batch) error {
	if k.In != InLoss {
		return nil
	}
	sum, err := addFullKL(out, in, batch.DistRef, &in.Ref, k.Aggregation, k.Coef)
	if err != nil {
		return err
	}
	out.Add("actor/kl_loss", sum)
	out.Add("actor/kl_coef", k.Coef)
	return nil
}

// AddReward subtracts the term, if it belongs into the reward.
func (k *ExactKL) AddReward(in *batch.Batch) (float64, error) {
	if k.In != InReward {
		return 0, nil
	}
	return penalise(in, k.Coef, batch.Columns{batch.DistOld, batch.DistRef}, func(n int) float64 {
		at := n * in.Vocab
		return klRow(nil, in.Old.Dist[at:at+in.Vocab], in.Ref.Dist[at:at+in.Vocab], 0)
	})
}

// klRow returns KL(p‖q) of two rows of log-probs and adds scale times its
// derivative with respect to p's logits to dlogits, if that is not nil.
func klRow[F ~float32 | ~float64](dlogits []float64, logp, logq []F, scale float64) float64 {
	kl := 0.0
	for a, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			kl += float64(p * (float64(lp) - float64(logq[a])))
		}
	}
	if dlogits == nil {
		return kl
	}
	for a, lp := range logp {
		if p := elementary.Exp(float64(lp)); p > 0 {
			dlogits[a] += float64(scale * p * (float64(lp) - float64(logq[a]) - kl))
		}
	}
	return kl
}

// addFullKL adds coef times the exact KL of the current distributions from
// others, aggregated over the tokens, and its gradient with respect to the
// logits. It returns the KL itself.
func addFullKL(out *Grad, in *batch.Batch, of batch.Column, other *batch.Scored, a Aggregation, coef float64) (sum float64, err error) {
	out.NeedLogits(in.Tokens(), in.Vocab)
	err = weighted(out, in, a, batch.Columns{batch.Dist, of}, func(n int, w float64) {
		at := n * in.Vocab
		sum += float64(w * klRow(out.DLogits[at:at+in.Vocab], in.Now.Dist[at:at+in.Vocab], other.Dist[at:at+in.Vocab], coef*w))
	})
	out.Loss += float64(coef * sum)
	return sum, err
}

// UnbiasedKL is DeepSeek-V3.2's importance-corrected k3: the ratio to the
// policy that sampled the tokens multiplies the estimate and stays in the graph.
//
// The paper's anchor is the sampling policy (roll); TRL and slime use old.
// Detaching x would give x·(1 - exp(u)), the biased gradient of k3 again. Over
// the vocabulary, the mean of the derivative under the anchor is exactly the
// gradient of KL(π‖ref).
type UnbiasedKL struct {
	// Coef is the coefficient.
	Coef float64 `yaml:"coef" default:"0.001" range:"[0,inf]"`
	// In must be loss: the point of the method is its gradient.
	In Place `yaml:"in" default:"loss" oneof:"loss reward"`
	// Anchor is the policy that sampled the tokens: roll or old.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// Level of x: token, or sequence for the geometric mean TRL uses with
	// sequence-level ratios.
	Level string `yaml:"level" default:"token" oneof:"token sequence"`
	// LogClamp bounds the log-ratio of x; 0 is no bound, as published.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// ValueClamp bounds K from above where slime's low_var_kl does (10); 0 is none.
	ValueClamp float64 `yaml:"value_clamp" range:"[0,inf]"`
	// Cap bounds x itself, a constant beyond it: min(x·k3, clip(x, 1-ε, 1+ε)·k3) is the cap 1+ε,
	// since k3 is not negative. 0 is none.
	Cap float64 `yaml:"cap" range:"[0,inf]"`
	// Aggregation of the term.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (k *UnbiasedKL) Validate() error {
	return errors.Join(check(k.In != InReward, "in: k3_unbiased belongs into the loss; use k1 or k3 in the reward"),
		check(k.Level == "token" || k.ValueClamp == 0, "value_clamp: applies to level token"),
		check(k.Level == "token" || k.Cap == 0, "cap: applies to level token"))
}

// Coefficient is the coefficient.
func (k *UnbiasedKL) Coefficient() float64 { return k.Coef }

// AddReward subtracts nothing: the term belongs into the loss.
func (k *UnbiasedKL) AddReward(*batch.Batch) (float64, error) { return 0, nil }

// AddLoss adds the term.
func (k *UnbiasedKL) AddLoss(out *Grad, in *batch.Batch) error {
	if err := in.Require(batch.Mask, batch.Logp, batch.LogpRef, k.Anchor.Column()); err != nil {
		return err
	}
	anchor := k.Anchor.Of(in)
	if k.Level == "sequence" {
		return k.addSequence(out, in, anchor)
	}
	return addTerm(out, in, k.Aggregation, k.Coef, nil, func(n int) (value, dlogp float64) {
		x, dx := ratio(in.Now.Logp[n]-anchor[n], k.LogClamp)
		if k.Cap > 0 && x > k.Cap {
			x, dx = k.Cap, 0
		}
		u := in.Ref.Logp[n] - in.Now.Logp[n]
		k3, dk3 := k3(u, KLBounds{})
		if v := x * k3; k.ValueClamp > 0 && v > k.ValueClamp {
			return k.ValueClamp, 0
		}
		if dx == 0 { // x is clamped: a constant
			return x * k3, x * dk3
		}
		return x * k3, -x * u // of x·dk3 + x·k3 all else cancels, and takes the digits with it
	})
}

// addSequence adds the term with x = exp(mean_t (logp - anchor)) of the response.
func (k *UnbiasedKL) addSequence(out *Grad, in *batch.Batch, anchor []float64) error {
	rows := out.work(0, in.Len())
	if err := k.Aggregation.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	f := frame{out: out, in: in, active: in.Active()}
	total := 0.0
	for i, w := range rows {
		length := max(f.length(i), 1)
		x, dx := ratio(f.sumLogRatio(i, in.Now.Logp, anchor)/length, k.LogClamp)
		sum := 0.0 // of k3 over the response
		for n := range in.Where(i, f.active) {
			value, d := k3(in.Ref.Logp[n]-in.Now.Logp[n], KLBounds{})
			sum += value
			out.DLogp[n] += float64(k.Coef * w * x * d)
		}
		f.spread(i, k.Coef*w*sum*dx/length)
		total += float64(w * x * sum)
	}
	out.Loss += float64(k.Coef * total)
	out.Add("actor/kl_loss", total)
	out.Add("actor/kl_coef", k.Coef)
	return nil
}
