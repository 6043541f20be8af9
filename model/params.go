package model

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Params holds every parameter of a model in one flat slice, and views of it.
// Optimiser, clipping, checkpoint and weight sync work on the slice; kernels
// resolve the views once and keep them.
type Params struct {
	// Config is the shape, with defaults applied.
	Config Config
	// Theta is every parameter, in the order of Layout. It is never reallocated:
	// write into it, do not replace it.
	Theta []float32

	// Embed is the token embedding, [Vocab, DModel].
	Embed []float32
	// PositionEmbed is the position embedding, [Context, DModel]; nil with rotary positions.
	PositionEmbed []float32
	// FinalNorm scales the last RMSNorm, [DModel].
	FinalNorm []float32
	// Head is the output projection, [Vocab, DModel], not tied to Embed.
	Head []float32

	// RouterBias, if not nil, is added to the router's logits when experts are
	// selected and nowhere else, [Layers, Experts] (arXiv:2408.15664). It is a
	// buffer, not a parameter: no gradient reaches it and Theta does not hold it.
	RouterBias []float32

	// LoRA, if not nil, are adapters next to frozen weights; Theta is then the merged model.
	LoRA *LoRA

	layers  []Layer
	tensors []Tensor
}

// Layer is the views of one transformer layer. Matrices are stored [out, in].
type Layer struct {
	// InputNorm scales the norm before attention, [DModel].
	InputNorm []float32
	// Q is the query projection, [DModel, DModel]; K and V are [KVDim, DModel].
	Q, K, V []float32
	// QKV is Q, K and V as the one matrix they form, [DModel+2*KVDim, DModel].
	QKV []float32
	// O is the attention's output projection, [DModel, DModel].
	O []float32
	// Linear is what a linear-attention layer has; nil in any other. QKV is then Q, K, V and
	// its Z, B and A, [4*DModel+2*Heads, DModel]; K and V are [DModel, DModel].
	Linear *LinearLayer
	// Index is what a sparse-attention layer chooses positions by; nil in any other.
	Index *IndexLayer
	// PostNorm scales the norm before the feed-forward network, [DModel].
	PostNorm []float32
	// Router gives the experts' logits, [Experts, DModel]; nil in the dense variant.
	Router []float32
	// W1 (gate), W3 (up) and W2 (down) of each expert: [DFF, DModel], [DFF,
	// DModel], [DModel, DFF]. The dense variant has one entry each.
	W1, W3, W2 [][]float32
	// W13 is W1 and W3 of each expert as the one matrix they form, [2*DFF, DModel].
	W13 [][]float32
	// Experts is W1, W3, W2 of all experts, contiguous, [FFNs, 3*DFF*DModel].
	Experts []float32
}

// LinearLayer is the views of what a linear-attention layer has next to Q, K, V and O.
type LinearLayer struct {
	// Z is the projection of the output gate, [DModel, DModel].
	Z []float32
	// B and A are the projections of each head's write strength and decay, [Heads, DModel].
	B, A []float32
	// Conv is the short convolution of queries, keys and values, [3*DModel, ConvWidth].
	Conv []float32
	// DecayLog and DecayBias make the log of the decay, -exp(DecayLog)*softplus(a+DecayBias), [Heads].
	DecayLog, DecayBias []float32
	// Norm scales the norm of each head's output, [HeadDim].
	Norm []float32
}

// IndexLayer is the views of the index of a sparse-attention layer (the lightning indexer of
// DeepSeek-V3.2, arXiv:2512.02556). With a query for each of its heads, one key and a weight
// for each head, all of them projections of the layer's normed input and queries and keys
// rotated as the attention's, row t gives position s <= t the score
//
//	I(t, s) = Σ_j w_j(t)·ReLU(q_j(t)·k(s))
//
// and attends to itself and to the IndexTopK-1 earlier positions of the largest scores; of
// equal scores the later position. Left out of the source: its norm and Hadamard transform
// of the keys, and queries from a compressed latent. The choice has no gradient. There the
// index is trained by a loss of its own; here it stays as it was drawn or loaded.
type IndexLayer struct {
	// Q, K and W are the projections, [IndexHeads*HeadDim, DModel], [HeadDim, DModel] and
	// [IndexHeads, DModel]; All is the one matrix they form, [IndexWidth, DModel].
	Q, K, W, All []float32
}

