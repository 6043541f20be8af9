package trainer

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/task"
	"driftlab/trainer/trainertest"
)

// TestColumns records what is needed and nothing else.
func TestColumns(t *testing.T) {
	for _, tc := range []struct {
		sets []string
		want string // of the columns that only some methods need
	}{
		{nil, ""},
		{[]string{"advantage=remax"}, "TokenReward GreedyReward"},
		{[]string{"advantage=opob"}, "ScoreNorm"},
		{[]string{"advantage=gae"}, "TokenReward Value"},
		{[]string{"advantage={name: turn_level, baseline: value}"}, "TokenReward Value"},
		{[]string{"advantage=optimal_token_baseline"}, "TokenReward"},
		{[]string{"kl=k3"}, "TokenReward LogpRef"},
		{[]string{"kl=exact"}, "TokenReward LogpRef Dist DistRef"},
		{[]string{"loss=ref_kl"}, "LogpRef"},
		{[]string{"correction.masks=[trm]"}, "Dist"},
	} {
		s := sessionOf(t, Options{}, tc.sets...)
		steps(t, s, 2, func(int) {})
		b := &s.batch
		var have []string
		for _, c := range []struct {
			name string
			n    int
		}{
			{"TokenReward", len(b.TokenReward)}, {"GreedyReward", len(b.GreedyReward)}, {"ScoreNorm", len(b.ScoreNorm)}, {"Value", len(b.Value)},
			{"LogpRef", len(b.Ref.Logp)}, {"LogpTeacher", len(b.Teacher.Logp)}, {"Dist", len(b.Now.Dist)}, {"DistRef", len(b.Ref.Dist)},
		} {
			if c.n > 0 {
				have = append(have, c.name)
			}
		}
		if got := strings.Join(have, " "); got != tc.want {
			t.Errorf("%v: recorded %q, want %q", tc.sets, got, tc.want)
		}
		if err := b.Require(batch.DistRoll, batch.DistOld, batch.EntropyOld, batch.SumSquares, batch.Turn, batch.Version, batch.KeptMass); err != nil {
			t.Errorf("%v: %v", tc.sets, err)
		}
	}
}

// TestGreedyReward holds the baseline of ReMax against greedy answers of another
// engine, and checks that it leaves no trace in the run.
func TestGreedyReward(t *testing.T) {
	load := func(advantage string) *Session {
		r := loaded(t, "default", "name=greedy", "task.difficulty=[3, 4]", "rollout.prompts=6", "rollout.group=2", "rollout.max_tokens=32",
			"rollout.numerics=bf16", "rollout.temperature=2", "advantage="+advantage,
			"reward=[exact, {name: length_anchor, by: prompt_tokens, solved: 0, coef: 1}]")
		s := sessionIn(t, r, Options{})
		// Anchors that some answers exceed: the checkpoint's have nearly one length.
		must(t, s.parts[1].(*reward.Anchor).SetState([]byte(`{"12":5,"15":50}`)))
		return s
	}
	s, without := load("remax"), load("reinforce")
	other := rollout.New(s.recipe.Model, s.recipe.Rollout.Numerics, 3, 1)
	defer other.Close()
	right, penalised := 0, false
	for step := range 3 {
		other.Publish(s.learner.Params(), 0)
		without.learner.Params().CopyFrom(s.learner.Params())
		without.versions.ring[0].CopyFrom(s.learner.Params())
		for _, s := range []*Session{s, without} {
			runTo(t, s, step, map[bool]string{true: "advantage.greedy", false: "reward"}[s.recipe.Needs(batch.GreedyReward)])
		}
		if !slices.Equal(s.batch.Reward, without.batch.Reward) {
			t.Error("greedy responses change the rewards of sampled ones")
		}
		// The parts of the reward as they are after the sampled responses.
		var parts []reward.Shaper
		for i, part := range s.recipe.Reward {
			parts = append(parts, part.New())
			if a, ok := parts[i].(*reward.Anchor); ok {
				must(t, a.SetState(s.parts[i].(*reward.Anchor).AppendState(nil)))
			}
		}
		var b batch.Batch
		var requests []rollout.Request
		for i := 0; i < len(s.prompts); i += 2 {
			requests = append(requests, rollout.Request{Prompt: s.prompts[i].Tokens, Group: i / 2, PromptID: s.prompts[i].ID})
		}
		other.Generate(&b.Sampled, requests, rollout.Sampling{TopP: 1, MaxTokens: 32, Stop: task.EOS})
		var verdicts []task.Verdict
		for i := range requests {
			from, to := b.Span(i)
			verdicts = append(verdicts, s.task.Verify(s.prompts[2*i], b.Token[from:to]))
		}
		must(t, reward.NewScorer(parts...).Score(&b, verdicts))
		for i, got := range s.batch.GreedyReward {
			if want := b.Reward[i/2]; got != want {
				t.Errorf("step %d, response %d: greedy reward %v, want %v", step, i, got, want)
			}
			penalised = penalised || s.batch.GreedyReward[i] != 0 && s.batch.GreedyReward[i] != 1
			right += int(math.Ceil(b.Reward[i/2]))
		}
		must(t, s.score())
	}
	if right == 0 || !penalised {
		t.Errorf("%d greedy answers are right, penalties %v: too little was tested", right, penalised)
	}
}

