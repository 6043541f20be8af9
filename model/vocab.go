package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// formatVocab is the text of vocab.json: an object from token to id, as
// Hugging Face tokenizers store it, in the order of the ids.
func formatVocab(vocab []string) ([]byte, error) {
	seen := make(map[string]int, len(vocab))
	var b bytes.Buffer
	b.WriteString("{")
	for id, token := range vocab {
		if other, ok := seen[token]; ok {
			return nil, fmt.Errorf("token %q has two ids, %d and %d", token, other, id)
		}
		seen[token] = id
		key, err := indented(token)
		if err != nil {
			return nil, err
		}
		if id > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n  %s: %d", bytes.TrimSpace(key), id)
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// parseVocab is the inverse of formatVocab. The ids must be 0 to n-1, each once,
// and n at most size.
func parseVocab(text []byte, size int) ([]string, error) {
	var ids map[string]*int
	if err := json.Unmarshal(text, &ids); err != nil {
		return nil, jsonFault(text, err)
	}
	if len(ids) > size {
		return nil, fmt.Errorf("%d tokens for a vocabulary of %d", len(ids), size)
	}
	vocab, taken := make([]string, len(ids)), make([]bool, len(ids))
	// The order of the map does not matter: each token has its own place.
	for token, id := range ids {
		if id == nil || *id < 0 || *id >= len(ids) || taken[*id] {
			return nil, fmt.Errorf("the ids of %d tokens are not 0 to %d, each once", len(ids), len(ids)-1)
		}
		vocab[*id], taken[*id] = token, true
	}
	return vocab, nil
}

// Shipped lists the names of the checkpoints that come with the binary, sorted.
func Shipped() []string {
	entries, err := fs.ReadDir(shipped, "shipped")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// Open loads a checkpoint by a shipped name or from a folder. A name with a
// path separator, or that exists as a folder, is a folder.
func Open(nameOrDir string) (*Checkpoint, error) {
	for _, name := range Shipped() {
		if name == nameOrDir {
			dir := "shipped/" + name
			return load(shipped, dir, dir, unpackWeights)
		}
	}
	if _, err := os.Stat(nameOrDir); err == nil || strings.ContainsAny(nameOrDir, `/\`) {
		return Load(nameOrDir)
	}
	return nil, fmt.Errorf("checkpoint %q is neither a folder nor one that is shipped (%s)", nameOrDir, strings.Join(Shipped(), ", "))
}
