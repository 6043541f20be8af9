package column

import (
	"iter"
	"slices"
)

// Sampled is B responses as a rollout engine recorded them.
type Sampled struct {
	// Layers*TopK experts are visited by each token.
	Layers, TopK int
	// Vocab is the number of entries of a distribution.
	Vocab int
	// KVPlanes and KVWords give the shape of KVKept.
	KVPlanes, KVWords int
	// Offsets has length B+1; response i owns the entries Offsets[i]..Offsets[i+1].
	Offsets []int

	// Columns of length B, one entry per response.

	// Prompt holds the prompt tokens of each response; responses to one prompt may
	// share a slice.
	Prompt [][]int32
	// Group numbers the prompt groups: responses with the same number answer the
	// same prompt. Groups may have any sizes, and their responses stand anywhere.
	Group []int
	// PromptID names the prompt within the task.
	PromptID []int64
	// Finished is true where the response ended with the stop token, false where it was cut.
	Finished []bool
	// PromptRoutes are the experts that the prompt's tokens visited, all but the
	// last (whose entry belongs to the first response token), in the order of
	// RoutesRoll; PromptGates go with them.
	PromptRoutes [][]uint8
	PromptGates  [][]float32
	// PromptKept are the positions that the prompt's rows but the last attended to in a model
	// with sparse attention, in the order of KVKept; nil for any other.
	PromptKept [][]uint64
	// CachedTokens is the number of prompt tokens whose keys and values came from a
	// prefix cache that is shared over calls, and CachedVersion the number of updates
	// after the oldest weights that computed them, -1 where none came from there. nil
	// without such a cache.
	CachedTokens, CachedVersion []int32

	// Columns of length N, one entry per response token.

	// Token is the sampled token, or the environment's where Mask is false.
	Token []int32
	// Mask is true where the policy generated the token: false on padding and
	// tool output. There the engines record log-probs and entropies of 0, rows of
	// distributions that mean nothing, and the routes of the rows as of any; only
	// what Mask keeps counts in a loss, an advantage, a weight or a figure.
	Mask []bool
	// LogpRoll is mu: the log-prob of Token in the rollout engine, as it sampled (nats).
	LogpRoll []float64
	// DistRoll are the full next-token log-probs, rows of Vocab entries, recorded
	// when a method or a figure needs them.
	DistRoll []float32
	// Version is the number of updates that led to the weights that produced the token.
	Version []int32
	// Stale is true where the row before the token saw keys and values of older
	// weights than Version's: weights were loaded and the cache was kept. Where
	// Version rises without it, the row saw the prefix as the new weights compute it.
	Stale []bool
	// ActualVersion is the number of updates that led to the oldest tensor of those weights: less
	// than Version where a weight sync did not bring all tensors, or did not reach the worker.
	// nil unless it was asked for.
	ActualVersion []int32
	// Turn numbers the turns of a response from 0: what the policy writes up to a
	// call and what the tool replies are one turn.
	Turn []int32
	// KeptMass is the probability the sampling support kept (1 without top-p or top-k).
	KeptMass []float64
	// Support is the sampling support of each token: Support[n] sorted, nil for the whole vocabulary.
	Support [][]int32
	// RoutesRoll are the experts each token visited, [token][layer][rank], flat.
	// Entry n belongs to the forward pass that predicts Token n. GatesRoll are the
	// gates that weighed them, recorded where gates are replayed.
	RoutesRoll []uint8
	GatesRoll  []float32
	// KVKept has a bit for each position that was still in the rollout engine's
	// compressed KV cache when it predicted the token, [token][plane][word]:
	// position p of the sequence, prompt included, is bit p%64 of word p/64. There
	// are KVPlanes planes per token, one for all layers and key heads or one for
	// each, [layer][key head], of KVWords words. nil means a full cache. In a model with sparse
	// attention these are the positions that the index of each layer chose, a plane per layer.
	KVKept []uint64

	// Draft says what became of the place of each token in speculative decoding,
	// and Window numbers the verifier's passes of a response from 0, -1 for tokens
	// of tools; nil where nothing was drafted, and so the columns that follow. Version
	// is the verifier's.
	Draft  []DraftFlag
	Window []int32
	// DrafterVersion is the number of updates that led to the weights that drafted for
	// the place, -1 where nothing was drafted.
	DrafterVersion []int32
	// LogpVerifier is the log-prob of Token in the verifier, and LogpLaw under the
	// distribution by which verification emitted it: the same where verification is exact.
	LogpVerifier, LogpLaw []float64
	// DraftTV is the total variation of the drafter's distribution and the verifier's, and
	// LawTV that of the emitted token's distribution and the verifier's; 0 where
	// nothing was drafted. An engine that mixes another model's logits into its own
	// records LawTV alone: between the mixture and its own distribution.
	DraftTV, LawTV []float64
}

