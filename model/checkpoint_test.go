package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"driftlab/model/safetensors"
	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "rewrite the golden files; understand the difference before committing it")

func ptr[T any](v T) *T { return &v }

// odd fills parameters with every kind of finite float32.
func odd(p *Params) {
	p.Init(5)
	for i, bits := range []uint32{0x80000000, 1, 0x007fffff, 0x80800000, 0x7f7fffff} {
		p.Theta[i] = math.Float32frombits(bits)
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func TestCheckpointRoundTrip(t *testing.T) {
	for name, c := range shapes {
		p := New(c)
		odd(p)
		x := Extras{Vocab: []string{"<bos>", "a \"quoted\" <token>\n", ""}[:min(3, p.Config.Vocab)], BOS: ptr(0), Notes: map[string]string{"recipe": "chain <base>"}}
		if name == "moe" {
			p.RouterBias = make([]float32, p.Config.Layers*p.Config.Experts)
			p.RouterBias[9] = -0.5
		}
		dir := filepath.Join(t.TempDir(), "new", "checkpoint")
		must.Do(t, Save(dir, p, x))
		fromDir, err := Load(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fromFS, err := load(os.DirFS(filepath.Dir(dir)), "checkpoint", "checkpoint", readWeights)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, ck := range []*Checkpoint{fromDir, fromFS} {
			if ck.Params.Config != p.Config {
				t.Errorf("%s: configuration %+v, want %+v", name, ck.Params.Config, p.Config)
			}
			if !sameBits(ck.Params.Theta, p.Theta) || !sameBits(ck.Params.RouterBias, p.RouterBias) || (ck.Params.RouterBias == nil) != (p.RouterBias == nil) {
				t.Errorf("%s: parameters changed", name)
			}
			if !slices.Equal(ck.Vocab, x.Vocab) || *ck.BOS != 0 || ck.EOS != nil || ck.Notes["recipe"] != "chain <base>" {
				t.Errorf("%s: extras %+v", name, ck.Extras)
			}
		}

		// Saving what was loaded gives the same bytes; over an existing folder too.
		before := read(t, dir)
		must.Do(t, Save(dir, fromDir.Params, fromDir.Extras))
		after := read(t, dir)
		for file, data := range before {
			if !bytes.Equal(data, after[file]) {
				t.Errorf("%s: %s changed in a round trip", name, file)
			}
		}
		if len(before) != 3 || len(after) != 3 {
			t.Errorf("%s: %d files, then %d", name, len(before), len(after))
		}
		if siblings, _ := os.ReadDir(filepath.Dir(dir)); len(siblings) != 1 {
			t.Errorf("%s: something was left beside the checkpoint: %v", name, siblings)
		}
		// A vocabulary of an earlier version does not survive.
		must.Do(t, Save(dir, p, Extras{}))
		if ck, err := Load(dir); err != nil || ck.Vocab != nil {
			t.Errorf("%s: vocabulary %v, %v", name, ck.Vocab, err)
		}
	}
}

// read returns the files of a folder.
func read(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	files := map[string][]byte{}
	for _, e := range entries {
		files[e.Name()] = must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
	}
	return files
}

// The text that others read: config.json of each kind of model, the names and
// shapes of its tensors, the vocabulary. The hash in it pins Init and the
// weights file to the bit.
func TestCheckpointGolden(t *testing.T) {
	for _, name := range []string{"moe", "moe grouped", "moe learned", "dense"} {
		p := New(shapes[name])
		p.Init(1)
		files := must.Get(Files(p, Extras{Vocab: []string{"<bos>", "0", "+"}, BOS: ptr(0), EOS: ptr(2), Notes: map[string]string{"recipe": "golden", "step": "0"}}))(t)
		var b bytes.Buffer
		for _, file := range []string{weightsFile, vocabFile, configFile} {
			fmt.Fprintf(&b, "-- %s --\n", file)
			if file != weightsFile {
				b.Write(files[file])
				continue
			}
			parsed := must.Get(safetensors.Parse(files[file]))(t)
			for _, x := range parsed.Tensors {
				fmt.Fprintf(&b, "%s %s %v\n", x.Name, x.DType, x.Shape)
			}
		}
		path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
		if *update {
			must.Do(t, os.WriteFile(path, b.Bytes(), 0o644))
		}
		want := must.Get(os.ReadFile(path))(t)
		if got := b.String(); got != string(want) {
			t.Errorf("%s differs; run with -update and read the difference\n%s", path, got)
		}
	}
}

// Only a model that transformers computes alike carries the name of its class.
func TestModelType(t *testing.T) {
	biased := New(Config{Experts: 4, Vocab: 5})
	biased.RouterBias = make([]float32, 8)
	for _, tt := range []struct {
		params *Params
		want   string
	}{
		{New(Config{Experts: 4, Vocab: 5}), `"model_type": "mixtral"`},
		{New(Config{Experts: 4, Vocab: 5, GateOrder: SoftmaxThenTopK, Renormalise: true}), `"model_type": "mixtral"`},
		{New(Config{Vocab: 5}), `"model_type": "llama"`},
		{New(Config{Experts: 4, Vocab: 5, GateOrder: SoftmaxThenTopK}), `"model_type": "driftlab"`},
		{New(Config{Vocab: 5, Positions: Learned}), `"model_type": "driftlab"`},
		{biased, `"model_type": "driftlab"`},
	} {
		text, err := formatConfig(tt.params, Extras{}, "", "")
		if err != nil || !bytes.Contains(text, []byte(tt.want)) {
			t.Errorf("%+v: no %s in %s, %v", tt.params.Config, tt.want, text, err)
		}
	}
}

// small is a checkpoint in memory that the tests below damage.
func small(t *testing.T) fstest.MapFS {
	t.Helper()
	p := New(Config{Layers: 2, DModel: 4, Heads: 2, Experts: 2, DFF: 3, Vocab: 5})
	p.Init(1)
	files := must.Get(Files(p, Extras{Vocab: []string{"a", "b"}}))(t)
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys["ck/"+name] = &fstest.MapFile{Data: data}
	}
	return fsys
}

// edit replaces text in a file; in config.json the hash goes too where asked.
func edit(t *testing.T, fsys fstest.MapFS, name, old, new string) {
	t.Helper()
	text := string(fsys["ck/"+name].Data)
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", name, old)
	}
	fsys["ck/"+name] = &fstest.MapFile{Data: []byte(strings.Replace(text, old, new, 1))}
}

// unhash lets weights be changed on purpose, as the error message says.
func unhash(t *testing.T, fsys fstest.MapFS) {
	text := string(fsys["ck/config.json"].Data)
	from := strings.Index(text, `"weights_sha256": "`) + len(`"weights_sha256": "`)
	edit(t, fsys, configFile, text[from:from+64], "")
}

// rewrite changes the tensors of the weights file and takes the hash out.
func rewrite(t *testing.T, fsys fstest.MapFS, change func([]safetensors.Tensor) []safetensors.Tensor) {
	f := must.Get(safetensors.Parse(fsys["ck/model.safetensors"].Data))(t)
	var b bytes.Buffer
	must.Do(t, safetensors.Write(&b, change(f.Tensors), f.Metadata))
	fsys["ck/model.safetensors"] = &fstest.MapFile{Data: b.Bytes()}
	unhash(t, fsys)
}

// Every kind of damage gives one line that names the folder, the file and what
// is wrong.
func TestLoadRefuses(t *testing.T) {
	config := func(old, new string) func(*testing.T, fstest.MapFS) {
		return func(t *testing.T, fsys fstest.MapFS) { edit(t, fsys, configFile, old, new) }
	}
	vocab := func(text string) func(*testing.T, fstest.MapFS) {
		return func(t *testing.T, fsys fstest.MapFS) { fsys["ck/vocab.json"] = &fstest.MapFile{Data: []byte(text)} }
	}
	weights := func(change func([]safetensors.Tensor) []safetensors.Tensor) func(*testing.T, fstest.MapFS) {
		return func(t *testing.T, fsys fstest.MapFS) { rewrite(t, fsys, change) }
	}
	tests := []struct {
		name   string
		damage func(*testing.T, fstest.MapFS)
		want   string
	}{
		{"no config", func(t *testing.T, f fstest.MapFS) { delete(f, "ck/config.json") }, "checkpoint ck: config.json is missing"},
		{"no weights", func(t *testing.T, f fstest.MapFS) { delete(f, "ck/model.safetensors") }, "checkpoint ck: model.safetensors is missing"},
		{"shards", func(t *testing.T, f fstest.MapFS) {
			delete(f, "ck/model.safetensors")
			f["ck/model.safetensors.index.json"] = &fstest.MapFile{}
		}, "model.safetensors: the weights are split into shards"},
		{"config is a folder", func(t *testing.T, f fstest.MapFS) {
			delete(f, "ck/config.json")
			f["ck/config.json/x"] = &fstest.MapFile{}
		}, "checkpoint ck: config.json: "},
		{"config is not JSON", config("{", "["), "config.json: line "},
		{"wrong type", config(`"hidden_size": 4`, `"hidden_size": "4"`), "config.json: line 9: hidden_size is a string, need a int"},
		{"fraction", config(`"hidden_size": 4`, `"hidden_size": 4.5`), "config.json: line 9: hidden_size is a number 4.5, need a int"},
		{"missing field", config(`"hidden_size"`, `"hidden"`), "config.json: hidden_size is missing"},
		{"null field", config(`"vocab_size": 5`, `"vocab_size": null`), "config.json: vocab_size is missing"},
		{"zero", config(`"num_hidden_layers": 2`, `"num_hidden_layers": 0`), "config.json: num_hidden_layers is 0"},
		{"zero top-k", config(`"num_experts_per_tok": 2`, `"num_experts_per_tok": 0`), "num_experts_per_tok is 0"},
		{"zero eps", config(`"rms_norm_eps": 0.00001`, `"rms_norm_eps": 0`), "rms_norm_eps 0 is not a positive number"},
		{"two faults", config(`"hidden_act": "silu",`, `"hidden_act": "gelu", "tie_word_embeddings_": 1, "attention_bias": true,`), "; "},
		{"model type", config(`"mixtral"`, `"gpt2"`), `model_type "gpt2" is not`},
		{"tied", config(`"tie_word_embeddings": false`, `"tie_word_embeddings": true`), "tie_word_embeddings"},
		{"window", config(`"sliding_window": null`, `"sliding_window": 64`), "sliding_window 64 below"},
		{"scaled rope", config(`"rope_scaling": null`, `"rope_scaling": {"rope_type": "yarn"}`), "rope scaling"},
		{"no rope", config(`"rope_theta": 100`, `"rope_theta": null`), "rope_theta is missing"},
		{"rope 0", config(`"rope_theta": 100`, `"rope_theta": 0`), "rope_theta 0 is not"},
		{"head width", config(`"vocab_size"`, `"head_dim": 3, "vocab_size"`), "head_dim 3 times 2 heads is not hidden_size 4"},
		{"heads", config(`"num_attention_heads": 2`, `"num_attention_heads": 3`), "model.heads: 3 does not divide d_model 4"},
		{"one expert", config(`"num_local_experts": 2`, `"num_local_experts": 1`), "num_local_experts 1 is not supported"},
		{"gate order", config(`"gate_order": "topk-then-softmax"`, `"gate_order": "random"`), `model.gate_order: unknown "random"`},
		{"no gate order", config(`"gate_order": "topk-then-softmax"`, `"x": 1`), `driftlab.gate_order is missing`},
		{"mistyped size", config(`"vocab_size": 5`, `"vocab_size": 900000`), "model.safetensors: 4344 bytes cannot hold the 7200308 parameters"},
		{"shape", config(`"vocab_size": 5`, `"vocab_size": 6`), `tensor "model.embed_tokens.weight" has shape [5 4], config.json asks for [6 4]`},
		{"fewer layers", config(`"num_hidden_layers": 2`, `"num_hidden_layers": 1`), `unexpected tensor "model.layers.1.`},
		{"cut", func(t *testing.T, f fstest.MapFS) {
			w := f["ck/model.safetensors"]
			w.Data = w.Data[:len(w.Data)-1]
		}, "model.safetensors: the file is damaged or not the one"},
		{"cut, no hash", func(t *testing.T, f fstest.MapFS) {
			w := f["ck/model.safetensors"]
			w.Data = w.Data[:len(w.Data)-1]
			unhash(t, f)
		}, `model.safetensors: tensor "model.norm.weight" ends at byte`},
		{"one bit", func(t *testing.T, f fstest.MapFS) {
			w := f["ck/model.safetensors"]
			w.Data = slices.Clone(w.Data)
			w.Data[len(w.Data)-7] ^= 4
		}, "the file is damaged"},
		{"missing tensor", weights(func(x []safetensors.Tensor) []safetensors.Tensor { return x[1:] }), `tensor "lm_head.weight" is missing`},
		{"more tensors", weights(func(x []safetensors.Tensor) []safetensors.Tensor {
			return append(x, safetensors.Float32("extra", []int{1}, []float32{1}))
		}), `unexpected tensor "extra"`},
		{"half the biases", weights(func(x []safetensors.Tensor) []safetensors.Tensor {
			return append(x, safetensors.Float32("model.layers.0.block_sparse_moe.gate.e_score_correction_bias", []int{2}, []float32{1, 2}))
		}), `"model.layers.1.block_sparse_moe.gate.e_score_correction_bias" is missing`},
		{"double precision", weights(func(x []safetensors.Tensor) []safetensors.Tensor {
			i := slices.IndexFunc(x, func(x safetensors.Tensor) bool { return x.Name == "model.norm.weight" })
			x[i].DType, x[i].Data = safetensors.F64, make([]byte, 32)
			return x
		}), `tensor "model.norm.weight" has format F64: convert it`},
		{"vocabulary too long", vocab(`{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5}`), "vocab.json: 6 tokens for a vocabulary of 5"},
		{"vocabulary with a hole", vocab(`{"a":0,"b":2}`), "not 0 to 1, each once"},
		{"vocabulary twice", vocab(`{"a":0,"b":0}`), "not 0 to 1, each once"},
		{"vocabulary null", vocab(`{"a":null}`), "each once"},
		{"vocabulary is a list", vocab(`["a"]`), "vocab.json: line 1: "},
		{"vocabulary and more", vocab(`{"a":0}{}`), "after top-level value"},
	}
	sums := regexp.MustCompile(`,\n *"(vocab|config)_sha256": "[0-9a-f]*"`)
	for _, tt := range tests {
		fsys := small(t)
		// As the files of others are, which have no sums.
		fsys["ck/config.json"].Data = sums.ReplaceAll(fsys["ck/config.json"].Data, nil)
		tt.damage(t, fsys)
		_, err := load(fsys, "ck", "ck", readWeights)
		if err == nil {
			t.Errorf("%s: loaded", tt.name)
		} else if text := err.Error(); !strings.HasPrefix(text, "checkpoint ck: ") || !strings.Contains(text, tt.want) || strings.Contains(text, "\n") {
			t.Errorf("%s: %q, want one line with %q", tt.name, text, tt.want)
		}
	}
}

// A digit or a letter that has changed is refused, wherever it stands but in the
// names by which the sum is found: without them the file is as one of others.
func TestLoadRefusesFlippedBits(t *testing.T) {
	fsys := small(t)
	for _, name := range []string{configFile, vocabFile} {
		data := fsys["ck/"+name].Data
		named := regexp.MustCompile(`driftlab|config_sha256`).FindAllIndex(data, -1)
		for at := 0; at < len(data); at += 3 {
			if slices.ContainsFunc(named, func(x []int) bool { return x[0] <= at && at < x[1] }) {
				continue
			}
			changed := bytes.Clone(data)
			changed[at] ^= 1
			fsys["ck/"+name] = &fstest.MapFile{Data: changed}
			if _, err := load(fsys, "ck", "ck", readWeights); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, byte %d: %v", name, at, err)
			}
		}
		fsys["ck/"+name] = &fstest.MapFile{Data: data}
	}
}

