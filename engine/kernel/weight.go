package kernel

import "fmt"

// Weight is a linear map y = x·Wᵀ with W [Out,In] row-major, as Hugging Face
// stores it, prepared for the kernels. Pack it once per weight version; it
// copies, so the source may change afterwards. Several workers may read one
// Weight at the same time.
type Weight struct {
	Out, In int
	// Data are the values on their format's grid, [Out,In].
	Data []float32
	// Scale is nil, or one factor per output channel, length Out.
	Scale []float32
	// Block is 0, or the number of consecutive inputs that share one scale.
	Block int
	// BlockRows is the number of consecutive outputs that share one scale.
	BlockRows int
	// BlockScale are the scales, [ceil(Out/BlockRows)][ceil(In/Block)].
	BlockScale []float32
	// Dense are the values times their scales, [Out,In]: what the input
	// gradient multiplies by. It is Data itself when there is no scale.
	Dense []float32

	panels []float32 // [ceil(Out/16)][In][16], zero beyond Out
	dense  []float32 // Dense's memory when it is not Data
	scale  []float32 // Scale's memory
}

// Pack sets w to data [out,in] with an optional scale per output channel,
// reusing w's memory.
func (w *Weight) Pack(data []float32, out, in int, scale []float32) {
	if len(data) != out*in || scale != nil && len(scale) != out {
		panic(fmt.Sprintf("kernel: Pack of %d values and %d scales as [%d,%d]", len(data), len(scale), out, in))
	}
	w.pack(data, out, in)
	w.Block, w.BlockRows, w.BlockScale = 0, 0, w.BlockScale[:0]
	if scale == nil {
		w.Scale, w.Dense = nil, w.Data
		return
	}
	w.scale = append(w.scale[:0], scale...)
	w.Scale = w.scale
	w.Dense = grown(&w.dense, out*in)
	for o := range out {
		row := w.Dense[o*in:][:in]
		for i, v := range w.Data[o*in:][:in] {
			row[i] = v * scale[o]
		}
	}
}

// PackBlocks sets w to data [out,in] with one scale per block of blockRows
// outputs and block inputs (128x128 in DeepSeek-V3, arXiv 2412.19437; 1 row for
// per-channel groups). scale is [ceil(out/blockRows)][ceil(in/block)].
func (w *Weight) PackBlocks(data []float32, out, in, blockRows, block int, scale []float32) {
	if block < 1 || blockRows < 1 || len(data) != out*in || len(scale) != ceilDiv(out, blockRows)*ceilDiv(in, block) {
		panic(fmt.Sprintf("kernel: PackBlocks of %d values and %d scales as [%d,%d] in blocks of %dx%d",
			len(data), len(scale), out, in, blockRows, block))
	}
	w.pack(data, out, in)
	w.Scale = nil
	w.Block, w.BlockRows = block, blockRows
	w.BlockScale = append(w.BlockScale[:0], scale...)
	w.Dense = grown(&w.dense, out*in)
	blocks := ceilDiv(in, block)
	for o := range out {
		row := w.Dense[o*in:][:in]
		for i, v := range w.Data[o*in:][:in] {
			row[i] = v * scale[o/blockRows*blocks+i/block]
		}
	}
}

// AddDense adds scale·b·a to what the input gradient multiplies by, with b [out, rank] and a
// [rank, In], from the given output on: a low-rank term of the map that is computed apart.
func (w *Weight) AddDense(from int, b, a []float32, rank int, scale float32) {
	if len(w.Dense) > 0 && &w.Dense[0] == &w.Data[0] {
		w.Dense = grown(&w.dense, len(w.Data))
		copy(w.Dense, w.Data)
	}
	for o := range len(b) / rank {
		row := w.Dense[(from+o)*w.In:][:w.In]
		for r, x := range b[o*rank : (o+1)*rank] {
			x *= scale
			for i, y := range a[r*w.In : (r+1)*w.In] {
				row[i] += float32(x * y)
			}
		}
	}
}

// pack copies the values row-major and into column panels.
func (w *Weight) pack(data []float32, out, in int) {
	w.Out, w.In = out, in
	w.Data = append(w.Data[:0], data...)
	groups := ceilDiv(out, panelWidth)
	panels := grown(&w.panels, groups*in*panelWidth)
	for g := range groups {
		panel := panels[g*in*panelWidth:][:in*panelWidth]
		n := min(panelWidth, out-g*panelWidth)
		if n < panelWidth {
			clear(panel)
		}
		transpose(panel, data[g*panelWidth*in:], n, in, in, panelWidth)
	}
}
