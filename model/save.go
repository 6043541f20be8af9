package model

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"driftlab/model/safetensors"
	"driftlab/results/record/atomicfile"
)

// Names of the files of a checkpoint folder.
const (
	configFile  = "config.json"
	weightsFile = "model.safetensors"
	vocabFile   = "vocab.json"
)

// Extras is what a checkpoint may carry in addition to the parameters.
type Extras struct {
	// Vocab lists the tokens by id; nil if there is no vocab.json. It may be
	// shorter than Config.Vocab, whose last rows are then padding.
	Vocab []string
	// BOS and EOS are the ids of the first token of a sequence and of the stop
	// token, if known.
	BOS, EOS *int
	// Notes are free strings kept in config.json: recipe, step, seed.
	Notes map[string]string
}

// Save writes a checkpoint folder that transformers can load: config.json,
// model.safetensors in float32 and, with a vocabulary, vocab.json. The same
// parameters and extras give the same bytes.
//
// A new folder appears complete or not at all. In an existing one each file is
// replaced atomically, config.json last; it holds the hash of the weights, so
// a folder left between two versions does not load. Errors are one line and
// name the file.
func Save(dir string, p *Params, x Extras) error {
	files, err := encode(p, x)
	if err != nil {
		return unusable(dir, "%w", err)
	}
	if _, err := os.Stat(dir); err == nil {
		return replaceFiles(dir, files)
	} else if !errors.Is(err, os.ErrNotExist) {
		return unusable(dir, "%w", err)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return unusable(dir, "%w", err)
	}
	fresh, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".*.tmp")
	if err != nil {
		return unusable(dir, "%w", err)
	}
	defer os.RemoveAll(fresh) // after the rename there is nothing left to remove
	if err := replaceFiles(fresh, files); err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return unusable(dir, "%w", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return unusable(dir, "%w", err)
	}
	return nil
}

// Files are those of a checkpoint folder by their names, as Save writes them.
func Files(p *Params, x Extras) (map[string][]byte, error) {
	list, err := encode(p, x)
	files := make(map[string][]byte, len(list))
	for _, f := range list {
		files[f.name] = f.data
	}
	return files, err
}

// file is one encoded file of a checkpoint.
type file struct {
	name string
	data []byte
}

// encode makes the files of a checkpoint in the order they are written.
func encode(p *Params, x Extras) ([]file, error) {
	if len(x.Vocab) > p.Config.Vocab {
		return nil, fmt.Errorf("%d tokens for a vocabulary of %d", len(x.Vocab), p.Config.Vocab)
	}
	var tensors []safetensors.Tensor
	for _, t := range p.tensors {
		tensors = append(tensors, safetensors.Float32(t.Name, t.Shape, t.Data))
	}
	if p.RouterBias != nil {
		n := names{p.Config.Dense()}
		for l := range p.Config.Layers {
			tensors = append(tensors, safetensors.Float32(n.routerBias(l), []int{p.Config.Experts}, p.LayerRouterBias(l)))
		}
	}
	var weights bytes.Buffer
	// transformers refuses files that do not name their framework.
	if err := safetensors.Write(&weights, tensors, map[string]string{"format": "pt"}); err != nil {
		return nil, err
	}
	files, vocabSum := []file{{weightsFile, weights.Bytes()}}, ""
	if x.Vocab != nil {
		vocab, err := formatVocab(x.Vocab)
		if err != nil {
			return nil, err
		}
		files, vocabSum = append(files, file{vocabFile, vocab}), sumOf(vocab)
	}
	config, err := formatConfig(p, x, sumOf(weights.Bytes()), vocabSum)
	if err != nil {
		return nil, err
	}
	return append(files, file{configFile, config}), nil
}

// replaceFiles writes the files into an existing folder and removes a vocabulary
// of an earlier version.
func replaceFiles(dir string, files []file) error {
	vocab := false
	for _, f := range files {
		vocab = vocab || f.name == vocabFile
		if err := atomicfile.Bytes(filepath.Join(dir, f.name), f.data); err != nil {
			return unusable(dir, "writing %s: %w", f.name, err)
		}
	}
	if !vocab {
		if err := os.Remove(filepath.Join(dir, vocabFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return unusable(dir, "%w", err)
		}
	}
	return nil
}
