package engine

import (
	"iter"
	"runtime"
	"slices"

	"driftlab/engine/kernel"
	"driftlab/model"
)

// span is a share of a pass: consecutive sequences, their rows, and the targets among them.
type span struct {
	rowFrom, rowTo, seqFrom, seqTo, targetFrom, targetTo int
}

// sequence is one of a block, with its rows there.
type sequence struct{ number, from, to int }

// sequences yields the sequences of a worker's block that have rows.
func (p *Pass) sequences(k *worker) iter.Seq[sequence] {
	return func(yield func(sequence) bool) {
		for s := k.seqFrom; s < k.seqTo; s++ {
			from, to := p.pack.Offsets[s]-k.rowFrom, p.pack.Offsets[s+1]-k.rowFrom
			if from < to && !yield(sequence{s, from, to}) {
				return
			}
		}
	}
}

// blockRows is about how many rows of a model go through all layers together. A few leave the activations in the second-level cache, and
// more blocks idle in the backward pass. But every block reads the weights again, and the backward pass reads and writes their gradients:
// where these are many times as large as the cache, more rows cost less. Rows never mix, so it changes no bit.
func blockRows(c *model.Config) int {
	if bytes := 4 * c.Params(); bytes > 16*kernel.SecondLevelCache() {
		return 1024
	}
	return 256
}

// mostShared bounds the rows of prefixes that the sequences of a block go on from,
// one by one: the backward pass keeps a gradient of each.
const mostShared = 4096

// cutPart cuts the sequences from where b begins up to the given ones, and returns
// where the next block begins. A pass that reads a cache is as many blocks as there
// are workers, so that a worker meets the same part of the cache again.
func (p *Pass) cutPart(b span, sequences, rows int) (next span) {
	workers, most := len(p.workers), len(p.workers)*p.blockRows
	count := len(p.blocks) + workers
	if p.options.Cache == nil {
		count = len(p.blocks) + workers*max(1, (rows-b.rowFrom+most-1)/most)
	}
	shared := 0
	for sequence := b.seqFrom; sequence < sequences; sequence++ {
		b.seqTo, b.rowTo = sequence+1, p.pack.Offsets[sequence+1]
		from, to := p.pack.before(sequence)
		shared += to - from
		// A block ends where the next sequence would lead past its share of
		// the rows that are left.
		left := max(count-len(p.blocks), 1)
		goal := b.rowFrom + (rows-b.rowFrom+left-1)/left
		if sequence+1 < sequences && p.pack.Offsets[sequence+2] <= goal && shared < mostShared {
			continue
		}
		p.blocks = append(p.blocks, p.withTargets(b))
		b = span{seqFrom: b.seqTo, rowFrom: b.rowTo, targetFrom: p.blocks[len(p.blocks)-1].targetTo}
		shared = 0
	}
	return b
}

// withTargets ends a block's targets where its rows end.
func (p *Pass) withTargets(b span) span {
	if p.pack.Targets == nil {
		b.targetTo = b.rowTo
		return b
	}
	for b.targetTo = b.targetFrom; b.targetTo < p.targets && int(p.pack.Targets[b.targetTo]) < b.rowTo; {
		b.targetTo++
	}
	return b
}

// largest returns the rows of the largest block and the positions of the longest sequence. The rows of a block
// vary with the lengths of responses, up to blockRows: buffers of that size serve every later pass, too.
func (p *Pass) largest() (rows, longest int) {
	for _, b := range p.blocks {
		rows = max(rows, b.rowTo-b.rowFrom)
	}
	if p.options.Cache == nil && rows > p.blockRows/4 {
		rows = max(rows, p.blockRows)
	}
	for s := range p.pack.Sequences() {
		from, to := p.pack.before(s)
		longest = max(longest, to-from+p.pack.Offsets[s+1]-p.pack.Offsets[s])
	}
	return rows, longest
}

// through takes the blocks from first up to end through the whole queue.
func (p *Pass) through(first, end int) {
	if first < end {
		p.first, p.end = first, end
		p.next.Store(int64(first + len(p.workers)))
		p.run.start(false)
	}
}

// forward takes blocks through the whole queue: the worker's own first, then
// those that no worker has begun.
func (p *Pass) forward(k *worker, part int) {
	for i := p.first + part; i < p.end; i = int(p.next.Add(1)) - 1 {
		k.span, k.index = p.blocks[i], i
		for _, c := range p.queue {
			p.stage(k, c.run, c.layer)
		}
		if f := p.options.Follow; f != nil {
			f.Follow(part, k.seqFrom, k.seqTo, k.targetFrom)
		}
	}
}

// stage does a half of a call to a worker's block, unless there is none or the block is empty.
func (p *Pass) stage(k *worker, half func(p *Pass, k *worker, layer int), layer int) {
	if half != nil && k.rowFrom < k.rowTo {
		half(p, k, layer)
	}
}

// backward takes blocks back through the whole queue, those of prefixes last: their keys
// and values are parameters of the sequences that go on from them.
func (p *Pass) backward() {
	p.back.turns = slices.Grow(p.back.turns[:0], len(p.queue))[:len(p.queue)]
	p.back.broken.Store(false)
	p.backThrough(p.prefixBlocks, len(p.blocks))
	p.backThrough(0, p.prefixBlocks)
}

// idle reports whether a block adds nothing but zeros to any gradient, as one of responses whose advantages are zero:
// nothing comes back to it, which for a prefix is to say that nothing comes back at all.
func (p *Pass) idle(block int) bool {
	from, to := p.blocks[block].targetFrom, p.blocks[block].targetTo
	if block < p.prefixBlocks {
		from, to = 0, p.targets
	}
	dlogits := p.back.dlogits[from*p.config.Vocab : to*p.config.Vocab]
	return p.back.auxWeight == 0 && p.options.Perturb == nil && !slices.ContainsFunc(dlogits, func(g float32) bool { return g != 0 })
}

func (p *Pass) backThrough(first, end int) {
	if first == end {
		return
	}
	p.first, p.end = first, end
	for i := range p.back.turns {
		p.back.turns[i].Store(int64(first))
	}
	p.run.start(true)
}

// backwardBlocks takes a worker's blocks back through the whole queue, one after the other; those
// between them are the other workers'. Gradients inside the blocks are computed at the same
// time. To the gradients of a stage's parameters the blocks add in the order of the pack, so
// each is one sum over the rows in order. What a block adds is in the cache of its worker:
// only the gradients of the parameters go from core to core.
func (p *Pass) backwardBlocks(k *worker, part int) {
	complete := false
	defer func() {
		if !complete {
			p.back.broken.Store(true) // a panic: no worker waits for this block any more
		}
	}()
	for k.index = p.first + part; k.index < p.end; k.index += len(p.workers) {
		k.span = p.blocks[k.index]
		if p.idle(k.index) {
			k.span = span{} // of which no stage has anything to do
		}
		for i, c := range p.queue {
			p.stage(k, c.run, c.layer)
			for turn := &p.back.turns[i]; turn.Load() < int64(k.index); runtime.Gosched() {
				if p.back.broken.Load() {
					return
				}
			}
			p.stage(k, c.weights, c.layer)
			p.back.turns[i].Store(int64(k.index + 1))
		}
	}
	complete = true
}
