package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// hfConfig is config.json in the order in which it is written: the fields of
// transformers' MixtralConfig or LlamaConfig, and ours under their own key.
// Pointers are fields that may be absent or null.
type hfConfig struct {
	Architectures    []string     `json:"architectures"`
	AttentionBias    bool         `json:"attention_bias"`
	BOS              *int         `json:"bos_token_id"`
	EOS              *int         `json:"eos_token_id"`
	HeadDim          *int         `json:"head_dim,omitempty"`
	HiddenAct        string       `json:"hidden_act"`
	HiddenSize       *int         `json:"hidden_size"`
	IntermediateSize *int         `json:"intermediate_size"`
	MaxPositions     *int         `json:"max_position_embeddings"`
	ModelType        string       `json:"model_type"`
	Heads            *int         `json:"num_attention_heads"`
	TopK             *int         `json:"num_experts_per_tok,omitempty"`
	Layers           *int         `json:"num_hidden_layers"`
	KVHeads          *int         `json:"num_key_value_heads"`
	Experts          *int         `json:"num_local_experts,omitempty"`
	NormEps          *float64     `json:"rms_norm_eps"`
	RopeParameters   *hfRope      `json:"rope_parameters,omitempty"`
	RopeScaling      *hfRope      `json:"rope_scaling"`
	RopeTheta        *float64     `json:"rope_theta"`
	SlidingWindow    *int         `json:"sliding_window"`
	TieEmbeddings    bool         `json:"tie_word_embeddings"`
	TorchDType       string       `json:"torch_dtype"`
	VocabSize        *int         `json:"vocab_size"`
	Driftlab         *extraConfig `json:"driftlab,omitempty"`
}

// hfRope is how transformers 5 spells the rotary parameters, and how 4 spells
// their scaling.
type hfRope struct {
	Theta *float64 `json:"rope_theta"`
	Type  *string  `json:"rope_type"`
}

// extraConfig is what Mixtral's fields cannot say.
type extraConfig struct {
	Positions     string            `json:"positions"`
	GateOrder     string            `json:"gate_order,omitempty"`
	Renormalise   bool              `json:"renormalise,omitempty"`
	LayerTypes    LayerTypes        `json:"layer_types,omitempty"`
	IndexTopK     int               `json:"index_topk,omitempty"`
	IndexHeads    int               `json:"index_n_heads,omitempty"`
	WeightsSHA256 string            `json:"weights_sha256"`
	VocabSHA256   string            `json:"vocab_sha256,omitempty"`
	ConfigSHA256  string            `json:"config_sha256,omitempty"` // of this text with zeroes in its place
	Notes         map[string]string `json:"notes,omitempty"`
}

// mixtralLike reports whether transformers' own Mixtral or Llama class computes
// the same function. A checkpoint of another model gets a type of its own, so
// that it is refused there instead of silently computing something else.
func (p *Params) mixtralLike() bool {
	c := p.Config
	return c.Positions == Rotary && c.LayerTypes == "" && p.RouterBias == nil && (c.GateOrder != SoftmaxThenTopK || c.Renormalise)
}

func formatConfig(p *Params, x Extras, weightsSHA256, vocabSHA256 string) ([]byte, error) {
	c := p.Config
	h := hfConfig{
		BOS: x.BOS, EOS: x.EOS,
		HiddenAct: "silu", HiddenSize: &c.DModel, IntermediateSize: &c.DFF, MaxPositions: &c.Context,
		Heads: &c.Heads, Layers: &c.Layers, KVHeads: &c.KVHeads, NormEps: &c.NormEps,
		TorchDType: "float32", VocabSize: &c.Vocab,
		Driftlab: &extraConfig{
			Positions: c.Positions, GateOrder: c.GateOrder, Renormalise: c.Renormalise, LayerTypes: c.LayerTypes, IndexTopK: c.IndexTopK, IndexHeads: c.IndexHeads,
			WeightsSHA256: weightsSHA256, VocabSHA256: vocabSHA256, ConfigSHA256: noSum, Notes: x.Notes,
		},
	}
	if c.Positions == Rotary {
		h.RopeTheta = &c.RopeTheta
	}
	if !c.Dense() {
		h.Experts, h.TopK = &c.Experts, &c.TopK
	}
	switch {
	case !p.mixtralLike():
		h.Architectures, h.ModelType = []string{"DriftlabForCausalLM"}, "driftlab"
	case c.Dense():
		h.Architectures, h.ModelType = []string{"LlamaForCausalLM"}, "llama"
	default:
		h.Architectures, h.ModelType = []string{"MixtralForCausalLM"}, "mixtral"
	}
	text, err := indented(h)
	return bytes.Replace(text, []byte(noSum), []byte(sumOf(text)), 1), err
}

