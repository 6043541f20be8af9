package rollout

import "driftlab/engine"

// Follow draws the next tokens of the pack that step has laid out: it implements
// engine.Follower. Each worker of the pass draws for its own sequences as soon as
// it has their logits: a response's random stream is its own, so who draws, and
// when, changes nothing.
func (l *lane) Follow(worker, from, to, target int) {
	e, m := l.engine, &l.samplers[worker]
	s, vocab, perRow := &e.sampling, e.config.Vocab, e.config.Layers*e.config.TopK
	end := target
	for end < len(l.targets) && int(l.targets[end]) < l.pack.Offsets[to] {
		end++
	}
	logits, visited := l.pass.Logits()[target*vocab:end*vocab], visits{routes: l.pass.Routes()}
	m.block.next, m.block.rows = 0, 0
	if s.Gates {
		visited.gates = l.pass.Gates()
	}
	if e.indexed {
		visited.kept, visited.words = l.pass.Choices(), e.config.Layers*engine.RetentionWords(e.config.Context)
	}
	for n := from; n < to; n++ {
		slot := l.ids[n]
		k := e.slots[slot].response
		first, rows := l.pack.Offsets[n], l.pack.Offsets[n+1]-l.pack.Offsets[n]
		if drafts := len(e.drafted(slot)); drafts > 0 {
			k.reads(rows-drafts-1, visited.from(first, perRow), perRow)
			l.verify(m, slot, logits, visited.from(first+rows-drafts-1, perRow))
			logits = logits[(drafts+1)*vocab:]
			continue
		}
		k.reads(rows, visited.from(first, perRow), perRow)
		if k.length < k.known() {
			continue
		}
		row, shift := e.fused(m, slot, logits[:vocab])
		if e.speculates || e.asks {
			m.prepare(row, vocab, s.Temperature)
		} else {
			m.prepare(logits, vocab, s.Temperature)
		}
		d := m.drawOrRead(row, *s, k)
		logits = logits[vocab:]
		e.undrafted(m, k, d)
		if e.partner != nil {
			k.LawTV = append(k.LawTV, shift)
		}
		k.add(d, visited.row(first+rows-1, perRow), m.logp)
		e.finish(m, k, d.token)
	}
}

// finish completes a response that ends with its newest token, or lets its
// environment answer.
func (e *Engine) finish(m *sampler, r *response, token int32) {
	if e.ended(r, token) || !e.answer(m, r) {
		r.Finished[0], r.done = token == e.sampling.Stop, true
	}
}
