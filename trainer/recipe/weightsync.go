package recipe

import (
	"strconv"
	"strings"

	"driftlab/model"
)

// WeightSync is a weight sync that is not whole: some tensors do not arrive, some workers
// are not reached, or a rollout engine begins again with the weights of the start after a
// resume (SkyRL #1680, slime #1695, verl #7904, open-instruct #1627, marin #1829). The
// tokens claim the version that was published all the same; what they were sampled with is
// recorded next to it, as actual_version. The first sync brings the first weights, and is
// whole. Evaluations have whole weights.
type WeightSync struct {
	// Missed lists the tensors that do not arrive: all, embedding, attention, norms, router,
	// experts (the matrices of a feed-forward network, of a dense one too), head, or a
	// pattern of their names, such as "model.layers.0.*". An empty list is a whole sync.
	Missed []string `yaml:"missed"`
	// Workers is the share of the rollout workers that miss them: the last ones. Without a
	// clock it is the share of a step's responses.
	Workers float64 `yaml:"workers" default:"1" range:"(0,1]"`
	// From is the number of the first sync at which they are missed, those of the first
	// weights being sync 0: the sync of step N+1, or publication N of a schedule on a clock.
	From int `yaml:"from" default:"1" range:"[1,2^24]"`
	// Syncs is how many syncs in a row miss them; 0, the default, is all that follow.
	Syncs int `yaml:"syncs" range:"[0,2^24]"`
	// Old says what is there in their place: last (what the last whole sync brought) or
	// initial (the weights of the start: an engine that is started again and loads the
	// checkpoint, so that {missed: [all], old: initial, from: 50, syncs: 1} is a resume at
	// step 51 whose first rollouts come from the base model).
	Old string `yaml:"old" default:"last" oneof:"last initial"`
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
	{"attention", []string{"*.self_attn.*"}},
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
	for _, word := range w.Missed {
		if matches(word, tensor) {
			return true
		}
	}
	return false
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

// StaleWorkers is how many of so many workers miss tensors.
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