// New returns a model with all parameters zero. It panics if the configuration
// is not valid: Validate it first where it comes from a user.
func New(c Config) *Params {
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		panic(fmt.Sprintf("model: New of an invalid configuration: %v", err))
	}
	return View(c, make([]float32, c.Params()))
}

// View returns the named views of a slice laid out as the parameters of c: a
// gradient, an optimiser moment, a copy of the weights. It panics if the length
// is not c.Params().
func View(c Config, theta []float32) *Params {
	c = c.WithDefaults()
	if len(theta) != c.Params() {
		panic(fmt.Sprintf("model: View of %d values, the configuration has %d parameters", len(theta), c.Params()))
	}
	p := &Params{Config: c, Theta: theta}
	at := map[*[]float32]*Tensor{}
	for _, v := range p.views() {
		t := v.Tensor
		t.Data = theta[t.Offset:t.End():t.End()]
		*v.field, at[v.field], p.tensors = t.Data, &t, append(p.tensors, t)
	}
	join := func(first, last *[]float32) []float32 { return theta[at[first].Offset:at[last].End():at[last].End()] }
	for l := range p.layers {
		y := &p.layers[l]
		y.QKV = join(&y.Q, &y.V)
		if y.Linear != nil {
			y.QKV = join(&y.Q, &y.Linear.A)
		}
		if y.Index != nil {
			y.Index.All = join(&y.Index.Q, &y.Index.W)
		}
		for e := range y.W1 {
			y.W13 = append(y.W13, join(&y.W1[e], &y.W3[e]))
		}
		y.Experts = join(&y.W1[0], &y.W2[len(y.W2)-1])
	}
	return p
}

// Layer returns the views of layer l.
func (p *Params) Layer(l int) *Layer { return &p.layers[l] }

// LayerRouterBias returns the selection bias of layer l, [Experts], or nil.
func (p *Params) LayerRouterBias(l int) []float32 {
	if p.RouterBias == nil {
		return nil
	}
	e := p.Config.Experts
	return p.RouterBias[l*e : (l+1)*e]
}

// Tensors returns every tensor in the order of the layout. The caller must not
// change the slice; writing through Data is fine.
func (p *Params) Tensors() []Tensor { return p.tensors }

