package loss

import (
	"errors"

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
// choice; in the loss, on-policy, k2, k1+ or k3+ (whose gradient is that of the
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
	if err := in.Require(batch.Mask, batch.Logp, batch.LogpRef); err != nil {
		return err
	}
	return addTerm(out, in, k.Aggregation, k.Coef, func(n int) (value, dlogp float64) {
		return k.estimator.At(in.Now.Logp[n]-in.Ref.Logp[n], k.Bounds)
	})
}

// AddReward subtracts the term, if it belongs into the reward.
func (k *KLTerm) AddReward(in *batch.Batch) (float64, error) {
	if k.In != InReward {
		return 0, nil
	}
	if err := in.Require(batch.Mask, batch.LogpOld, batch.LogpRef); err != nil {
		return 0, err
	}
	kl, err := penalise(in, k.Coef, func(n int) float64 {
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
func addTerm(out *Grad, in *batch.Batch, agg Aggregation, coef float64, term func(n int) (value, dlogp float64)) error {
	rows := out.work(0, in.Len())
	if err := agg.RowWeights(rows, in, &out.groups); err != nil {
		return err
	}
	sum, active := 0.0, in.Active()
	for i, w := range rows {
		for n := range in.Where(i, active) {
			value, dlogp := term(n)
			sum += float64(w * value)
			out.DLogp[n] += float64(coef * w * dlogp)
		}
	}
	out.Loss += float64(coef * sum)
	out.Add("actor/kl_loss", sum)
	out.Add("actor/kl_coef", coef)
	return nil
}

// penalise subtracts coef·term from every token's reward and returns the mean
// over responses of the mean over tokens; empty responses count as 0, as in verl.
func penalise(in *batch.Batch, coef float64, term func(n int) float64) (float64, error) {
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