// TestScoreNorm holds the column against the learner's own gradients.
func TestScoreNorm(t *testing.T) {
	s := sessionOf(t, Options{}, "advantage=opob", "rollout.numerics=bf16", "routing.replay=r3")
	steps(t, s, 2, func(int) {})
	runTo(t, s, 2, "advantage.score_norm")
	for i, n := range s.batch.ScoreNorm {
		var one batch.Batch
		s.batch.Select(&one, []int{i})
		r, err := s.learner.Gradient(&one.Now, &one.Sampled, &loss.Objective{Loss: likelihood{}, Batch: &one},
			learner.StepOptions{Policy: learner.Policy{Temperature: 1, Replay: learner.ReplayRollout}})
		if err != nil {
			t.Fatal(err)
		}
		// The likelihood is a mean over tokens, the score a sum.
		if want := r.GradNorm * float64(one.Tokens()); math.Abs(n-want) > 1e-5*want {
			t.Errorf("response %d: norm %v, want %v", i, n, want)
		}
	}
}

// TestCritic finds a planted linear function from noise-free returns, and knows
// nothing before the first.
func TestCritic(t *testing.T) {
	const hidden, longest = 6, 10
	rng := rand.New(rand.NewPCG(1, 2))
	planted := make([]float64, hidden+2)
	for i := range planted {
		planted[i] = rng.NormFloat64()
	}
	c := criticOf(hidden, longest, false)
	for step := range 4 {
		b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
		var states []float32
		for range 40 {
			for at := range 1 + rng.IntN(longest) {
				want := planted[0] + planted[1]*float64(at)/longest
				for j := range hidden {
					h := float32(rng.NormFloat64())
					states = append(states, h)
					want += planted[j+2] * float64(h)
				}
				b.Return = append(b.Return, want)
				b.Mask = append(b.Mask, at != 3)
				if at == 3 {
					b.Return[len(b.Return)-1] = 1e6 // not generated: it must not count
				}
			}
			b.Offsets = append(b.Offsets, len(b.Mask))
		}
		values := c.values(nil, b, states)
		for n, v := range values {
			want := b.Return[n]
			tolerance := 0.02 * (1 + math.Abs(want)) // a ridge of 1 against 200 tokens
			if step == 0 {
				want, tolerance = 0, 0
			}
			if b.Mask[n] && math.Abs(v-want) > tolerance {
				t.Fatalf("step %d, token %d: value %v, return %v", step, n, v, want)
			}
		}
		must(t, c.fit(&Session{batch: *b}))
	}
	again := criticOf(hidden, longest, false)
	if err := again.SetState(c.AppendState(nil)); err != nil || !slices.Equal(again.weights, c.weights) {
		t.Errorf("restored: %v, %v instead of %v", err, again.weights, c.weights)
	}
	if err := again.SetState(c.AppendState(nil)[8:]); err == nil {
		t.Error("took a state of another size")
	}
}

// TestTeacher scores with the teacher's weights: those of the run itself give
// the learner's log-probs, another model gives its own.
func TestTeacher(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "teacher")
	config := trainertest.Recipe(t).Resolved().Model
	for _, same := range []bool{true, false} {
		c := config
		if !same {
			c.Layers, c.Experts, c.TopK = 2, 1, 0
		}
		p := model.New(c)
		p.Init(7)
		must(t, model.Save(dir, p, model.Extras{}))
		s := sessionOf(t, Options{}, "teacher="+dir, "loss={name: prime_geo, teacher_tau: 0.5}", "correction.mode=bypass")
		steps(t, s, 1, func(int) {})
		if got := slices.Equal(s.batch.Teacher.Logp, s.batch.Old.Logp); got != same || len(s.batch.Teacher.Logp) != s.batch.Tokens() {
			t.Errorf("the teacher is the learner: %v, want %v", got, same)
		}
	}
	small := config
	small.Vocab = 20
	p := model.New(small)
	p.Init(1)
	must(t, model.Save(dir, p, model.Extras{}))
	for name, want := range map[string]string{dir: "teacher: " + dir + " has a vocabulary of 20", "nobody": `teacher: checkpoint "nobody"`} {
		r, _ := prepared(t, trainertest.Recipe(t, "teacher="+name, "loss=prime_geo"))
		if _, err := openTeacher(r); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRewardPenalty lets a KL penalty in the reward reach the advantages of
// estimators of either kind, but not the score.
func TestRewardPenalty(t *testing.T) {
	for _, advantage := range []string{"{name: rloo}", "{name: reinforce, whiten: false}"} {
		penalised := sessionOf(t, Options{}, "advantage="+advantage, "kl={name: k1, in: reward, coef: 10}")
		inLoss := sessionOf(t, Options{}, "advantage="+advantage, "kl={name: k1, in: loss, coef: 10}")
		for _, s := range []*Session{penalised, inLoss} {
			p := s.learner.Params().Clone()
			p.Init(99)
			stageOf[*reference](s).Publish(p, 0) // a reference that differs from the start
			steps(t, s, 1, func(int) {})
		}
		a, b := &penalised.batch, &inLoss.batch
		if !slices.Equal(a.Reward, b.Reward) || !slices.Equal(a.Token, b.Token) {
			t.Fatalf("%s: the score changed", advantage)
		}
		differ := false
		for i := range a.Len() {
			from, to := a.Span(i)
			sum := 0.0
			for n := from; n < to; n++ {
				sum += 10 * (a.Old.Logp[n] - a.Ref.Logp[n])
			}
			got := 0.0
			for _, r := range a.TokenReward[from:to] {
				got += r
			}
			if want := a.Reward[i] - sum; math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: response %d has %v after the penalty, want %v", advantage, i, got, want)
			}
			differ = differ || math.Abs(a.Advantage[from]-b.Advantage[from]) > 1e-3
		}
		if !differ {
			t.Errorf("%s: the penalty does not reach the advantages", advantage)
		}
		if _, ok := inLoss.metric("actor/reward_kl_penalty"); ok {
			t.Error("a penalty is reported that was not taken")
		}
	}
}

