//go:build (amd64 || arm64) && !purego

package kernel

//go:generate go run ./gen .

// tileCall is what a tile routine reads: tiles stacked tiles of one shape.
// Strides count bytes, next from a's rows of one tile to those of the next; tiles is used up.
type tileCall struct {
	c, a, b    *float32
	ldc        uintptr
	ais, aks   uintptr
	next       uintptr
	ldb, group uintptr
	k, tiles   uintptr
	add        uintptr
	ahead      uintptr // 1: the first tile asks for the next groups of B
	// mask covers the columns of the last group: a 16-bit mask for AVX-512,
	// sixteen lane masks for AVX2; NEON has none.
	mask *uint32
}

// highest is how many rows the highest tile of all has.
const highest = 8

// tileSet holds the addresses of routines by rows<<4 | groups of columns: fused, unfused.
type tileSet [highest<<4 + 9][2]uintptr

// tileSets has the sets of each instruction set, by kind.
var tileSets = tileTable()

const (
	fullTiles    = iota
	partialTiles // of a last group that is not full: masked on amd64, narrow on arm64
	bandedTiles
)

// run calls the routine of a shape; there must be one.
func (t *tileSet) run(call *tileCall, rows, groups int, unfused bool) {
	routine := t[rows<<4|groups][0]
	if unfused {
		routine = t[rows<<4|groups][1]
	}
	if routine == 0 {
		panic("kernel: no such tile")
	}
	callTile(call, routine)
}

// runVector computes the product with assembly tiles, if the path has them.
func (p *product) runVector(path Path, s *Scratch) bool {
	if path == PathGo {
		return false
	}
	call, columns, steps := &s.call, blockColumns, depth
	if p.ldb == 0 {
		steps = p.k // one row of B for all k
	}
	if p.packsA(min(depth, p.k)) {
		columns = p.n // a copy serves them all
	}
	q := *p
	for j := 0; j < p.n; j += columns {
		q.n, q.c = min(columns, p.n-j), p.c[j:]
		b := p.b[j/panelWidth*p.group:]
		for k := 0; k < p.k; k += steps {
			*call = tileCall{ldc: 4 * uintptr(p.ldc), ais: 4 * uintptr(p.ais), aks: 4 * uintptr(p.aks), ldb: 4 * uintptr(p.ldb),
				group: 4 * uintptr(p.group), k: uintptr(min(steps, p.k-k))}
			if p.add || k > 0 {
				call.add = 1
			}
			q.steps(call, p.a[k*p.aks:], b[k*p.ldb:], path, s)
		}
	}
	return true
}

// steps computes as many k as the call has, a and b being where they begin.
func (p *product) steps(call *tileCall, a, b []float32, path Path, s *Scratch) {
	if p.band != 0 {
		p.bands(call, a, b, path)
	} else if !p.packed(call, a, b, path, s) {
		p.tiles(call, a, b, path)
	}
}

// cover computes the groups from..to-1 of all rows: with the highest tiles of a set
// first, and of these with the widest.
func (p *product) cover(set *tileSet, call *tileCall, a, b []float32, from, to int) {
	ahead := uintptr(1) // what the first rows ask for the others find near
	for i, rows := 0, highest; i < p.m; rows-- {
		if rows > p.m-i || set[rows<<4|1][0] == 0 {
			continue
		}
		tiles := (p.m - i) / rows
		if rows == 6 && p.m%6 == 2 {
			tiles-- // eight rows are two tiles of 4, which fill the multipliers as 6 and 2 do not
		}
		at := p.rowAt(i)
		call.next = 4 * uintptr(p.rowAt(i+rows)-at)
		for g := from; g < to && tiles > 0; {
			width := set.widest(rows, to-g)
			call.c, call.a, call.b = &p.c[i*p.ldc+g*panelWidth], &a[at], &b[g*p.group]
			call.tiles, call.ahead = uintptr(tiles), ahead
			set.run(call, rows, width, p.unfused)
			g += width
		}
		if tiles > 0 {
			i, ahead = i+tiles*rows, 0
		}
	}
}

// widest is how many of the groups that are left the widest tile of that many rows takes.
func (t *tileSet) widest(rows, left int) int {
	width := 8
	for width > left || t[rows<<4|width][0] == 0 {
		width /= 2
	}
	return width
}