// Weights that are not finite are refused wherever they are; the line names the tensor.
func TestLoadRefusesNonFinite(t *testing.T) {
	for _, bits := range []uint32{0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345} {
		p := New(Config{Layers: 2, DModel: 4, Heads: 2, Experts: 2, DFF: 3, Vocab: 5})
		for i, x := range p.tensors {
			p.Init(1)
			x.Data[len(x.Data)-1] = math.Float32frombits(bits)
			dir := t.TempDir()
			must.Do(t, Save(dir, p, Extras{}))
			_, err := Load(dir)
			want := fmt.Sprintf("checkpoint %s: model.safetensors: tensor %q holds %v at entry %d of ", dir, x.Name, p.tensors[i].Data[len(x.Data)-1], len(x.Data)-1)
			var known *CheckpointError
			if !errors.As(err, &known) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, want)
			}
		}
		p.Init(1)
		p.RouterBias = []float32{0, 0, 0, math.Float32frombits(bits)}
		dir := t.TempDir()
		must.Do(t, Save(dir, p, Extras{}))
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "e_score_correction_bias") {
			t.Errorf("router bias: %v", err)
		}
	}
}

func TestLoadNotAFolder(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	if _, err := Load(missing); err == nil || err.Error() != "checkpoint "+missing+": there is no such folder: simulate pretrain makes one" {
		t.Errorf("missing folder: %v", err)
	}
	path := filepath.Join(dir, "a-file")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "this is a file") {
		t.Errorf("a file: %v", err)
	}
	p := New(Config{Vocab: 5})
	for _, dir := range []string{path, filepath.Join(path, "sub")} {
		if err := Save(dir, p, Extras{}); err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "checkpoint "+dir) {
			t.Errorf("saving below a file: %v", err)
		}
	}
	if err := Save(filepath.Join(dir, "x"), p, Extras{Vocab: []string{"a", "a"}}); err == nil || !strings.Contains(err.Error(), `token "a" has two ids, 0 and 1`) {
		t.Errorf("vocabulary with a token twice: %v", err)
	}
	if err := Save(filepath.Join(dir, "x"), p, Extras{Vocab: make([]string, 6)}); err == nil || !strings.Contains(err.Error(), "6 tokens for a vocabulary of 5") {
		t.Errorf("vocabulary too long: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("failed saves left %v", left)
	}
}

