package claim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

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

// ParseSize is the size that String names so.
func ParseSize(name string) (Size, bool) {
	i := slices.Index(sizeNames[:], name)
	return Size(i), i >= 0
}

// Env is what a claim's measurement is given.
type Env struct {
	// Seed starts every random stream, and initialises random models.
	Seed uint64
	// Size is how much to measure.
	Size Size

	// Cache holds what several claims and seeds read.
	Cache *Cache
	// Cores says how many cores the measurement may use by now; nil means one.
	Cores func() int
	// Progress receives what is being measured now; nil for none.
	Progress func(note string)
	// arms are the training runs so far, in the order they were asked for.
	arms []armRecipe
	ctx  context.Context
}

// stopped is the panic of a measurement that an error ends.
type stopped struct{ err error }

// Do does a measurement, and returns the error that stopped it: a measurement is a list of steps of which each needs those before, and
// what a step cannot do ends it.
func (e *Env) Do(ctx context.Context, measure func()) error {
	e.ctx = ctx
	return caught(measure)
}

// caught is what a function does, with the error that stopped it.
func caught(do func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			panic(p)
		}
	}()
	do()
	return nil
}

// StopOn stops a measurement on an error.
func StopOn(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// Must is a value that came without an error, which would stop the measurement.
func Must[T any](v T, err error) T {
	StopOn(err)
	return v
}

// Context is the context of the measurement.
func (e *Env) Context() context.Context { return e.ctx }

// Continue stops a measurement that was cancelled.
func (e *Env) Continue() { StopOn(e.ctx.Err()) }

// Pick chooses by size.
func (e *Env) Pick(full, quick, tiny int) int { return [...]int{full, quick, tiny}[e.Size] }

// Report tells Progress what is being measured now.
func (e *Env) Report(note string) {
	if e.Progress != nil {
		e.Progress(note)
	}
}

// Rand returns a random stream of that name; names must differ within a claim.
func (e *Env) Rand(name uint64) *rand.Rand { return rand.New(rand.NewPCG(e.Seed, name)) }

// Cache is what claims and seeds share while a command runs: warm-started
// models and long rollouts that several claims read.
type Cache struct {
	dir  string   // for warm-started models
	made sync.Map // by key, functions that make a value once
}

// NewCache returns an empty one, with a folder for warm-started models.
func NewCache(dir string) *Cache { return &Cache{dir: dir} }

// Cached makes a value once, however many claims ask for it. An error stops all of them.
func Cached[T any](c *Cache, key string, build func() T) T {
	made, _ := c.made.LoadOrStore(key, sync.OnceValues(func() (value T, err error) {
		err = caught(func() { value = build() })
		return value, err
	}))
	return Must(made.(func() (T, error))())
}

// warmStarts is how many warm starts the seeds of one base share: the first ten
// replications have their own, runs beyond go round.
const warmStarts = 10

// warmStart is the seed of the warm start of a replication's seed. A base is a thousand seeds
// in a row.
func warmStart(seed uint64) uint64 {
	at := seed - 1
	return at - at%1000 + at%1000%warmStarts + 1
}

// Warm returns the checkpoint folder of this replication's warm start: a recipe
// of pretrain with changes. It is made once, whichever claims ask for it, and
// found again by its resolved recipe's identity.
func (e *Env) Warm(name string, set ...string) (dir string) {
	return e.WarmFrom(Start{}, name, set...)
}

// Start is a change of the random weights that a warm start begins with, and its name among folders.
type Start struct {
	Name   string
	Change func(*model.Params)
}

// WarmFrom is Warm after a change of the weights at the start.
func (e *Env) WarmFrom(start Start, name string, set ...string) (dir string) {
	r := Must(recipe.Load(name, append([]string{fmt.Sprintf("seed=%d", warmStart(e.Seed))}, set...)...))
	r = r.Resolved()
	dir = filepath.Join(e.Cache.dir, "warm", fmt.Sprintf("%s-seed%d-%s", name, warmStart(e.Seed), r.Identity()))
	if start.Name != "" {
		dir += "-" + start.Name
	}
	return Cached(e.Cache, dir, func() string {
		if _, err := model.Load(dir); err != nil {
			made := Must(trainer.WarmStart(e.ctx, r, trainer.Options{Cores: e.Cores, Start: start.Change}))
			StopOn(model.Save(dir, made.Params, model.Extras{}))
		}
		return dir
	})
}

// Keep writes weights that a claim trained next to the warm starts, and returns their folder.
func (e *Env) Keep(name string, p *model.Params) (dir string) {
	dir = filepath.Join(e.Cache.dir, "warm", name)
	StopOn(model.Save(dir, p, model.Extras{}))
	return dir
}

// Loaded is a checkpoint with room for longer sequences: rotary positions have
// no table, so the weights stay as they are.
func Loaded(name string, context int) *model.Params {
	c := Must(model.Open(name))
	long := c.Params.Config
	long.Context = max(long.Context, context)
	return model.View(long, c.Params.Theta)
}

// BaseFolder is the checkpoint of this replication's mixture of experts: the
// shipped recipe with a seed of its own. A preview takes the shipped weights.
func (e *Env) BaseFolder() string {
	if e.Size != Full {
		return baseRecipe
	}
	return e.Warm(baseRecipe)
}

const baseRecipe = "chain-base"

// Base is the model of BaseFolder, with room for context tokens.
func (e *Env) Base(context int) *model.Params { return Loaded(e.BaseFolder(), context) }

// Dense is the dense counterpart of Base: the same recipe and seed with
// one feed-forward network as wide as the two experts a token visits, so that
// the active parameters are equal.
func (e *Env) Dense(context int) *model.Params {
	set := []string{"model.experts=0", "model.d_ff=128"}
	if e.Size != Full {
		set = append(set, fmt.Sprintf("pretrain.steps=%d", e.Pick(0, 300, 3)))
	}
	return Loaded(e.Warm(baseRecipe, set...), context)
}

// deepHead scales the output head of random models: at the usual initialisation
// every token would be equally likely. With it the entropy is near 2.5 nats.
const deepHead = 6

// Deep returns a random model from the seed: the amplified level where depth
// matters. No experts make it dense, with the active width of two.
func (e *Env) Deep(layers, experts, vocab, context int) *model.Params {
	c := model.Default()
	c.Layers, c.Experts, c.Vocab, c.Context = layers, experts, vocab, context
	if experts == 0 {
		c.DFF *= c.TopK
	}
	return e.Random(c)
}

// Random returns a model with random weights from the seed, of that
// configuration with its gaps filled.
func (e *Env) Random(c model.Config) *model.Params {
	p := model.New(c.WithDefaults())
	p.Init(e.Seed)
	for i := range p.Head {
		p.Head[i] *= deepHead
	}
	return p
}
