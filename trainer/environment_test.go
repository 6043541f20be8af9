package trainer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/guard"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/task"
)

const (
	holesVocab = 5
	holesWidth = 4 // routes per token: two layers, two experts each
)

// withReplies makes a batch with every column: eight responses in two groups, of
// up to four turns, with what an environment wrote between them. Where it wrote,
// no number can be right: NaN, foreign routes and versions.
func withReplies(seed uint64) *batch.Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := &batch.Batch{
		Sampled:        batch.Sampled{Offsets: []int{0}, Vocab: holesVocab, Layers: 2, TopK: 2},
		LearnerVersion: 9,
	}
	for i := range 8 {
		for turn := range 1 + rng.IntN(4) {
			if turn > 0 {
				for range 1 + rng.IntN(3) {
					appendToken(b, rng, false, turn-1)
				}
			}
			for range 1 + rng.IntN(4) {
				appendToken(b, rng, true, turn)
			}
		}
		b.Offsets = append(b.Offsets, len(b.Token))
		b.Prompt, b.PromptID = append(b.Prompt, []int32{1, 2, int32(i / 4)}), append(b.PromptID, int64(i/4))
		b.PromptRoutes, b.Old.PromptRoutes = append(b.PromptRoutes, make([]uint8, 2*holesWidth)), append(b.Old.PromptRoutes, make([]uint8, 2*holesWidth))
		b.Group, b.Correct, b.Finished = append(b.Group, i/4), append(b.Correct, i%3 == 0), append(b.Finished, i%4 != 1)
		b.Reward = append(b.Reward, float64((i*7)%4)/3)
		b.RewardParts = append(b.RewardParts, []float64{b.Reward[i] / 2, b.Reward[i] / 2})
		b.OutcomeParts = append(b.OutcomeParts, b.RewardParts[i])
		b.GreedyReward, b.ScoreNorm = append(b.GreedyReward, 0.5), append(b.ScoreNorm, 1+rng.Float64())
		b.TokenReward[len(b.TokenReward)-1] = b.Reward[i]
	}
	return b
}

// appendToken adds a token that the policy, or the environment, wrote.
func appendToken(b *batch.Batch, rng *rand.Rand, generated bool, turn int) {
	poison := func(x float64) float64 {
		if generated {
			return x
		}
		return math.NaN()
	}
	token := rng.Int32N(holesVocab)
	dist := func(of *[]float32) float64 {
		var logits [holesVocab]float64
		total := 0.0
		for a := range logits {
			logits[a] = 1.5 * rng.NormFloat64()
			total += math.Exp(logits[a])
		}
		for a := range logits {
			*of = append(*of, float32(poison(logits[a]-math.Log(total))))
		}
		return logits[token] - math.Log(total)
	}
	b.Token, b.Mask, b.Turn = append(b.Token, token), append(b.Mask, generated), append(b.Turn, int32(turn))
	old := dist(&b.Old.Dist)
	roll, now, ref := dist(&b.DistRoll), dist(&b.Now.Dist), dist(&b.Ref.Dist)
	dist(&b.Shadow.Dist)
	dist(&b.Teacher.Dist)
	// Near each other, as policies of one run are.
	b.Old.Logp = append(b.Old.Logp, poison(old))
	b.LogpRoll = append(b.LogpRoll, poison(0.9*old+0.1*roll))
	b.Now.Logp = append(b.Now.Logp, poison(0.8*old+0.2*now))
	b.Ref.Logp = append(b.Ref.Logp, poison(0.7*old+0.3*ref))
	b.Teacher.Logp = append(b.Teacher.Logp, poison(0.6*old-0.3))
	b.Advantage = append(b.Advantage, poison(rng.NormFloat64()))
	b.Value, b.Return = append(b.Value, poison(rng.Float64())), append(b.Return, poison(rng.Float64()))
	b.Old.Entropy, b.Old.SumSquares = append(b.Old.Entropy, poison(rng.Float64())), append(b.Old.SumSquares, poison(0.3+0.2*rng.Float64()))
	b.TokenReward, b.StepReward = append(b.TokenReward, 0), append(b.StepReward, poison(float64(rng.IntN(3)-1)))
	b.Episode, b.PrefixValue = append(b.Episode, int32(turn)), append(b.PrefixValue, float64(turn*turn)/8)
	b.KeptMass, b.Support = append(b.KeptMass, poison(1)), append(b.Support, nil)
	version := int32(rng.IntN(9))
	if !generated {
		version = -1000
	}
	b.Version = append(b.Version, version)
	for range holesWidth {
		r := uint8(rng.IntN(4))
		b.RoutesRoll, b.Old.Routes = append(b.RoutesRoll, r), append(b.Old.Routes, r^uint8(rng.IntN(2)))
		old := -3 * rng.Float64()
		b.Old.RouterLogp, b.Now.RouterLogp = append(b.Old.RouterLogp, old), append(b.Now.RouterLogp, old-0.1*rng.Float64())
	}
	if !generated {
		at := len(b.Old.Routes) - holesWidth
		for k := range holesWidth {
			b.Old.Routes[at+k] = 200 + uint8(k)
		}
	}
}