// A folder as transformers would write it: no fields of ours, bfloat16 weights,
// other fields beside, the rotary base in its newer place.
func TestLoadForeign(t *testing.T) {
	fsys := small(t)
	want := must.Get(load(fsys, "ck", "ck", readWeights))(t)
	rewrite(t, fsys, func(tensors []safetensors.Tensor) []safetensors.Tensor {
		for i, x := range tensors {
			half := make([]byte, len(x.Data)/2)
			for j := range x.Len() {
				// The upper half of a float32 is the bfloat16 nearest to zero.
				binary.LittleEndian.PutUint16(half[2*j:], binary.LittleEndian.Uint16(x.Data[4*j+2:]))
			}
			tensors[i] = safetensors.Tensor{Name: x.Name, DType: safetensors.BF16, Shape: x.Shape, Data: half}
		}
		return tensors
	})
	fsys["ck/config.json"] = &fstest.MapFile{Data: []byte(`{
		"architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
		"hidden_act": "silu", "hidden_size": 4, "initializer_range": 0.02, "intermediate_size": 3,
		"max_position_embeddings": 128, "model_type": "mixtral", "num_attention_heads": 2, "num_experts_per_tok": 2,
		"num_hidden_layers": 2, "num_local_experts": 2, "output_router_logits": false, "rms_norm_eps": 1e-05,
		"rope_parameters": {"rope_theta": 100.0, "rope_type": "default"}, "router_aux_loss_coef": 0.001,
		"sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 5}`)}
	delete(fsys, "ck/vocab.json")
	got := must.Get(load(fsys, "ck", "ck", readWeights))(t)
	if got.Params.Config != want.Params.Config || *got.BOS != 1 || *got.EOS != 2 {
		t.Errorf("configuration %+v, want %+v", got.Params.Config, want.Params.Config)
	}
	for i, v := range want.Params.Theta {
		if cut := math.Float32frombits(math.Float32bits(v) &^ 0xffff); got.Params.Theta[i] != cut {
			t.Fatalf("parameter %d is %v, want %v", i, got.Params.Theta[i], cut)
		}
	}
}

