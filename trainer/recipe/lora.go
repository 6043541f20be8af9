package recipe

import (
	"path"
	"slices"
	"strings"

	"driftlab/model"
)

// LoRA trains low-rank adapters next to frozen weights (2106.09685).
type LoRA struct {
	Rank    int      `yaml:"rank" default:"8" range:"[1,2^12]"`
	Alpha   float64  `yaml:"alpha" default:"16" range:"(0,2^20]"`
	Targets []string `yaml:"targets"`
}

// loraTargets are the targets that an empty list stands for.
var loraTargets = []string{"attention", "experts"}

// Adapts reports whether the matrix of a checkpoint's name has an adapter.
func (l *LoRA) Adapts(tensor string) bool {
	targets := l.Targets
	if len(targets) == 0 {
		targets = loraTargets
	}
	return adaptable(tensor) && slices.ContainsFunc(targets, func(word string) bool { return matches(word, tensor) })
}

// adaptable reports whether a tensor of attention or experts can have an adapter: the convolution of linear attention is no
// projection, its two gates have one value per head, and the index of sparse attention has no gradient.
func adaptable(tensor string) bool {
	t := model.Tensor{Name: tensor}
	return !t.Index() && !slices.ContainsFunc([]string{".conv1d.weight", ".a_proj.weight", ".b_proj.weight"}, func(end string) bool { return strings.HasSuffix(tensor, end) })
}

// matches reports whether a word, or a pattern of names, is for a tensor.
func matches(word, tensor string) bool {
	return slices.ContainsFunc(patterns(word), func(p string) bool { ok, _ := path.Match(p, tensor); return ok })
}

func (c *checker) lora(r Recipe) {
	l := r.LoRA
	if l == nil {
		return
	}
	c.that(r.Pretrain == nil, "lora", "pretrain trains whole weights from random ones: leave one of the two out")
	c.that(r.Rollout.Speculative == nil || r.Rollout.Speculative.Distill.Every == 0, "lora", "rollout.speculative.distill trains a drafter of its own as a whole: leave one of the two out")
	m := r.Resolved().Model
	if m == (model.Config{}) || m.Validate() != nil {
		return
	}
	least := m.DModel
	for _, word := range l.Targets {
		named, found := false, false
		for _, t := range model.Layout(m) {
			if !matches(word, t.Name) {
				continue
			}
			named, found = true, found || adaptable(t.Name) && len(t.Shape) == 2
			c.that(matches(loraTargets[0], t.Name) || matches(loraTargets[1], t.Name), "lora.targets", "%q is for %s, and adapters go to the projections of attention and experts: use attention, experts, or a pattern such as \"*.q_proj.*\"", word, t.Name)
		}
		c.that(found || !named, "lora.targets", "%q has no adapter: vectors, the convolution and gates of linear attention and the index of sparse attention have none", word)
		c.that(named, "lora.targets", "%q is no tensor of the model: use attention, experts, or a pattern of names such as \"*.q_proj.*\"", word)
	}
	for _, t := range model.Layout(m) {
		if l.Adapts(t.Name) && len(t.Shape) == 2 {
			least = min(least, t.Shape[0], t.Shape[1])
		}
	}
	c.that(l.Rank <= least, "lora.rank", "%d is more than %d, the smallest dimension of a target: use %d or less", l.Rank, least, least)
}

func (n *inert) lora(r Recipe) {
	const unmerged = "%s.numerics.adapters unmerged: the recipe has no adapters: add a section lora, or use merged"
	n.when(r.LoRA == nil && r.Rollout.Numerics.Adapters.Unmerged, unmerged, "rollout")
	n.when(r.LoRA == nil && r.Learner.Numerics.Adapters.Unmerged, unmerged, "learner")
	n.when(r.LoRA != nil && r.Routing.Router == RouterFrozen, "routing.router frozen: lora freezes all weights but its adapters, the router's too: leave it out")
}
