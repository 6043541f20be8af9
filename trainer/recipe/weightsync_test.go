package recipe

import (
	"strings"
	"testing"

	"driftlab/model"
)

// Every word stands for tensors of a mixture of experts and, but for the router, of a dense
// model; a word for none is refused with those that there are.
func TestWordsOfWeightSync(t *testing.T) {
	for _, experts := range []string{"8", "0"} {
		for _, m := range missable {
			r, err := Load("default", "rollout.weight_sync={missed: ["+m.word+"]}", "model={experts: "+experts+"}", "checkpoint=")
			if err == nil {
				err = r.Validate()
			}
			if none := experts == "0" && m.word == "router"; (err != nil) != none {
				t.Errorf("%s of %s experts: %v", m.word, experts, err)
			}
		}
	}
	all := 0
	for _, tensor := range model.Layout(Default().Resolved().Model) {
		one := 0
		for _, m := range missable[1:] {
			if (&WeightSync{Missed: []string{m.word}}).Misses(tensor.Name) {
				one++
			}
		}
		if one != 1 || !(&WeightSync{Missed: []string{"all"}}).Misses(tensor.Name) {
			t.Errorf("%s belongs to %d words", tensor.Name, one)
		}
		all++
	}
	if all == 0 {
		t.Error("no tensors")
	}
	r, err := Load("default", "rollout.weight_sync={missed: [gate]}")
	if err == nil {
		err = r.Validate()
	}
	if err == nil {
		_, err = r.ResolvedFor(model.Default())
	}
	if err == nil || !strings.Contains(err.Error(), "rollout.weight_sync.missed") || !strings.Contains(err.Error(), "router") {
		t.Errorf("a tensor that there is not: %v", err)
	}
}

// What cannot act says why.
func TestInertWeightSync(t *testing.T) {
	for _, c := range []struct{ sets, want string }{
		{"missed: []", "no tensor is missed"},
		{"missed: [all], from: 30", "sync 30 is that of step 31, and the run has 5"},
		{"missed: [all]", ""},
	} {
		r := loaded(t, "default", "rollout.weight_sync={"+c.sets+"}", "steps=5")
		if got := strings.Join(r.Inert(), "\n"); (c.want == "") == strings.Contains(got, "rollout.weight_sync") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.sets, got)
		}
	}
}
