package rollout

import (
	"slices"

	"driftlab/engine/column"
	"driftlab/model"
)

// recording collects what is known of each token while responses grow side by
// side, in rows of maxTokens entries per request, and packs it at the end.
type recording struct {
	maxTokens, perRow, vocab int

	length   []int
	finished []bool
	token    []int32
	logp     []float64
	kept     []float64
	ids      [][]int32 // the supports of each request's tokens, end to end
	support  []span    // of each token, in its request's ids
	version  []int32
	mask     []bool
	turn     []int32
	routes   []uint8
	dist     []float32
	prompts  [][]uint8 // routes of each prompt's rows but the last
	gates    []float32 // like routes, and promptGates like prompts; empty unless asked for

	promptGates [][]float32
	seen        []uint64 // positions each token saw in a compressed cache
	drafts      drafts
}

// span is a run of a slice; an empty one means that there was no truncation.
type span struct{ from, to int }

// begin makes room for n responses.
func (r *recording) begin(c model.Config, n int, s Sampling) {
	r.maxTokens, r.perRow, r.vocab = s.MaxTokens, c.Layers*c.TopK, c.Vocab
	size := n * s.MaxTokens
	r.length, r.finished = resized(r.length, n), resized(r.finished, n)
	clear(r.length)
	clear(r.finished)
	r.token, r.logp, r.kept = resized(r.token, size), resized(r.logp, size), resized(r.kept, size)
	r.version, r.mask, r.turn = resized(r.version, size), resized(r.mask, size), resized(r.turn, size)
	r.support = resized(r.support, size)
	r.routes = resized(r.routes, size*r.perRow)
	r.dist, r.gates = r.dist[:0], r.gates[:0]
	if s.Gates {
		r.gates = resized(r.gates, size*r.perRow)
	}
	if s.Distributions {
		r.dist = resized(r.dist, size*c.Vocab)
	}
	for len(r.prompts) < n {
		r.prompts, r.promptGates, r.ids = append(r.prompts, nil), append(r.promptGates, nil), append(r.ids, nil)
	}
	for i := range r.prompts {
		r.prompts[i], r.promptGates[i], r.ids[i] = r.prompts[i][:0], r.promptGates[i][:0], r.ids[i][:0]
	}
}

// promptRoutes appends the routes of rows that read the prompt, all but its
// last, which belongs to the first response token, and their gates.
func (r *recording) promptRoutes(request int, v visits) {
	r.prompts[request] = append(r.prompts[request], v.routes...)
	r.promptGates[request] = append(r.promptGates[request], v.gates...)
}

// visits are the experts that rows visited, [row][layer][rank], and their gates
// if those are recorded.
type visits struct {
	routes []uint8
	gates  []float32
}

// rows are the visits of a range of rows of perRow entries.
func (v visits) rows(from, to, perRow int) visits {
	out := visits{routes: v.routes[from*perRow : to*perRow]}
	if v.gates != nil {
		out.gates = v.gates[from*perRow : to*perRow]
	}
	return out
}

// shareRoutes gives a request what was recorded of the first rows of another.
func (r *recording) shareRoutes(request, from, rows int) {
	v := visits{routes: r.prompts[from]}
	if len(r.gates) > 0 {
		v.gates = r.promptGates[from]
	}
	r.promptRoutes(request, v.rows(0, rows, r.perRow))
}

// add appends a token to a response.
func (r *recording) add(request int, d drawn, v visits, logp []float32, version int) {
	at := request*r.maxTokens + r.length[request]
	r.mask[at], r.turn[at] = true, 0
	if r.length[request] > 0 {
		r.turn[at] = r.turn[at-1]
		if !r.mask[at-1] {
			r.turn[at]++ // a turn begins behind a reply
		}
	}
	r.length[request]++
	r.token[at], r.logp[at], r.kept[at], r.version[at] = d.token, d.logp, d.kept, int32(version)
	ids := r.ids[request]
	r.support[at] = span{len(ids), len(ids) + len(d.support)}
	r.ids[request] = append(ids, d.support...)
	r.visit(at, v)
	if len(r.dist) > 0 {
		copy(r.dist[at*r.vocab:], logp)
	}
}

