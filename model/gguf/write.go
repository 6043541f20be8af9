package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"driftlab/model"
)

// alignment is the alignment of tensors in the file, in bytes.
const alignment = 32

// Types of metadata (enum gguf_type in gguf.h).
const (
	typeUint32  = 4
	typeFloat32 = 6
	typeString  = 8
)

// tensor is one entry of the file: the shape is [rows, cols], or [experts, rows, cols].
type tensor struct {
	name string
	kind Type
	dims []int
	data []byte
}

// Write writes the model under a name, its matrices in the given type. The same
// parameters give the same bytes. Errors say what llama.cpp's architecture has not:
// learned positions, biases of the router, gates that do not sum to one, or rows that
// blocks of 32 do not divide.
func Write(w io.Writer, p *model.Params, name string, t Type) error {
	if err := check(p, t); err != nil {
		return err
	}
	tensors := tensorsOf(p, t)
	header, count := metadata(p.Config, name)
	out := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(tensors)))
	out = binary.LittleEndian.AppendUint64(out, count)
	out = append(out, header...)
	offset := 0
	for _, x := range tensors {
		out = appendString(out, x.name)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(x.dims)))
		for i := len(x.dims) - 1; i >= 0; i-- { // the innermost first
			out = binary.LittleEndian.AppendUint64(out, uint64(x.dims[i]))
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(x.kind))
		out = binary.LittleEndian.AppendUint64(out, uint64(offset))
		offset += aligned(len(x.data))
	}
	out = padded(out)
	for _, x := range tensors {
		out = padded(append(out, x.data...))
	}
	_, err := w.Write(out)
	return err
}

func check(p *model.Params, t Type) error {
	c := p.Config
	switch {
	case c.Positions != model.Rotary:
		return fmt.Errorf("%s positions: the llama architecture of GGUF has rotary ones", c.Positions)
	case c.LayerTypes != "":
		return fmt.Errorf("layers of the types %s: the llama architecture of GGUF has full attention in all", c.LayerTypes)
	case p.RouterBias != nil:
		return fmt.Errorf("a router bias: the llama architecture of GGUF has none")
	case !c.Dense() && c.GateOrder == model.SoftmaxThenTopK && !c.Renormalise:
		return fmt.Errorf("gates that do not sum to 1: the llama architecture of GGUF divides them by their sum")
	case (t == Q8_0 || t == Q4_0) && (c.DModel%blockLength != 0 || c.DFF%blockLength != 0):
		return fmt.Errorf("width %d and expert width %d: %s has blocks of %d; use f32, f16 or bf16", c.DModel, c.DFF, t, blockLength)
	}
	return nil
}

// metadata is the key-value section and the number of its entries.
func metadata(c model.Config, name string) (out []byte, count uint64) {
	key := func(k string, kind uint32) {
		out = binary.LittleEndian.AppendUint32(appendString(out, k), kind)
		count++
	}
	text := func(k, v string) { key(k, typeString); out = appendString(out, v) }
	whole := func(k string, v int) { key(k, typeUint32); out = binary.LittleEndian.AppendUint32(out, uint32(v)) }
	float := func(k string, v float64) {
		key(k, typeFloat32)
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
	}
	text("general.architecture", "llama")
	text("general.name", name)
	whole("general.alignment", alignment)
	whole("llama.context_length", c.Context)
	whole("llama.embedding_length", c.DModel)
	whole("llama.block_count", c.Layers)
	whole("llama.feed_forward_length", c.DFF)
	whole("llama.attention.head_count", c.Heads)
	whole("llama.attention.head_count_kv", c.KVHeads)
	float("llama.attention.layer_norm_rms_epsilon", c.NormEps)
	float("llama.rope.freq_base", c.RopeTheta)
	whole("llama.rope.dimension_count", c.HeadDim())
	whole("llama.vocab_size", c.Vocab)
	if !c.Dense() {
		whole("llama.expert_count", c.Experts)
		whole("llama.expert_used_count", c.TopK)
	}
	text("tokenizer.ggml.model", "no_vocab")
	return out, count
}

// tensorsOf encodes the parameters under llama.cpp's names.
func tensorsOf(p *model.Params, t Type) (list []tensor) {
	c := p.Config
	d, f := c.DModel, c.DFF
	vector := func(name string, x []float32) {
		list = append(list, tensor{name, F32, []int{len(x)}, F32.encode(nil, x, len(x))})
	}
	matrix := func(name string, kind Type, x []float32, rows, cols int) {
		list = append(list, tensor{name, kind, []int{rows, cols}, kind.encode(nil, x, cols)})
	}
	experts := func(name string, xs [][]float32, rows, cols int) {
		if c.Dense() {
			matrix(name+".weight", t, xs[0], rows, cols)
			return
		}
		all := tensor{name: name + "_exps.weight", kind: t, dims: []int{len(xs), rows, cols}}
		for _, x := range xs {
			all.data = t.encode(all.data, x, cols)
		}
		list = append(list, all)
	}
	matrix("token_embd.weight", t, p.Embed, c.Vocab, d)
	vector("output_norm.weight", p.FinalNorm)
	matrix("output.weight", t, p.Head, c.Vocab, d)
	for l := range c.Layers {
		y, at := p.Layer(l), fmt.Sprintf("blk.%d.", l)
		vector(at+"attn_norm.weight", y.InputNorm)
		matrix(at+"attn_q.weight", t, interleaved(y.Q, c.Heads, c.HeadDim(), d), d, d)
		matrix(at+"attn_k.weight", t, interleaved(y.K, c.KVHeads, c.HeadDim(), d), c.KVDim(), d)
		matrix(at+"attn_v.weight", t, y.V, c.KVDim(), d)
		matrix(at+"attn_output.weight", t, y.O, d, d)
		vector(at+"ffn_norm.weight", y.PostNorm)
		if !c.Dense() {
			matrix(at+"ffn_gate_inp.weight", F32, y.Router, c.Experts, d)
		}
		experts(at+"ffn_gate", y.W1, f, d)
		experts(at+"ffn_up", y.W3, f, d)
		experts(at+"ffn_down", y.W2, d, f)
	}
	return list
}

// interleaved brings the rows of each head from Hugging Face's order, where a rotation
// turns rows i and i+headDim/2, to llama.cpp's, where it turns neighbours.
func interleaved(x []float32, heads, headDim, cols int) []float32 {
	out := make([]float32, 0, len(x))
	for h := range heads {
		for i := range headDim {
			row := h*headDim + i%2*headDim/2 + i/2
			out = append(out, x[row*cols:][:cols]...)
		}
	}
	return out
}

func appendString(out []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(out, uint64(len(s))), s...)
}

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

// padded fills up to the alignment with zeros.
func padded(out []byte) []byte { return append(out, make([]byte, aligned(len(out))-len(out))...) }
