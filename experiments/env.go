package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Size says how much a claim measures.
type Size int

// The sizes.
const (
	// Full is what a verdict is published from.
	Full Size = iota
	// Quick is smaller by a factor of five to ten.
	Quick
	// Tiny shows that a claim runs; its figures mean nothing.
	Tiny
)

var sizeNames = [...]string{"full", "quick", "tiny"}

// String returns the size's name, which is part of the folders' names.
func (s Size) String() string { return sizeNames[s] }

// sizeNamed is the size that String names so.
func sizeNamed(name string) (Size, bool) {
	i := slices.Index(sizeNames[:], name)
	return Size(i), i >= 0
}

// Env is what a claim's measurement is given.
type Env struct {
	// Seed starts every random stream, and initialises random models.
	Seed uint64
	// Size is how much to measure.
	Size Size

	lab *lab
	// arms are the training runs so far, in the order they were asked for.
	arms []armRecipe
}

// Pick chooses by size.
func (e *Env) Pick(full, quick, tiny int) int { return [...]int{full, quick, tiny}[e.Size] }

// Rand returns a random stream of that name; names must differ within a claim.
func (e *Env) Rand(name uint64) *rand.Rand { return rand.New(rand.NewPCG(e.Seed, name)) }

// lab is what claims and seeds share while a command runs: warm-started models
// and long rollouts that several claims read.
type lab struct {
	dir string // for warm-started models

	mu   sync.Mutex
	made map[string]*making
}

type making struct {
	once  sync.Once
	value any
	err   error
}

func newLab(dir string) *lab { return &lab{dir: dir, made: map[string]*making{}} }

// shared makes a value once, however many claims ask for it.
func shared[T any](l *lab, key string, build func() (T, error)) (T, error) {
	l.mu.Lock()
	m := l.made[key]
	if m == nil {
		m = new(making)
		l.made[key] = m
	}
	l.mu.Unlock()
	m.once.Do(func() { m.value, m.err = build() })
	v, _ := m.value.(T)
	return v, m.err
}

// numerics returns a preset; the names are constants of this package.
func numerics(preset string) engine.Numerics {
	n, ok := engine.Preset(preset)
	if !ok {
		panic("experiments: there are no numerics " + preset)
	}
	return n
}

// named returns n under another name after an edit.
func named(n engine.Numerics, name string, edit func(*engine.Numerics)) engine.Numerics {
	n.Name = name
	if edit != nil {
		edit(&n)
	}
	return n
}

// base returns the shipped mixture-of-experts model with room for longer
// sequences: rotary positions have no table, so the weights stay as they are.
func base(context int) (*model.Params, error) {
	c, err := model.Open("chain-base")
	if err != nil {
		return nil, err
	}
	return lengthened(c.Params, context), nil
}

// lengthened is p with room for that many tokens.
func lengthened(p *model.Params, context int) *model.Params {
	c := p.Config
	c.Context = max(c.Context, context)
	return model.View(c, p.Theta)
}

// dense returns the dense twin of the shipped model: the same recipe with one
// feed-forward network as wide as the two experts a token visits, so that the
// active parameters are equal. It is warm-started on first use.
func (e *Env) dense(ctx context.Context, context int) (*model.Params, error) {
	dir, err := e.denseFolder(ctx)
	if err != nil {
		return nil, err
	}
	c, err := model.Load(dir)
	if err != nil {
		return nil, err
	}
	return lengthened(c.Params, context), nil
}

// denseFolder is the checkpoint folder of the dense twin.
func (e *Env) denseFolder(ctx context.Context) (string, error) {
	steps := e.Pick(1500, 300, 3)
	dir := filepath.Join(e.lab.dir, "warm", fmt.Sprintf("chain-dense-%d", steps))
	return shared(e.lab, dir, func() (string, error) {
		if _, err := model.Load(dir); err == nil {
			return dir, nil
		}
		r, err := recipe.Load("chain-base", "model.experts=0", "model.d_ff=128", fmt.Sprintf("pretrain.steps=%d", steps))
		if err != nil {
			return "", err
		}
		made, err := trainer.Pretrain(ctx, r.Resolved(), trainer.Options{})
		if err != nil {
			return "", err
		}
		return dir, model.Save(dir, made.Params, model.Extras{})
	})
}

// deepHead scales the output head of random models: at the usual initialisation
// every token would be equally likely. With it the entropy is near 2.5 nats.
const deepHead = 6

// deep returns a random model from the seed: the amplified dose where depth
// matters. No experts make it dense, with the active width of two.
func (e *Env) deep(layers, experts, vocab, context int) *model.Params {
	c := model.Default()
	c.Layers, c.Experts, c.Vocab, c.Context = layers, experts, vocab, context
	if experts == 0 {
		c.DFF *= c.TopK
	}
	c = c.WithDefaults()
	p := model.New(c)
	p.Init(e.Seed)
	for i := range p.Head {
		p.Head[i] *= deepHead
	}
	return p
}