// indented is a value as JSON, the keys of maps sorted.
func indented(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// noSum stands for the sum of a text while it is computed.
var noSum = strings.Repeat("0", 64)

// sumOf is the SHA-256 of data as text.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkConfig returns an error if the text is not the one that its sum was made of.
// Configurations of others have none.
func checkConfig(text []byte, extra *extraConfig) error {
	if extra == nil || extra.ConfigSHA256 == "" {
		return nil
	}
	if sumOf(bytes.Replace(text, []byte(extra.ConfigSHA256), []byte(noSum), 1)) != extra.ConfigSHA256 {
		return errors.New("the file is damaged: copy it again, or delete config_sha256 there if you changed it on purpose")
	}
	return nil
}

// parseConfig reads config.json. Fields it does not know are ignored, as the
// files of others have many; what would change the function is refused.
func parseConfig(text []byte) (Config, *extraConfig, Extras, error) {
	var h hfConfig
	if err := json.Unmarshal(text, &h); err != nil {
		return Config{}, nil, Extras{}, jsonFault(text, err)
	}
	if err := errors.Join(h.refusals()...); err != nil {
		return Config{}, nil, Extras{}, oneLine(err)
	}
	c := Config{
		Layers: *h.Layers, DModel: *h.HiddenSize, Heads: *h.Heads, KVHeads: *h.Heads,
		DFF: *h.IntermediateSize, Context: *h.MaxPositions, Vocab: *h.VocabSize, NormEps: *h.NormEps,
		Positions: Rotary,
	}
	if h.KVHeads != nil {
		c.KVHeads = *h.KVHeads
	}
	if h.Experts != nil {
		c.Experts, c.TopK, c.GateOrder = *h.Experts, valueOf(h.TopK), TopKThenSoftmax
	}
	c.RopeTheta = valueOf(h.ropeTheta())
	x := Extras{BOS: h.BOS, EOS: h.EOS}
	if d := h.Driftlab; d != nil {
		c.Positions, c.Renormalise, c.LayerTypes = d.Positions, d.Renormalise, d.LayerTypes
		c.IndexTopK, c.IndexHeads = d.IndexTopK, d.IndexHeads
		if !c.Dense() {
			c.GateOrder = d.GateOrder
		}
		x.Notes = d.Notes
	}
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return Config{}, nil, Extras{}, oneLine(err)
	}
	return c, h.Driftlab, x, nil
}

// ropeTheta finds the base of the rotary angles under either spelling.
func (h *hfConfig) ropeTheta() *float64 {
	if h.RopeParameters != nil && h.RopeParameters.Theta != nil {
		return h.RopeParameters.Theta
	}
	return h.RopeTheta
}

// routed reports whether the file describes a mixture of experts.
func (h *hfConfig) routed() bool { return valueOf(h.Experts) > 1 }

