package metrics

import "driftlab/trainer/method/batch"

// Parts splits the gap of pi_old to mu at pi_v, the learner's numerics at the
// version that sampled (the α1 and α0 of the three-policy account): what the two
// engines make of the same weights, and what the weights have moved since. It
// needs the columns Behaviour beside those of Compare; the log-ratios of the two
// parts add up to the whole, token by token.
func Parts(b *batch.Batch) (engine, lag Gap) {
	view := *b
	view.Old, view.RoutesRoll = b.Behaviour, nil // routes are compared as a whole
	engine = Compare(&view)
	view.Old, view.LogpRoll, view.DistRoll = b.Old, b.Behaviour.Logp, b.Behaviour.Dist
	return engine, Compare(&view)
}

// Part appends the figures of one part of a gap under its name.
func (g *Gap) Part(dst []batch.Metric, name string) []batch.Metric {
	dst = append(dst, batch.Metric{Name: "gap/" + name + "_k3", Value: g.K3}, batch.Metric{Name: "gap/" + name + "_dlogp_mean", Value: g.MeanAbsDlogp})
	if g.HasExact {
		dst = append(dst, batch.Metric{Name: "gap/" + name + "_exact_kl", Value: g.ExactKL}, batch.Metric{Name: "gap/" + name + "_exact_tv", Value: g.ExactTV})
	}
	return dst
}
