package measurements

import (
	"math"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
)

// trustRegions records which tokens PPO's ratio clip (0.2, 0.28) and DPPO's mask of the total
// variation (0.15) would cut after updates without a bound, by probability among tokens whose
// probability moved alike, and how far updates by several losses go (DPPO, 2602.04879). The
// natural batch is chain-base's, graded; the amplified one of random weights with a large
// vocabulary, where every other response is called good.
type trustRegions struct {
	Groups, Vocab, Sequences, Rounds sizes
	NaturalRate                      float64 `yaml:"natural rate"`
	AmplifiedRate                    float64 `yaml:"amplified rate"`
}

// Measure records the shares of both levels and the exact KL by loss.
func (m *trustRegions) Measure(e *claim.Env, o *claim.Observation) {
	chain := e.Base(0)
	bf16, fp32 := numerics("bf16"), numerics("fp32")
	graded := graded(e, chain, bf16, fp32, m.Groups.of(e))
	large := e.Deep(2, 8, m.Vocab.of(e), 64)
	alternate := sample(e, probe{Params: large, Rollout: bf16, Sequences: m.Sequences.of(e), Tokens: 40})
	measure.Score(alternate, large, measure.Scoring{Numerics: fp32})
	alternate.Anchor, alternate.Advantage = alternate.Old.Logp, make([]float64, alternate.Tokens())
	for i := range alternate.Len() {
		from, to := alternate.Span(i)
		for n := from; n < to; n++ {
			alternate.Advantage[n] = float64(1 - 2*(i%2))
		}
	}
	rounds := m.Rounds.of(e)
	for _, d := range []struct {
		level judge.Level
		model *model.Params
		batch *batch.Batch
		rate  float64
	}{{judge.Natural, chain, graded, m.NaturalRate}, {judge.Amplified, large, alternate, m.AmplifiedRate}} {
		now := after(e, d.model, d.batch, method.New[loss.ImportanceSampling](), d.rate, rounds)
		setCut(o, string(d.level), now)
	}
	for _, arm := range []struct {
		name string
		loss loss.Loss
	}{{"unbounded", method.New[loss.ImportanceSampling]()}, {"CISPO", method.New[loss.CISPO]()}, {"ratio clip", loss.NewPPOMask()}, {"DPPO", loss.NewDPPOTV()}} {
		now := after(e, chain, graded, arm.loss, m.NaturalRate, rounds)
		o.Set("KL "+arm.name, metrics.Compare(now).ExactKL)
	}
}

// after is the batch as the weights score it after updates by a loss.
func after(e *claim.Env, p *model.Params, b *batch.Batch, objective loss.Loss, rate float64, rounds int) *batch.Batch {
	e.Continue()
	l := measure.NewLearner(p, numerics("fp32"))
	defer l.Close()
	claim.StopOn(l.Update(minibatches(b, 4), objective, rate, rounds))
	now := minibatches(b, 1)[0]
	l.Score(&now.Old, now, nil)
	return now
}

// moved is a token that went where its advantage pushes it: its log-prob at the
// rollout, its ratio now and the shift of its probability.
type moved struct{ logp, ratio, shift float64 }

// cutByRatio and cutByTV are the rules: PPO's clip and DPPO's mask.
func (m *moved) cutByRatio() bool { return m.ratio > 1.28 || m.ratio < 0.8 }
func (m *moved) cutByTV() bool    { return math.Abs(m.shift) > 0.15 }

// trustTenths is how many parts of a bin of like shifts are distinguished by the
// probability, and trustBins the most bins.
const (
	trustTenths = 10
	trustBins   = 20
)

// setCut records, by tenth of the probability among tokens of the same shift,
// which share each rule would cut.
func setCut(o *claim.Observation, level string, now *batch.Batch) {
	var list []moved
	for n, a := range now.Advantage {
		p, q := elementary.Exp(now.LogpRoll[n]), elementary.Exp(now.Old.Logp[n])
		if shift := q - p; float64(shift*a) > 0 {
			list = append(list, moved{now.LogpRoll[n], elementary.Exp(now.Old.Logp[n] - now.LogpRoll[n]), shift})
		}
	}
	var logp, ratio, tv, count [trustTenths]float64
	bins := max(1, min(trustBins, len(list)/(5*trustTenths)))
	byShift := stats.Order(stats.Map(list, func(m moved) float64 { return math.Abs(m.shift) }))
	for bin := range bins {
		part := byShift[bin*len(list)/bins : (bin+1)*len(list)/bins]
		for rank, at := range stats.Order(stats.Map(part, func(n int) float64 { return list[n].logp })) {
			m, k := &list[part[at]], rank*trustTenths/len(part)
			logp[k] += m.logp
			count[k]++
			if m.cutByRatio() {
				ratio[k]++
			}
			if m.cutByTV() {
				tv[k]++
			}
		}
	}
	o.Set(level+" log p", stats.Quotients(logp[:], count[:])...)
	o.Set(level+" cut by the ratio clip", stats.Quotients(ratio[:], count[:])...)
	o.Set(level+" cut by the TV mask", stats.Quotients(tv[:], count[:])...)
	var small, cut, left, far float64
	for i := range list {
		m := &list[i]
		if m.cutByRatio() {
			cut++
			if math.Abs(m.shift) < 0.01 {
				small++
			}
		}
		if m.cutByTV() {
			far++
			if !m.cutByRatio() {
				left++
			}
		}
	}
	o.Set(level+" cut after a small shift", small, cut)
	o.Set(level+" left after a large shift", left, far)
}
