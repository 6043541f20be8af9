package precision

import (
	"encoding/json"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// testQuantizers covers each granularity with each kind of grid.
var testQuantizers = []string{
	"bf16", "fp32", "fp8_e4m3",
	"fp8_e4m3/tensor", "fp8_e4m3/channel", "fp8_e4m3/1x128", "fp8_e4m3/128x128", "fp8_e4m3/2x3", "fp8_e4m3/mx",
	"fp8_e5m2/tensor", "fp8_e5m2/mx", "int8/tensor", "int8/channel", "int8/3x5", "int4/channel", "int4/1x32",
	"fp6_e3m2/mx", "fp6_e2m3/mx", "fp4_e2m1/mx", "fp4_e2m1/nv", "fp4_e2m1/channel", "e3m4/tensor", "int2/1x4",
}

func mustQuantizer(t testing.TB, text string) Quantizer {
	t.Helper()
	return must.Get(ParseQuantizer(text))(t)
}

func TestParseQuantizer(t *testing.T) {
	for text, want := range map[string]Quantizer{
		"bf16":             Unscaled(BF16),
		"fp16:sat":         {Format: Format{"fp16:sat", 5, 10, 15, 65504, Saturate, IEEE}},
		"e4m3/tensor":      {Format: E4M3, Granularity: PerTensor},
		"int8/channel":     {Format: INT8, Granularity: PerChannel},
		"fp8_e4m3/1x128":   {E4M3, Block, 1, 128},
		"fp8_e4m3/128x128": {E4M3, Block, 128, 128},
		"e2m1/mx":          {Format: E2M1, Granularity: MX},
		"fp4_e2m1/nv":      {Format: E2M1, Granularity: NV},
		"fp8_e5m2/mx":      {Format: E5M2, Granularity: MX},
	} {
		q, err := ParseQuantizer(text)
		if err != nil || q != want {
			t.Errorf("%q: %+v, %v; want %+v", text, q, err, want)
		}
	}
	for _, text := range append(testQuantizers, quantizerForms...) {
		q := mustQuantizer(t, text)
		if q.String() != text || q.Scaled() != strings.Contains(text, "/") {
			t.Errorf("%q prints as %q, scaled %v", text, q, q.Scaled())
		}
		written := must.Get(json.Marshal(q))(t)
		var back Quantizer
		if err := json.Unmarshal(written, &back); err != nil || back != q {
			t.Errorf("%s reads back as %+v, %v", written, back, err)
		}
		if q.Identity() != (text == "fp32") {
			t.Errorf("%q: Identity() = %v", text, q.Identity())
		}
	}
}

func TestParseQuantizerErrors(t *testing.T) {
	for text, want := range map[string]string{
		"fp8_e4m3/tensr":      `did you mean "fp8_e4m3/tensor"`,
		"fp8_e4m3/128*128":    `did you mean "fp8_e4m3/128x128"`,
		"fp8_e4m3/128x":       "did you mean",
		"fp8_e4m3/0x128":      "did you mean",
		"fp8_e4m3/-1x128":     "did you mean",
		"fp8_e4m3/01x128":     "did you mean",
		"fp8_e4m3/1x1x1":      "did you mean",
		"fp8_e4m3/1x99999999": "did you mean",
		"fp8_e4m3/":           "did you mean",
		"fp8_e4m/tensor":      `nearest valid form "fp8_e4m3/tensor"`,
		"int7x/channel":       `nearest valid form "int8/channel"`,
		"":                    "unknown format",
		"int8":                "int8 needs a scale, for example int8/channel",
		"bf16/channel":        "takes no scale",
		"fp8_e4m3:nan/tensor": "always saturate",
		"int8/mx":             "not supported; try int8/channel",
		"fp8_e4m3/nv":         "nv blocks hold fp4_e2m1",
	} {
		if q, err := ParseQuantizer(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, error %v; want it to say %q", text, q, err, want)
		}
	}
	for _, q := range []Quantizer{
		{}, {Format: E4M3, Granularity: Block}, {E4M3, Block, 1, 0}, {E4M3, Block, -1, -1}, {E4M3, PerTensor, 1, 1}, {E4M3, MX, 0, 3},
		{Format: E4M3, Granularity: 17}, {E4M3, Block, -2, 2}, {E4M3, None, -1, 1},
	} {
		if text, err := q.MarshalText(); err == nil {
			t.Errorf("%+v was written as %q", q, text)
		}
	}
	if err := new(Quantizer).UnmarshalText([]byte("int8/channels")); err == nil {
		t.Error("int8/channels was accepted")
	}
}

func TestScaleCount(t *testing.T) {
	for _, c := range []struct {
		quantizer  string
		rows, cols int
		want       int
		rowLocal   bool
	}{
		{"bf16", 3, 5, 0, true},
		{"fp8_e4m3/tensor", 3, 5, 1, false},
		{"fp8_e4m3/tensor", 0, 5, 0, false},
		{"int8/channel", 3, 5, 3, true},
		{"int8/channel", 3, 0, 0, true},
		{"fp8_e4m3/1x128", 3, 128, 3, true},
		{"fp8_e4m3/1x128", 3, 129, 6, true},
		{"fp8_e4m3/128x128", 129, 257, 6, false},
		{"fp4_e2m1/mx", 3, 33, 6, true},
		{"fp4_e2m1/nv", 3, 33, 9, false},
	} {
		q := mustQuantizer(t, c.quantizer)
		if got := q.ScaleCount(c.rows, c.cols); got != c.want {
			t.Errorf("%s: %d scales for %d×%d, want %d", q, got, c.rows, c.cols, c.want)
		}
		if q.RowLocal() != c.rowLocal {
			t.Errorf("%s: RowLocal() = %v", q, q.RowLocal())
		}
	}
}
