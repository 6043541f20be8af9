package recipe

import (
	"strings"
	"testing"
)

// TestInert names what cannot act, and nothing that can.
func TestInert(t *testing.T) {
	for _, tc := range []struct {
		sets []string
		want string // the fields named, in order
	}{
		{nil, "loss"},
		{[]string{"learner.minibatches=2"}, ""},
		{[]string{"terms=[alp]"}, ""},
		{[]string{"loss=reinforce", "reward=pass_at_k"}, "reward"},
		{[]string{"loss=reinforce", "reward=pass_at_k", "advantage.std=false"}, ""},
		{[]string{"loss=reinforce", "reward=[pass_at_k, length_uniform]"}, ""},
		{[]string{"learner.epochs=2"}, ""},
		{[]string{"loss=reinforce"}, ""},
		{[]string{"loss={name: cispo, anchor: roll}", "rollout.numerics=bf16"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}"}, "loss"},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=behaviour"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=rollout"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=ewma"}, ""},
		{[]string{"loss=m2po", "schedule=areal"}, "loss"},
		{[]string{"loss=m2po", "schedule=areal", "anchor=behaviour"}, ""},
		{[]string{"loss=m2po", "schedule=skyrl"}, ""},
		{[]string{"loss=m2po", "schedule={name: areal, eta: 0}", "anchor=behaviour", "correction.weights=token_tis"}, "loss correction.weights"},
		{[]string{"loss=m2po", "schedule={name: skyrl, staleness: 0}", "correction.masks=[veto]"}, "loss correction.masks[0]"},
		{[]string{"loss=m2po", "schedule=periodic", "anchor=behaviour"}, "loss"},
		{[]string{"loss=m2po", "schedule={name: verl_stream, k: 2}"}, ""},
		{[]string{"loss=m2po", "schedule={name: verl_stream, k: 2}", "anchor=old", "correction.weights=token_tis"}, "loss"},
		{[]string{"rollout.numerics=bf16", "correction.mode=bypass"}, ""},
		{[]string{"rollout.numerics=bf16", "correction.weights=token_tis"}, "loss"},
		{[]string{"correction.weights=token_tis", "learner.minibatches=2"}, "correction.weights"},
		{[]string{"correction.masks=[veto, {name: random_mask, rate: 0.1}]", "loss=reinforce", "guards=[ess_lr]"}, "correction.masks[0] guards[0]"},
		{[]string{"correction={masks: [veto], mode: bypass}", "learner.minibatches=2"}, ""},
		{[]string{"learner.optimizer.lr=0", "learner.minibatches=2"}, "loss"},
		{[]string{"learner.optimizer.lr=0", "anchor=rollout", "rollout.numerics=bf16"}, ""},
		{[]string{"learner.optimizer.lr=0", "schedule={name: lag, k: 4}", "anchor=ewma", "correction.weights=token_tis"}, "loss correction.weights"},
	} {
		r, err := Load("default", append([]string{"rollout.numerics=fp32", "learner.numerics=fp32"}, tc.sets...)...)
		if err != nil {
			t.Fatal(tc.sets, err)
		}
		var fields []string
		for _, note := range r.Resolved().Inert() {
			field, _, _ := strings.Cut(note, " ")
			fields = append(fields, field)
		}
		if got := strings.Join(fields, " "); got != tc.want {
			t.Errorf("%v: %q cannot act, want %q", tc.sets, got, tc.want)
		}
	}
}

// TestCautions: grpo_passk gives nothing to a group with two right answers, unless the
// reward tells them apart.
func TestCautions(t *testing.T) {
	for _, tc := range []struct {
		sets []string
		n    int
	}{
		{nil, 0}, {[]string{"advantage=grpo_passk"}, 1}, {[]string{"advantage=grpo_passk", "reward=pass_at_k"}, 1},
		{[]string{"advantage=grpo_passk", "reward=[exact, length_uniform]"}, 0},
	} {
		r, err := Load("default", tc.sets...)
		if err != nil {
			t.Fatal(tc.sets, err)
		}
		notes := r.Resolved().Cautions()
		if len(notes) != tc.n || tc.n > 0 && !strings.HasPrefix(notes[0], "advantage grpo_passk: ") {
			t.Errorf("%v: %q, want %d", tc.sets, notes, tc.n)
		}
	}
}