// TestTermGates opens the gates anew at every gradient step.
func TestTermGates(t *testing.T) {
	for _, correction := range []string{"{mode: decoupled}", "{mode: bypass, denominator: pre, masks: [{name: token_mask, low: 0.01, high: 100}]}"} {
		s := sessionOf(t, Options{}, "terms=[{name: top_entropy, share: 0.25}]", "learner.epochs=3", "correction="+correction, "rollout.numerics=fp8-w8a8")
		s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
			open := 0
			for _, g := range b.Gate {
				if g {
					open++
				}
			}
			if share := float64(open) / float64(b.Tokens()); share < 0.2 || share > 0.3 {
				t.Errorf("%s: a share of %v is open, want about 0.25", correction, share)
			}
		}}
		steps(t, s, 3, func(int) {})
	}
}

// asked is a guard that does as it is told.
type asked struct {
	decisions []guard.Decision
	steps     []int
	norms     []float64
}

func (a *asked) Guard(grad []float32, in guard.Input) (guard.Decision, error) {
	d := a.decisions[len(a.steps)]
	a.steps = append(a.steps, in.Step)
	sum := 0.0
	for i, g := range grad {
		sum += float64(g) * float64(g)
		if i%2 == 0 {
			grad[i] = 0
		}
	}
	a.norms = append(a.norms, math.Sqrt(sum))
	return d, in.Batch.Require(batch.LogpOld, batch.Logp)
}
func (a *asked) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst, batch.Metric{Name: "guard/asked", Value: float64(len(a.steps))})
}
func (*asked) Validate() error { return nil }

// TestGuards applies what guards decide: scale, skip and a changed gradient.
func TestGuards(t *testing.T) {
	s := sessionOf(t, Options{}, "learner.minibatches=2", "learner.optimizer.lr=1e-2", "guards=[ess_lr]")
	g := &asked{decisions: []guard.Decision{{Scale: 1}, {Scale: 0.5}, {Scale: 1, Skip: true}, {Scale: 1, Skip: true}}}
	s.guards = []guard.Guard{g}
	start := s.learner.Params().Clone()
	must(t, s.Step(0))
	if lr := s.figure(t, "actor/lr"); lr != 0.5e-2 || s.learner.Updates() != 2 || s.figure(t, "guard/asked") != 1.5 {
		t.Errorf("rate %v, %d updates, metric %v", lr, s.learner.Updates(), s.figure(t, "guard/asked"))
	}
	moved := [2]int{}
	for i, x := range s.learner.Params().Theta {
		if x != start.Theta[i] {
			moved[i%2]++
		}
	}
	if moved[0] != 0 || moved[1] == 0 {
		t.Errorf("the guard's gradient was not the one applied: %v weights moved", moved)
	}
	after := s.learner.Params().Clone()
	must(t, s.Step(1))
	if !slices.Equal(after.Theta, s.learner.Params().Theta) || s.learner.Updates() != 2 || s.figure(t, "actor/skipped_updates") != 2 {
		t.Errorf("a skipped step moved the weights: %d updates", s.learner.Updates())
	}
	if !slices.Equal(g.steps, []int{0, 0, 1, 1}) {
		t.Errorf("steps seen %v", g.steps)
	}
	if norm := s.figure(t, "actor/grad_norm"); math.Abs(norm-(g.norms[2]+g.norms[3])/2) > 1e-9 {
		t.Errorf("gradient norm %v, the guard saw %v", norm, g.norms)
	}
}
