package trainer

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

var mipuSets = [][]string{
	{"schedule=sync"},
	{"schedule={name: lag, k: 3}", "reward=[exact, {name: length_uniform, coef: 0.1}, {name: length_anchor}]"},
	{"schedule={name: areal, eta: 2}", "cluster={workers: 2, costs: {sync: 500, push: 500}}"},
	{"lora={rank: 2}", "terms=[{name: adaptive_entropy}]"},
	{"rollout.weight_sync={missed: [norms], from: 2}", "rollout.fleet=[{numerics: fp8-w8a8, share: 0.5}]"},
}

// A step that is not accepted leaves weights, moments and updates as they were; one that is accepted moves them. Both occur, and
// a session that is killed after the updates of a step, before the decision, takes up the same bytes.
func TestAcceptanceTakesBack(t *testing.T) {
	for _, sets := range mipuSets {
		sets = append([]string{"loss={name: mipu, tolerance: 0, prompts: 6}", "rollout.numerics=fp8-w8a8", "learner.minibatches=2", "learner.optimizer.lr=3e-3", "steps=6", "eval.every=0"}, sets...)
		want, s, kept, moved := sessionOf(t, Options{}, sets...), sessionOf(t, Options{}, sets...), 0.0, false
		for step := range 6 {
			before := slices.Clone(s.Params().Theta)
			state := s.learner.State()
			first, second := slices.Clone(state.First), slices.Clone(state.Second)
			if step%2 == 1 {
				meta, tensors, memories := s.Snapshot()
				for i := range tensors {
					tensors[i].Data = slices.Clone(tensors[i].Data)
				}
				runTo(t, s, step, "learn")
				s = sessionOf(t, Options{}, sets...)
				resume(t, s, meta, tensors, memories)
			}
			for _, x := range []*Session{s, want} {
				must(t, x.Step(step))
			}
			if !slices.Equal(want.metrics, s.metrics) || !slices.Equal(want.Params().Theta, s.Params().Theta) {
				t.Fatalf("%v, step %d: a resumed session goes another way", sets, step)
			}
			now := s.learner.State()
			same := slices.Equal(before, s.Params().Theta) && slices.Equal(first, now.First) && slices.Equal(second, now.Second)
			accepted := now.Updates > state.Updates
			if !same && !accepted {
				t.Fatalf("%v, step %d: %d updates after %d, with other weights or moments", sets, step, now.Updates, state.Updates)
			}
			if post := s.figure(t, "mipu/t_post"); (post >= 0) != accepted {
				t.Fatalf("%v, step %d: T_post is %v, accepted: %t", sets, step, post, accepted)
			}
			moved = moved || !same
			if accepted {
				kept++
			}
			if got := s.figure(t, "mipu/accepted"); (got == 1) != accepted || got != 0 && got != 1 {
				t.Errorf("%v, step %d: mipu/accepted is %v", sets, step, got)
			}
		}
		if kept == 0 || kept == 6 || !moved {
			t.Errorf("%v: %v of 6 steps accepted, which moved the weights: %t", sets, kept, moved)
		}
	}
}

func resume(t *testing.T, s *Session, meta Snapshot, tensors []Tensor, memories []Memory) {
	t.Helper()
	err := s.Restore(meta, func(name string, dst []float32) error {
		i := slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == name })
		copy(dst, tensors[i].Data)
		return nil
	}, func(name string) ([]byte, error) {
		if i := slices.IndexFunc(memories, func(m Memory) bool { return m.Name == name }); i >= 0 {
			return memories[i].Data, nil
		}
		return nil, errors.New("not kept")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// With equal engines T_post is 0, and with a tolerance that nothing exceeds no step is taken back: in both cases the run equals a run of decoupled_ppo with the same cap.
func TestAcceptanceOfEverything(t *testing.T) {
	for _, mipu := range [][2]string{{"fp32", "tolerance: 0"}, {"fp8-w8a8", "tolerance: 1e12, final_tolerance: 1e12"}} {
		run := func(loss string) (theta []float32, metrics []batch.Metric) {
			s := sessionOf(t, Options{}, "loss="+loss, "learner.minibatches=2", "rollout.numerics="+mipu[0], "learner.numerics=fp32")
			steps(t, s, 2, func(int) {
				if post, ok := s.metric("mipu/t_post"); ok && (post == 0) != (mipu[0] == "fp32") {
					t.Errorf("%v: T_post is %v", mipu, post)
				}
			})
			return s.Params().Theta, s.metrics
		}
		got, with := run("{name: mipu, prompts: 4, " + mipu[1] + "}")
		want, without := run("{name: decoupled_ppo, cap: 2}")
		if !slices.Equal(got, want) {
			t.Errorf("%v: the weights differ from those of decoupled_ppo", mipu)
		}
		with = slices.DeleteFunc(with, func(m batch.Metric) bool { return m.Name == "mipu/t_post" || m.Name == "mipu/accepted" })
		if !reflect.DeepEqual(with, without) {
			t.Errorf("%v: figures differ from those of decoupled_ppo", mipu)
		}
	}
}

// The shipped recipe accepts some of its first steps and takes back others.
func TestRecipeMIPUActs(t *testing.T) {
	r := loaded(t, "mipu", "steps=6", "eval.every=0", "rollout.prompts=4", "loss.prompts=4")
	s := sessionIn(t, r, Options{})
	accepted := 0.0
	steps(t, s, 6, func(int) { accepted += s.figure(t, "mipu/accepted") })
	if accepted == 0 || accepted == 6 {
		t.Errorf("%v of 6 steps are accepted", accepted)
	}
}
