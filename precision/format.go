package precision

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Overflow says what becomes of a number whose rounded magnitude exceeds the
// largest finite one, and of an infinity.
type Overflow uint8

// The overflow rules.
const (
	// ToInfinity gives an infinity of the same sign, as IEEE 754 does.
	ToInfinity Overflow = iota
	// Saturate gives the largest finite number of the same sign.
	Saturate
	// ToNaN gives a quiet NaN of the same sign.
	ToNaN
)

// String returns the suffix that names the rule in a format's text: "inf",
// "sat" or "nan".
func (o Overflow) String() string {
	return named("Overflow", uint8(o), "inf", "sat", "nan")
}

// Specials says which bit patterns of a format are not finite numbers.
type Specials uint8

// The ways to spend bit patterns on infinity and NaN.
const (
	// IEEE gives the whole top exponent to infinities and NaNs.
	IEEE Specials = iota
	// NaNOnly has no infinity and a single NaN per sign, the all-ones pattern
	// ("fn" in the names of ml_dtypes and PyTorch).
	NaNOnly
	// FiniteOnly makes every pattern a finite number.
	FiniteOnly
)

// Format is a binary number format, a comparable value. All its numbers are
// float32 numbers too. Take one from the variables of this package or from
// ParseFormat; the zero Format is not valid, and rounding to it panics.
type Format struct {
	// Name is the canonical text, accepted by ParseFormat.
	Name string
	// ExponentBits is the width of the exponent: 2 to 8, or 0 for an integer.
	ExponentBits int
	// MantissaBits is the number of stored fraction bits, the hidden one not
	// counted; for an integer, the bits without the sign.
	MantissaBits int
	// Bias is subtracted from the stored exponent. The smallest normal number
	// is 2^(1-Bias) and the smallest positive one 2^(1-Bias-MantissaBits).
	Bias int
	// Max is the largest finite value.
	Max float32
	// Overflow says what exceeds Max turns into.
	Overflow Overflow
	// Specials says which patterns are infinities and NaNs.
	Specials Specials
}

// The named formats.
var (
	// FP32 is IEEE binary32: no rounding at all.
	FP32 = Format{"fp32", 8, 23, 127, math.MaxFloat32, ToInfinity, IEEE}
	// TF32 is NVIDIA's 19-bit TensorFloat: the range of fp32, the mantissa of fp16.
	TF32 = ieee("tf32", 8, 10)
	// BF16 is bfloat16: the upper half of an fp32.
	BF16 = ieee("bf16", 8, 7)
	// FP16 is IEEE binary16: largest finite 65504, smallest positive 2^-24.
	FP16 = ieee("fp16", 5, 10)
	// E4M3 is OFP8 e4m3 (finite, "fn"): largest 448, one NaN per sign, no
	// infinity. It saturates, as training stacks configure it; a plain cast in
	// PyTorch gives NaN instead, which is "fp8_e4m3:nan" here.
	E4M3 = Format{"fp8_e4m3", 4, 3, 7, 448, Saturate, NaNOnly}
	// E5M2 is OFP8 e5m2, shaped like IEEE: largest finite 57344, infinities.
	// "fp8_e5m2:sat" is its saturating variant.
	E5M2 = ieee("fp8_e5m2", 5, 2)
	// E3M2 is the OCP MX fp6 format of wider range: largest 28, finite only.
	E3M2 = Format{"fp6_e3m2", 3, 2, 3, 28, Saturate, FiniteOnly}
	// E2M3 is the OCP MX fp6 format of finer grid: largest 7.5, finite only.
	E2M3 = Format{"fp6_e2m3", 2, 3, 1, 7.5, Saturate, FiniteOnly}
	// E2M1 is the OCP MX fp4 format: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and negatives.
	E2M1 = Format{"fp4_e2m1", 2, 1, 1, 6, Saturate, FiniteOnly}
	// INT8 is the symmetric integer grid -127 to 127; it makes sense with a scale.
	INT8 = integer(8)
	// INT4 is the symmetric integer grid -7 to 7; it makes sense with a scale.
	INT4 = integer(4)
)