// withoutReplies is the batch with the environment's tokens cut out, and where
// each remaining token came from.
func withoutReplies(b *batch.Batch) (out *batch.Batch, from []int) {
	out = &batch.Batch{}
	*out = *b
	kept := func(i int) (list []int) {
		f, t := b.Span(i)
		for n := f; n < t; n++ {
			if b.Mask[n] {
				list = append(list, n)
			}
		}
		return list
	}
	out.Offsets = []int{0}
	for i := range b.Len() {
		from = append(from, kept(i)...)
		out.Offsets = append(out.Offsets, len(from))
	}
	for _, c := range []*[]float64{&out.LogpRoll, &out.Old.Logp, &out.Now.Logp, &out.Ref.Logp, &out.Teacher.Logp, &out.Advantage, &out.Value,
		&out.Return, &out.Old.Entropy, &out.Old.SumSquares, &out.TokenReward, &out.StepReward, &out.KeptMass, &out.PrefixValue} {
		*c = pick(*c, from, 1)
	}
	for _, c := range []*[]float32{&out.DistRoll, &out.Old.Dist, &out.Now.Dist, &out.Ref.Dist, &out.Shadow.Dist, &out.Teacher.Dist} {
		*c = pick(*c, from, holesVocab)
	}
	out.Token, out.Turn, out.Version, out.Episode = pick(b.Token, from, 1), pick(b.Turn, from, 1), pick(b.Version, from, 1), pick(b.Episode, from, 1)
	out.Mask, out.Support = pick(b.Mask, from, 1), pick(b.Support, from, 1)
	out.RoutesRoll, out.Old.Routes = pick(b.RoutesRoll, from, holesWidth), pick(b.Old.Routes, from, holesWidth)
	out.Old.RouterLogp, out.Now.RouterLogp = pick(b.Old.RouterLogp, from, holesWidth), pick(b.Now.RouterLogp, from, holesWidth)
	return out, from
}

func pick[T any](x []T, rows []int, width int) (out []T) {
	for _, n := range rows {
		out = append(out, x[n*width:(n+1)*width]...)
	}
	return out
}

// sameNumbers compares figures bit for bit.
func sameNumbers(t *testing.T, what string, with, without []float64) {
	t.Helper()
	if len(with) != len(without) {
		t.Errorf("%s: %d values with replies, %d without", what, len(with), len(without))
		return
	}
	for n := range with {
		if math.Float64bits(with[n]) != math.Float64bits(without[n]) {
			t.Errorf("%s[%d]: %v with replies, %v without", what, n, with[n], without[n])
			return
		}
	}
}