// runChains runs a chain routine over as many rows as fill a register, where the path
// can, then eight rows at a time, then four, then one. c is one row for all.
func runChains(k chainSet, sums, a, b, c []float32, stride, rows, n int) bool {
	if CurrentPath() == PathGo {
		return false
	}
	r := squareRows(k, sums, a, b, c, stride, rows, n)
	for ; r+8 <= rows; r += 8 {
		chains8(k, &sums[r], &a[r*stride], &b[r*stride], &c[0], stride, n)
	}
	for ; r+4 <= rows; r += 4 {
		chains4(k, &sums[r], &a[r*stride], &b[r*stride], &c[0], stride, n)
	}
	for ; r < rows; r++ {
		chains1(k, &sums[r], &a[r*stride], &b[r*stride], &c[0], stride, n)
	}
	return true
}

// softRowsVector runs softRows if the path has it.
func softRowsVector(scores, maxima []float32, ld, m, n, causal int, scale float32) bool {
	if CurrentPath() == PathGo || m == 0 || n == 0 {
		return false
	}
	_, _ = maxima[m-1], scores[(m-1)*ld+n+(m-1)*causal-1]
	vectorSoftRows(&scores[0], &maxima[0], ld, m, n, causal, scale)
	return true
}

// tailRowsVector runs tailRows for a whole block, if the path has it.
func tailRowsVector(out, probs, values []float32, ldo, ldp, ldv, m, n int) bool {
	if CurrentPath() == PathGo || m != attentionRows || n == 0 {
		return false
	}
	_, _, _ = out[(m-1)*ldo+n-1], probs[(m-1)*ldp+m-2], values[(m-2)*ldv+n-1]
	vectorTailRows(&out[0], &probs[0], &values[0], ldo, ldp, ldv, n)
	return true
}

// decodeCall is what a routine of decodeHeads reads. Strides count bytes: panelStride from panel
// to panel of keys, ld from head to head of scores, valueStride from key to key of values. Where
// exponentials are rounded, the others are unrounded bytes after them. nextKeys and nextValues
// are the keys and values of the next query.
type decodeCall struct {
	out, q, keys, values, scores, sums, maxima *float32
	n, headDim, panelStride, valueStride       uintptr
	ld, unrounded                              uintptr
	scale                                      float32
	nextKeys, nextValues                       *float32
}

// decode attends the heads of one query in one call for four of them, or for each where two or
// three share keys. It reports that it cannot if they have other numerics than the plain ones, or
// if so many share keys that they fill a tile.
func (a *attention) decode(out, scores, q, sums, maxima []float32, b *block, ld int) bool {
	perKey := b.m / b.keyHeads
	if CurrentPath() == PathGo || b.causal != 0 || !a.inCalls || perKey >= 4 {
		return false
	}
	unrounded := a.unrounded(len(scores))
	_, _, _ = out[b.m*a.headDim-1], q[b.m*a.headDim-1], scores[b.m*ld+unrounded-1]
	_, _ = a.keys[ld*a.width-1], a.values[b.n*a.width-1]
	next := a.next
	if len(next.Keys) < ld*a.width || len(next.Values) < a.width {
		next = KV{a.keys, a.values}
	}
	call := &a.s.decode
	call.n, call.headDim, call.scale = uintptr(b.n), uintptr(a.headDim), a.scale
	call.panelStride, call.valueStride = 4*panelWidth*uintptr(a.width), 4*uintptr(a.width)
	call.ld, call.unrounded = 4*uintptr(ld), 4*uintptr(unrounded)
	for h := 0; h < b.m; {
		key := h / perKey * a.headDim
		call.out, call.q = &out[h*a.headDim], &q[h*a.headDim]
		call.keys, call.values = &a.keys[key*panelWidth], &a.values[key]
		call.nextKeys, call.nextValues = &next.Keys[key*ld], &next.Values[key]
		call.scores, call.sums, call.maxima = &scores[h*ld], &sums[h], &maxima[h]
		if perKey == 1 && b.m-h >= 4 {
			decodeHeads4(call)
			h += 4
		} else {
			decodeHeads1(call)
			h++
		}
	}
	return true
}