// ieee returns the format with infinities, NaNs and the usual bias.
func ieee(name string, exponentBits, mantissaBits int) Format {
	f := Format{Name: name, ExponentBits: exponentBits, MantissaBits: mantissaBits, Bias: 1<<(exponentBits-1) - 1}
	f.Max = f.largest()
	return f
}

// integer returns the symmetric integer grid of n bits. It is a float without
// exponent bits: all its numbers are "subnormal", with the step 1.
func integer(n int) Format {
	m := n - 1
	return Format{fmt.Sprintf("int%d", n), 0, m, 1 - m, float32(int(1)<<m - 1), Saturate, FiniteOnly}
}

// Identity reports whether every float32 belongs to the format, so that
// rounding to it changes nothing. True for FP32 only.
func (f Format) Identity() bool { return f.ExponentBits == 8 && f.MantissaBits == 23 }

// Integer reports whether the format is an integer grid.
func (f Format) Integer() bool { return f.ExponentBits == 0 && f.MantissaBits > 0 }

// Bits returns the width of an encoded number, sign included.
func (f Format) Bits() int { return 1 + f.ExponentBits + f.MantissaBits }

// WithOverflow returns the format with another overflow rule, named with a
// suffix where the rule is not the format's usual one ("fp8_e4m3:nan"). It
// fails if the format has no pattern for the outcome.
func (f Format) WithOverflow(o Overflow) (Format, error) {
	usual, err := ParseFormat(baseName(f.Name))
	if err != nil {
		return Format{}, err
	}
	g := usual
	if o != usual.Overflow {
		g.Name += ":" + o.String()
		g.Overflow = o
	}
	return g, g.Validate()
}

// Validate reports the first contradiction between the fields. Formats of this
// package and of ParseFormat are valid.
func (f Format) Validate() error {
	e, m := f.ExponentBits, f.MantissaBits
	switch {
	case f == FP32:
		return nil
	case f.Identity():
		return fmt.Errorf("precision: format %q: fp32 is never rounded, so it has no variants", f.Name)
	case f.Integer():
		if n := m + 1; n < 2 || n > 8 || f != integer(n) {
			return fmt.Errorf("precision: format %q: integers have 2 to 8 bits, saturate, and have no variants", f.Name)
		}
		return nil
	case e < 2 || e > 8 || m < 1 || m > 22:
		return fmt.Errorf("precision: format %q: %d exponent and %d mantissa bits; want 2 to 8 and 1 to 22", f.Name, e, m)
	case f.Bias != 1<<(e-1)-1:
		return fmt.Errorf("precision: format %q: bias %d; want %d", f.Name, f.Bias, 1<<(e-1)-1)
	case f.Specials > FiniteOnly || (e == 8 && f.Specials != IEEE):
		return fmt.Errorf("precision: format %q: these special values do not fit in float32", f.Name)
	case f.Max != f.largest():
		return fmt.Errorf("precision: format %q: largest finite value %g; want %g", f.Name, f.Max, f.largest())
	case f.Overflow > ToNaN,
		f.Overflow == ToInfinity && f.Specials != IEEE,
		f.Overflow == ToNaN && f.Specials == FiniteOnly:
		return fmt.Errorf("precision: format %q cannot represent the overflow rule %q", f.Name, f.Overflow)
	}
	return nil
}

// largest computes the largest finite value from the other fields of a float.
func (f Format) largest() float32 {
	exp := 1<<f.ExponentBits - 1 - f.Bias          // of the top exponent
	fraction := 2 - math.Ldexp(1, -f.MantissaBits) // all ones
	switch f.Specials {
	case IEEE:
		exp--
	case NaNOnly:
		fraction -= math.Ldexp(1, -f.MantissaBits) // all ones is the NaN
	}
	return float32(math.Ldexp(fraction, exp))
}

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
func (f *Format) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFormat(string(text))
	return err
}
