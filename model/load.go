package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"driftlab/model/safetensors"
	"driftlab/results/record/atomicfile"
)

// Checkpoint is a loaded checkpoint folder.
type Checkpoint struct {
	// Params are the parameters, with the configuration they belong to.
	Params *Params
	// Extras is what else the folder holds.
	Extras
}

// CheckpointError says, in one line, which checkpoint cannot be used and why:
// bad input, not a failure of the program.
type CheckpointError struct {
	// Dir is the folder as the user named it.
	Dir string
	// Err is what is wrong with it, and names the file.
	Err error
}

// Error returns the one line.
func (e *CheckpointError) Error() string { return "checkpoint " + e.Dir + ": " + e.Err.Error() }

// Unwrap returns the error underneath.
func (e *CheckpointError) Unwrap() error { return e.Err }

func unusable(dir, format string, args ...any) error {
	return &CheckpointError{dir, fmt.Errorf(format, args...)}
}

// Load reads a checkpoint folder written by Save, or by transformers for a
// small Mixtral or Llama in one safetensors file. Weights in F16 and BF16 are
// widened exactly; those that are not finite are refused. Errors are
// CheckpointErrors.
func Load(dir string) (*Checkpoint, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unusable(dir, "there is no such folder: simulate pretrain makes one")
	case err != nil:
		return nil, unusable(dir, "%w", err)
	case !info.IsDir():
		return nil, unusable(dir, "this is a file, a checkpoint is a folder with %s and %s", configFile, weightsFile)
	}
	return load(os.DirFS(dir), ".", dir, readWeights)
}

// readWeights reads the weights file of a folder.
func readWeights(fsys fs.FS, dir string) ([]byte, error) {
	return readFile(fsys, path.Join(dir, weightsFile), MachineMemory()/2)
}

// load reads from dir, the weights by a function; shown is the name that errors carry.
func load(fsys fs.FS, dir, shown string, weights func(fsys fs.FS, dir string) ([]byte, error)) (*Checkpoint, error) {
	in := func(name string, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return unusable(shown, "%s is missing", name)
		}
		return unusable(shown, "%s: %w", name, err)
	}
	const small = 16 << 20
	text, err := readFile(fsys, path.Join(dir, configFile), small)
	if err != nil {
		return nil, in(configFile, err)
	}
	c, extra, x, err := parseConfig(text)
	if err == nil {
		err = checkConfig(text, extra)
	}
	if err != nil {
		return nil, in(configFile, err)
	}
	data, err := weights(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, sharded := fs.Stat(fsys, path.Join(dir, weightsFile+".index.json")); sharded == nil {
			err = errors.New("the weights are split into shards: store them in one file")
		}
	}
	if err != nil {
		return nil, in(weightsFile, err)
	}
	if extra != nil && extra.WeightsSHA256 != "" && sumOf(data) != extra.WeightsSHA256 {
		return nil, in(weightsFile, errors.New("the file is damaged or not the one config.json was written for: copy it again, or delete weights_sha256 there if you changed the weights on purpose"))
	}
	p, err := parseWeights(c, data)
	if err != nil {
		return nil, in(weightsFile, err)
	}
	text, err = readFile(fsys, path.Join(dir, vocabFile), small)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, in(vocabFile, err)
	case extra != nil && extra.VocabSHA256 != "" && sumOf(text) != extra.VocabSHA256:
		return nil, in(vocabFile, errors.New("the file is damaged or not the one config.json was written for: copy it again, or delete vocab_sha256 there if you changed it on purpose"))
	default:
		if x.Vocab, err = parseVocab(text, c.Vocab); err != nil {
			return nil, in(vocabFile, err)
		}
	}
	return &Checkpoint{Params: p, Extras: x}, nil
}

func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, atomicfile.Cause(err)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%d bytes are more than the limit of %d", info.Size(), limit)
	}
	// The file may have grown since, without an end.
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, atomicfile.Cause(err)
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("more than the limit of %d bytes", limit)
	}
	return data.Bytes(), nil
}

