package kernel

import (
	"runtime"
	"sync/atomic"
)

// Job is work cut into numbered parts that may run in any order and at the
// same time. What a part computes must depend on its number alone, never on
// the worker or the moment: then no result depends on the number of workers.
type Job interface {
	// Part does part i.
	Part(i int)
}

// Team is a fixed set of workers. The goroutine that calls Run is one of them.
// One Run at a time.
//
// Between two tokens of a decode there are a few microseconds, and to wake a
// sleeping core takes longer than the work: so a worker that has nothing to do
// looks for the next job for a while before it sleeps, and so does Run before
// it sleeps waiting for the others.
type Team struct {
	workers int
	helpers []helper
	patience
	job     Job
	parts   int
	first   []atomic.Bool // part i, for i below the number of workers, is taken
	next    atomic.Int64  // first part after those in first that no worker has taken
	round   atomic.Uint64 // counts Runs; a helper starts when it changes
	pending atomic.Int64  // helpers that have not finished the round
	asleep  atomic.Uint64 // the round that Run waits for a word on finished in; 0 for none
	// finished wakes Run.
	finished chan struct{}
	failed   atomic.Pointer[failure]
	closed   bool
}

// helper is a worker in addition to the caller of Run.
type helper struct {
	patience
	asleep atomic.Uint64 // the round for which it waits for a word on wake; 0 for none
	wake   chan struct{}
	_      [64]byte // the next one's is another cache line
}

// failure is a panic that a worker caught.
type failure struct{ value any }

// patience is how often a worker looks for a change before it sleeps. Looking
// in vain, as where other programs need the cores, halves it.
type patience struct{ now, most int }

// mostSpins take one or two tenths of a millisecond: longer than what happens
// between two passes of a decode, and about what a sleeping core of a virtual
// machine needs to wake.
const (
	mostSpins  = 400000
	leastSpins = mostSpins / 4
)

// learn doubles the number of spins if spinning was of use, and halves it if not.
func (p *patience) learn(ofUse bool) {
	if ofUse {
		p.now = min(2*p.now, p.most)
	} else {
		p.now = max(p.now/2, min(leastSpins, p.most))
	}
}

// NewTeam starts workers-1 goroutines that wait for work; workers below 2 start
// none. Close ends them.
func NewTeam(workers int) *Team {
	workers = max(workers, 1)
	t := &Team{workers: workers, helpers: make([]helper, workers-1), first: make([]atomic.Bool, workers), finished: make(chan struct{}, 1)}
	if workers <= runtime.GOMAXPROCS(0) { // else the job may be waiting for the core that looks for it
		t.patience = patience{mostSpins, mostSpins}
	}
	for i := range t.helpers {
		t.helpers[i].patience, t.helpers[i].wake = t.patience, make(chan struct{}, 1)
		go t.serve(i)
	}
	return t
}

// Workers returns the number of workers, the caller of Run included.
func (t *Team) Workers() int { return t.workers }

// serve is the life of helper i: worker i+1.
func (t *Team) serve(i int) {
	h := &t.helpers[i]
	for round := uint64(1); ; round++ {
		for n := 0; n < h.now && t.round.Load() < round; n++ {
		}
		begun := t.round.Load() == round
		h.learn(begun)
		if !begun {
			h.asleep.Store(round)
			// Whoever clears the flag decides: Run, which then sends a word, or
			// this helper, when the round began in between. That it names the round
			// keeps one who was held up in the last from speaking in the next.
			if t.round.Load() < round || !h.asleep.CompareAndSwap(round, 0) {
				<-h.wake
			}
		}
		if t.job == nil {
			return // Close is the round without a job
		}
		t.work(i + 1)
		if t.pending.Add(-1) == 0 && t.asleep.CompareAndSwap(round, 0) {
			t.finished <- struct{}{}
		}
	}
}

func (t *Team) begin() {
	t.pending.Store(int64(len(t.helpers)))
	round := t.round.Add(1)
	for i := range t.helpers {
		if h := &t.helpers[i]; h.asleep.CompareAndSwap(round, 0) {
			h.wake <- struct{}{}
		}
	}
}

// Run does parts 0..parts-1 of job and returns when all are done. It does not
// allocate. Worker i begins with part i, so that what a part left in a core's
// cache is met there again. A panic in a part is raised again here after the
// others ended. A nil Team does the parts in order.
func (t *Team) Run(parts int, job Job) {
	if t == nil || t.workers == 1 || parts < 2 {
		for i := range parts {
			job.Part(i)
		}
		return
	}
	if t.closed {
		panic("kernel: Run on a closed Team")
	}
	t.job, t.parts = job, parts
	t.next.Store(int64(t.workers))
	for i := range t.first {
		t.first[i].Store(i >= parts)
	}
	t.begin()
	t.work(0)
	for n := 0; n < t.now && t.pending.Load() > 0; n++ {
	}
	done := t.pending.Load() == 0
	t.learn(done)
	if !done {
		round := t.round.Load()
		t.asleep.Store(round)
		if t.pending.Load() > 0 || !t.asleep.CompareAndSwap(round, 0) {
			<-t.finished
		}
	}
	if f := t.failed.Swap(nil); f != nil {
		panic(f.value)
	}
}

// work takes parts until none is left: worker i's own first, then those that
// another has not begun.
func (t *Team) work(i int) {
	defer func() {
		if v := recover(); v != nil {
			t.failed.CompareAndSwap(nil, &failure{v})
		}
	}()
	for n := range t.first {
		part := (i + n) % t.workers
		if t.first[part].CompareAndSwap(false, true) {
			t.job.Part(part)
		}
	}
	for {
		part := int(t.next.Add(1)) - 1
		if part >= t.parts {
			return
		}
		t.job.Part(part)
	}
}

// Close ends the workers. Run must not be called afterwards; Close may be.
func (t *Team) Close() {
	if t == nil || t.closed {
		return
	}
	t.closed, t.job = true, nil
	t.begin()
}

// Scratch holds the temporary buffers of the kernels. One worker owns it: it
// must not be used by two calls at the same time. The zero value is ready; it
// grows to the largest call and then allocates nothing. A kernel given a nil
// Scratch allocates its own.
type Scratch struct {
	parts     []float32   // partial sums of one tile, one plane per segment
	block     []float32   // partial sum of one scale block
	promoted  []float32   // sums of a narrow accumulator between promotions
	split     []float32   // attention: what each part of the keys has, before they are merged
	scores    []float32   // attention: scores or probabilities of a block of rows
	dscores   []float32   // attention: gradient with respect to the scores
	keys      []float32   // attention: keys transposed
	values    []float32   // attention: values transposed
	rows      []float32   // one value per row of a block
	delta     []float32   // delta rule: what a head needs
	chunk     deltaChunk  // delta rule: views of a chunk
	order     []int32     // positions by their scores
	attention attention   // of a call
	call      tileCall    // assembly: what a tile reads
	decode    decodeCall  // assembly: what the attention of one query reads
	prefill   prefillCall // assembly: what the attention of consecutive queries reads
	grad      gradCall    // assembly: what their gradient reads
	queries   []float32   // attention: queries transposed
	packedA   []float32   // product: columns of A that are its rows
	packedB   []float32   // product: rows of B as panels
	left      []leftTile  // plain product: rows as float64
	right     []rightTile // plain product: columns as float64
}

// grown returns buf with length n, in the same memory where that suffices. The
// contents are unspecified.
func grown[T any](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, n+n/4)
	}
	*buf = (*buf)[:n]
	return *buf
}

func (s *Scratch) orNew() *Scratch {
	if s == nil {
		return new(Scratch)
	}
	return s
}
