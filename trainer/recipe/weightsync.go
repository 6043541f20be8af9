package recipe

import (
	"slices"
	"strconv"
	"strings"

	"driftlab/model"
)

// WeightSync is a weight sync that is not whole.
type WeightSync struct {
	Missed  []string `yaml:"missed"`
	Workers float64  `yaml:"workers" default:"1" range:"(0,1]"`
	From    int      `yaml:"from" default:"1" range:"[1,2^24]"`
	Syncs   int      `yaml:"syncs" range:"[0,2^24]"`
	Old     string   `yaml:"old" default:"last" oneof:"last initial"`
}

// OldInitial is the WeightSync.Old of an engine that was started again.
const OldInitial = "initial"

// missable are the words for tensors, as patterns of their names.
var missable = []struct {
	word     string
	patterns []string
}{
	{"all", []string{"*"}},
	{"embedding", []string{"model.embed_*"}},
	{"attention", []string{"*.self_attn.*", "*.linear_attn.*"}},
	{"norms", []string{"*norm.weight"}},
	{"router", []string{"*.gate.weight"}},
	{"experts", []string{"*.experts.*", "*.mlp.*"}},
	{"head", []string{"lm_head.weight"}},
}

// patterns are those that a word of Missed stands for.
func patterns(word string) []string {
	for _, m := range missable {
		if m.word == word {
			return m.patterns
		}
	}
	return []string{word}
}

// Misses reports whether the tensor of a checkpoint's name does not arrive.
func (w *WeightSync) Misses(tensor string) bool {
	return slices.ContainsFunc(w.Missed, func(word string) bool { return matches(word, tensor) })
}

// Partial reports whether the sync of that number is not whole.
func (w *WeightSync) Partial(sync int) bool {
	return w != nil && len(w.Missed) > 0 && sync >= w.From && (w.Syncs == 0 || sync < w.From+w.Syncs)
}

// Keeps is the number of the sync whose weights stay where others are missed.
func (w *WeightSync) Keeps() int {
	if w.Old == OldInitial {
		return 0
	}
	return w.From - 1
}

// StaleWorkers is how many workers miss tensors, of the given number of workers.
func (w *WeightSync) StaleWorkers(workers int) int {
	return int(float64(w.Workers*float64(workers)) + 0.5)
}

func (c *checker) weightSync(r Recipe) {
	w, o := r.Rollout.WeightSync, r.Rollout
	if w == nil {
		return
	}
	const at = "rollout.weight_sync."
	if m := r.Resolved().Model; m != (model.Config{}) && m.Validate() == nil {
		for _, word := range w.Missed {
			one, found := WeightSync{Missed: []string{word}}, false
			for _, t := range model.Layout(m) {
				found = found || one.Misses(t.Name)
			}
			c.that(found, at+"missed", "%q is no tensor of the model: use %s, or a pattern of names such as \"model.layers.0.*\"", word, missableWords())
		}
	}
	if r.OnClock() {
		n := r.Clock().Workers
		c.that(w.StaleWorkers(n) > 0, at+"workers", "%v of %d workers is none: use %.2g or more", w.Workers, n, 1/float64(n))
	} else if w.Workers < 1 {
		c.that(len(o.Fleet) == 0, at+"workers", "%v parts the responses of one engine, and rollout.fleet has several: use 1, or leave fleet out", w.Workers)
		c.that(o.KVScales.Prompts == 0, at+"workers", "%v gives two engines their own weights, and kv_scales calibrates one: use 1", w.Workers)
		c.that(o.Fusion == nil, at+"workers", "%v gives two engines their own weights, and fusion mixes another model into one: use 1", w.Workers)
	}
	c.that(o.Noise.Start == 0, "rollout.weight_sync", "keeps weights of earlier syncs, and noise draws others at every sync: leave one of the two out")
}

func missableWords() string {
	var words []string
	for _, m := range missable {
		words = append(words, m.word)
	}
	return strings.Join(words, ", ")
}

// inertSync says why a weight sync that is not whole is as good as one that is.
func (r Recipe) inertSync() string {
	w := r.Rollout.WeightSync
	const at = "rollout.weight_sync: "
	switch {
	case w == nil:
		return ""
	case len(w.Missed) == 0:
		return at + "no tensor is missed, so every sync is whole: name tensors under missed, or leave the section out"
	case r.Learner.Optimizer.LR == 0:
		return at + "learner.optimizer.lr is 0, so the old weights are the new ones: use a learning rate"
	case w.From >= r.Steps && !r.OnClock():
		return at + "sync " + strconv.Itoa(w.From) + " is that of step " + strconv.Itoa(w.From+1) + ", and the run has " + strconv.Itoa(r.Steps) + ": use a smaller from, or more steps"
	}
	return ""
}
