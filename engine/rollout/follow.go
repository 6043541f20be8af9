package rollout

// follower draws the next tokens. Each worker of the pass draws for its own
// sequences as soon as it has their logits: a response's random stream is its
// own, so who draws, and when, changes nothing.
type follower struct {
	engine   *Engine
	sampling Sampling
	samplers []sampler // by worker
}

// Follow implements engine.Follower for the pack that step has laid out.
func (f *follower) Follow(worker, from, to, target int) {
	e, m := f.engine, &f.samplers[worker]
	vocab, perRow := e.config.Vocab, e.config.Layers*e.config.TopK
	logits, visited := e.pass.Logits()[target*vocab:], visits{routes: e.pass.Routes()}
	if f.sampling.Gates {
		visited.gates = e.pass.Gates()
	}
	for n := from; n < to; n++ {
		k := &e.slots[e.ids[n]]
		first, end := e.pack.Offsets[n], e.pack.Offsets[n+1]
		if e.drafted(e.ids[n]) > 0 {
			f.verify(m, n, logits, visited)
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
		d := m.drawOrRead(logits[:vocab], f.sampling, k, e.out.length[k.request])
		logits = logits[vocab:]
		e.undrafted(m, e.ids[n], d, f.sampling)
		e.out.add(k.request, d, visited.rows(end-1, end, perRow), m.logp, e.weights.Version)
		if e.ended(k, d.token, f.sampling) || !e.answer(m, k, f.sampling) {
			e.out.finished[k.request] = d.token == f.sampling.Stop
			k.done = true
		}
	}
}
