package loss

import (
	"math"

	"driftlab/precision/elementary"
)

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

// VerlBounds are those of verl and SkyRL: ±20 on u, ±10 on the value. ROLL
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
