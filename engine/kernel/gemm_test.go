package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"driftlab/precision/must"
)

// productCase is a random product with odd strides and guards.
type productCase struct {
	p       product
	a, b, c *guarded
}

func randomProduct(rng *rand.Rand, m, n, k int, values func(*rand.Rand, int) []float32) productCase {
	p := product{m: m, n: n, k: k, ldc: n + rng.IntN(3), add: rng.IntN(2) == 0, unfused: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		p.ais, p.aks = k+rng.IntN(3), 1
	} else {
		p.ais, p.aks = 1, m+rng.IntN(3)
	}
	groups := ceilDiv(n, panelWidth)
	size := 0
	if rng.IntN(2) == 0 {
		p.ldb, p.group = panelWidth, panelWidth*k
		size = groups * panelWidth * k
	} else {
		p.ldb, p.group = n+rng.IntN(3), panelWidth
		size = (k-1)*p.ldb + n
	}
	c := productCase{p: p,
		a: guardedFrom("a", values(rng, max(0, (m-1)*p.ais+(k-1)*p.aks+1))),
		b: guardedFrom("b", values(rng, max(0, size))),
		c: guardedFrom("c", values(rng, (m-1)*p.ldc+n))}
	return c
}

// run computes the case and returns C with whatever lies between its rows.
func (c productCase) run(t *testing.T) []float32 {
	t.Helper()
	out := guardedFrom("c", c.c.x)
	p := c.p
	p.a, p.b, p.c = c.a.x, c.b.x, out.x
	p.run(new(Scratch))
	for _, g := range []*guarded{c.a, c.b, out} {
		g.intact(t)
	}
	return out.x
}

func TestProductPathsAgree(t *testing.T) {
	eachPath(t, func(t *testing.T) {
		rng := newRand(1)
		check := func(m, n, k int, values func(*rand.Rand, int) []float32) {
			t.Helper()
			c := randomProduct(rng, m, n, k, values)
			got := c.run(t)
			var want []float32
			inGo(func() { want = c.run(t) })
			sameBits(t, fmt.Sprintf("%dx%dx%d %+v", m, n, k, c.p), got, want)
		}
		for size := 1; size < 68; size++ {
			check(size, 1+rng.IntN(40), 1+rng.IntN(20), hostile)
			check(1+rng.IntN(20), size, 1+rng.IntN(20), hostile)
			check(1+rng.IntN(9), 1+rng.IntN(40), size, normals)
			check(1+rng.IntN(9), size, 0, normals)
		}
		check(3, 130, 9, normals)
		for range 9 { // of either layout of A and B: operands are copied where they are spread
			check(145, 300, depth+5, normals)
			check(265, 272, 150, normals)
		}
		check(9, 17, 2*depth+5, normals) // the chain goes on from one depth to the next
	})
}

// The first-level cache decides how many steps a tile walks at a time, and no bit.
func TestDepthChangesNoBit(t *testing.T) {
	own := depth
	defer func() { depth = own }()
	eachPath(t, func(t *testing.T) {
		rng := newRand(3)
		for range 4 {
			depth = own
			c := randomProduct(rng, 37, 290, 400, normals)
			want := c.run(t)
			for _, depth = range []int{64, 128, 256, 384} {
				sameBits(t, fmt.Sprintf("depth %d %+v", depth, c.p), c.run(t), want)
			}
		}
	})
}

// The twin itself against the definition, one element at a time.
func TestProductIsOneChain(t *testing.T) {
	setPath(t, PathGo)
	rng := newRand(2)
	for range 40 {
		c := randomProduct(rng, 1+rng.IntN(12), 1+rng.IntN(40), 1+rng.IntN(30), normals)
		got, p := c.run(t), c.p
		for i := range p.m {
			for j := range p.n {
				var acc float32
				if p.add {
					acc = c.c.x[i*p.ldc+j]
				}
				for k := range p.k {
					a, b := c.a.x[i*p.ais+k*p.aks], c.b.x[j/16*p.group+k*p.ldb+j%16]
					if p.unfused {
						acc += float32(a * b)
					} else {
						acc = slowFMA(a, b, acc)
					}
				}
				if got[i*p.ldc+j] != acc {
					t.Fatalf("%+v: (%d,%d) = %g, want %g", p, i, j, got[i*p.ldc+j], acc)
				}
			}
		}
	}
}

func TestProductShapeBugsPanic(t *testing.T) {
	p := product{c: make([]float32, 16), a: make([]float32, 3), b: make([]float32, 64), ldc: 16, ais: 4, aks: 1, ldb: 16, group: 64, m: 1, n: 16, k: 4}
	must.Panic(t, "a product past the end of its operand", func() { p.run(new(Scratch)) })
}
