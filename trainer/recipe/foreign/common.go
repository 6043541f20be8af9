package foreign

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"driftlab/trainer/method/correction"
)

// lossFields collects the parameters of a loss in their order.
type lossFields struct {
	name   string
	fields []string
}

func (l *lossFields) set(name string, value any) {
	if x, ok := value.(float64); ok {
		value = decimal(x)
	}
	l.fields = append(l.fields, fmt.Sprintf("%s: %v", name, value))
}

func (l *lossFields) String() string {
	return "{" + strings.Join(append([]string{"name: " + l.name}, l.fields...), ", ") + "}"
}

// decimal is a number without an exponent where it is whole.
func decimal(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// penalties are the KL estimators that frameworks share.
var penalties = vocabulary{"kl", map[string]string{"k1": "k1", "kl": "k1", "abs": "abs", "k2": "k2", "mse": "k2", "k3": "k3", "low_var_kl": "k3", "full": "exact",
	"kl+": "k1+", "k1+": "k1+", "k3+": "k3+", "low_var_kl+": "k3+", "unbiased_kl": "k3_unbiased"}}

// takeKL sets the penalty to the reference policy: none where the coefficient is 0.
func (c *Config) takeKL(estimator string, coef float64, in string, keys ...string) {
	if coef == 0 {
		c.take("kl", "{name: none}", keys...)
		return
	}
	c.take("kl", fmt.Sprintf("{name: %s, coef: %v, in: %s}", estimator, coef, in), keys...)
}

// takeEntropy adds the entropy bonus; 0 is none.
func (c *Config) takeEntropy(v *values, key string) {
	if !v.has(key) {
		return
	}
	if coef := v.number(key, 0); coef != 0 {
		c.take("terms", fmt.Sprintf("[{name: entropy, coef: %v}]", coef), key)
	}
}

// takeMinibatches sets the updates of a batch: whole over part, if both are known.
func (c *Config) takeMinibatches(v *values, whole, part float64, keys ...string) {
	n := whole / part
	switch {
	case whole <= 0 || part <= 0 || math.IsNaN(n):
		return
	case n != math.Trunc(n) || n < 1:
		for _, key := range keys {
			v.leave(key, fmt.Sprintf("a batch of %v in parts of %v is no whole number of updates", whole, part))
		}
		return
	}
	c.take("learner.minibatches", strconv.Itoa(int(n)), keys...)
}

// takeGroup sets the advantage by name.
func (c *Config) takeAdvantage(name string, fields []string, keys ...string) {
	c.take("advantage", "{"+strings.Join(append([]string{"name: " + name}, fields...), ", ")+"}", keys...)
}

// takeLowPrecision sets a rollout engine that quantises.
func (c *Config) takePrecision(v *values, key string) {
	if !v.has(key) {
		return
	}
	switch text := strings.ToLower(v.text(key, "")); {
	case strings.Contains(text, "fp8") || strings.Contains(text, "e4m3"):
		c.take("rollout.numerics", "fp8-w8a8", key)
	case strings.Contains(text, "int8"):
		c.take("rollout.numerics", "int8-w8a8", key)
	case text == "bfloat16" || text == "bf16":
		c.take("rollout.numerics", "bf16", key)
	case text == "float16" || text == "fp16":
		c.take("rollout.numerics", "fp16", key)
	case text == "float32" || text == "fp32":
		c.take("rollout.numerics", "fp32", key)
	default:
		v.leave(key, fmt.Sprintf("%q is not a format of the recipe's engines", v.by[key].Text))
	}
}

// takeOneStepOff sets generation one step ahead. The recipe's system compares with the rollout
// engine, as verl's does; a trainer that scores each batch with its own engine compares with that.
func (c *Config) takeOneStepOff(schedule string, keys ...string) {
	if c.Pipeline.Mode != correction.Bypass {
		c.take("anchor", "old", keys...)
	}
	c.take("schedule", schedule, keys...)
}