// visit keeps the visits of the rows before the tokens from place at on.
func (r *recording) visit(at int, v visits) {
	copy(r.routes[at*r.perRow:], v.routes)
	if v.gates != nil {
		copy(r.gates[at*r.perRow:], v.gates)
	}
}

// store packs the responses, in order, into a batch, in the memory the batch
// has. Supports and prompt routes, slices of slices that a selection from the
// batch shares, are new memory, one piece each.
func (r *recording) store(b *column.Sampled, requests []Request, c model.Config, s Sampling) {
	b.Layers, b.TopK, b.Vocab = c.Layers, c.TopK, c.Vocab
	b.Offsets = append(b.Offsets[:0], 0)
	b.Prompt, b.Group, b.PromptID, b.Finished = b.Prompt[:0], b.Group[:0], b.PromptID[:0], b.Finished[:0]
	b.Token, b.LogpRoll, b.KeptMass, b.Version = b.Token[:0], b.LogpRoll[:0], b.KeptMass[:0], b.Version[:0]
	b.Support, b.RoutesRoll, b.DistRoll = b.Support[:0], b.RoutesRoll[:0], b.DistRoll[:0]
	b.Mask, b.Turn = b.Mask[:0], b.Turn[:0]
	b.PromptRoutes = b.PromptRoutes[:0]
	ids, routes := slices.Concat(r.ids[:len(requests)]...), slices.Concat(r.prompts[:len(requests)]...)
	for i := range requests {
		from := i * r.maxTokens
		to := from + r.length[i]
		b.Offsets = append(b.Offsets, b.Offsets[i]+r.length[i])
		b.Prompt = append(b.Prompt, requests[i].Prompt)
		b.Group, b.PromptID = append(b.Group, requests[i].Group), append(b.PromptID, requests[i].PromptID)
		n, kept := len(r.prompts[i]), len(r.ids[i])
		b.PromptRoutes = append(b.PromptRoutes, routes[:n:n])
		routes = routes[n:]
		b.Finished = append(b.Finished, r.finished[i])
		b.Token = append(b.Token, r.token[from:to]...)
		b.LogpRoll = append(b.LogpRoll, r.logp[from:to]...)
		b.KeptMass = append(b.KeptMass, r.kept[from:to]...)
		b.Version = append(b.Version, r.version[from:to]...)
		b.Mask, b.Turn = append(b.Mask, r.mask[from:to]...), append(b.Turn, r.turn[from:to]...)
		b.RoutesRoll = append(b.RoutesRoll, r.routes[from*r.perRow:to*r.perRow]...)
		if s.Distributions {
			b.DistRoll = append(b.DistRoll, r.dist[from*r.vocab:to*r.vocab]...)
		}
		for _, at := range r.support[from:to] {
			if at.from == at.to {
				b.Support = append(b.Support, nil)
			} else {
				b.Support = append(b.Support, ids[at.from:at.to:at.to])
			}
		}
		ids = ids[kept:]
	}
	if !s.Distributions {
		b.DistRoll = nil
	}
	r.storeGates(b, len(requests), s)
}

// storeGates packs the gates, or sets the columns to nil.
func (r *recording) storeGates(b *column.Sampled, requests int, s Sampling) {
	if !s.Gates {
		b.GatesRoll, b.PromptGates = nil, nil
		return
	}
	b.GatesRoll, b.PromptGates = b.GatesRoll[:0], b.PromptGates[:0]
	prompts := slices.Concat(r.promptGates[:requests]...)
	for i := range requests {
		from := i * r.maxTokens
		b.GatesRoll = append(b.GatesRoll, r.gates[from*r.perRow:(from+r.length[i])*r.perRow]...)
		n := len(r.promptGates[i])
		b.PromptGates = append(b.PromptGates, prompts[:n:n])
		prompts = prompts[n:]
	}
}