// DraftFlag says what became of one place of a response in speculative decoding.
type DraftFlag uint8

const (
	// Undrafted is a token that the verifier drew by itself.
	Undrafted DraftFlag = iota
	// Accepted is a drafted token that passed.
	Accepted
	// Replaced is the verifier's token in the place of a drafted one.
	Replaced
)

// sampled lists the columns of Sampled.
var sampled = []column[Sampled]{
	of(PerResponse, func(s *Sampled) *[][]int32 { return &s.Prompt }),
	of(PerResponse, func(s *Sampled) *[]int { return &s.Group }),
	of(PerResponse, func(s *Sampled) *[]int64 { return &s.PromptID }),
	of(PerResponse, func(s *Sampled) *[]bool { return &s.Finished }),
	of(PerResponse, func(s *Sampled) *[][]uint8 { return &s.PromptRoutes }),
	of(PerResponse, func(s *Sampled) *[][]float32 { return &s.PromptGates }),
	of(PerResponse, func(s *Sampled) *[][]uint64 { return &s.PromptKept }),
	of(PerResponse, func(s *Sampled) *[]int32 { return &s.CachedTokens }),
	of(PerResponse, func(s *Sampled) *[]int32 { return &s.CachedVersion }),
	of(PerToken, func(s *Sampled) *[]int32 { return &s.Token }),
	of(PerToken, func(s *Sampled) *[]bool { return &s.Mask }),
	of(PerToken, func(s *Sampled) *[]float64 { return &s.LogpRoll }),
	of(PerToken, func(s *Sampled) *[]int32 { return &s.Version }),
	of(PerToken, func(s *Sampled) *[]bool { return &s.Stale }),
	of(PerToken, func(s *Sampled) *[]int32 { return &s.ActualVersion }),
	of(PerToken, func(s *Sampled) *[]int32 { return &s.Turn }),
	of(PerToken, func(s *Sampled) *[]float64 { return &s.KeptMass }),
	of(PerToken, func(s *Sampled) *[][]int32 { return &s.Support }),
	of(PerEntry, func(s *Sampled) *[]float32 { return &s.DistRoll }),
	of(PerRoute, func(s *Sampled) *[]uint8 { return &s.RoutesRoll }),
	of(PerRoute, func(s *Sampled) *[]float32 { return &s.GatesRoll }),
	of(PerKVWord, func(s *Sampled) *[]uint64 { return &s.KVKept }),
	of(PerToken, func(s *Sampled) *[]DraftFlag { return &s.Draft }),
	of(PerToken, func(s *Sampled) *[]int32 { return &s.Window }),
	of(PerToken, func(s *Sampled) *[]int32 { return &s.DrafterVersion }),
	of(PerToken, func(s *Sampled) *[]float64 { return &s.LogpVerifier }),
	of(PerToken, func(s *Sampled) *[]float64 { return &s.LogpLaw }),
	of(PerToken, func(s *Sampled) *[]float64 { return &s.DraftTV }),
	of(PerToken, func(s *Sampled) *[]float64 { return &s.LawTV }),
}

// Len returns B, the number of responses.
func (s *Sampled) Len() int { return len(s.Offsets) - 1 }

// Tokens returns N, the number of response tokens.
func (s *Sampled) Tokens() int { return s.Offsets[len(s.Offsets)-1] }

// Span returns the half-open range of the entries of response i.
func (s *Sampled) Span(i int) (from, to int) { return s.Offsets[i], s.Offsets[i+1] }

// Where yields the entries of response i that a mask keeps, in order.
func (s *Sampled) Where(i int, mask []bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := s.Offsets[i]; n < s.Offsets[i+1]; n++ {
			if mask[n] && !yield(n) {
				return
			}
		}
	}
}

// shape takes the length of the wide columns' rows from another.
func (s *Sampled) shape(from *Sampled) {
	s.Layers, s.TopK, s.Vocab, s.KVPlanes, s.KVWords = from.Layers, from.TopK, from.Vocab, from.KVPlanes, from.KVWords
}

// Clear empties every column and keeps its memory: all then count as recorded.
func (s *Sampled) Clear() {
	for _, c := range sampled {
		c.clear(s)
	}
	s.Offsets = append(s.Offsets[:0], 0)
}

// Reserve makes room for one response of that many tokens in the columns that another has
// recorded, so that nothing grows with it, and takes the others away. It may empty them first.
func (s *Sampled) Reserve(like *Sampled, tokens int, empty bool) {
	for i := range sampled {
		sampled[i].reserve(s, like, s, tokens, empty)
	}
}

// Extend appends that many tokens of zeroes to the last response, in every recorded column.
func (s *Sampled) Extend(tokens int) {
	for _, c := range sampled {
		c.extend(s, s, tokens)
	}
	s.Offsets[len(s.Offsets)-1] += tokens
}

