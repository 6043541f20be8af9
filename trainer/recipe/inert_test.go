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
		{[]string{"loss=reinforce", "rollout.numerics=bf16", "guards=[{name: length_surge, reject: true}]"}, "guards[0]"},
		{[]string{"loss=reinforce", "rollout.numerics=bf16", "guards=[{name: length_surge, reject: true}]", "correction.masks=[geometric]"}, ""},
		{[]string{"loss=reinforce", "rollout.numerics=bf16", "correction.weights={name: token_tis, from_turn: 1}"}, "correction.weights"},
		{[]string{"loss=reinforce"}, ""},
		{[]string{"loss={name: cispo, anchor: roll}", "rollout.numerics=bf16"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}"}, "loss"},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=behaviour"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=rollout"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=ewma"}, ""},
		{[]string{"loss=m2po", "schedule={name: lag, k: 4}", "anchor=mixture"}, "anchor"},
		{[]string{"loss=m2po", "schedule=areal", "anchor=mixture"}, ""},
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
		{[]string{"loss=logit_fusion", "rollout.numerics=bf16"}, ""},
		{[]string{"loss=logit_fusion"}, "loss"},
		{[]string{"loss={name: logit_fusion, ratio: student}", "rollout.numerics=bf16"}, "loss"},
		{[]string{"loss={name: decoupled_ppo, prox: rollout}", "rollout.numerics=bf16"}, ""},
		{[]string{"loss={name: decoupled_ppo, behave: none}", "rollout.numerics=bf16"}, "loss"},
		{[]string{"loss=mipu", "learner.minibatches=2"}, "loss"},
		{[]string{"loss=mipu", "learner.minibatches=2", "rollout.numerics=bf16"}, ""},
		{[]string{"loss={name: maxrl, ratio: false}"}, ""},
		{[]string{"loss=maxrl"}, "loss"},
		{[]string{"routing.replay=r3", "loss=reinforce"}, "routing.replay"},
		{[]string{"routing.replay=r3", "loss=reinforce", "rollout.numerics=bf16"}, ""},
		{[]string{"routing.replay=r3", "loss=reinforce", "schedule={name: lag, k: 4}"}, ""},
		{[]string{"routing.replay=r3", "loss=reinforce", "kl=k3"}, ""},
		{[]string{"routing.replay=keep_routing", "loss=reinforce", "kl=k3"}, "routing.replay"},
		{[]string{"routing.replay=r3", "learner.minibatches=2"}, ""},
		{[]string{"routing.replay=r2", "loss=reinforce", "rollout.numerics=bf16"}, "routing.replay"},
		{[]string{"routing.replay=r2", "learner.minibatches=2"}, ""},
		{[]string{"support.replay=true", "loss=reinforce"}, "support.replay"},
		{[]string{"support.replay=true", "loss=reinforce", "rollout.top_p=0.9"}, ""},
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
			fields = append(fields, strings.TrimSuffix(field, ":"))
		}
		if got := strings.Join(fields, " "); got != tc.want {
			t.Errorf("%v: %q cannot act, want %q", tc.sets, got, tc.want)
		}
	}
}
