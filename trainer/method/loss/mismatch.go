package loss

import "driftlab/precision/elementary"

// mismatch collects prime-rl's figures of a loss that drops tokens: the k3
// estimate of KL(mu‖pi) on all, dropped and kept tokens, each a mean over
// responses of a mean over tokens, and the fractions dropped.
type mismatch struct {
	// all, dropped and kept are sums over responses of row means.
	all, dropped, kept rowMean
	// share, low and high are the fractions of tokens dropped, for any reason
	// and beyond either bound; positive and negative those of the dropped
	// tokens with such an advantage.
	share, low, high, positive, negative rowMean
}

// rowMean sums row means; a row without tokens counts as 0.
type rowMean struct {
	row         int     // the present one
	sum, count  float64 // of the present row
	means, sums float64 // of the rows before it
}

func (r *rowMean) add(f *frame, x float64) {
	if f.row != r.row {
		*r = rowMean{row: f.row, means: r.total(), sums: r.allSum()}
	}
	r.sum += x
	r.count++
}

// total is the sum of the row means, allSum that of the tokens.
func (r *rowMean) total() float64  { return r.means + r.sum/max(r.count, 1) }
func (r *rowMean) allSum() float64 { return r.sums + r.sum }

// token adds a token with log-ratio l.
func (m *mismatch) token(f *frame, l, advantage float64, drop, low, high bool) {
	k3 := min(elementary.Expm1(l)-l, 1e30) // prime-rl keeps its figures finite
	m.all.add(f, k3)
	if drop {
		m.dropped.add(f, k3)
		m.positive.add(f, count(advantage > 0))
		m.negative.add(f, count(advantage < 0))
	} else {
		m.kept.add(f, k3)
	}
	m.share.add(f, count(drop))
	m.low.add(f, count(low))
	m.high.add(f, count(high))
}

// rows is the number of responses that prime-rl's figures are a mean over: all,
// or those with an active token. Its trainer hands ref_kl, ce and anything with
// weights per token to the loss only where a token is left.
func (f *frame) rows(active bool) float64 {
	if !active {
		return max(float64(f.in.Len()), 1)
	}
	rows := 0.0
	for i := range f.in.Len() {
		rows += count(f.length(i) > 0)
	}
	return max(rows, 1)
}

// logRows logs the figures as means over the given number of rows, as prime-rl's present code does.
func (m *mismatch) logRows(f *frame, rows float64) {
	m.log(f, rows, m.share.total()/rows, m.low.total()/rows, m.high.total()/rows)
	f.out.Add("masked_advantage_positive", m.positive.total()/rows)
	f.out.Add("masked_advantage_negative", m.negative.total()/rows)
}

// logTokens logs the fractions over tokens, as prime-rl's earlier code does.
func (m *mismatch) logTokens(f *frame) {
	rows, tokens := max(float64(f.in.Len()), 1), max(f.tokens, 1)
	m.log(f, rows, m.share.allSum()/tokens, m.low.allSum()/tokens, m.high.allSum()/tokens)
}

func (m *mismatch) log(f *frame, rows, share, low, high float64) {
	f.out.Add("mismatch_kl", m.all.total()/rows)
	f.out.Add("masked_mismatch_kl", m.dropped.total()/rows)
	f.out.Add("unmasked_mismatch_kl", m.kept.total()/rows)
	f.out.Add("is_masked", share)
	f.out.Add("is_masked_low", low)
	f.out.Add("is_masked_high", high)
}
