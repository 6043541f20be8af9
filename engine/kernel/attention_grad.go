package kernel

import "fmt"

// gradRows is how many query rows the backward pass takes at a time: its
// memory is that many rows of scores.
const gradRows = 16

// Kept says which keys each query row saw; the zero value stands for all up to
// its own. Key j of row r and key head h is bit j%64 of word
// Bits[r·Row + h·Head + j/64].
type Kept struct {
	Bits      []uint64
	Row, Head int
}

// drop zeroes the probabilities of the keys that row r did not see.
func (k *Kept) drop(p []float32, r, head int) {
	words := k.Bits[r*k.Row+head*k.Head:]
	for j := range p {
		if words[j/64]>>(j%64)&1 == 0 {
			p[j] = 0
		}
	}
}

// AttendGrad is the backward pass of Attend over t consecutive queries
// of one sequence; before is the number of keys before the first query's own: 0 where
// the queries are the whole sequence. Shapes: dout, q, dq
// [t, heads·headDim]; k, v, dk, dv [before+t, kvHeads·headDim], row-major, where rows of q
// and dq begin qStride elements apart, and rows of k, v, dk and dv kStride; lse
// [t, heads] from the forward pass. It sets dq, and dk and dv to what these queries
// add to them. Memory grows linearly with the keys: probabilities are computed
// again from lse.
//
// With s the rounded scaled scores and p = exp(s-lse), straight through the
// roundings:
//
//	dp = dout·v,  D = Σ p·dp (unfused, key order),  ds = p·(dp-D)·scale
//	dq = Σ ds·k over keys;  dk = Σ ds·q,  dv = Σ p·dout over heads, then queries
//
// each sum one canonical chain, where a query's future keys within its block of
// 16 rows count as exact zeros. Of the arithmetic only Scores, Eager and
// Reduction.Unfused (for the scores) matter here.
// Rows that saw a part of their keys say so in kept: the probabilities of the
// others are exact zeros, and lse is over those seen.
func (a *Attention) AttendGrad(dq, dk, dv, dout, q, k, v, lse []float32, qStride, kStride, before, t int, kept Kept, s *Scratch) {
	heads, headDim := a.heads, a.headDim
	d, kd, keys := heads*headDim, a.width, before+t
	if qStride < d || kStride < kd || t > 0 && min(len(dq), len(q)) < (t-1)*qStride+d || len(dout) < t*d ||
		keys > 0 && min(len(dk), len(dv), len(k), len(v)) < (keys-1)*kStride+kd || len(lse) < t*heads {
		panic(fmt.Sprintf("kernel: AttendGrad dq %d, dk %d, dv %d, dout %d, q %d, k %d, v %d, lse %d: %d rows after %d, %d heads on %d of %d",
			len(dq), len(dk), len(dv), len(dout), len(q), len(k), len(v), len(lse), t, before, heads, a.kvHeads, headDim))
	}
	s = s.orNew()
	for i := range keys {
		clear(dk[i*kStride:][:kd])
		clear(dv[i*kStride:][:kd])
	}
	ld := ceilDiv(keys, panelWidth) * panelWidth
	kT, vT := grown(&s.keys, headDim*ld), grown(&s.values, headDim*ld)
	for h := range heads {
		keyHead := h / (heads / a.kvHeads)
		g := keyHead * headDim
		b := headGrad{Attention: a, q: q[h*headDim:], dq: dq[h*headDim:], dout: dout[h*headDim:], k: k[g:], v: v[g:], dk: dk[g:], dv: dv[g:],
			kT: kT, vT: vT, lse: lse[h:], before: before, d: d, qd: qStride, kd: kStride, ld: ld, kept: kept, keyHead: keyHead}
		b.lanes = b.hasLanes(t)
		if h%(heads/a.kvHeads) == 0 && !b.lanes {
			transpose(kT, k[g:], keys, headDim, kStride, ld)
			transpose(vT, v[g:], keys, headDim, kStride, ld)
		}
		for r := 0; r < t; r += gradRows {
			b.block(r, min(gradRows, t-r), s)
		}
	}
}

