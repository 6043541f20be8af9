package precision

import (
	"fmt"
)

// Granularity says which elements of a matrix share a scale.
type Granularity uint8

// The granularities. "Row" and "column" are those of the row-major matrix that
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
