package precision

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the granularity's text in a quantiser: "none", "tensor",
// "channel", "block", "mx", "nv", "q8_0", "q8_0-x86", "q4_0" or "asymmetric".
func (g Granularity) String() string {
	return named("Granularity", uint8(g), "none", "tensor", "channel", "block", "mx", "nv", "q8_0", "q8_0-x86", "q4_0", "asymmetric")
}

// quantizerForms are the forms that errors compare a misspelt text with. Any
// block shape is valid; these are the usual ones.
var quantizerForms = []string{
	"fp32", "tf32", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1",
	"fp8_e4m3/tensor", "fp8_e4m3/channel", "fp8_e4m3/1x128", "fp8_e4m3/128x128", "fp8_e4m3/mx",
	"fp8_e5m2/tensor", "fp8_e5m2/channel", "fp8_e5m2/1x128", "fp8_e5m2/128x128", "fp8_e5m2/mx",
	"int8/tensor", "int8/channel", "int8/1x128", "int8/128x128",
	"int4/channel", "int4/1x32", "int4/1x128",
	"fp4_e2m1/mx", "fp4_e2m1/nv", "fp6_e3m2/mx", "fp6_e2m3/mx",
	"int8/q8_0", "int8/q8_0-x86", "int4/q4_0", "int8/asymmetric",
}

// ParseQuantizer reads a quantiser's text: a format (see ParseFormat), alone or
// followed by "/" and the granularity of its scales:
//
//	bf16                no scale, only rounding
//	fp8_e4m3/tensor     one scale
//	int8/channel        one scale per row
//	fp8_e4m3/128x128    one scale per tile of 128 rows and 128 columns; any RxC
//	fp4_e2m1/mx         OCP microscaling, blocks of 32 along a row
//	fp4_e2m1/nv         NVFP4, blocks of 16 along a row
//	int8/q8_0           ggml's Q8_0, blocks of 32 along a row; int8/q8_0-x86 as its AVX2 code has it
//	int4/q4_0           ggml's Q4_0, blocks of 32 along a row
//	int8/asymmetric     one scale and one zero point per row, as onnxruntime has them
//
// Errors name the nearest valid form.
func ParseQuantizer(text string) (Quantizer, error) {
	name, suffix, scaled := strings.Cut(text, "/")
	q := Quantizer{}
	if scaled && !q.parseGranularity(suffix) {
		return Quantizer{}, fmt.Errorf("precision: unknown quantiser %q; did you mean %q? scales are tensor, channel, RxC (128x128), mx, nv, q8_0, q8_0-x86, q4_0 or asymmetric",
			text, NearestName(text, quantizerForms))
	}
	f, err := ParseFormat(name)
	if err != nil {
		if scaled {
			return Quantizer{}, fmt.Errorf("%w; in the quantiser %q, nearest valid form %q", err, text, NearestName(text, quantizerForms))
		}
		return Quantizer{}, err
	}
	q.Format = f
	if err := q.Validate(); err != nil {
		return Quantizer{}, err
	}
	return q, nil
}

// parseGranularity fills the granularity from the text behind the slash.
func (q *Quantizer) parseGranularity(suffix string) bool {
	for _, g := range []Granularity{PerTensor, PerChannel, MX, NV, Q8_0, Q8_0X86, Q4_0, Asymmetric} {
		if suffix == g.String() {
			q.Granularity = g
			return true
		}
	}
	rows, cols, ok := strings.Cut(suffix, "x")
	r, rok := blockSide(rows)
	c, cok := blockSide(cols)
	if !ok || !rok || !cok {
		return false
	}
	q.Granularity, q.BlockRows, q.BlockCols = Block, r, c
	return true
}

// blockSide reads a positive length without sign or leading zero.
func blockSide(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 20) // a million: longer rows than any here
	return int(n), err == nil && n > 0 && s[0] != '0'
}

// String returns the canonical text, the one ParseQuantizer reads back.
func (q Quantizer) String() string {
	switch q.Granularity {
	case None:
		return q.Format.String()
	case Block:
		return fmt.Sprintf("%s/%dx%d", q.Format, q.BlockRows, q.BlockCols)
	}
	return q.Format.String() + "/" + q.Granularity.String()
}

// MarshalText writes the canonical text, for YAML and JSON.
func (q Quantizer) MarshalText() ([]byte, error) {
	if _, err := q.Format.MarshalText(); err != nil {
		return nil, err
	}
	if err := q.Validate(); err != nil {
		return nil, err
	}
	return []byte(q.String()), nil
}

// UnmarshalText reads what ParseQuantizer reads.
func (q *Quantizer) UnmarshalText(text []byte) error {
	p, err := ParseQuantizer(string(text))
	if err != nil {
		return err
	}
	*q = p
	return nil
}
