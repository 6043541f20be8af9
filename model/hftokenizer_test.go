package model

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// added is a token that is found before the text falls into characters.
type added struct {
	ID      int
	Content string
	Special bool
}

// The files next to a checkpoint name its ids: every token of the vocabulary, the special ones
// separately, and the ids that generation ends and pads with.
func TestHuggingFaceExtras(t *testing.T) {
	for _, name := range Shipped() {
		ck := must.Get(Open(name))(t)
		files := must.Get(HuggingFaceExtras(ck.Extras))(t)
		var tokenizer struct {
			Model struct {
				Type   string
				Vocab  map[string]int
				Merges []string
			}
			Added []added `json:"added_tokens"`
		}
		must.Do(t, json.Unmarshal(files["tokenizer.json"], &tokenizer))
		if len(tokenizer.Model.Vocab) != len(ck.Vocab) || len(tokenizer.Model.Merges) != 0 || len(tokenizer.Added) < 3 {
			t.Errorf("%s: %d tokens, %d merges, %d special", name, len(tokenizer.Model.Vocab), len(tokenizer.Model.Merges), len(tokenizer.Added))
		}
		for id, token := range ck.Vocab {
			if got, ok := tokenizer.Model.Vocab[token]; !ok || got != id {
				t.Errorf("%s: token %q has id %d, want %d", name, token, got, id)
			}
		}
		for _, x := range tokenizer.Added {
			if ck.Vocab[x.ID] != x.Content || x.Special != strings.HasPrefix(x.Content, "<") || !x.Special && len(x.Content) < 2 {
				t.Errorf("%s: whole token %+v", name, x)
			}
		}
		for id, token := range ck.Vocab {
			found := slices.ContainsFunc(tokenizer.Added, func(x added) bool { return x.ID == id })
			if len([]rune(token)) > 1 && !found {
				t.Errorf("%s: %q would fall into characters", name, token)
			}
		}
		var generation map[string]any
		must.Do(t, json.Unmarshal(files["generation_config.json"], &generation))
		if generation["bos_token_id"] != float64(*ck.BOS) || generation["eos_token_id"] != float64(*ck.EOS) || generation["pad_token_id"] != 0.0 {
			t.Errorf("%s: %v", name, generation)
		}
	}
	if files, err := HuggingFaceExtras(Extras{}); err != nil || len(files) != 1 {
		t.Errorf("without a vocabulary: %d files, %v", len(files), err)
	}
}
