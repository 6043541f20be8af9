package rollout

// Follow draws the next tokens of the pack that step has laid out: it implements
// engine.Follower. Each worker of the pass draws for its own sequences as soon as
// it has their logits: a response's random stream is its own, so who draws, and
// when, changes nothing.
func (l *lane) Follow(worker, from, to, target int) {
	e, m := l.engine, &l.samplers[worker]
	vocab, perRow := e.config.Vocab, e.config.Layers*e.config.TopK
	logits, visited := l.pass.Logits()[target*vocab:], visits{routes: l.pass.Routes()}
	if l.sampling.Gates {
		visited.gates = l.pass.Gates()
	}
	for n := from; n < to; n++ {
		k := &e.slots[l.ids[n]]
		first, end := l.pack.Offsets[n], l.pack.Offsets[n+1]
		if e.drafted(l.ids[n]) > 0 {
			l.verify(m, n, logits, visited)
			logits = logits[(end-first)*vocab:]
			continue
		}
		if known := len(k.prompt) - 1 - k.length; known > 0 {
			e.out.promptRoutes(k.request, visited.rows(first, min(end, first+known), perRow))
		} else if known < 0 {
			read := e.out.length[k.request] + known // rows of a reply
			e.out.replyRoutes(k.request, -known, visited.rows(first, min(end, first+read), perRow))
		}
		k.length += end - first
		if k.length < e.known(k) {
			continue
		}
		d := m.drawOrRead(logits[:vocab], l.sampling, k, e.out.length[k.request])
		logits = logits[vocab:]
		e.undrafted(m, l.ids[n], d, l.sampling)
		e.out.add(k.request, d, visited.rows(end-1, end, perRow), m.logp, e.weights.Version)
		if e.ended(k, d.token, l.sampling) || !e.answer(m, k, l.sampling) {
			e.out.finished[k.request] = d.token == l.sampling.Stop
			k.done = true
		}
	}
}
