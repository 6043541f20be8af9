package precision

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// The published figures of each format. Sources: IEEE 754-2019 table 3.5
// (fp16); OFP8 1.0 (fp8); OCP MX 1.0 section 5.3 (fp6, fp4); the
// bf16 and tf32 rows follow from their widths.
func TestPublishedLimits(t *testing.T) {
	for _, c := range []struct {
		format                  Format
		bits, bias              int
		max, normal, subnormal  float64
		top, zero, minusOneCode uint32 // codes of Max, 0 and -1
	}{
		{FP32, 32, 127, math.MaxFloat32, 0x1p-126, 0x1p-149, 0x7f7fffff, 0, 0xbf800000},
		{TF32, 19, 127, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x3fbff, 0, 0x5fc00},
		{BF16, 16, 127, 0x1.fep127, 0x1p-126, 0x1p-133, 0x7f7f, 0, 0xbf80},
		{FP16, 16, 15, 65504, 0x1p-14, 0x1p-24, 0x7bff, 0, 0xbc00},
		{E4M3, 8, 7, 448, 0x1p-6, 0x1p-9, 0x7e, 0, 0xb8},
		{E5M2, 8, 15, 57344, 0x1p-14, 0x1p-16, 0x7b, 0, 0xbc},
		{E3M2, 6, 3, 28, 0.25, 0.0625, 0x1f, 0, 0x2c},
		{E2M3, 6, 1, 7.5, 1, 0.125, 0x1f, 0, 0x28},
		{E2M1, 4, 1, 6, 1, 0.5, 0x7, 0, 0xa},
		{INT8, 8, -6, 127, 128, 1, 0x7f, 0, 0xff}, // every integer counts as subnormal
		{INT4, 4, -2, 7, 8, 1, 0x7, 0, 0xf},
	} {
		f := c.format
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		normal := math.Ldexp(1, 1-f.Bias)
		if f.Bits() != c.bits || f.Bias != c.bias || float64(f.Max) != c.max || normal != c.normal ||
			normal*math.Ldexp(1, -f.MantissaBits) != c.subnormal {
			t.Errorf("%s: %d bits, %+v; want %+v", f, f.Bits(), f, c)
		}
		for x, code := range map[float32]uint32{f.Max: c.top, 0: c.zero, -1: c.minusOneCode} {
			if got := f.Encode(x); got != code {
				t.Errorf("%s: Encode(%g) = %#x, want %#x", f, x, got, code)
			}
			if got := f.Decode(code); got != x {
				t.Errorf("%s: Decode(%#x) = %g, want %g", f, code, got, x)
			}
		}
	}
}

func TestParseFormat(t *testing.T) {
	for text, want := range map[string]Format{
		"fp32": FP32, "float32": FP32, "e8m23": FP32, "tf32": TF32, "e8m10": TF32, "bf16": BF16, "bfloat16": BF16, "e8m7": BF16,
		"fp16": FP16, "half": FP16, "e5m10": FP16, "fp8_e4m3": E4M3, "e4m3": E4M3, "e4m3fn": E4M3, "fp8_e5m2": E5M2, "e5m2": E5M2,
		"fp4_e2m1": E2M1, "e2m1": E2M1, "e3m2": E3M2, "fp6_e2m3": E2M3, "int8": INT8, "int4": INT4, "fp16:inf": FP16, "e4m3:sat": E4M3,
		"e8m5":     {"e8m5", 8, 5, 127, 0x1.f8p127, ToInfinity, IEEE},
		"e5m7":     {"e5m7", 5, 7, 15, 65280, ToInfinity, IEEE},
		"e5m7:sat": {"e5m7:sat", 5, 7, 15, 65280, Saturate, IEEE},
		"e4m3:nan": {"fp8_e4m3:nan", 4, 3, 7, 448, ToNaN, NaNOnly},
		"half:sat": {"fp16:sat", 5, 10, 15, 65504, Saturate, IEEE},
		"int3":     {"int3", 0, 2, -1, 3, Saturate, FiniteOnly},
	} {
		f, err := ParseFormat(text)
		if err != nil || f != want {
			t.Errorf("%q: %+v, %v; want %+v", text, f, err, want)
		}
	}
}

func TestParseFormatErrors(t *testing.T) {
	for text, want := range map[string]string{
		"bf61":         `did you mean "bf16"`,
		"fp8_e4m2":     `did you mean "fp8_e4m3"`,
		"FP16":         `did you mean "fp16"`,
		"":             "known: fp32, tf32, bf16, fp16",
		"e9m3":         "2-8 exponent and 1-22 mantissa bits",
		"e1m3":         "unknown format",
		"e5m0":         "unknown format",
		"e8m24":        "unknown format",
		"e05m2":        "unknown format",
		"e5m2m":        "unknown format",
		"e5m+7":        "unknown format",
		"int9":         "unknown format",
		"int1":         "unknown format",
		"int08":        "unknown format",
		"fp16:round":   "want inf, sat or nan",
		"fp16:":        "want inf, sat or nan",
		"fp32:sat":     "fp32 is never rounded",
		"fp8_e4m3:inf": `cannot represent the overflow rule "inf"`,
		"e2m1:nan":     `cannot represent the overflow rule "nan"`,
		"int8:nan":     "integers have 2 to 8 bits",
	} {
		if f, err := ParseFormat(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v; want it to say %q", text, f, err, want)
		}
	}
}

func TestFormatTextRoundTrip(t *testing.T) {
	for _, f := range testFormats(t) {
		text := must.Get(json.Marshal(f))(t)
		var back Format
		if err := json.Unmarshal(text, &back); err != nil || back != f {
			t.Errorf("%s reads back as %+v, %v", text, back, err)
		}
		if parsed, err := ParseFormat(f.String()); err != nil || parsed != f {
			t.Errorf("%q reads back as %+v, %v", f, parsed, err)
		}
	}
	changed := BF16
	changed.MantissaBits = 8
	for _, f := range []Format{{}, changed} {
		if text, err := f.MarshalText(); err == nil {
			t.Errorf("%+v was written as %q", f, text)
		}
	}
	if err := new(Format).UnmarshalText([]byte("bf17")); err == nil {
		t.Error("bf17 was accepted")
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(f *Format){
		"zero":          func(f *Format) { *f = Format{} },
		"exponent":      func(f *Format) { f.ExponentBits = 9 },
		"mantissa":      func(f *Format) { f.MantissaBits = 23 },
		"bias":          func(f *Format) { f.Bias = 14 },
		"max":           func(f *Format) { f.Max = 65536 },
		"overflow":      func(f *Format) { f.Overflow = 9 },
		"specials":      func(f *Format) { f.Specials = 9 },
		"no infinity":   func(f *Format) { f.Specials = FiniteOnly; f.Max = 131008 },
		"wide, no inf":  func(f *Format) { *f = BF16; f.Specials = FiniteOnly },
		"other fp32":    func(f *Format) { *f = FP32; f.Overflow = Saturate },
		"wide integer":  func(f *Format) { *f = integer(9) },
		"integer range": func(f *Format) { *f = INT8; f.Max = 128 },
	} {
		f := FP16
		change(&f)
		if f.Validate() == nil {
			t.Errorf("%s: %+v passes", name, f)
		}
	}
	for _, f := range testFormats(t) {
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		if f.Identity() != (f == FP32) {
			t.Errorf("%s: Identity() = %v", f, f.Identity())
		}
	}
}
