package model

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"driftlab/precision/must"

	"go.yaml.in/yaml/v4"
)

func TestWithDefaults(t *testing.T) {
	want := Config{Layers: 2, DModel: 32, Heads: 4, KVHeads: 4, Experts: 8, TopK: 2, DFF: 64, Context: 128,
		Positions: Rotary, RopeTheta: 100, NormEps: 1e-5, GateOrder: TopKThenSoftmax}
	if got := Default(); got != want {
		t.Errorf("default %+v, want %+v", got, want)
	}
	// What has no meaning for the variant is cleared, so that equal models compare equal.
	dense := Config{Experts: 1, TopK: 2, GateOrder: SoftmaxThenTopK, Renormalise: true, Positions: Learned, RopeTheta: 7}.WithDefaults()
	if dense != (Config{Positions: Learned}).WithDefaults() || dense.TopK != 0 || dense.RopeTheta != 0 || dense.Experts != 0 {
		t.Errorf("dense variant is %+v", dense)
	}
	if a, b := (Config{Experts: 4, Renormalise: true}).WithDefaults(), (Config{Experts: 4}).WithDefaults(); a != b {
		t.Errorf("renormalising gates that sum to one changes the configuration: %+v", a)
	}
	for name, c := range shapes {
		if once := c.WithDefaults(); once != once.WithDefaults() {
			t.Errorf("%s: defaults applied twice differ", name)
		}
	}
}

func TestDerived(t *testing.T) {
	c := Config{DModel: 24, Heads: 6, KVHeads: 2, Experts: 3}.WithDefaults()
	if c.HeadDim() != 4 || c.KVDim() != 8 || c.FFNs() != 3 || c.Dense() {
		t.Errorf("head %d, kv %d, ffns %d, dense %v", c.HeadDim(), c.KVDim(), c.FFNs(), c.Dense())
	}
	if (Config{}).HeadDim() != 0 || (Config{}).FFNs() != 1 || !(Config{Experts: 1}).Dense() {
		t.Error("derived values of small configurations")
	}
	// By hand: embedding and head 2*20*32, norm 32; per layer two norms 64, q k v o
	// 4*32*32, router 8*32, experts 8*3*64*32.
	c = Config{Experts: 8, Vocab: 20}.WithDefaults()
	if got, want := c.Params(), 2*20*32+32+2*(64+4*1024+256+8*3*2048); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
}

// Every fault is reported, each on a line that names the field.
func TestValidate(t *testing.T) {
	good := Config{Experts: 8, Vocab: 20}.WithDefaults()
	must.Do(t, good.Validate())
	for name, c := range shapes {
		if err := c.WithDefaults().Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	tests := []struct {
		change func(*Config)
		want   []string
	}{
		{func(c *Config) { c.Layers = -1 }, []string{"model.layers: -1 is outside [1, 1024]"}},
		{func(c *Config) { c.DModel = -32 }, []string{"model.d_model: -32 is outside"}},
		{func(c *Config) { c.Heads = 5 }, []string{"model.heads: 5 does not divide d_model 32", "model.kv_heads: 4 does not divide heads 5"}},
		{func(c *Config) { c.Heads, c.KVHeads = -1, -1 }, []string{"model.heads: -1 is outside", "model.kv_heads: -1 is outside"}},
		{func(c *Config) { c.KVHeads = 3 }, []string{"model.kv_heads: 3 does not divide heads 4"}},
		{func(c *Config) { c.Heads, c.KVHeads = 32, 32 }, []string{"model.positions: rotary needs an even head width, d_model/heads is 1"}},
		{func(c *Config) { c.Experts = 256 }, []string{"model.experts: 256 is outside [0, 255]"}},
		{func(c *Config) { c.Experts = -1 }, []string{"model.experts: -1 is outside"}},
		{func(c *Config) { c.TopK = 9 }, []string{"model.top_k: 9 is outside [1, experts 8]"}},
		{func(c *Config) { c.DFF = 1 << 20 }, []string{"model.d_ff: 1048576 is outside"}},
		{func(c *Config) { c.Context = -1 }, []string{"model.context: -1 is outside"}},
		{func(c *Config) { c.Vocab = 0 }, []string{"model.vocab: not set"}},
		{func(c *Config) { c.Vocab = 1 }, []string{"model.vocab: 1 is outside"}},
		{func(c *Config) { c.Positions = "alibi" }, []string{`model.positions: unknown "alibi": use rotary or learned`}},
		{func(c *Config) { c.RopeTheta = math.NaN() }, []string{"model.rope_theta: NaN"}},
		{func(c *Config) { c.RopeTheta = math.Inf(1) }, []string{"model.rope_theta: +Inf"}},
		{func(c *Config) { c.NormEps = -1 }, []string{"model.norm_eps: -1"}},
		{func(c *Config) { c.NormEps = math.NaN() }, []string{"model.norm_eps: NaN"}},
		{func(c *Config) { c.GateOrder = "topk" }, []string{`model.gate_order: unknown "topk"`}},
		{func(c *Config) { c.Layers, c.TopK, c.Positions = 0, 9, "x" }, []string{"model.layers", "model.positions", "model.top_k"}},
	}
	for _, tt := range tests {
		c := good
		tt.change(&c)
		err := c.Validate()
		if err == nil {
			t.Errorf("%+v is valid, want %q", c, tt.want)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(tt.want) {
			t.Errorf("faults %q, want %q", lines, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("fault %q, want %q", lines[i], want)
			}
		}
	}
}

// A configuration survives the recipe's YAML and the JSON of a resolved recipe.
func TestConfigText(t *testing.T) {
	for name, c := range shapes {
		c := c.WithDefaults()
		var fromYAML, fromJSON Config
		text := must.Get(yaml.Marshal(c))(t)
		if err := yaml.Unmarshal(text, &fromYAML); err != nil || fromYAML != c {
			t.Errorf("%s: through YAML %+v, %v; want %+v", name, fromYAML, err, c)
		}
		text = must.Get(json.Marshal(c))(t)
		if err := json.Unmarshal(text, &fromJSON); err != nil || fromJSON != c {
			t.Errorf("%s: through JSON %+v, %v; want %+v", name, fromJSON, err, c)
		}
	}
	var c Config
	recipe := "{layers: 2, d_model: 32, heads: 4, experts: 8, top_k: 2, d_ff: 64, context: 128}"
	if err := yaml.Unmarshal([]byte(recipe), &c); err != nil || c.WithDefaults() != Default() {
		t.Errorf("the recipe of the manual gives %+v, %v", c, err)
	}
}

func TestShapeFaultsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"invalid":      func() { New(Config{Vocab: 20, Heads: 5}) },
		"no vocab":     func() { New(Config{}) },
		"short":        func() { View(Config{Vocab: 20}, make([]float32, 3)) },
		"layer beyond": func() { New(Config{Vocab: 20}).Layer(2) },
	} {
		must.Panic(t, name, f)
	}
}

// A model that takes more than the machine has is refused with both figures.
func TestFits(t *testing.T) {
	c := Config{Vocab: 16, DModel: 32, Layers: 1, Heads: 2, KVHeads: 2, DFF: 64, Context: 32}.WithDefaults()
	if err := c.Fits(InEngines, "the weights"); err != nil {
		t.Error(err)
	}
	err := c.Fits(math.MaxInt64/2, "the weights")
	if err == nil || !strings.Contains(err.Error(), "GiB (the weights), and the memory of this machine is") {
		t.Errorf("refused with %v", err)
	}
}
