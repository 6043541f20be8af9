package column

// Scored is what one policy says of the tokens of a Sampled, as a learner's
// forward pass found it.
type Scored struct {
	// Logp is the log-prob of each token (nats), [N].
	Logp []float64
	// Entropy is that of each next-token distribution (nats), SumSquares the sum of
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
}

// scored lists the columns of Scored.
var scored = []column[Scored]{
	of(PerToken, func(s *Scored) *[]float64 { return &s.Logp }),
	of(PerToken, func(s *Scored) *[]float64 { return &s.Entropy }),
	of(PerToken, func(s *Scored) *[]float64 { return &s.SumSquares }),
	of(PerEntry, func(s *Scored) *[]float32 { return &s.Dist }),
	of(PerRoute, func(s *Scored) *[]uint8 { return &s.Routes }),
	of(PerRoute, func(s *Scored) *[]float32 { return &s.Gates }),
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
