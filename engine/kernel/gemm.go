package kernel

// panelWidth is the number of columns in one group of the right operand: one
// AVX-512 register, two of AVX2, four of NEON.
const panelWidth = 16

// depth is how many k a tile walks before the next tile has its turn: the part of B, two
// groups wide, fills two thirds of the first-level cache and stays there. The chain goes
// on from C.
var depth = max(64, firstLevelCache*2/3/(2*panelWidth*4)/64*64)

// blockColumns is how many columns are multiplied before the next have their turn: what
// the first rows bring of B the others find near, and what was summed of C too.
const blockColumns = 8 * panelWidth

// product describes C[m,n] (+)= A[m,k]·B[k,n], the one shape to which every
// matmul here comes down. Strides count elements.
//
//	A(i,k) = a[i*ais + k*aks]
//	B(k,j) = b[(j/16)*group + k*ldb + j%16]
//	C(i,j) = c[i*ldc + j]
//
// A row-major B has group 16; packed panels have ldb 16 and group 16*k. With a
// band, row i multiplies a B of its own that begins i*band later: a batch of
// products of one row each.
type product struct {
	c        []float32
	a        []float32
	b        []float32
	ldc      int
	ais, aks int
	ldb      int
	group    int
	band     int
	tall     int // rows of A that stand side by side in panels of a copy; 0: A is none
	panel    int // from panel to panel
	m, n, k  int
	add      bool // the chains continue from C instead of +0
	unfused  bool // products are rounded before they are added
}

// run computes every element as one chain over k in increasing order.
func (p *product) run(s *Scratch) {
	if p.m == 0 || p.n == 0 {
		return
	}
	p.check()
	if p.k == 0 {
		if !p.add {
			for i := range p.m {
				clear(p.c[i*p.ldc:][:p.n])
			}
		}
		return
	}
	s = s.orNew()
	if !p.runVector(CurrentPath(), s) {
		p.runGo(s)
	}
}

// check touches the last element of each operand, so that a shape bug is a
// panic here and not a stray access in assembly.
func (p *product) check() {
	_ = p.c[(p.m-1)*p.ldc+p.n-1]
	if p.k > 0 {
		_ = p.a[(p.m-1)*p.ais+(p.k-1)*p.aks]
		_ = p.b[(p.m-1)*p.band+(p.n-1)/panelWidth*p.group+(p.k-1)*p.ldb+(p.n-1)%panelWidth]
	}
}

// nearRow is how many elements apart rows may lie for a walk of the whole depth without
// being spread.
const nearRow = 128

// spread reports whether k rows, ld elements apart, lie so far apart that a large product
// reads them faster from a copy.
func spread(k, ld int) bool { return k*ld > depth*nearRow }