func sameMetrics(t *testing.T, what string, with, without []batch.Metric) {
	t.Helper()
	if len(with) != len(without) {
		t.Errorf("%s: %d figures with replies, %d without", what, len(with), len(without))
		return
	}
	for k, m := range with {
		if m.Name != without[k].Name {
			t.Errorf("%s: figure %s in the place of %s", what, m.Name, without[k].Name)
			return
		}
		sameNumbers(t, what+" "+m.Name, []float64{m.Value}, []float64{without[k].Value})
	}
}

// zeroOutside checks that nothing flows to what the environment wrote.
func zeroOutside(t *testing.T, what string, b *batch.Batch, x []float64, width int) {
	t.Helper()
	for n, generated := range b.Mask {
		for k := range width {
			if v := x[n*width+k]; !generated && v != 0 {
				t.Errorf("%s: %v on a token of the environment", what, v)
				return
			}
		}
	}
}

// What an environment writes takes no part in anything but the text: every
// loss, term, correction, estimator, guard, reward and figure comes to the same
// bits as if its tokens were not there, and nothing flows to them.
func TestRepliesCountNowhere(t *testing.T) {
	for seed := range uint64(3) {
		with := withReplies(seed)
		without, from := withoutReplies(with)
		if len(from) == with.Tokens() {
			t.Fatal("no replies")
		}
		copies := func() (a, b *batch.Batch) {
			a, b = new(batch.Batch), new(batch.Batch)
			all := []int{0, 1, 2, 3, 4, 5, 6, 7}
			with.Select(a, all)
			without.Select(b, all)
			for _, x := range []*batch.Batch{a, b} {
				x.Anchor, x.Now.Entropy = x.Old.Logp, x.Old.Entropy
			}
			return a, b
		}
		for _, e := range loss.Registry {
			if e.Name == "fipo" {
				continue // its discount counts positions, also those that are masked, as ms-swift's does
			}
			lossIgnores(t, e.Name, copies, from, func(out *loss.Grad, b *batch.Batch) error { return e.New().Eval(out, b) })
		}
		for _, e := range loss.KLRegistry {
			lossIgnores(t, "kl "+e.Name, copies, from, func(out *loss.Grad, b *batch.Batch) error {
				out.Reset(b.Tokens())
				return e.New().AddLoss(out, b)
			})
		}
		for _, e := range loss.TermRegistry {
			lossIgnores(t, "term "+e.Name, copies, from, func(out *loss.Grad, b *batch.Batch) error {
				out.Reset(b.Tokens())
				term := e.New()
				if err := loss.Prepare(term, b); err != nil {
					return err
				}
				return term.AddLoss(out, b)
			})
		}
		for _, e := range correction.Weightings {
			correctionIgnores(t, e.Name, copies, from, func(p *correction.Pipeline) { p.Weights = e.New() })
		}
		for _, e := range correction.Masks {
			correctionIgnores(t, e.Name, copies, from, func(p *correction.Pipeline) { p.Masks = []correction.Masking{e.New()} })
		}
		for _, e := range advantage.Registry {
			a, b := copies()
			a.Advantage, a.Return, b.Advantage, b.Return = nil, nil, nil, nil
			if x, y := e.New().Estimate(a), e.New().Estimate(b); x != nil || y != nil {
				t.Errorf("%s: %v, %v", e.Name, x, y)
				continue
			}
			// By position in the response (the form for tool runs counts generated tokens), and by states, which replies are.
			if e.Name != "optimal_token_baseline" && e.Name != "gigpo" {
				sameNumbers(t, e.Name, pick(a.Advantage, from, 1), b.Advantage)
			}
			zeroOutside(t, e.Name, a, a.Advantage, 1)
		}
		for _, e := range guard.Registry {
			a, b := copies()
			one, other := e.New(), e.New()
			x, errX := one.Guard([]float32{1, 2}, guard.Input{Batch: a})
			y, errY := other.Guard([]float32{1, 2}, guard.Input{Batch: b})
			if errX != nil || errY != nil || x != y {
				t.Errorf("%s: %+v %v, %+v %v", e.Name, x, errX, y, errY)
			}
			sameMetrics(t, e.Name, one.Metrics(nil), other.Metrics(nil))
		}
		for _, e := range reward.Registry {
			a, b := copies()
			verdicts := make([]task.Verdict, 8)
			for i := range verdicts {
				verdicts[i].Correct, verdicts[i].Format = i%3 == 0, i%2 == 0
			}
			if x, y := reward.NewScorer(e.New()).Score(a, verdicts), reward.NewScorer(e.New()).Score(b, verdicts); x != nil || y != nil {
				t.Errorf("%s: %v, %v", e.Name, x, y)
				continue
			}
			sameNumbers(t, e.Name, a.Reward, b.Reward)
			if a.TokenReward != nil {
				sameNumbers(t, e.Name+" per token", pick(a.TokenReward, from, 1), b.TokenReward)
			}
		}
		a, b := copies()
		limits := metrics.Limits{Response: 30, Prompt: 9}
		sameMetrics(t, "step", metrics.Step(nil, a, limits), metrics.Step(nil, b, limits))
		sameMetrics(t, "off-policy", metrics.OffPolicy(nil, a), metrics.OffPolicy(nil, b))
		sameMetrics(t, "proxy", metrics.VarianceProxy(nil, a, 1), metrics.VarianceProxy(nil, b, 1))
		x, y := metrics.Compare(a), metrics.Compare(b)
		if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
			t.Errorf("gap %+v with replies, %+v without", x, y)
		}
	}
}

