package kernel

import "fmt"

// Weight is a linear map y = x·Wᵀ with W [Out,In] row-major, as Hugging Face
// stores it, prepared for the kernels. Pack it once per weight version; it
// copies, so the source may change afterwards. Several workers may read one
// Weight at the same time.
type Weight struct {
	Out, In int
	// ForwardOnly, set before Pack, saves the memory and time of what only LinearInputGrad reads.
	ForwardOnly bool
	// Scale is nil, or one factor per output channel, length Out.
	Scale []float32
	// Block is 0, or the number of consecutive inputs that share one scale.
	Block int
	// BlockRows is the number of consecutive outputs that share one scale.
	BlockRows int
	// BlockScale are the scales, [ceil(Out/BlockRows)][ceil(In/Block)].
	BlockScale []float32

	panels   []float32 // [ceil(Out/16)][In][16], zero beyond Out: the values on their format's grid
	gradient []float32 // [ceil(In/16)][Out][16], zero beyond In: the values times their scales, for the input gradient
	scale    []float32 // Scale's memory
}

// Pack sets w to data [out,in] with an optional scale per output channel,
// reusing w's memory.
func (w *Weight) Pack(data []float32, out, in int, scale []float32) {
	if len(data) != out*in || scale != nil && len(scale) != out {
		panic(fmt.Sprintf("kernel: Pack of %d values and %d scales as [%d,%d]", len(data), len(scale), out, in))
	}
	w.pack(data, out, in)
	w.Block, w.BlockRows, w.BlockScale = 0, 0, w.BlockScale[:0]
	w.Scale = nil
	if scale == nil {
		return
	}
	w.scale = append(w.scale[:0], scale...)
	w.Scale = w.scale
	for g := range w.gradientGroups() {
		for o, by := range scale {
			scaleInto(w.gradientOf(o, g), by)
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
	blocks := ceilDiv(in, block)
	for g := range w.gradientGroups() {
		for o := range out {
			by, x := scale[o/blockRows*blocks:][:blocks], w.gradientOf(o, g)
			for i := range min(panelWidth, in-g*panelWidth) {
				x[i] *= by[(g*panelWidth+i)/block]
			}
		}
	}
}

// AddToGradient adds scale·up·down to what the input gradient multiplies by, from output
// from on: a low-rank term of the map that is computed separately.
func (w *Weight) AddToGradient(from int, up, down *Weight, scale float32) {
	if w.ForwardOnly {
		return
	}
	for o := range up.Out {
		for r := range up.In {
			x := scale * up.gradientOf(o, r/panelWidth)[r%panelWidth]
			for g := range w.gradientGroups() {
				to := w.gradientOf(from+o, g)
				for i, y := range down.gradientOf(r, g) {
					to[i] += float32(x * y)
				}
			}
		}
	}
}

// gradientGroups is how many groups of inputs the input gradient reads.
func (w *Weight) gradientGroups() int {
	if w.ForwardOnly {
		return 0
	}
	return ceilDiv(w.In, panelWidth)
}

// gradientOf is where the input gradient reads output o and group g of inputs.
func (w *Weight) gradientOf(o, g int) []float32 {
	return w.gradient[(g*w.Out+o)*panelWidth:][:panelWidth]
}

// pack copies the values into panels of outputs and of inputs.
func (w *Weight) pack(data []float32, out, in int) {
	w.Out, w.In = out, in
	panels := grown(&w.panels, ceilDiv(out, panelWidth)*in*panelWidth)
	for o := 0; o < out; o += panelWidth {
		panel := panels[o*in:][:in*panelWidth]
		n := min(panelWidth, out-o)
		if n < panelWidth {
			clear(panel)
		}
		transpose(panel, data[o*in:], n, in, in, panelWidth)
	}
	groups := w.gradientGroups()
	gradient := grown(&w.gradient, groups*out*panelWidth)
	if groups == 0 || out == 0 {
		return
	}
	if in%panelWidth > 0 {
		clear(gradient[(groups-1)*out*panelWidth:])
	}
	packPanels(gradient, data, in, out, in, panelWidth, out*panelWidth)
}
