package precision

import (
	"fmt"
	"strconv"
	"strings"
)

// namedFormats are the formats with a name of their own, in the order in which
// errors list them.
var namedFormats = []Format{FP32, TF32, BF16, FP16, E4M3, E5M2, E3M2, E2M3, E2M1, INT8, INT4}

// formatAliases are other spellings in use, each with its canonical name. The
// bare "eXmY" spellings keep custom formats from shadowing a named one.
var formatAliases = []struct{ alias, name string }{
	{"float32", "fp32"}, {"e8m23", "fp32"},
	{"tensorfloat32", "tf32"}, {"e8m10", "tf32"},
	{"bfloat16", "bf16"}, {"e8m7", "bf16"},
	{"float16", "fp16"}, {"half", "fp16"}, {"e5m10", "fp16"},
	{"e4m3", "fp8_e4m3"}, {"e4m3fn", "fp8_e4m3"}, {"float8_e4m3fn", "fp8_e4m3"},
	{"e5m2", "fp8_e5m2"}, {"float8_e5m2", "fp8_e5m2"},
	{"e3m2", "fp6_e3m2"}, {"e2m3", "fp6_e2m3"},
	{"e2m1", "fp4_e2m1"}, {"float4_e2m1fn", "fp4_e2m1"},
}

// ParseFormat reads a format's text:
//
//	fp32 tf32 bf16 fp16 fp8_e4m3 fp8_e5m2 fp6_e3m2 fp6_e2m3 fp4_e2m1 int8 int4
//	e4m3, e5m2, ...  short for the named format with these bits
//	e8m5, e5m7, ...  any IEEE-like format of 2-8 exponent and 1-22 mantissa bits
//	int2 ... int8    symmetric integers
//
// A suffix replaces the overflow rule: ":inf", ":sat" or ":nan", as in
// "fp16:sat". Unknown text is an error that names the nearest known name and
// lists all of them.
func ParseFormat(name string) (Format, error) {
	base, rule, suffixed := strings.Cut(name, ":")
	f, ok := parseBase(base)
	if !ok {
		return Format{}, unknownFormat(name, base)
	}
	if !suffixed {
		return f, nil
	}
	for _, o := range []Overflow{ToInfinity, Saturate, ToNaN} {
		if rule == o.String() {
			return f.WithOverflow(o)
		}
	}
	return Format{}, fmt.Errorf("precision: unknown overflow rule %q in %q; want inf, sat or nan", rule, name)
}

// baseName strips the overflow suffix.
func baseName(name string) string {
	base, _, _ := strings.Cut(name, ":")
	return base
}

// parseBase reads a format's text without suffix.
func parseBase(base string) (Format, bool) {
	for _, a := range formatAliases {
		if a.alias == base {
			base = a.name
			break
		}
	}
	for _, f := range namedFormats {
		if f.Name == base {
			return f, true
		}
	}
	if digits, ok := strings.CutPrefix(base, "int"); ok {
		if n, ok := shortNumber(digits); ok && n >= 2 && n <= 8 {
			return integer(n), true
		}
		return Format{}, false
	}
	if rest, ok := strings.CutPrefix(base, "e"); ok {
		exponent, mantissa, _ := strings.Cut(rest, "m")
		e, eok := shortNumber(exponent)
		m, mok := shortNumber(mantissa)
		if eok && mok && e >= 2 && e <= 8 && m >= 1 && m <= 22 {
			return ieee(base, e, m), true
		}
	}
	return Format{}, false
}

// shortNumber reads one or two digits without a leading zero, so that each
// format has one spelling.
func shortNumber(s string) (int, bool) {
	if len(s) < 1 || len(s) > 2 || s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil
}

// unknownFormat builds the error for a name that is none.
func unknownFormat(name, base string) error {
	names := make([]string, 0, len(namedFormats))
	for _, f := range namedFormats {
		names = append(names, f.Name)
	}
	candidates := names
	for _, a := range formatAliases {
		candidates = append(candidates, a.alias)
	}
	return fmt.Errorf("precision: unknown format %q; did you mean %q? known: %s, or eXmY with 2-8 exponent and 1-22 mantissa bits",
		name, NearestName(base, candidates), strings.Join(names, ", "))
}

// String returns the canonical text, the one ParseFormat reads back.
func (f Format) String() string {
	if f == (Format{}) {
		return "invalid"
	}
	return f.Name
}

// MarshalText writes the canonical text, for YAML and JSON. It fails for a
// format that its text would not bring back.
func (f Format) MarshalText() ([]byte, error) {
	back, err := ParseFormat(f.Name)
	if err != nil {
		return nil, err
	}
	if back != f {
		return nil, fmt.Errorf("precision: format %+v differs from the %q its name stands for", f, f.Name)
	}
	return []byte(f.Name), nil
}

// UnmarshalText reads what ParseFormat reads.
func (f *Format) UnmarshalText(text []byte) error {
	g, err := ParseFormat(string(text))
	if err != nil {
		return err
	}
	*f = g
	return nil
}