// headGrad is one query head's view of the operands.
type headGrad struct {
	*Attention
	dout          []float32 // rows d apart
	q, dq         []float32 // rows qd apart
	k, v, dk, dv  []float32 // rows kd apart
	kT, vT        []float32 // [headDim][ld]
	lse           []float32 // rows heads apart
	before        int       // keys before those of the first row
	d, qd, kd, ld int
	kept          Kept
	keyHead       int
	lanes         bool // what belongs to a row is a lane: [keys][16] instead of [rows][keys]
}

// block adds the part of query rows r..r+m-1.
func (b *headGrad) block(r, m int, s *Scratch) {
	n := b.before + r + m
	ld, rows := ceilDiv(n, panelWidth)*panelWidth, max(m, panelWidth)
	p, ds := grown(&s.scores, rows*ld), grown(&s.dscores, rows*ld)
	row, key := ld, 1 // from row to row and from key to key of both
	if b.lanes {
		row, key = 1, panelWidth
		b.inLanes(p, ds, r, m, s)
	} else {
		b.inSteps(p, ds, r, m, ld, s)
	}
	for _, g := range [...]struct {
		dst, weights, rows []float32
		stride             int
	}{{b.dk, ds, b.q[r*b.qd:], b.qd}, {b.dv, p, b.dout[r*b.d:], b.d}} {
		if b.lanes && m == panelWidth {
			b.addKeys(g.dst, g.weights, g.rows, g.stride, n)
			continue
		}
		(&product{c: g.dst, a: g.weights, b: g.rows, ldc: b.kd, ais: key, aks: row, ldb: g.stride, group: panelWidth,
			m: n, n: b.headDim, k: m, add: true}).run(s)
	}
}

// inSteps sets p and ds, [m][ld], and the block's dq, one operation after the other.
func (b *headGrad) inSteps(p, ds []float32, r, m, ld int, s *Scratch) {
	n := b.before + r + m
	(&product{c: p, a: b.q[r*b.qd:], b: b.kT, ldc: ld, ais: b.qd, aks: 1, ldb: b.ld, group: panelWidth,
		m: m, n: n, k: b.headDim, unfused: b.num.Reduction.Unfused}).run(s)
	(&product{c: ds, a: b.dout[r*b.d:], b: b.vT, ldc: ld, ais: b.d, aks: 1, ldb: b.ld, group: panelWidth,
		m: m, n: n, k: b.headDim}).run(s)
	scaleScores(p[:m*ld], b.scale, &b.num)
	for i := range m {
		seen := b.before + r + i + 1
		row := p[i*ld:][:n]
		expAffine(row[:seen], row[:seen], 1, b.lse[(r+i)*b.heads])
		if b.kept.Bits != nil {
			b.kept.drop(row[:seen], r+i, b.keyHead)
		}
		clear(row[seen:])
		clear(ds[i*ld+seen:][:n-seen])
	}
	sums := grown(&s.rows, m)
	clear(sums)
	dotChain.add(sums, p, ds, p, ld, m, n)
	for i, sum := range sums {
		seen := b.before + r + i + 1
		softmaxInput(ds[i*ld:][:seen], p[i*ld:], sum, b.scale)
	}
	(&product{c: b.dq[r*b.qd:], a: ds, b: b.k, ldc: b.qd, ais: ld, aks: 1, ldb: b.kd, group: panelWidth,
		m: m, n: b.headDim, k: n}).run(s)
}

// softmaxInput turns dp into p·(dp-sum)·scale in place.
func softmaxInput(dp, p []float32, sum, scale float32) {
	p = p[:len(dp)]
	if softmaxInputVector(dp, p, sum, scale) {
		return
	}
	for i, g := range dp {
		dp[i] = float32(p[i]*(g-sum)) * scale
	}
}