// Whatever the two JSON files hold, loading gives a valid model or one line.
func FuzzLoad(f *testing.F) {
	p := New(Config{Layers: 1, DModel: 2, Heads: 1, Experts: 2, DFF: 1, Vocab: 2, Context: 3})
	files := must.Get(Files(p, Extras{Vocab: []string{"a"}, EOS: ptr(1)}))(f)
	weights, vocab, config := files[weightsFile], files[vocabFile], files[configFile]
	f.Add(config, vocab)
	f.Add(bytes.Replace(config, []byte(`"hidden_size": 2`), []byte(`"hidden_size": 65536`), 1), vocab)
	f.Add(bytes.Replace(config, []byte(`"num_hidden_layers": 1`), []byte(`"num_hidden_layers": 1000`), 1), []byte("{}"))
	f.Add(bytes.Replace(config, []byte(`"num_local_experts": 2`), []byte(`"num_local_experts": -1`), 1), []byte(`{"a":-1}`))
	f.Fuzz(func(t *testing.T, config, vocab []byte) {
		ck, err := load(fstest.MapFS{
			"config.json": {Data: config}, "vocab.json": {Data: vocab}, "model.safetensors": {Data: weights},
		}, ".", ".", readWeights)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error of more than one line: %q", err)
			}
			return
		}
		must.Do(t, ck.Params.Config.Validate())
		if len(ck.Vocab) > ck.Params.Config.Vocab {
			t.Fatalf("%d tokens for a vocabulary of %d", len(ck.Vocab), ck.Params.Config.Vocab)
		}
	})
}

func BenchmarkCheckpoint(b *testing.B) {
	p := New(Config{Experts: 8, Vocab: 64})
	p.Init(1)
	dir := filepath.Join(b.TempDir(), "ck")
	b.Run("save", func(b *testing.B) {
		b.SetBytes(int64(4 * len(p.Theta)))
		for b.Loop() {
			must.Do(b, Save(dir, p, Extras{}))
		}
	})
	b.Run("load", func(b *testing.B) {
		b.SetBytes(int64(4 * len(p.Theta)))
		for b.Loop() {
			must.Get(Load(dir))(b)
		}
	})
	b.Run("init", func(b *testing.B) {
		b.SetBytes(int64(4 * len(p.Theta)))
		for b.Loop() {
			p.Init(1)
		}
	})
}
