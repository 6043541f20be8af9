package estimator

import (
	"context"
	"math"
	"math/rand/v2"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// categories is the vocabulary of the distributions of one token that these claims enumerate.
const categories = 64

// tokenLogits are the logits of a random distribution, of standard deviation 2.
func tokenLogits(rng *rand.Rand) []float64 {
	p := make([]float64, categories)
	for a := range p {
		p[a] = 2 * stream.Normal(rng)
	}
	return p
}

// pairLogits are the logits of a random distribution, of standard deviation 2, and of one that
// is shifted from it by normal noise.
func pairLogits(rng *rand.Rand, shift float64) (p, q []float64) {
	p, q = make([]float64, categories), make([]float64, categories)
	for a := range p {
		p[a] = 2 * stream.Normal(rng)
		q[a] = p[a] + float64(shift*stream.Normal(rng))
	}
	return p, q
}

// normalised divides by the sum, in place.
func normalised(p []float64) []float64 {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for a := range p {
		p[a] /= sum
	}
	return p
}

// law is the softmax of logits.
func law(logits []float64) []float64 {
	p := make([]float64, len(logits))
	for a, l := range logits {
		p[a] = elementary.Exp(l)
	}
	return normalised(p)
}

// apart is the total variation of two distributions.
func apart(p, q []float64) float64 {
	sum := 0.0
	for a := range p {
		sum += float64(math.Abs(p[a]-q[a]) / 2)
	}
	return sum
}

func chi2M2() claim.Claim {
	return claim.Claim{
		ID:        "chi2-m2",
		Title:     "chi2 of two distributions of a token is at most R² M2, in every one of 3,000 random pairs",
		Statement: "With ratio r of new to rollout, R its maximum and M2 the mean of log² r, the chi2 divergence is at most R² M2.",
		Source:    "M2PO, 2510.01161.",
		Figure:    "chi2 <= R² M2",
		Threshold: "Pairs of distributions with chi2 above R² M2: exactly 0 in every draw. Reported: R² M2 over chi2, by the size of the shift.",
		Setup:     "Random distributions over 64 tokens, logits of standard deviation 2; the other distribution adds normal noise of 0.05, 0.2 and 0.8 to the logits: 1,000 pairs each, enumerated.",
		LeftOut:   "That a limit on M2 trains well: stale-256 judges that.",
		Declared:  claim.BeforeResults,
		Unit:      claim.Draw,
		Version:   1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			violations := 0.0
			var looseness []float64
			for _, shift := range []float64{0.05, 0.2, 0.8} {
				var logs []float64
				for range e.Pick(1000, 200, 20) {
					lp, lq := pairLogits(rng, shift)
					mu, pi := law(lp), law(lq)
					chi2, m2, most := 0.0, 0.0, 1.0
					for a := range mu {
						r := pi[a] / mu[a]
						l := elementary.Log(r)
						chi2 += float64(mu[a] * (r - 1) * (r - 1))
						m2 += float64(mu[a] * l * l)
						most = max(most, r)
					}
					bound := most * most * m2
					if chi2 > bound*(1+1e-9) {
						violations++
					}
					logs = append(logs, elementary.Log(bound/chi2))
				}
				looseness = append(looseness, elementary.Exp(stats.Average(logs)))
			}
			o.Set("violations", violations)
			o.Set("bound over chi2", looseness...)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Zero(claim.Exact, "pairs with chi2 above R² M2", j.Column("violations")))
			names := []string{"0.05", "0.2", "0.8"}
			for i, name := range names {
				j.Secondary(claim.Report(claim.Exact, "R² M2 over chi2, shift "+name, j.Entry("bound over chi2", i)))
			}
			j.Evidence.Picture = j.Bars("Bound over chi2", "R² M2 / chi2", true, names, j.Listed("random pairs", "bound over chi2"))
		},
	}
}

// truncations are the weights of truncated-law, as functions of the ratio.
var truncations = []struct {
	name   string
	weight func(r float64) float64
}{
	{"no bound", func(r float64) float64 { return r }},
	{"cap 2", func(r float64) float64 { return min(r, 2) }},
	{"band 0.5 to 2", func(r float64) float64 {
		if r < 0.5 || r > 2 {
			return 0
		}
		return r
	}},
}

