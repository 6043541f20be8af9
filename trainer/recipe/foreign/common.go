package foreign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// lossFields collects the parameters of a loss in their order.
type lossFields struct {
	name   string
	fields []string
	// own says that its aggregation is its own, whatever is configured.
	own bool
}

// decimal is a number without an exponent where it is whole.
func decimal(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return ".inf"
	case math.IsInf(x, -1):
		return "-.inf"
	case x == math.Trunc(x) && math.Abs(x) < 1e15:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// penalties are the KL estimators that frameworks share.
var penalties = map[string]string{"k1": "k1", "kl": "k1", "abs": "abs", "k2": "k2", "mse": "k2", "k3": "k3", "low_var_kl": "k3", "full": "exact",
	"kl+": "k1+", "k1+": "k1+", "k3+": "k3+", "low_var_kl+": "k3+", "unbiased_kl": "k3_unbiased"}

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

// numberFormats are the names that frameworks give to number formats, and the formats here. A truth is float32: it switches on a head or a router
// in full precision.
var numberFormats = map[string]string{"bfloat16": "bf16", "bf16": "bf16", "float16": "fp16", "fp16": "fp16", "half": "fp16", "float32": "fp32", "fp32": "fp32", "float": "fp32", "true": "fp32",
	"fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "fp8_e4m3fn": "fp8_e4m3", "float8_e4m3fn": "fp8_e4m3", "fp8_blockwise": "fp8_e4m3", "fp8_inc": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2", "float8_e5m2": "fp8_e5m2",
	"int8": "int8", "w8a8_int8": "int8", "w8a8_fp8": "fp8_e4m3"}

// enginePresets are the presets of engines whose products are in a format of eight bits.
var enginePresets = map[string]string{"fp8_e4m3": "fp8-w8a8", "int8": "int8-w8a8"}

// numberFormat is the value of a key as a format of the field, empty where the key leaves the format as it is.
func (v *values) numberFormat(key, field string) string {
	text := strings.TrimPrefix(strings.ToLower(v.text(key, "")), "torch.")
	switch text {
	case "auto", "none", "false", "":
		return ""
	}
	name, known := numberFormats[text]
	switch { // a scheme that names its format, such as fp8_per_tensor
	case known:
	case strings.Contains(text, "fp8") || strings.Contains(text, "e4m3"):
		name, known = "fp8_e4m3", true
	case strings.Contains(text, "int8"):
		name, known = "int8", true
	}
	if strings.HasSuffix(field, ".numerics") {
		if preset, ok := enginePresets[name]; ok {
			name = preset
		} else if name == "fp8_e5m2" {
			known = false
		}
	}
	if !known {
		v.leave(key, fmt.Sprintf("%q is not a format of the recipe's engines", v.by[key].Text))
		return ""
	}
	return name
}

// Key is a key of a framework's configuration: the field of a recipe that it sets, or why it sets none.
type Key struct {
	Key   string `json:"key"`
	Field string `json:"field,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Frameworks lists the frameworks whose configurations are read.
func Frameworks() (names []string) {
	for _, f := range frameworks() {
		names = append(names, f.name)
	}
	return names
}

// Keys lists the keys of a framework's configuration: those of its correction, and all others.
func Keys(name string) []Key {
	var list []Key
	at := slices.IndexFunc(frameworks(), func(f *framework) bool { return f.name == name })
	if at < 0 {
		return nil
	}
	f := frameworks()[at]
	for _, key := range f.correctionKeys() {
		list = append(list, Key{Key: key, Field: "correction"})
	}
	for _, e := range f.table.order {
		list = append(list, e.row(""))
	}
	for _, e := range f.table.prefixes {
		list = append(list, e.row("*"))
	}
	slices.SortFunc(list, func(a, b Key) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// row is a line of a table as a reader has it.
func (e *entry) row(end string) Key {
	return Key{Key: e.key + end, Field: e.field, Why: reasons[e.reason].why}
}