// refusals lists missing fields and those this package cannot honour.
func (h *hfConfig) refusals() []error {
	var faults []error
	refuse := func(refused bool, format string, args ...any) {
		if refused {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	// Zero means "not set" to WithDefaults; in a file it is a fault.
	for _, f := range []struct {
		name     string
		value    *int
		required bool
	}{
		{"num_hidden_layers", h.Layers, true}, {"hidden_size", h.HiddenSize, true}, {"num_attention_heads", h.Heads, true},
		{"num_key_value_heads", h.KVHeads, false}, {"intermediate_size", h.IntermediateSize, true},
		{"max_position_embeddings", h.MaxPositions, true}, {"vocab_size", h.VocabSize, true},
	} {
		refuse(f.value == nil && f.required, "%s is missing", f.name)
		refuse(f.value != nil && *f.value < 1, "%s is %d", f.name, valueOf(f.value))
	}
	refuse(h.ModelType == "mixtral" && h.Experts == nil, "num_local_experts is missing")
	refuse(h.routed() && h.TopK == nil, "num_experts_per_tok is missing")
	refuse(h.routed() && h.TopK != nil && *h.TopK < 1, "num_experts_per_tok is %d", valueOf(h.TopK))
	refuse(h.NormEps == nil, "rms_norm_eps is missing")
	refuse(h.NormEps != nil && !(*h.NormEps > 0), "rms_norm_eps %v is not a positive number", valueOf(h.NormEps))
	refuse(h.ModelType == "driftlab" && h.Driftlab == nil, "driftlab is missing")
	refuse(h.Driftlab != nil && h.Driftlab.Positions == "", "driftlab.positions is missing")
	refuse(h.Driftlab != nil && h.Driftlab.GateOrder == "" && h.routed(), "driftlab.gate_order is missing")
	refuse(h.ModelType == "mixtral" && h.Experts != nil && *h.Experts < 2, "num_local_experts %d is not supported: a model without routing is a llama", valueOf(h.Experts))
	refuse(h.ModelType != "mixtral" && h.ModelType != "llama" && h.ModelType != "driftlab", "model_type %q is not mixtral, llama or driftlab", h.ModelType)
	refuse(h.HiddenAct != "silu", "hidden_act %q is not silu", h.HiddenAct)
	refuse(h.TieEmbeddings, "tie_word_embeddings is not supported: store lm_head.weight")
	refuse(h.AttentionBias, "attention_bias is not supported")
	refuse(h.SlidingWindow != nil && h.MaxPositions != nil && *h.SlidingWindow < *h.MaxPositions,
		"sliding_window %d below max_position_embeddings %d is not supported", valueOf(h.SlidingWindow), valueOf(h.MaxPositions))
	refuse(h.RopeScaling != nil || h.RopeParameters != nil && h.RopeParameters.Type != nil && *h.RopeParameters.Type != "default", "rope scaling is not supported")
	refuse(h.HeadDim != nil && h.HiddenSize != nil && h.Heads != nil && int64(*h.HeadDim)*int64(*h.Heads) != int64(*h.HiddenSize),
		"head_dim %d times %d heads is not hidden_size %d", valueOf(h.HeadDim), valueOf(h.Heads), valueOf(h.HiddenSize))
	theta, rotary := h.ropeTheta(), h.Driftlab == nil || h.Driftlab.Positions == Rotary
	refuse(rotary && theta == nil, "rope_theta is missing")
	refuse(rotary && theta != nil && !(*theta > 0 && *theta < math.MaxFloat64), "rope_theta %v is not a positive number", valueOf(theta))
	return faults
}

// valueOf is the value of a field that may be absent, and then zero.
func valueOf[T any](field *T) (value T) {
	if field != nil {
		value = *field
	}
	return value
}

// jsonFault gives a decoding error the line it happened on.
func jsonFault(text []byte, err error) error {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mistyped):
		offset = mistyped.Offset
		err = fmt.Errorf("%s is a %s, need a %v", mistyped.Field, mistyped.Value, mistyped.Type)
	}
	if offset < 0 || offset > int64(len(text)) {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:offset], []byte("\n")), err)
}

// oneLine turns joined faults into one line.
func oneLine(err error) error {
	return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// HuggingFaceExtras are the files that Hugging Face's generate and AutoTokenizer look
// for next to a checkpoint's own: generation_config.json, and with a vocabulary
// tokenizer.json and tokenizer_config.json. A text's characters are its tokens; longer
// tokens are found first, and those in angle brackets are special.
func HuggingFaceExtras(x Extras) (map[string][]byte, error) {
	type object = map[string]any
	ids := make(object, len(x.Vocab))
	whole, named := []object{}, object{}
	for id, token := range x.Vocab {
		ids[token] = id
		special := strings.HasPrefix(token, "<") && strings.HasSuffix(token, ">") && len(token) > 2
		if special {
			named[strings.Trim(token, "<>")+"_token"] = token
		}
		if special || utf8.RuneCountInString(token) != 1 {
			whole = append(whole, object{"id": id, "content": token, "special": special, "single_word": false,
				"lstrip": false, "rstrip": false, "normalized": false})
		}
	}
	generation := object{"_from_model_config": true, "do_sample": true, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
	for name, id := range map[string]*int{"bos_token_id": x.BOS, "eos_token_id": x.EOS} {
		if id != nil {
			generation[name] = *id
		}
	}
	if pad, ok := ids["<pad>"]; ok {
		generation["pad_token_id"] = pad
	}
	files := map[string]any{"generation_config.json": generation}
	if x.Vocab != nil {
		named["tokenizer_class"], named["clean_up_tokenization_spaces"] = "PreTrainedTokenizerFast", false
		files["tokenizer_config.json"] = named
		files["tokenizer.json"] = object{
			"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": whole,
			"normalizer": nil, "pre_tokenizer": nil, "post_processor": nil, "decoder": object{"type": "Fuse"},
			// Byte-pair encoding without merges: a token is a character.
			"model": object{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
				"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "vocab": ids, "merges": []string{}},
		}
	}
	texts := make(map[string][]byte, len(files))
	for name, value := range files {
		text, err := indented(value)
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}