// parseWeights fills the parameters of c from a safetensors file that must hold
// exactly its tensors.
func parseWeights(c Config, data []byte) (*Params, error) {
	f, err := safetensors.Parse(data)
	if err != nil {
		return nil, err
	}
	// No format is narrower than two bytes: a mistyped size in config.json is
	// seen before anything of that size is allocated.
	if n := c.Params(); n > len(data)/2 {
		return nil, fmt.Errorf("%d bytes cannot hold the %d parameters that config.json describes", len(data), n)
	}
	p := New(c)
	if !c.Dense() && f.Tensor(routerBiasName(0)) != nil {
		p.RouterBias = make([]float32, c.Layers*c.Experts)
	}
	stored := p.stored()
	known := make(map[string]bool, len(stored))
	for _, want := range stored {
		known[want.Name] = true
		t := f.Tensor(want.Name)
		if t == nil {
			return nil, fmt.Errorf("tensor %q is missing: config.json describes another model, or the file is incomplete", want.Name)
		}
		if !slices.Equal(t.Shape, want.Shape) {
			return nil, fmt.Errorf("tensor %q has shape %v, config.json asks for %v", want.Name, t.Shape, want.Shape)
		}
	}
	for i := range f.Tensors {
		if name := f.Tensors[i].Name; !known[name] {
			return nil, fmt.Errorf("unexpected tensor %q: config.json describes a model without it", name)
		}
	}
	for _, t := range stored {
		if err := readFinite(f.Tensor(t.Name), t.Data); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// stored are the tensors of a checkpoint: those of the layout, and the selection bias of every layer if there is one.
func (p *Params) stored() []Tensor {
	list := slices.Clip(p.tensors)
	for l := range p.Config.Layers {
		if bias := p.LayerRouterBias(l); bias != nil {
			list = append(list, Tensor{Name: routerBiasName(l), Shape: []int{len(bias)}, Data: bias})
		}
	}
	return list
}

// readFinite copies a tensor, which must not hold NaN or an infinity: whatever
// is computed from such weights says nothing.
func readFinite(t *safetensors.Tensor, dst []float32) error {
	if err := t.Float32s(dst); err != nil {
		return err
	}
	for i, v := range dst {
		if v-v != 0 {
			return fmt.Errorf("tensor %q holds %v at entry %d of %d: the training that made it diverged, or it was converted to a format too narrow; use another checkpoint", t.Name, v, i, len(dst))
		}
	}
	return nil
}

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
	files, err := Files(p, x)
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

// Files returns the files of a checkpoint folder by their names, as Save writes them.
func Files(p *Params, x Extras) (map[string][]byte, error) {
	if len(x.Vocab) > p.Config.Vocab {
		return nil, fmt.Errorf("%d tokens for a vocabulary of %d", len(x.Vocab), p.Config.Vocab)
	}
	var tensors []safetensors.Tensor
	for _, t := range p.stored() {
		tensors = append(tensors, safetensors.Float32(t.Name, t.Shape, t.Data))
	}
	var weights bytes.Buffer
	// transformers refuses files that do not name their framework.
	if err := safetensors.Write(&weights, tensors, map[string]string{"format": "pt"}); err != nil {
		return nil, err
	}
	files, vocabSum := map[string][]byte{weightsFile: weights.Bytes()}, ""
	if x.Vocab != nil {
		vocab, err := formatVocab(x.Vocab)
		if err != nil {
			return nil, err
		}
		files[vocabFile], vocabSum = vocab, sumOf(vocab)
	}
	config, err := formatConfig(p, x, sumOf(weights.Bytes()), vocabSum)
	files[configFile] = config
	return files, err
}

// replaceFiles writes the files into an existing folder and removes a vocabulary
// of an earlier version.
func replaceFiles(dir string, files map[string][]byte) error {
	for _, name := range []string{weightsFile, vocabFile, configFile} {
		file := filepath.Join(dir, name)
		if data, ok := files[name]; !ok {
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				return unusable(dir, "%w", err)
			}
		} else if err := atomicfile.Bytes(file, data); err != nil {
			return unusable(dir, "writing %s: %w", name, err)
		}
	}
	return nil
}
