package learner

import (
	"cmp"
	"slices"

	"driftlab/engine/column"
)

// layout says where in the pack a batch stands.
type layout struct {
	apart   bool        // every response has its prompt to itself
	prompt  []int       // the row of the first token of each response's prompt
	first   []int       // the row that predicts the first token of each response
	family  []int       // the first response that shares each one's prompt
	size    []int       // of the family that begins with a response
	prefix  []int       // and its prefix in the pack, -1 for none
	current map[int]int // by group: the family to which the next response may belong
}

// layOut packs prompts and responses end to end. The row that reads the token
// before a response token predicts it; the last response token predicts
// nothing and is left out. A prompt that several responses share, but for its
// last token, stands once, as a prefix.
func (s *Scorer) layOut(b *column.Sampled, r replay) {
	b.Vocab = cmp.Or(b.Vocab, s.config.Vocab)
	if b.Layers == 0 {
		b.Layers, b.TopK = s.config.Layers, s.config.TopK
	}
	s.pack.Reset()
	if s.targets == nil {
		s.targets = []int32{} // to a pack, nil would mean every row
	}
	s.targets = s.targets[:0]
	l, n := &s.layout, b.Len()
	l.prompt, l.first, l.prefix = column.Resized(l.prompt, n), column.Resized(l.first, n), column.Resized(l.prefix, n)
	s.families(b, r)
	for i := range n {
		l.prefix[i] = -1
		if prompt := b.Prompt[i]; l.size[i] > 1 && len(prompt) > 1 {
			l.prompt[i] = s.pack.Rows()
			l.prefix[i] = s.pack.AddPrefix(prompt[:len(prompt)-1])
		}
	}
	for i := range n {
		from, to := b.Span(i)
		prompt, tokens := b.Prompt[i], b.Token[from:max(to-1, from)]
		if prefix := l.prefix[l.family[i]]; prefix >= 0 {
			l.prompt[i], l.first[i] = l.prompt[l.family[i]], s.pack.Rows()
			s.pack.AddAfter(prefix, prompt[len(prompt)-1:], tokens)
		} else {
			l.prompt[i], l.first[i] = s.pack.Rows(), s.pack.Rows()+len(prompt)-1
			s.pack.Add(0, prompt, tokens)
		}
		for t := range to - from {
			s.targets = append(s.targets, int32(l.first[i]+t))
		}
	}
	s.pack.Targets = s.targets
}

// families finds the responses that share a prompt: those of a group, wherever
// they stand, whose prompts' rows are the same numbers. They are where the prompts
// are equal, and what of their routes and gates is to be replayed; except that
//
//   - numerics that do not decode as they score give a row other bits in other
//     company;
//   - the load-balancing loss of a warm start counts rows one by one;
//   - linear attention has a state of its own for each sequence, and sparse attention a choice
//     of its own for each row.
//
// Nothing else that a recipe can say comes between: scales are per row, or per
// engine; retention gives up no position while a prompt is read; what a tool
// writes and what is masked belongs to the response; no expert has a capacity. The
// noise of a Perturbation is drawn by row, so that responses share that of rows they share.
func (s *Scorer) families(b *column.Sampled, r replay) {
	l, n := &s.layout, b.Len()
	l.family, l.size = column.Resized(l.family, n), column.Resized(l.size, n)
	shares := !l.apart && len(b.Group) == n && s.weights.Numerics.DecodesAsScored()
	if l.current == nil {
		l.current = map[int]int{}
	}
	clear(l.current)
	for i := range n {
		l.family[i], l.size[i] = i, 1
		if !shares {
			continue
		}
		first, begun := l.current[b.Group[i]]
		if begun && slices.Equal(b.Prompt[i], b.Prompt[first]) && r.samePrompt(i, first) {
			l.family[i] = first
			l.size[first]++
		} else {
			l.current[b.Group[i]] = i
		}
	}
}
