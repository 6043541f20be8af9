package precision

import (
	"fmt"
	"strconv"
	"strings"
)

// Granularity says which elements of a matrix share a scale.
type Granularity uint8

// The granularities. "Row" and "column" refer to the row-major matrix that
// is quantised; columns run along k, the dimension that a matmul sums over.
const (
	// None means no scale: the numbers are only rounded.
	None Granularity = iota
	// PerTensor has one scale for the matrix.
	PerTensor
	// PerChannel has one scale per row: an output channel of a weight stored
	// out×in, a token of an activation.
	PerChannel
	// Block has one scale per tile of BlockRows×BlockCols, cut off at the edges.
	// 1x128 for activations and 128x128 for weights is the scheme of
	// DeepSeek-V3 (arXiv 2412.19437).
	Block
	// MX has one power-of-two scale (e8m0) per 32 elements of a row: OCP MX.
	MX
	// NV has one e4m3 scale per 16 elements of a row, and one fp32 scale for
	// the matrix on top: NVFP4.
	NV
	// Q8_0 is ggml's block of 32 elements of a row in int8 with an fp16 scale, as
	// its files are written; the scale is rounded after the values were divided.
	Q8_0
	// Q8_0X86 is Q8_0 as ggml's AVX2 code quantises activations: another reciprocal,
	// and halves go to even.
	Q8_0X86
	// Q4_0 is ggml's block of 32 elements of a row in int4 with an fp16 scale. Its
	// scale has a sign, so that the element of largest magnitude is -8 times it.
	Q4_0
	// Asymmetric has one scale and one zero point per row, as onnxruntime quantises the
	// inputs of its products; the values are what remains when the zero point is subtracted.
	Asymmetric
)

// Lengths of the blocks that the two standards fix.
const (
	mxBlock = 32
	nvBlock = 16
)

// Quantizer is a number format with a rule for scales: a comparable value. Take
// one from ParseQuantizer, or fill the fields; the zero Quantizer is not valid: it has no format.
type Quantizer struct {
	// Format is the grid of the scaled numbers. With a scale it saturates,
	// whatever its own overflow rule.
	Format Format
	// Granularity says who shares a scale.
	Granularity Granularity
	// BlockRows and BlockCols are the tile of Block, and 0 otherwise.
	BlockRows, BlockCols int
}

// Unscaled returns the quantiser that only rounds to f.
func Unscaled(f Format) Quantizer { return Quantizer{Format: f} }

// Scaled reports whether there are scales; false means plain rounding.
func (q Quantizer) Scaled() bool { return q.Granularity != None }

// Identity reports whether the quantiser changes nothing at all.
func (q Quantizer) Identity() bool { return !q.Scaled() && q.Format.Identity() }

// RowLocal reports whether the result for a row depends on that row alone: true
// without scale, per channel, for blocks one row high, and for MX. Otherwise
// quantised activations of one sequence change with what shares its batch, as
// they do on hardware.
func (q Quantizer) RowLocal() bool {
	switch q.Granularity {
	case PerTensor, NV:
		return false
	case Block:
		return q.BlockRows == 1
	}
	return true
}

// RunLength is the number of consecutive elements of a row that share a scale that
// stays outside the sum over them; 0 where whole rows share one, and for MX and NV,
// whose scales are multiplied in first.
func (q Quantizer) RunLength() int {
	switch {
	case q.Granularity == Block:
		return q.BlockCols
	case q.Granularity.ggml():
		return ggmlBlock
	}
	return 0
}

// Validate reports the first contradiction between the fields.
func (q Quantizer) Validate() error {
	f := q.Format
	if err := f.Validate(); err != nil {
		return err
	}
	if (q.Granularity == Block) != (q.BlockRows > 0 && q.BlockCols > 0) || q.BlockRows < 0 || q.BlockCols < 0 ||
		(q.Granularity != Block && q.BlockRows+q.BlockCols != 0) {
		return fmt.Errorf("precision: block of %d×%d does not fit granularity %q", q.BlockRows, q.BlockCols, q.Granularity)
	}
	switch {
	case q.Granularity > Asymmetric:
		return fmt.Errorf("precision: unknown granularity %d", q.Granularity)
	case q.Granularity == None && f.Integer():
		return fmt.Errorf("precision: %s needs a scale, for example %s/channel", f, f)
	case q.Granularity == None:
		return nil
	case f.Bits() > 8:
		return fmt.Errorf("precision: %s has %d bits and takes no scale; scales are for formats of at most 8 bits", f, f.Bits())
	case f.Name != baseName(f.Name):
		return fmt.Errorf("precision: %s: scaled numbers always saturate; drop the overflow rule", f)
	case q.Granularity == MX && f.Integer():
		return fmt.Errorf("precision: %s/mx is not supported; try %s/channel or fp4_e2m1/mx", f, f)
	case (q.Granularity == Q8_0 || q.Granularity == Q8_0X86 || q.Granularity == Asymmetric) && f != INT8:
		return fmt.Errorf("precision: %s/%s: it holds int8", f, q.Granularity)
	case q.Granularity == Q4_0 && f != INT4:
		return fmt.Errorf("precision: %s/%s: its blocks hold int4", f, q.Granularity)
	case q.Granularity == NV && f != E2M1:
		return fmt.Errorf("precision: %s/nv: nv blocks hold fp4_e2m1", f)
	}
	return nil
}

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

// parseGranularity fills the granularity from the text after the slash.
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
func (q *Quantizer) UnmarshalText(text []byte) (err error) {
	*q, err = ParseQuantizer(string(text))
	return err
}