// Alike reports whether another has recorded the same columns.
func (s *Sampled) Alike(other *Sampled) bool {
	return !slices.ContainsFunc(sampled, func(c column[Sampled]) bool { return !c.alike(s, other) })
}

// Select copies the given responses, in the given order, into dst, with every
// column that has been recorded, and keeps dst's memory. Columns that have not
// been recorded are nil in dst. It panics on a row that is not there.
func (s *Sampled) Select(dst *Sampled, rows []int) {
	dst.shape(s)
	dst.Offsets = append(dst.Offsets[:0], 0)
	for _, i := range rows {
		from, to := s.Span(i)
		dst.Offsets = append(dst.Offsets, dst.Tokens()+to-from)
	}
	choose(sampled, dst, s, s, rows)
}

// Join puts batches one after another into dst, keeping its memory: every column
// that all of them have. Shapes are taken from the first.
func Join(dst *Sampled, parts []*Sampled) {
	dst.shape(parts[0])
	// A part without responses has recorded nothing, and lacks nothing.
	empty := func(s *Sampled) bool { return s.Len() == 0 }
	if slices.ContainsFunc(parts, empty) {
		parts = slices.DeleteFunc(slices.Clone(parts), empty)
	}
	for _, c := range sampled {
		c.join(dst, parts)
	}
	dst.Offsets = append(dst.Offsets[:0], 0)
	for _, part := range parts {
		for i := range part.Len() {
			from, to := part.Span(i)
			dst.Offsets = append(dst.Offsets, dst.Tokens()+to-from)
		}
	}
}

// Scored is what one policy says of the tokens of a Sampled, as a learner's
// forward pass found it.
type Scored struct {
	// Logp is the log-prob of each token (nats), [N].
	Logp []float64
	// Entropy is the entropy of each next-token distribution (nats), SumSquares the sum of
	// its squared probabilities, [N].
	Entropy, SumSquares []float64
	// Dist are the full next-token log-probs, N rows of Vocab entries.
	Dist []float32
	// Routes are the experts that the rows before the tokens visited, Gates what
	// weighed them, PromptRoutes and PromptGates those of the prompts' rows but the
	// last: as in Sampled.
	Routes       []uint8
	Gates        []float32
	PromptRoutes [][]uint8
	PromptGates  [][]float32
	// RouterLogp are log-probs of the routers' softmax over all experts, in the order of
	// Routes: of the experts that the rows visited, or in a gradient of those that the
	// earlier pass did.
	RouterLogp []float64
}

// scored lists the columns of Scored.
var scored = []column[Scored]{
	of(PerToken, func(s *Scored) *[]float64 { return &s.Logp }),
	of(PerToken, func(s *Scored) *[]float64 { return &s.Entropy }),
	of(PerToken, func(s *Scored) *[]float64 { return &s.SumSquares }),
	of(PerEntry, func(s *Scored) *[]float32 { return &s.Dist }),
	of(PerRoute, func(s *Scored) *[]uint8 { return &s.Routes }),
	of(PerRoute, func(s *Scored) *[]float32 { return &s.Gates }),
	of(PerRoute, func(s *Scored) *[]float64 { return &s.RouterLogp }),
	of(PerResponse, func(s *Scored) *[][]uint8 { return &s.PromptRoutes }),
	of(PerResponse, func(s *Scored) *[][]float32 { return &s.PromptGates }),
}

// Select copies what is recorded of the given responses of in, in the given
// order, into dst, as Sampled.Select does.
func (s *Scored) Select(dst *Scored, in *Sampled, rows []int) { choose(scored, dst, s, in, rows) }

// Grad is the result of an objective: its value, and its derivatives.
type Grad struct {
	// Loss is the value to be minimised.
	Loss float64
	// DLogp is d loss/d logp, length N; zero on tokens outside the mask.
	DLogp []float64
	// DLogits is the part of d loss/d logits that does not pass through the
	// sampled token's log-prob, N rows of Vocab entries; empty for most objectives.
	DLogits []float64
	// Metrics are the objective's figures.
	Metrics []Metric
}

// Metric is one named figure, under the name verl logs where verl has one.
type Metric struct {
	Name  string
	Value float64
}

// Reset clears the result for n tokens and keeps the memory.
func (g *Grad) Reset(n int) {
	g.Loss = 0
	g.DLogp = Zeroed(g.DLogp, n)
	g.DLogits = g.DLogits[:0]
	g.Metrics = g.Metrics[:0]
}

// NeedLogits makes DLogits a zeroed matrix of n rows of vocab entries, or
// keeps it if it has been filled before.
func (g *Grad) NeedLogits(n, vocab int) {
	if len(g.DLogits) == 0 {
		g.DLogits = Zeroed(g.DLogits, n*vocab)
	}
}
