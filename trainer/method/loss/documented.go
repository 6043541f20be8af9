package loss

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"driftlab/trainer/method/trace"
)

// CheckFormula evaluates the formula of a loss's page on every token of a trace, from the
// columns and the parameters alone, and compares it with what the loss computed. checked
// is false where the formula cannot be evaluated, and why says what of it; where it can
// be and has another value, that is the error.
func CheckFormula(l Loss, formula string, t *trace.Trace) (checked bool, why string, err error) {
	d, fault := trace.Document(formula)
	if fault != nil {
		return false, fault.Error(), nil
	}
	parameters := symbols(l)
	for n := range t.Tokens {
		k := &t.Tokens[n]
		value, ok := k.Find(trace.Value)
		if !ok {
			continue
		}
		got, fault := d.Value(k, usual(k, maps.Clone(parameters)))
		if fault != nil {
			return false, fault.Error(), nil
		}
		checked = true
		if !trace.Agree(got, float64(value.Value)) {
			return true, "", fmt.Errorf("the documented formula %s is %v at token %d of response %d, and the loss computes %v", formula, trace.Number(got), k.Position+1, k.Response+1, value.Value)
		}
	}
	return checked, "", nil
}

// usual adds what formulas name without a definition: lr, the log-ratio to old; w, the
// importance weight, which is 1 where the batch has none; anchor, the one denominator.
func usual(k *trace.Token, given map[string]float64) map[string]float64 {
	given["w"] = 1
	if x, ok := k.Find("weight"); ok {
		given["w"] = float64(x.Value)
	}
	logp, _ := k.Find("logp")
	old, hasOld := k.Find("old")
	roll, hasRoll := k.Find("roll")
	if hasOld {
		given["lr"] = float64(logp.Value) - float64(old.Value)
	}
	switch {
	case hasOld && !hasRoll:
		given["anchor"] = float64(old.Value)
	case hasRoll && !hasOld:
		given["anchor"] = float64(roll.Value)
	}
	return given
}

// symbols are the numbers among a loss's parameters, by their names in a recipe and with
// the Greek letters that formulas have for them.
func symbols(l Loss) map[string]float64 {
	list := map[string]float64{}
	v := reflect.Indirect(reflect.ValueOf(l))
	if v.Kind() != reflect.Struct {
		return list
	}
	greek := strings.NewReplacer("eps", "ε", "beta", "β", "delta", "δ", "lambda", "λ", "tau", "τ", "alpha", "α", "gamma", "γ", "cap", "c")
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if f := v.Field(i); name != "" && f.CanFloat() {
			list[name], list[greek.Replace(name)] = f.Float(), f.Float()
		}
	}
	return list
}
