package trainer

import (
	"bytes"
	"math"
	"testing"
)

// A trained critic learns a return that the text decides, within its bounds: here that of a
// response is 1 if its prompt's first operand is even.
func TestTrainedCriticFits(t *testing.T) {
	for _, section := range []string{"critic={optimizer: {lr: 3e-3}, updates: 40}", "critic={optimizer: {lr: 3e-3}, updates: 40, bounded: true, clip: 2}"} {
		s := sessionOf(t, Options{}, "advantage=gae", section)
		c := stageOf[*trainedCritic](s)
		runTo(t, s, 0, "advantage.critic")
		for n := range s.batch.Value {
			if want := c.target.recipe.Low + float64((c.target.recipe.High-c.target.recipe.Low)/2); c.target.recipe.Bounded && s.batch.Value[n] != want || !c.target.recipe.Bounded && s.batch.Value[n] != 0 {
				t.Fatalf("%s: the first value is %v", section, s.batch.Value[n])
			}
		}
		s.batch.Return = make([]float64, s.batch.Tokens())
		for i := range s.batch.Len() {
			from, to := s.batch.Span(i)
			for n := from; n < to; n++ {
				s.batch.Return[n] = float64(s.batch.Prompt[i][2] % 2)
			}
		}
		distance := func() (sum float64) {
			must(t, c.run(s))
			for n, generated := range s.batch.Mask {
				if generated {
					sum += math.Pow(s.batch.Value[n]-s.batch.Return[n], 2)
				}
				if c.target.recipe.Bounded && (s.batch.Value[n] < c.target.recipe.Low || s.batch.Value[n] > c.target.recipe.High) {
					t.Fatalf("%s: the value %v lies outside the bounds", section, s.batch.Value[n])
				}
			}
			return sum
		}
		before := distance()
		must(t, c.fit(s))
		if after := distance(); !(after < before/4) {
			t.Errorf("%s: the squared error is %.3g after 40 updates, %.3g before", section, after, before)
		}
	}
}

// A critic that takes up another's state goes on with the same values; a state of another size is refused.
func TestTrainedCriticState(t *testing.T) {
	for _, confidence := range []string{"false", "true"} {
		testCriticState(t, "advantage=gae", "critic={optimizer: {lr: 3e-3}, updates: 2, confidence: "+confidence+"}")
	}
}

func testCriticState(t *testing.T, sets ...string) {
	t.Helper()
	first, second := sessionOf(t, Options{}, sets...), sessionOf(t, Options{}, sets...)
	must(t, first.Step(0))
	a, b := stageOf[*trainedCritic](first), stageOf[*trainedCritic](second)
	state := a.AppendState(nil)
	must(t, b.SetState(state))
	if !bytes.Equal(state, b.AppendState(nil)) {
		t.Error("the state that was taken up is another one")
	}
	if b.SetState(state[:len(state)-1]) == nil {
		t.Error("a state that is cut is taken up")
	}
}

// In the first steps of a warm-up the policy stays as it is, and the critic moves.
func TestCriticWarmup(t *testing.T) {
	s := sessionOf(t, Options{}, "advantage=gae", "critic={warmup: 1}", "steps=3")
	before := append([]float32(nil), s.Params().Theta...)
	for step, moves := range []bool{false, true} {
		must(t, s.Step(step))
		moved := false
		for i, x := range s.Params().Theta {
			moved = moved || x != before[i]
		}
		if moved != moves {
			t.Errorf("step %d: the policy has moved: %t", step, moved)
		}
		if got := stageOf[*trainedCritic](s).learner.Updates(); got != step+1 {
			t.Errorf("step %d: %d updates of the critic", step, got)
		}
	}
}

// A critic is fitted and its figures are finite whatever schedule the batch is from.
func TestTrainedCriticInSchedules(t *testing.T) {
	for _, sets := range [][]string{
		{"schedule={name: lag, k: 2}"},
		{"schedule={name: areal, eta: 2}", "cluster={workers: 2, costs: {sync: 500, push: 500}}"},
		{"replay={draws: 1}", "schedule={name: areal, eta: 2}", "cluster={workers: 2, costs: {sync: 500, push: 500}}"},
	} {
		for _, critic := range []string{"critic={confidence: true}", "critic={updates: 2, clip: 0.5}"} {
			s := sessionOf(t, Options{}, append([]string{"advantage=gae", critic, "steps=4"}, sets...)...)
			aged := false
			for step := range 4 {
				if err := s.Step(step); err != nil {
					t.Fatalf("%v: %v", sets, err)
				}
				figures := map[string]float64{}
				for _, m := range s.metrics {
					figures[m.Name] = m.Value
				}
				for _, name := range []string{"critic/vf_explained_var", "critic/vf_loss", "critic/vf_age"} {
					if v, ok := figures[name]; math.IsNaN(v) || math.IsInf(v, 0) || !ok && step > 0 {
						t.Errorf("%v, step %d: %s is %v, recorded: %t", sets, step, name, v, ok)
					}
				}
				aged = aged || figures["critic/vf_age"] > 1
			}
			if !aged {
				t.Errorf("%v: the critic is never older than the step before", sets)
			}
		}
	}
}

// The prompt and the response of a chain decide its value, and a critic of two layers does not work that out in 100 updates. It reads it
// off the probabilities of the tokens so far.
func TestConfidenceExplainsReturns(t *testing.T) {
	if !*exhaustive {
		t.Skip("a run of 100 updates: -exhaustive")
	}
	for _, name := range []string{"trained", "ridge"} {
		r := loaded(t, "sao", "steps=100", "eval.every=0", "critic.confidence=true", "critic.name="+name)
		s, sum := sessionIn(t, r, Options{Workers: 2}), 0.0
		for step := range 100 {
			must(t, s.Step(step))
			for _, m := range s.metrics {
				if step >= 90 && m.Name == "critic/vf_explained_var" {
					sum += m.Value / 10
				}
			}
		}
		if sum < 0.3 {
			t.Errorf("%s: the explained variance of the last ten batches is %.3f", name, sum)
		}
		t.Logf("%s: explained variance %.3f", name, sum)
	}
}
