package engine

// span is a share of a pass: consecutive sequences, their rows, and the
// targets among them.
type span struct {
	rowFrom, rowTo, seqFrom, seqTo, targetFrom, targetTo int
}

// blockRows is about how many rows go through all layers together when nothing
// is saved: their activations then stay in the second-level cache. Rows never
// mix, so it changes no bit.
const blockRows = 256

// forward takes a worker's rows through the whole pass, a block of sequences at
// a time. Saved activations are wanted as a whole, and a cache is read by every
// row anyway: those passes are one block.
func (p *Pass) forward(k *worker, part int) {
	whole := k.span
	for k.seqTo = whole.seqFrom; k.seqTo < whole.seqTo; {
		p.nextBlock(k, &whole)
		p.embedForward(k)
		for l := range p.config.Layers {
			p.attentionForward(k, l)
			p.expertsForward(k, part, l)
		}
		p.headForward(k)
	}
	k.span = whole
	if f := p.options.Follow; f != nil && whole.seqFrom < whole.seqTo {
		f.Follow(part, whole.seqFrom, whole.seqTo, whole.targetFrom)
	}
}

// nextBlock moves the worker's span to the sequences after it: as many as fill
// a block, and one at least.
func (p *Pass) nextBlock(k *worker, whole *span) {
	if p.options.Save || p.options.Cache != nil {
		k.span = *whole
		return
	}
	if k.seqTo == whole.seqFrom {
		k.rowTo, k.targetTo = whole.rowFrom, whole.targetFrom
	}
	k.seqFrom, k.rowFrom, k.targetFrom = k.seqTo, k.rowTo, k.targetTo
	for k.seqTo < whole.seqTo && (k.seqTo == k.seqFrom || p.pack.Offsets[k.seqTo+1]-k.rowFrom <= blockRows) {
		k.seqTo++
	}
	k.rowTo = p.pack.Offsets[k.seqTo]
	if p.pack.Targets == nil {
		k.targetTo = k.rowTo
		return
	}
	for k.targetTo < whole.targetTo && int(p.pack.Targets[k.targetTo]) < k.rowTo {
		k.targetTo++
	}
}