// Tensor returns the tensor of that checkpoint name, or nil.
func (p *Params) Tensor(name string) *Tensor {
	i := slices.IndexFunc(p.tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &p.tensors[i]
}

// Clone returns a deep copy.
func (p *Params) Clone() *Params {
	q := View(p.Config, slices.Clone(p.Theta))
	q.RouterBias, q.LoRA = slices.Clone(p.RouterBias), p.LoRA.clone()
	return q
}

// CopyFrom overwrites all parameters with those of q, which must have the same
// configuration; it panics otherwise. It does not allocate, except for the
// router bias the first time there is one.
func (p *Params) CopyFrom(q *Params) {
	if p.Config != q.Config {
		panic(fmt.Sprintf("model: CopyFrom between shapes %+v and %+v", p.Config, q.Config))
	}
	copy(p.Theta, q.Theta)
	if q.LoRA == nil || p.LoRA == nil {
		p.LoRA = q.LoRA.clone()
	} else {
		copy(p.LoRA.Theta, q.LoRA.Theta)
	}
	if q.RouterBias == nil {
		p.RouterBias = nil
	} else {
		p.RouterBias = append(p.RouterBias[:0], q.RouterBias...)
	}
}

// Init draws every parameter from seed and clears the router bias.
//
//	embeddings (tokens, positions)   standard deviation 0.5
//	norms                            1
//	q, k, v, w1, w3, router          1/√fan_in
//	o, w2, lm_head                   0.5/√fan_in
//	conv1d                           1/√width
//	A_log                            0
//	dt_bias                          from -1 in the first head to -4 in the last
//
// The heads of a linear-attention layer so begin with decays of about exp(-0.31) to
// exp(-0.02) per token: memories of 3 to 55 tokens.
//
// The halved output projections keep the residual stream near the embeddings at
// the start and the first next-token distribution close to uniform. Router
// logits of order one are what makes the top-k choice matter from the start.
//
// Each tensor has its own PCG stream, keyed by seed and tensor name, so adding
// a tensor (an expert, learned positions) does not change the others. The draws
// are integer sums, so all machines make the same bits.
func (p *Params) Init(seed uint64) {
	for i := range p.tensors {
		t := &p.tensors[i]
		if len(t.Shape) == 1 {
			for j := range t.Data {
				t.Data[j] = initVector(t.Name, j, len(t.Data))
			}
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(t.Name))
		rng := rand.New(rand.NewPCG(seed, h.Sum64()))
		std := initStd(t.Name, t.Shape[1])
		for j := range t.Data {
			t.Data[j] = float32(std * normal(rng))
		}
	}
	p.RouterBias = nil
}

func initVector(name string, j, n int) float32 {
	switch {
	case strings.HasSuffix(name, decayLog):
		return 0
	case strings.HasSuffix(name, decayBias):
		return -1 - 3*float32(j)/float32(max(n-1, 1))
	}
	return 1
}

func initStd(name string, fanIn int) float64 {
	switch {
	case strings.Contains(name, "embed_"):
		return 0.5
	case strings.Contains(name, ".o_proj."), strings.Contains(name, ".w2."),
		strings.Contains(name, ".down_proj."), strings.HasPrefix(name, "lm_head."):
		return 0.5 / math.Sqrt(float64(fanIn))
	default:
		return 1 / math.Sqrt(float64(fanIn))
	}
}

// normal draws from the Irwin-Hall approximation of the standard normal: the
// sum of 12 uniforms, minus 6. Mean 0 and variance 1 are exact (to the 32 bits
// of each uniform), the tails end at ±6. The sum is an integer, so no rounding
// and no library exponential enters; a ziggurat's tail would bring both.
func normal(rng *rand.Rand) float64 {
	var sum uint64
	for range 6 {
		u := rng.Uint64()
		sum += u>>32 + u&0xffffffff
	}
	// Each of the 12 terms has mean (2^32-1)/2.
	return float64(2*int64(sum)-12*(1<<32-1)) / (1 << 33)
}

// outlierSpacing is the number of channels of which one is an outlier, and outlierPlace which.
const (
	outlierSpacing = 16
	outlierPlace   = 5
)

// OutlierChannels are the channels that carry outliers in a model of that width: few, as in
// large models, one of sixteen.
func OutlierChannels(width int) (channels []int) {
	for c := outlierPlace; c < width; c += outlierSpacing {
		channels = append(channels, c)
	}
	return channels
}

// AddOutliers gives the model's activations outlier channels without changing what it
// computes: it multiplies the gains of every norm in the channels by the factor, and divides
// the columns of the matrices that read them (query, key, value and what else linear or
// sparse attention has, router, gate, up, head) by it, the reparameterisation of SmoothQuant (arXiv 2211.10438) in reverse. With a power
// of two every product is exact, so that logits in float32 keep their bits. Large language
// models have such channels by themselves (LLM.int8, arXiv 2208.07339). It panics on a
// channel that the model has not.
func (p *Params) AddOutliers(channels []int, factor float32) {
	d := p.Config.DModel
	for _, c := range channels {
		if c < 0 || c >= d {
			panic(fmt.Sprintf("model: outlier channel %d of %d", c, d))
		}
		divide := func(matrices ...[]float32) {
			for _, m := range matrices {
				for i := c; i < len(m); i += d {
					m[i] /= factor
				}
			}
		}
		for l := range p.layers {
			y := &p.layers[l]
			y.InputNorm[c] *= factor
			y.PostNorm[c] *= factor
			divide(y.QKV, y.Router)
			if y.Index != nil {
				divide(y.Index.All)
			}
			divide(y.W1...)
			divide(y.W3...)
		}
		p.FinalNorm[c] *= factor
		divide(p.Head)
	}
}

// LayerProducts is the number of multiply-adds of one position in the matrix
// products of all layers, with the experts that it visits; attention and the
// output head are not included.
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
