package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

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
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(value); err != nil { // sorts the keys of maps
			return nil, err
		}
		texts[name] = b.Bytes()
	}
	return texts, nil
}