func truncatedLaw() claim.Claim {
	return claim.Claim{
		ID:    "truncated-law",
		Title: "Truncated weights train a distribution that is closer to the rollout's (random distributions of a token, cap 2)",
		Statement: "The distribution that truncated importance weights train, mu min(r, 2) after normalisation, has a smaller total variation from mu than the new policy has: " +
			"truncation lowers the effective alpha1.",
		Source:    "A practitioner's account of the three-policy trust region.",
		Figure:    "truncation is the soft form of a constraint on alpha1, a band mask the strict form",
		Threshold: "Total variation from mu, cap 2 over no bound, paired: interval below 1. Also checked: the band from 0.5 to 2 over cap 2, below 1.",
		Setup:     "Random distributions over 64 tokens, logits of standard deviation 2, and one whose logits have normal noise of 0.8: 1,000 pairs a draw, enumerated.",
		LeftOut:   "Sequences, and training.",
		Declared:  claim.BeforeResults,
		Unit:      claim.Draw,
		Version:   1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			mean := make([]float64, len(truncations))
			n := e.Pick(1000, 200, 20)
			for range n {
				lp, lq := pairLogits(rng, 0.8)
				mu, pi := law(lp), law(lq)
				for i, w := range truncations {
					trained := make([]float64, len(mu))
					for a := range mu {
						trained[a] = mu[a] * w.weight(pi[a]/mu[a])
					}
					mean[i] += apart(mu, normalised(trained)) / float64(n)
				}
			}
			o.Set("variation", mean...)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.RatioBelow(claim.Exact, "total variation from mu, cap 2 over no bound", j.Entry("variation", 1), j.Entry("variation", 0), 1))
			j.Secondary(claim.RatioBelow(claim.Exact, "total variation from mu, band 0.5 to 2 over cap 2", j.Entry("variation", 2), j.Entry("variation", 1), 1))
			var names []string
			for _, w := range truncations {
				names = append(names, w.name)
			}
			j.Evidence.Picture = j.Bars("What is trained, from the rollout's distribution", "total variation", false, names, j.Listed("random pairs", "variation"))
		},
	}
}

// mixtureShares are the teacher's shares of geometric-mixing; the middle one is judged.
var mixtureShares = []float64{0.1, 0.3, 0.5, 0.7, 0.9}

func geometricMixing() claim.Claim {
	return claim.Claim{
		ID:        "geometric-mixing",
		Title:     "A geometric mixture of two distributions is sharper than the linear one (random distributions of a token)",
		Statement: "At equal shares the geometric mixture of a teacher's and a student's distribution has a lower entropy than the mixture of probabilities.",
		Source:    "Logit Fusion, by a survey.",
		Figure:    "mixing logits keeps what both find likely; mixing probabilities keeps what either does",
		Threshold: "Entropy of the linear minus that of the geometric mixture, share 0.5, mean over pairs: interval above 0. Also checked: shares 0.1 and 0.9.",
		Setup:     "Independent random distributions over 64 tokens, logits of standard deviation 2: 1,000 pairs a draw, enumerated.",
		LeftOut:   "A teacher and a student that were trained, and what the mixture does to training.",
		Declared:  claim.BeforeResults,
		Unit:      claim.Draw,
		Version:   1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			n := e.Pick(1000, 200, 20)
			geometric, linear := make([]float64, len(mixtureShares)), make([]float64, len(mixtureShares))
			contrary := 0.0
			for range n {
				lt, _ := pairLogits(rng, 0)
				ls, _ := pairLogits(rng, 0)
				teacher, student := law(lt), law(ls)
				for i, share := range mixtureShares {
					logits, mixed := make([]float64, categories), make([]float64, categories)
					for a := range logits {
						logits[a] = float64(share*lt[a]) + float64((1-share)*ls[a])
						mixed[a] = float64(share*teacher[a]) + float64((1-share)*student[a])
					}
					g, l := shannon(law(logits)), shannon(mixed)
					geometric[i] += g / float64(n)
					linear[i] += l / float64(n)
					if share == 0.5 && g > l {
						contrary += 1 / float64(n)
					}
				}
			}
			o.Set("geometric", geometric...)
			o.Set("linear", linear...)
			o.Set("contrary", contrary)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			difference := func(i int) []float64 {
				return j.Each(func(o *claim.Observation) float64 { return o.List("linear")[i] - o.List("geometric")[i] })
			}
			j.Primary(claim.Above(claim.Exact, "entropy, linear minus geometric, share 0.5", difference(2), 0))
			j.Secondary(claim.Above(claim.Exact, "entropy, linear minus geometric, share 0.1", difference(0), 0))
			j.Secondary(claim.Above(claim.Exact, "entropy, linear minus geometric, share 0.9", difference(4), 0))
			j.Secondary(claim.Report(claim.Exact, "share of pairs whose geometric mixture has the higher entropy, share 0.5", j.Column("contrary")))
			names := []string{"0.1", "0.3", "0.5", "0.7", "0.9"}
			j.Evidence.Picture = j.Bars("Entropy by the teacher's share", "nats", false, names, j.Listed("geometric", "geometric"), j.Listed("linear", "linear"))
		},
	}
}

// shannon is the entropy, in nats.
func shannon(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		if x > 0 {
			h -= float64(x * elementary.Log(x))
		}
	}
	return h
}
