package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/precision"

	"go.yaml.in/yaml/v4"
)

// Every preset is valid, has a name of its own, and comes back from its text.
func TestPresets(t *testing.T) {
	names := engine.PresetNames()
	seen := map[string]bool{}
	for i, n := range engine.Presets() {
		if err := n.Validate(); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		if seen[n.Name] || n.Name != names[i] {
			t.Errorf("name %q at %d, PresetNames has %q", n.Name, i, names[i])
		}
		seen[n.Name] = true
		if got, ok := engine.Preset(n.Name); !ok || got != n {
			t.Errorf("Preset(%q) is %+v", n.Name, got)
		}
		for _, codec := range []struct {
			name      string
			marshal   func(any) ([]byte, error)
			unmarshal func([]byte, any) error
		}{
			{"json", json.Marshal, json.Unmarshal},
			{"yaml", yaml.Marshal, func(b []byte, v any) error { return yaml.Unmarshal(b, v) }},
		} {
			text, err := codec.marshal(n)
			if err != nil {
				t.Fatalf("%s: %v", n.Name, err)
			}
			var back engine.Numerics
			if err := codec.unmarshal(text, &back); err != nil {
				t.Fatalf("%s: %v in %s", n.Name, err, text)
			}
			if back != n {
				t.Errorf("%s comes back from %s as %+v\n%s", n.Name, codec.name, back, text)
			}
		}
	}
	if _, ok := engine.Preset("bf17"); ok {
		t.Error("there is a preset bf17")
	}
}

// Equal ignores what decides nothing.
func TestEqual(t *testing.T) {
	a, b := preset(t, "bf16"), preset(t, "bf16")
	b.Name = "mine"
	b.Tile = 7 // two_pass has no tiles
	if !a.Equal(b) {
		t.Error("a name, or a tile without tiles, makes a difference")
	}
	b.Splits = 3 // nor parts
	if !a.Equal(b) {
		t.Error("parts of the keys, without a kernel that splits them, make a difference")
	}
	b.Gradients, b.Reduction.Promote = precision.FP16, 8 // nor a backward format, nor the promotion of a sum in fp32
	if !a.Equal(b) {
		t.Error("the format of gradients, or promotion to what a sum is already in, makes a difference")
	}
	a.Attention, b.Attention = kernel.Online, kernel.Online
	a.Tile = 8
	if a.Equal(b) {
		t.Error("tiles of 8 and 7 keys count as equal")
	}
}

// Validate names every fault by its field, all of them at once.
func TestValidate(t *testing.T) {
	q := func(text string) precision.Quantizer { return quantizer(t, text) }
	for _, test := range []struct {
		name   string
		change func(*engine.Numerics)
		fields string // the fields at fault, in order; empty if valid
	}{
		{"a preset", func(n *engine.Numerics) {}, ""},
		{"nothing set", func(n *engine.Numerics) { *n = engine.Numerics{} },
			"activations accumulator scores probabilities router head gradients weights inputs kv_cache"},
		{"integers without scales", func(n *engine.Numerics) {
			n.Activations, n.Head = precision.INT8, precision.INT8
			n.Weights = precision.Unscaled(precision.INT8)
		}, "activations head weights"},
		{"a wire without scales", func(n *engine.Numerics) {
			n.Reduction = kernel.Reduction{Kind: kernel.TensorParallel, Parts: 4, Wire: precision.INT8}
		}, "reduction"},
		{"inputs per tensor", func(n *engine.Numerics) { n.Inputs = q("fp8_e4m3/tensor") }, "inputs"},
		{"inputs in nv blocks", func(n *engine.Numerics) { n.Inputs = q("fp4_e2m1/nv") }, "inputs"},
		{"inputs in mx blocks", func(n *engine.Numerics) { n.Inputs = q("fp8_e4m3/mx") }, ""},
		{"inputs in blocks two rows high", func(n *engine.Numerics) {
			n.Weights, n.Inputs = q("fp8_e4m3/128x128"), q("fp8_e4m3/2x128")
		}, "inputs"},
		{"cache in blocks two rows high", func(n *engine.Numerics) { n.KVCache = q("fp8_e4m3/2x8") }, "kv_cache"},
		{"cache in blocks of a row", func(n *engine.Numerics) { n.KVCache = q("fp8_e4m3/1x4") }, ""},
		{"cache per tensor", func(n *engine.Numerics) { n.KVCache = q("int8/tensor") }, "kv_cache"},
		{"blocks of equal width", func(n *engine.Numerics) {
			n.Weights, n.Inputs = q("fp8_e4m3/64x32"), q("fp8_e4m3/1x32")
		}, ""},
		{"blocks of unequal width", func(n *engine.Numerics) {
			n.Weights, n.Inputs = q("fp8_e4m3/64x64"), q("fp8_e4m3/1x32")
		}, "inputs"},
		{"blocks against channels", func(n *engine.Numerics) {
			n.Weights, n.Inputs = q("fp8_e4m3/channel"), q("fp8_e4m3/1x128")
		}, "inputs"},
		{"channels against blocks", func(n *engine.Numerics) {
			n.Weights, n.Inputs = q("fp8_e4m3/128x128"), q("fp8_e4m3/channel")
		}, "inputs"},
		{"ggml's inputs against its weights", func(n *engine.Numerics) { n.Weights, n.Inputs = q("int4/q4_0"), q("int8/q8_0-x86") }, ""},
		{"ggml's inputs against channels", func(n *engine.Numerics) { n.Weights, n.Inputs = q("int8/channel"), q("int8/q8_0-x86") }, "inputs"},
		{"ggml's inputs of a plain head", func(n *engine.Numerics) { n.HeadInputs = q("int8/q8_0-x86") }, "head_inputs"},
		{"optional formats", func(n *engine.Numerics) {
			n.Embedding, n.HeadWeights, n.HeadInputs, n.Queries = q("int8/channel"), q("int8/q8_0"), q("int8/q8_0"), precision.FP16
		}, ""},
		{"optional formats without scales", func(n *engine.Numerics) {
			n.Embedding, n.Queries = precision.Unscaled(precision.INT8), precision.INT4
		}, "queries embedding"},
		{"plain inputs against blocks", func(n *engine.Numerics) { n.Weights = q("fp8_e4m3/128x128") }, ""},
		{"reduction", func(n *engine.Numerics) { n.Reduction = kernel.Reduction{Kind: kernel.SplitK, Parts: 1} }, "reduction"},
		{"wire", func(n *engine.Numerics) {
			n.Reduction = kernel.Reduction{Kind: kernel.TensorParallel, Parts: 2, Wire: precision.Format{Name: "x", MantissaBits: 3, ExponentBits: 1}}
		}, "reduction"},
		{"attention", func(n *engine.Numerics) { n.Attention = 9 }, "attention"},
		{"tile", func(n *engine.Numerics) { n.Attention = kernel.Online }, "tile"},
		{"tile and splits", func(n *engine.Numerics) { n.Attention = kernel.SplitKV }, "tile splits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := preset(t, "bf16")
			test.change(&n)
			var fields []string
			if err := n.Validate(); err != nil {
				for _, line := range strings.Split(err.Error(), "\n") {
					field, _, ok := strings.Cut(line, ": ")
					if !ok {
						t.Errorf("no field in %q", line)
					}
					fields = append(fields, field)
				}
			}
			if got := strings.Join(fields, " "); got != test.fields {
				t.Errorf("faults in %q, want %q", got, test.fields)
			}
		})
	}
}
