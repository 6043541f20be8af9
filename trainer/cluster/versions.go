package cluster

import (
	"slices"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/engines"
)

// Version is published weights.
type Version struct {
	// Published is the scheduler's number of it, Updates the number of the learner's updates before it.
	Published, Updates int
	Params             *model.Params
	weights            *engine.Weights // in the rollout engines' formats
	missed             *engine.Weights // as they arrive at workers that miss a part; weights for none
}

// versions are those that something still needs, oldest first.
type versions struct {
	config   model.Config
	numerics engine.Numerics
	sync     *engines.Sync
	kept     []Version
}

// publish keeps a copy of the weights. One that no update separates from the
// version before shares its memory: it is the same.
func (v *versions) publish(p *model.Params, published, updates int) {
	arrived, actual := v.sync.Arrives(published, p, updates)
	if n := len(v.kept); n > 0 && v.kept[n-1].Updates == updates && actual == updates && v.kept[n-1].missed == v.kept[n-1].weights {
		again := v.kept[n-1]
		again.Published = published
		v.kept = append(v.kept, again)
		return
	}
	w := engine.NewForwardWeights(v.config, v.numerics)
	w.Publish(p, updates)
	missed := w
	if actual != updates {
		missed = engine.NewForwardWeights(v.config, v.numerics)
		missed.Publish(arrived, updates)
		missed.ActualVersion = actual
	}
	v.kept = append(v.kept, Version{published, updates, p.Clone(), w, missed})
}

// after is the version after the given number of updates, nil if it is gone.
func (v *versions) after(updates int) *Version {
	i := slices.IndexFunc(v.kept, func(x Version) bool { return x.Updates == updates })
	if i < 0 {
		return nil
	}
	return &v.kept[i]
}

// weights are the weights after the given number of updates whose oldest tensors are from
// after actual updates, nil if they are gone.
func (v *versions) weights(updates, actual int) *engine.Weights {
	for i := range v.kept {
		for _, w := range []*engine.Weights{v.kept[i].weights, v.kept[i].missed} {
			if w.Version == updates && w.ActualVersion == actual {
				return w
			}
		}
	}
	return nil
}

func (x *Version) of(misses bool) *engine.Weights {
	if misses {
		return x.missed
	}
	return x.weights
}

func (v *versions) newest() *Version { return &v.kept[len(v.kept)-1] }
