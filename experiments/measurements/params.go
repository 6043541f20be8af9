package measurements

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"driftlab/engine"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/trainer/recipe"

	"go.yaml.in/yaml/v4"
)

// sizes is a number at the full, the quick and the tiny size; one stands for all.
type sizes []int

func (s sizes) of(e *claim.Env) int {
	switch len(s) {
	case 0:
		return 0
	case 1:
		return s[0]
	}
	return e.Pick(s[0], s[1], s[2])
}

func (s *sizes) UnmarshalYAML(n *yaml.Node) error {
	var list []int
	if n.Kind != yaml.SequenceNode {
		list = make([]int, 1)
		if err := n.Load(&list[0]); err != nil {
			return err
		}
	} else if err := n.Load(&list); err != nil {
		return err
	}
	if len(list) != 1 && len(list) != 3 {
		return fmt.Errorf("line %d: a size is a number, or those of the full, the quick and the tiny measurement", n.Line)
	}
	*s = list
	return nil
}

// format is an engine's numerics as recipes write them: a preset, or a base with changes.
type format struct{ engine.Numerics }

func (f *format) UnmarshalYAML(n *yaml.Node) error {
	text, err := yaml.Dump(n)
	if err != nil {
		return err
	}
	written := strings.Join(strings.Fields(string(text)), " ")
	known, ok := formatsRead.Load(written)
	if !ok {
		r, err := recipe.Load("headline", "rollout.numerics="+written)
		if err != nil {
			return err
		}
		known = r.Rollout.Numerics
		formatsRead.Store(written, known)
	}
	f.Numerics = known.(engine.Numerics)
	return nil
}

// formatsRead are the numerics of formats by their text: claims name the same few many times.
var formatsRead sync.Map

// ordered is a mapping of texts in its order.
type ordered []struct{ name, value string }

func (o *ordered) UnmarshalYAML(n *yaml.Node) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		*o = append(*o, struct{ name, value string }{n.Content[i].Value, n.Content[i+1].Value})
	}
	if n.Kind != yaml.MappingNode || len(*o) == 0 {
		return fmt.Errorf("line %d: a mapping of names", n.Line)
	}
	return nil
}

// frozen says which weights are measured.
type frozen struct {
	// Warm is chain-base, dense (its counterpart of equal active width), or a recipe of pretrain
	// with changes; empty means random weights of the given Layers, Experts (0: dense) and Vocab.
	Warm    string
	Set     []string
	Steps   sizes // of that recipe
	Layers  int
	Experts int
	Vocab   sizes
	// Context is the room for tokens; 0 leaves warm-started weights as they are.
	Context sizes
	// Head multiplies the random output head, Outliers the first two channels of every embedding.
	Head, Outliers float64
}

func (f *frozen) params(e *claim.Env) *model.Params {
	switch room := f.Context.of(e); {
	case f.Warm == "chain-base" && f.Set == nil && f.Steps == nil:
		return e.Base(room)
	case f.Warm == "dense":
		return e.Dense(room)
	case f.Warm != "":
		set := f.Set
		if f.Steps != nil {
			set = append(slices.Clone(set), fmt.Sprintf("pretrain.steps=%d", f.Steps.of(e)))
		}
		return claim.Loaded(e.Warm(f.Warm, set...), room)
	}
	p := e.Deep(f.Layers, f.Experts, f.Vocab.of(e), f.Context.of(e))
	if f.Head != 0 {
		scale(p.Head, float32(f.Head))
	}
	if d := p.Config.DModel; f.Outliers != 0 {
		// The norms divide by the larger root mean square, and so the other channels enter each
		// layer that much smaller.
		for token := range p.Config.Vocab {
			scale(p.Embed[token*d:token*d+2], float32(f.Outliers))
		}
	}
	return p
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}
