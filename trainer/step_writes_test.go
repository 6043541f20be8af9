package trainer

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
)

// columnSums has a sum of each column of a batch by its name in the struct; Step and
// LearnerVersion are no columns.
func columnSums(b *batch.Batch) map[string]uint64 {
	sums := map[string]uint64{}
	sum := func(name string, v reflect.Value) {
		h := fnv.New64a()
		fmt.Fprintf(h, "%v", v.Interface())
		sums[name] = h.Sum64()
	}
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; name {
		case "Step", "LearnerVersion":
		case "Graded", "Corrected":
			for j := range v.Field(i).NumField() {
				sum(v.Field(i).Type().Field(j).Name, v.Field(i).Field(j))
			}
		default:
			sum(name, v.Field(i))
		}
	}
	return sums
}

// TestStagesWriteTheirColumns: a stage changes no column of the batch but those it names,
// and every named one is a column.
func TestStagesWriteTheirColumns(t *testing.T) {
	known := columnSums(new(batch.Batch))
	for _, s := range stages {
		for _, name := range strings.Fields(s.writes) {
			if _, ok := known[name]; !ok {
				t.Errorf("%s writes %s, which is no column", s.name, name)
			}
		}
	}
	for _, set := range [][]string{
		{"schedule={name: lag, k: 2}", "anchor=behaviour", "correction=skyrl_token_tis", "kl={name: k1, in: reward}"},
		{"advantage=gae", "anchor=ewma", "anchor_decay=0.5", "guards=[ess_lr, length_surge, gradient_alignment]"},
		{"advantage=remax", "learner.minibatches=2", "correction=decoupled_seq_is_rs"},
	} {
		s := sessionOf(t, Options{}, set...)
		for step := range 2 {
			s.batch.Step, s.batch.LearnerVersion, s.metrics = step, s.learner.Updates(), s.metrics[:0]
			s.batch.Behaviour, s.batch.Anchor = batch.Scored{}, nil // of the last step, perhaps in the memory of Old
			for _, m := range s.stages {
				before := columnSums(&s.batch)
				if err := m.stage.run(s); err != nil {
					t.Fatalf("%v: %s: %v", set, m.name, err)
				}
				for name, sum := range columnSums(&s.batch) {
					if sum != before[name] && !slices.Contains(strings.Fields(m.writes), name) {
						t.Errorf("%v: step %d: %s wrote %s", set, step, m.name, name)
					}
				}
			}
		}
	}
}
