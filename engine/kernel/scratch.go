package kernel

// Scratch holds the temporary buffers of the kernels. One worker owns it: it
// must not be used by two calls at the same time. The zero value is ready; it
// grows to the largest call and then allocates nothing. A kernel given a nil
// Scratch allocates its own.
type Scratch struct {
	parts     []float32   // partial sums of one tile, one plane per segment
	block     []float32   // partial sum of one scale block
	promoted  []float32   // sums of a narrow accumulator between promotions
	split     []float32   // attention: what each part of the keys has, before they are merged
	scores    []float32   // attention: scores or probabilities of a block of rows
	dscores   []float32   // attention: gradient with respect to the scores
	keys      []float32   // attention: keys transposed
	values    []float32   // attention: values transposed
	rows      []float32   // one value per row of a block
	delta     []float32   // delta rule: what a head needs
	chunk     deltaChunk  // delta rule: views of a chunk
	order     []int32     // positions by their scores
	attention attention   // of a call
	call      tileCall    // assembly: what a tile reads
	decode    decodeCall  // assembly: what the attention of one query reads
	prefill   prefillCall // assembly: what the attention of consecutive queries reads
	grad      gradCall    // assembly: what their gradient reads
	queries   []float32   // attention: queries transposed
	packedA   []float32   // product: columns of A that are its rows
	packedB   []float32   // product: rows of B as panels
	left      []leftTile  // plain product: rows as float64
	right     []rightTile // plain product: columns as float64
}

// grown returns buf with length n, in the same memory where that suffices. The
// contents are unspecified.
func grown[T any](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, n+n/4)
	}
	*buf = (*buf)[:n]
	return *buf
}

// orNew returns s, or a new Scratch for a nil one.
func (s *Scratch) orNew() *Scratch {
	if s == nil {
		return new(Scratch)
	}
	return s
}
