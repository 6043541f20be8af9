package gguf_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"driftlab/model"
	"driftlab/model/gguf"
	"driftlab/precision"
	"driftlab/precision/must"
)

// file is a parsed GGUF file.
type file struct {
	metadata map[string]any
	tensors  map[string]entry
}

type entry struct {
	dims []uint64
	kind uint32
	data []byte // from its offset to the end of the file
}

// parse reads what Write writes, and nothing else, in the order of the specification.
func parse(t *testing.T, b []byte) file {
	t.Helper()
	at := 0
	u32 := func() uint32 { at += 4; return binary.LittleEndian.Uint32(b[at-4:]) }
	u64 := func() uint64 { at += 8; return binary.LittleEndian.Uint64(b[at-8:]) }
	text := func() string { n := int(u64()); at += n; return string(b[at-n : at]) }
	if string(b[:4]) != "GGUF" {
		t.Fatalf("magic %q", b[:4])
	}
	at = 4
	if v := u32(); v != 3 {
		t.Fatalf("version %d", v)
	}
	f := file{map[string]any{}, map[string]entry{}}
	tensors, pairs := int(u64()), int(u64())
	for range pairs {
		key := text()
		switch kind := u32(); kind {
		case 4:
			f.metadata[key] = u32()
		case 6:
			f.metadata[key] = math.Float32frombits(u32())
		case 8:
			f.metadata[key] = text()
		default:
			t.Fatalf("%s has type %d", key, kind)
		}
	}
	offsets := map[string]int{}
	for range tensors {
		name := text()
		var e entry
		for range u32() {
			e.dims = append(e.dims, u64())
		}
		e.kind = u32()
		offsets[name] = int(u64())
		if offsets[name]%32 != 0 {
			t.Errorf("%s begins at %d", name, offsets[name])
		}
		f.tensors[name] = e
	}
	start := (at + 31) / 32 * 32
	for name, e := range f.tensors {
		e.data = b[start+offsets[name]:]
		f.tensors[name] = e
	}
	return f
}

// Every matrix comes back as its quantiser has it, at llama.cpp's places.
func TestWrite(t *testing.T) {
	ck := must.Get(model.Open("chain-base"))(t)
	p := ck.Params
	c := p.Config
	for _, name := range gguf.Types() {
		kind, err := gguf.ParseType(name)
		if err != nil || kind.String() != name {
			t.Fatalf("%s: %v, %v", name, kind, err)
		}
		var b, again bytes.Buffer
		must.Do(t, gguf.Write(&b, p, "chain-base", kind))
		if err := gguf.Write(&again, p, "chain-base", kind); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: two files differ, %v", name, err)
		}
		f := parse(t, b.Bytes())
		if f.metadata["general.architecture"] != "llama" || f.metadata["llama.expert_used_count"] != uint32(c.TopK) ||
			f.metadata["llama.rope.freq_base"] != float32(c.RopeTheta) {
			t.Errorf("%s: metadata %v", name, f.metadata)
		}
		if want := 3 + c.Layers*10; len(f.tensors) != want {
			t.Errorf("%s: %d tensors, want %d", name, len(f.tensors), want)
		}
		layer, d := p.Layer(1), c.DModel
		down := f.tensors["blk.1.ffn_down_exps.weight"]
		if len(down.dims) != 3 || down.dims[0] != uint64(c.DFF) || down.dims[1] != uint64(d) || down.dims[2] != uint64(c.Experts) {
			t.Errorf("%s: experts of %v", name, down.dims)
		}
		var all []float32
		for _, x := range layer.W2 {
			all = append(all, x...)
		}
		check(t, name, "down projections", down, kind, all, c.DFF)
		check(t, name, "router", f.tensors["blk.1.ffn_gate_inp.weight"], gguf.F32, layer.Router, d)
		// llama.cpp turns neighbouring rows: row 1 of a head is row headDim/2 here.
		q := f.tensors["blk.1.attn_q.weight"]
		var second []float32
		for h := range c.Heads {
			for i := range c.HeadDim() {
				row := h*c.HeadDim() + i/2
				if i%2 == 1 {
					row += c.HeadDim() / 2
				}
				second = append(second, layer.Q[row*d:][:d]...)
			}
		}
		check(t, name, "queries", q, kind, second, d)
	}
}

