package precision

import (
	"fmt"
	"math"
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
	case q.Granularity > NV:
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
	case q.Granularity == NV && f != E2M1:
		return fmt.Errorf("precision: %s/nv: nv blocks hold fp4_e2m1", f)
	}
	return nil
}

// tile returns the shape of the groups that share a scale. Groups tile the
// matrix, cut off at the right and lower edge.
func (q *Quantizer) tile(rows, cols int) (tileRows, tileCols int) {
	switch q.Granularity {
	case PerTensor:
		return rows, cols
	case PerChannel:
		return 1, cols
	case Block:
		return q.BlockRows, q.BlockCols
	case MX:
		return 1, mxBlock
	case NV:
		return 1, nvBlock
	}
	panic(fmt.Sprintf("precision: granularity %d has no scales", q.Granularity))
}

// ScaleCount returns the number of scales of a rows×cols matrix: none for an
// unscaled quantiser, 1 per tensor, rows per channel, ⌈rows/R⌉·⌈cols/C⌉ for
// blocks of R×C, rows·⌈cols/32⌉ for MX, rows·⌈cols/16⌉ for NV. Scales are stored
// row-major over the grid of groups.
func (q Quantizer) ScaleCount(rows, cols int) int {
	if !q.Scaled() || rows == 0 || cols == 0 {
		return 0
	}
	r, c := q.tile(rows, cols)
	if r < 1 || c < 1 {
		panic(fmt.Sprintf("precision: blocks of %d×%d elements", r, c))
	}
	return ceilDiv(rows, r) * ceilDiv(cols, c)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// smallestScale is the smallest normal float32. A smaller scale would have few
// significant bits, or be zero and divide by it.
const smallestScale = 0x1p-126

// scale returns the scale of a group whose largest magnitude has the float32
// pattern amax; tensor is the outer scale of NV. A group of zeros has scale 1;
// a group with a NaN or an infinity, its own or its tensor's, has scale NaN.
func (q *Quantizer) scale(amax uint32, tensor float32) float32 {
	if amax >= infinity || tensor != tensor {
		return math.Float32frombits(quietNaN)
	}
	if amax == 0 {
		return 1
	}
	largest := math.Float32frombits(amax)
	switch q.Granularity {
	case MX:
		// 2^(⌊log2 amax⌋ - emax), OCP MX 1.0 section 6.3, by exponent fields,
		// kept within e8m0: its smallest power, 2^-127, is a float32 subnormal.
		// The upper end is out of reach.
		exponent := int(amax>>23) - (int(math.Float32bits(q.Format.Max)>>23) - floatBias)
		if exponent < 1 {
			return 0x1p-127
		}
		return math.Float32frombits(uint32(exponent) << 23)
	case NV:
		// The inner scale may round to zero; so then does the block.
		return E4M3.Round(largest/q.Format.Max/tensor) * tensor
	}
	return max(largest/q.Format.Max, smallestScale)
}

// tensorScale returns the outer scale of NV, which puts the largest inner scale
// at the top of e4m3: amax / (6·448). It is 1 for the other granularities.
func (q *Quantizer) tensorScale(src []float32) float32 {
	if q.Granularity != NV {
		return 1
	}
	amax := maxMagnitude(src)
	if amax == 0 || amax >= infinity {
		return q.scale(amax, 1)
	}
	return max(math.Float32frombits(amax)/(q.Format.Max*E4M3.Max), smallestScale)
}

// maxMagnitude returns the largest magnitude of xs as a float32 pattern, or a
// pattern from infinity upwards if any is infinite or NaN: patterns of
// magnitudes are ordered as the magnitudes are, and those of NaNs come last.
func maxMagnitude(xs []float32) uint32 {
	var even, odd uint32 // two chains, since each step waits for the last
	for len(xs) >= 2 {
		even = max(even, math.Float32bits(xs[0])&absBits)
		odd = max(odd, math.Float32bits(xs[1])&absBits)
		xs = xs[2:]
	}
	if len(xs) > 0 {
		even = max(even, math.Float32bits(xs[0])&absBits)
	}
	return max(even, odd)
}
