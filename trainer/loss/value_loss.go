package loss

import "driftlab/trainer/batch"

// ValueLoss is the clipped regression of a critic on returns.
//
//	L = (1/2)·max((v - R)², (clip(v, v_old - ε, v_old + ε) - R)²)
//
// Source: PPO's reference code; verl compute_value_loss. SkyRL's is the same.
// The rig has no critic of its own: the function serves those who add one.
type ValueLoss struct {
	// Eps is the largest move of a value that still has a gradient (verl 0.5).
	Eps float64 `yaml:"eps"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval returns the loss and the fraction of clipped tokens, and writes
// d loss/d value to dvalue. All slices have one entry per token of the batch,
// whose active mask counts.
func (p *ValueLoss) Eval(dvalue, value, old, returns []float64, in *batch.Batch) (loss, clipFraction float64, err error) {
	rows := make([]float64, in.Len())
	if err := p.Aggregation.RowWeights(rows, in, &batch.Groups{}); err != nil {
		return 0, 0, err
	}
	clear(dvalue)
	clips, tokens, active := 0.0, 0.0, in.Active()
	for i, w := range rows {
		from, to := in.Span(i)
		for n := from; n < to; n++ {
			if !active[n] {
				continue
			}
			free := value[n] - returns[n]
			bounded := clamp(value[n], old[n]-p.Eps, old[n]+p.Eps)
			held := bounded - returns[n]
			dheld := held
			if bounded != value[n] {
				dheld = 0
			}
			l, d := pick(free*free > held*held, free*free/2, free, held*held/2, dheld)
			loss += float64(w * l)
			dvalue[n] = w * d
			clips += count(held*held > free*free)
			tokens++
		}
	}
	return loss, clips / (tokens + 1e-8), nil
}