// check compares a tensor of the file with the numbers that its quantiser makes.
func check(t *testing.T, file, what string, e entry, kind gguf.Type, x []float32, cols int) {
	t.Helper()
	if e.kind != uint32(kind) {
		t.Errorf("%s: %s have type %d", file, what, e.kind)
		return
	}
	text := map[gguf.Type]string{gguf.F32: "fp32", gguf.F16: "fp16", gguf.BF16: "bf16", gguf.Q8_0: "int8/q8_0", gguf.Q4_0: "int4/q4_0"}[kind]
	q := must.Get(precision.ParseQuantizer(text))(t)
	want := make([]float32, len(x))
	q.RoundTrip(want, x, len(x)/cols, cols)
	for i := range want {
		if got := element(e.data, kind, i); got != want[i] {
			t.Fatalf("%s: %s: element %d is %g, want %g", file, what, i, got, want[i])
		}
	}
}

// element is a number as llama.cpp reads it (dequantize_row_* in ggml-quants.c).
func element(data []byte, kind gguf.Type, i int) float32 {
	half := func(at int, f precision.Format) float32 {
		return f.Decode(uint32(binary.LittleEndian.Uint16(data[at:])))
	}
	block, in := i/32, i%32
	switch kind {
	case gguf.F32:
		return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	case gguf.F16:
		return half(2*i, precision.FP16)
	case gguf.BF16:
		return half(2*i, precision.BF16)
	case gguf.Q8_0:
		return float32(int8(data[34*block+2+in])) * half(34*block, precision.FP16)
	}
	return float32(int(data[18*block+2+in%16]>>(in/16*4)&15)-8) * half(18*block, precision.FP16)
}

// What llama.cpp's architecture cannot say is refused.
func TestWriteRefuses(t *testing.T) {
	base := model.Config{Layers: 1, DModel: 32, Heads: 4, Experts: 4, TopK: 2, DFF: 64, Context: 16, Vocab: 8, Positions: model.Rotary, RopeTheta: 100}
	for _, test := range []struct {
		name   string
		change func(*model.Config)
		bias   bool
		kind   gguf.Type
		fails  bool
	}{
		{"rotary experts", func(c *model.Config) {}, false, gguf.Q4_0, false},
		{"dense", func(c *model.Config) { c.Experts, c.TopK = 1, 0 }, false, gguf.Q8_0, false},
		{"learned positions", func(c *model.Config) { c.Positions, c.RopeTheta = model.Learned, 0 }, false, gguf.F32, true},
		{"router bias", func(c *model.Config) {}, true, gguf.F32, true},
		{"gates that do not sum to one", func(c *model.Config) { c.GateOrder = model.SoftmaxThenTopK }, false, gguf.F32, true},
		{"gates divided by their sum", func(c *model.Config) { c.GateOrder, c.Renormalise = model.SoftmaxThenTopK, true }, false, gguf.F32, false},
		{"short rows in blocks", func(c *model.Config) { c.DFF = 48 }, false, gguf.Q8_0, true},
		{"short rows in f16", func(c *model.Config) { c.DFF = 48 }, false, gguf.F16, false},
	} {
		c := base
		test.change(&c)
		p := model.New(c)
		if test.bias {
			p.RouterBias = make([]float32, c.Layers*c.Experts)
		}
		if err := gguf.Write(&bytes.Buffer{}, p, "m", test.kind); (err != nil) != test.fails {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := gguf.ParseType("q8_1"); err == nil {
		t.Error("there is a type q8_1")
	}
}