// lossIgnores compares value, gradients and figures.
func lossIgnores(t *testing.T, name string, copies func() (a, b *batch.Batch), from []int, eval func(*loss.Grad, *batch.Batch) error) {
	t.Helper()
	a, b := copies()
	var x, y loss.Grad
	if errX, errY := eval(&x, a), eval(&y, b); errX != nil || errY != nil {
		t.Errorf("%s: %v, %v", name, errX, errY)
		return
	}
	sameNumbers(t, name+" value", []float64{x.Loss}, []float64{y.Loss})
	sameNumbers(t, name+" d logp", pick(x.DLogp, from, 1), y.DLogp)
	zeroOutside(t, name+" d logp", a, x.DLogp, 1)
	if len(x.DLogits) > 0 || len(y.DLogits) > 0 {
		sameNumbers(t, name+" d logits", pick(x.DLogits, from, holesVocab), y.DLogits)
		zeroOutside(t, name+" d logits", a, x.DLogits, holesVocab)
	}
	sameMetrics(t, name, x.Metrics, y.Metrics)
}

// correctionIgnores compares weights, masks, gates and figures, in both modes
// where there are two.
func correctionIgnores(t *testing.T, name string, copies func() (a, b *batch.Batch), from []int, set func(*correction.Pipeline)) {
	t.Helper()
	for _, mode := range []correction.Mode{correction.Decoupled, correction.Bypass} {
		a, b := copies()
		one, other := &correction.Pipeline{Mode: mode}, &correction.Pipeline{Mode: mode}
		set(one)
		set(other)
		if one.Validate() != nil {
			continue // not in this mode
		}
		for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
			if x, y := one.Apply(a, stage), other.Apply(b, stage); x != nil || y != nil {
				t.Errorf("%s: %v, %v", name, x, y)
				return
			}
		}
		if a.Weight != nil {
			sameNumbers(t, name+" weights", pick(a.Weight, from, 1), b.Weight)
		}
		for k, n := range from {
			if a.LossMask != nil && a.LossMask[n] != b.LossMask[k] || a.Gate != nil && a.Gate[n] != b.Gate[k] {
				t.Errorf("%s, %s: token %d is kept in one batch alone", name, mode, k)
				break
			}
		}
		for n, generated := range a.Mask {
			if !generated && a.LossMask != nil && a.LossMask[n] {
				t.Errorf("%s, %s: a token of the environment in the loss mask", name, mode)
				break
			}
		}
		sameMetrics(t, name, one.Metrics(), other.Metrics())
	}
}
