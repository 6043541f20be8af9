package recipe

import (
	"fmt"
	"reflect"

	"driftlab/trainer/method/reward"

	"go.yaml.in/yaml/v4"
)

// Reward is the parts a reward is the sum of, in order. In YAML it is a list
// of methods; one method alone is short for a list of one.
type Reward []Choice[reward.Shaper]

// New returns a fresh scorer of these parts.
func (r Reward) New() *reward.Scorer {
	parts := make([]reward.Shaper, len(r))
	for i, part := range r {
		parts[i] = part.New()
	}
	return reward.NewScorer(parts...)
}

// path is the field of the i-th part.
func (r Reward) path(i int) string { return fmt.Sprintf("reward[%d]", i) }

// read implements reader.
func (r *Reward) read(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.SequenceNode {
		d.list(n, path, reflect.ValueOf(r).Elem())
		return
	}
	*r = make(Reward, 1)
	(*r)[0].read(d, n, path)
}
