package model

// LayerProducts is the number of multiply-adds of one position in the matrix
// products of all layers, with the experts that it visits; attention and the
// output head are apart.
func (c Config) LayerProducts() float64 {
	d, ffn := float64(c.DModel), float64(3*float64(c.DModel)*float64(c.DFF))
	layer := float64(d*d) + ffn
	if !c.Dense() {
		layer += float64(d*float64(c.Experts)) + float64(float64(c.TopK-1)*ffn)
	}
	sum := float64(c.Layers) * layer
	for l := range c.Layers {
		sum += float64(d * float64(c.projectionWidth(l)))
		if c.LayerType(l) == SparseAttention {
			sum += float64(d * float64(c.IndexWidth()))
		}
	}
	return sum
}

// HeadProducts is the same of the output head.
func (c Config) HeadProducts() float64 { return float64(c.DModel) * float64(c.Vocab) }

// AttentionProducts is the same of one position's attention to that many, itself
// included, in all layers. A linear-attention layer reads and writes its state instead: its
// work does not grow with the positions, and is left out. A sparse-attention layer counts as
// one of full attention.
func (c Config) AttentionProducts(positions int) float64 {
	layers := 0
	for l := range c.Layers {
		if c.LayerType(l) != LinearAttention {
			layers++
		}
	}
	return float64(layers) * 2 * float64(positions) * float64(c.DModel)
}
