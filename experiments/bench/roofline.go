package bench

import "driftlab/engine/kernel"

// roofline finds out how fast the kernel's large product is on several threads at
// once. Other programs slow that down as they do a step, but not in the same
// moments: so it is measured before every step, and the best counts.
type roofline struct {
	team  *kernel.Team
	large products // on all threads
	small products // on one
	// peak is of multiply-adds that read no more than a few cache lines, on one.
	peak    float64
	clock   Clock
	scratch kernel.Scratch
}

// measure tries once more.
func (r *roofline) measure() {
	for range 8 {
		r.team.Run(len(r.large), r.large)
		r.small.Part(0)
		start := r.clock()
		n := kernel.MultiplyAdds(1<<25/(24*32*256), &r.scratch)
		r.peak = max(r.peak, 2*float64(n)/(r.clock()-start).Seconds()/1e9)
	}
}

// products are one product for each of several threads, a kernel.Job.
type products []product

// product is a thread's, and the best it came to, in GFLOP/s.
type product struct {
	dst, x        []float32
	rows, in, out int
	weight        kernel.Weight
	scratch       kernel.Scratch
	clock         Clock
	best          float64
}

func newProducts(threads, rows, in, out int, clock Clock) products {
	list := make(products, threads)
	for i := range list {
		p := &list[i]
		p.rows, p.in, p.out, p.clock = rows, in, out, clock
		p.dst, p.x = make([]float32, rows*out), make([]float32, rows*in)
		p.weight.Pack(make([]float32, out*in), out, in, nil)
	}
	return list
}

// Part makes a thread's product for some tenths of a millisecond.
func (list products) Part(i int) {
	p := &list[i]
	work := p.rows * p.in * p.out
	times := max(1, 1<<25/work)
	start := p.clock()
	for range times {
		kernel.Linear(p.dst, p.x, nil, &p.weight, p.rows, kernel.Numerics{}, &p.scratch)
	}
	p.best = max(p.best, 2*float64(times*work)/(p.clock()-start).Seconds()/1e9)
}

// best is what all threads come to together.
func (list products) best() (gflops float64) {
	for i := range list {
		gflops += list[i].best
	}
	return gflops
}
