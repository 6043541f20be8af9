package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// Fix is what a correction would do to these very tokens. Nothing is trained: the
// figures are of weights and masks, not of what comes of them.
type Fix struct {
	// Name is the method's or the preset's, Kind is its kind: weights, mask or preset.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Recipe is the correction section of a recipe.
	Recipe string `json:"recipe"`
	// NotTried says which column is missing; then there are no figures.
	NotTried string `json:"not_tried,omitempty"`
	*Effect  `json:",omitempty"`
	// Masked says which tokens are masked, nil if none is; Placebo drops as many tokens at random.
	Masked  *Masked `json:"masked,omitempty"`
	Placebo *Effect `json:"placebo,omitempty"`
}

// Ratio is an importance ratio that corrects exactly: of a token, or of a sequence.
type Ratio string

// The ratios.
const (
	TokenRatio    Ratio = "token"
	SequenceRatio Ratio = "product"
)

// Effect is what weights w do in place of the ratios, which correct exactly, and of
// ones, which correct nothing.
type Effect struct {
	// TokensChanged is the share of tokens whose w is off 1 by more than 1 %,
	// ResponsesChanged that of responses with such a token.
	TokensChanged    float64 `json:"tokens_changed"`
	ResponsesChanged float64 `json:"responses_changed"`
	// WeightRemoved is Σ max(1−w, 0)/n, WeightAdded Σ max(w−1, 0)/n.
	WeightRemoved float64 `json:"weight_removed"`
	WeightAdded   float64 `json:"weight_added"`
	// ESSToken is (Σw)²/(nΣw²) over tokens, verl's where a response's weight is repeated on
	// them; ESSSequence over responses, with the mean of its tokens' for each.
	ESSToken    float64 `json:"ess_token"`
	ESSSequence float64 `json:"ess_sequence"`
	// Ratio is what the weights are compared with: of a rule on tokens the token's ratio ρ, of a rule on
	// sequences the product of ρ over the response. Distance is mean |w − that ratio|.
	Ratio    Ratio   `json:"ratio"`
	Distance float64 `json:"distance"`
	// BiasGradient is |mean(wA) − mean(ratio·A)| in deviations of A, Variance mean(w²A²)/mean(A²): both
	// null where no advantage is recorded, or all are 0.
	BiasGradient *float64 `json:"bias_gradient"`
	Variance     *float64 `json:"variance"`
	// The intervals are of 90 %, by a bootstrap of responses.
	TokensChangedInterval [2]float64 `json:"tokens_changed_interval"`
	DistanceInterval      [2]float64 `json:"distance_interval"`
}

// fixes tries every registered weighting and mask at its defaults, and every preset.
func (t *trial) fixes() []Fix {
	if t.batch.Tokens() == 0 {
		return nil
	}
	list := stats.Map(correction.Weightings, func(e method.Entry[correction.Weighting]) Fix {
		return t.try(e.Name, "weights", &correction.Pipeline{Weights: e.New()}, e.Needs)
	})
	for _, e := range correction.Masks {
		if e.Name != "random_mask" { // the placebo of each
			list = append(list, t.try(e.Name, "mask", &correction.Pipeline{Masks: []correction.Masking{e.New()}}, e.Needs))
		}
	}
	return append(list, stats.Map(correction.Presets, func(p correction.Preset) Fix { return t.try(p.Name, "preset", p.New(), nil) })...)
}

// trial is a sample as a batch that corrections are tried on.
type trial struct {
	batch *batch.Batch
	// rho are the ratios of the tokens, product those of their responses.
	rho, product []float64
	// graded says that advantages are recorded, spread is their deviation.
	graded bool
	spread float64
	// updated says that log-probs of the training forward are recorded.
	updated bool
	groups  grouping
	draws   [][]int // responses, draw by draw
}

const (
	bootstraps = 200
	// changedBy is how far off 1 a weight is that changes anything.
	changedBy = 0.01
)

func newTrial(rows []*kept) *trial {
	// One expert of one layer, and a vocabulary of one: routes and distributions that were not recorded are then missing.
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}, Layers: 1, TopK: 1, Vocab: 1}}
	t := &trial{batch: b, graded: len(rows) > 0, updated: len(rows) > 0}
	for _, k := range rows {
		b.LogpRoll, b.Old.Logp = append(b.LogpRoll, k.roll...), append(b.Old.Logp, k.old...)
		now := k.now
		if now == nil {
			now = k.old
		}
		b.Now.Logp = append(b.Now.Logp, now...)
		b.Advantage = append(b.Advantage, k.advantage...)
		t.graded, t.updated = t.graded && k.advantage != nil, t.updated && k.now != nil
		b.Turn = append(b.Turn, k.turn...)
		b.Token, b.Version = append(b.Token, k.id...), append(b.Version, k.behind...)
		group := k.group
		if k.prompted {
			b.PromptID = append(b.PromptID, int64(k.prompt))
			if group == reader.Unknown { // the responses to one prompt are its group
				group = int(k.prompt)
			}
		}
		if group != reader.Unknown {
			b.Group = append(b.Group, group)
		}
		if !math.IsNaN(k.reward) {
			b.Reward = append(b.Reward, k.reward)
		}
		if !math.IsNaN(k.acc) {
			b.Correct = append(b.Correct, k.acc > 0.5)
		}
		if k.finish != "" {
			b.Finished = append(b.Finished, k.finish != "length")
		}
		b.Ref.Logp, b.Now.Entropy = append(b.Ref.Logp, k.ref...), append(b.Now.Entropy, k.entropy...)
		b.Offsets = append(b.Offsets, len(b.LogpRoll))
		sum := 0.0
		for i, roll := range k.roll {
			sum += k.old[i] - roll
			t.rho = append(t.rho, ratioOf(k.old[i]-roll))
		}
		t.product = append(t.product, slices.Repeat([]float64{ratioOf(sum)}, len(k.roll))...)
	}
	for n, behind := range b.Version { // those of several steps have one learner here
		b.Version[n] = -behind
	}
	whole := batch.Columns{batch.Turn, batch.Token, batch.Version, batch.PromptID, batch.Group, batch.Reward, batch.Correct, batch.Finished, batch.LogpRef, batch.Entropy}
	b.Forget(slices.DeleteFunc(whole, func(c batch.Column) bool { return b.Require(c) == nil })...) // what some responses lack
	b.Anchor = b.Old.Logp
	b.Mask = slices.Repeat([]bool{true}, len(b.LogpRoll))
	if !t.graded {
		b.Advantage = nil
	}
	t.spread = momentsOf(b.Advantage).deviation
	t.groups = grouped(rows)
	r := rand.New(rand.NewPCG(5, 16))
	for range bootstraps {
		draw := make([]int, len(rows))
		for i := range draw {
			draw[i] = r.IntN(len(rows))
		}
		t.draws = append(t.draws, draw)
	}
	return t
}

// ratioOf is exp of a log-ratio, bounded as corrections bound it.
func ratioOf(logRatio float64) float64 {
	return elementary.Exp(max(-overflow, min(overflow, logRatio)))
}

// judgedBy is the ratio that a correction is to be compared with: that of its weights, or
// of its masks if all of them are on sequences.
func judgedBy(p *correction.Pipeline) Ratio {
	weights, masks := p.Rules()
	if weights != nil {
		masks = []correction.Rule{*weights}
	}
	onTokens := func(r correction.Rule) bool { return r.Unit != method.Sequence }
	if len(masks) == 0 || slices.ContainsFunc(masks, onTokens) {
		return TokenRatio
	}
	return SequenceRatio
}

// try applies a correction, and the placebo where it masks anything. Where the dump
// has no log-probs of the training forward, those before the update stand for them: OPSM then
// misses what the update itself moved.
func (t *trial) try(name, kind string, p *correction.Pipeline, needs batch.Columns) Fix {
	f := Fix{Name: name, Kind: kind, Recipe: p.Recipe()}
	w, err := t.weights(p)
	if need := t.batch.Require(needs...); need != nil {
		err = need
	}
	if err != nil {
		f.NotTried = notEvaluable(err)
		return f
	}
	t.measure(&f, w, judgedBy(p))
	return f
}

// measure fills in what weights do, and a random mask that drops as many.
func (t *trial) measure(f *Fix, w []float64, by Ratio) {
	f.Effect = t.effect(w, by)
	if f.Masked = t.masked(w); f.Masked != nil {
		if w, err := t.weights(weighted(nil, &correction.RandomMask{Rate: f.Masked.Tokens})); err == nil {
			f.Placebo = t.effect(w, by)
		}
	}
}

// weights are what the loss of every token would be multiplied by, 0 where it is masked.
func (t *trial) weights(p *correction.Pipeline) ([]float64, error) {
	b := *t.batch // its columns of the correction are the trial's own
	for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if err := p.Apply(&b, stage); err != nil {
			return nil, err
		}
	}
	w := make([]float64, b.Tokens())
	for n := range w {
		switch {
		case !b.LossMask[n] || b.Gate != nil && !b.Gate[n]:
		case b.Weight != nil:
			w[n] = b.Weight[n]
		default:
			w[n] = 1
		}
	}
	return w, nil
}

func (t *trial) effect(w []float64, by Ratio) *Effect {
	exact := t.rho
	if by == SequenceRatio {
		exact = t.product
	}
	type sums struct{ n, changed, off float64 }
	rows := make([]sums, t.batch.Len())
	var all sums
	e := &Effect{Ratio: by}
	var weights, squares, means, meanSquares, biased, unbiased, weighed, plain float64
	for i := range rows {
		s, sum := &rows[i], 0.0
		from, to := t.batch.Span(i)
		for n := from; n < to; n++ {
			s.changed += float64(count1(math.Abs(w[n]-1) > changedBy))
			s.off += math.Abs(w[n] - exact[n])
			e.WeightRemoved, e.WeightAdded = e.WeightRemoved+max(1-w[n], 0), e.WeightAdded+max(w[n]-1, 0)
			sum += w[n]
			weights, squares = weights+w[n], squares+float64(w[n]*w[n])
			if t.graded {
				a := t.batch.Advantage[n]
				wa := float64(w[n] * a)
				biased, unbiased = biased+wa, unbiased+float64(exact[n]*a)
				weighed, plain = weighed+float64(wa*wa), plain+float64(a*a)
			}
		}
		s.n = float64(to - from)
		sum /= max(s.n, 1)
		means, meanSquares = means+sum, meanSquares+float64(sum*sum)
		all = sums{all.n + s.n, all.changed + s.changed, all.off + s.off}
		e.ResponsesChanged += min(s.changed, 1) / float64(len(rows))
	}
	e.TokensChanged, e.Distance, e.WeightRemoved, e.WeightAdded = all.changed/all.n, all.off/all.n, e.WeightRemoved/all.n, e.WeightAdded/all.n
	e.ESSToken, e.ESSSequence = effective(weights, squares, all.n), effective(means, meanSquares, float64(len(rows)))
	if plain > 0 && t.spread > 0 {
		e.BiasGradient, e.Variance = new(math.Abs(biased-unbiased)/all.n/t.spread), new(weighed/plain)
	}
	var changed, off []float64
	for _, draw := range t.draws {
		var s sums
		for _, i := range draw {
			s = sums{s.n + rows[i].n, s.changed + rows[i].changed, s.off + rows[i].off}
		}
		changed, off = append(changed, s.changed/s.n), append(off, s.off/s.n)
	}
	e.TokensChangedInterval, e.DistanceInterval = ninety(changed), ninety(off)
	return e
}

// effective is (Σw)²/(nΣw²), 0 of weights that are all 0.
func effective(w, ww, n float64) float64 {
	if ww == 0 {
		return 0
	}
	return w / n * w / ww
}

func ninety(draws []float64) [2]float64 {
	slices.Sort(draws)
	return [2]float64{quantile(draws, 0.05), quantile(draws, 0.95)}
}

// Masked is whose tokens a correction drops. Shares are of the group's own tokens.
type Masked struct {
	// Tokens is the share of all, Responses that of responses without a token left.
	Tokens    float64 `json:"tokens"`
	Responses float64 `json:"responses"`
	// Length is by quartile of the responses' lengths, the shortest first; Probability by
	// decile of the rollout engine's probability, the least first.
	Length      []float64 `json:"length"`
	Probability []float64 `json:"probability"`
	// Negative and Positive are by the sign of the advantage, null if there is none.
	Negative *float64 `json:"negative"`
	Positive *float64 `json:"positive"`
	// Turn is by turn, a run of trained tokens between others, where a response has several;
	// the last counts all later ones.
	Turn []float64 `json:"turn,omitempty"`
	// Env is by environment, where there are several.
	Env []EnvShare `json:"env,omitempty"`
}

// EnvShare is the share of an environment.
type EnvShare struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// The groups that tokens are counted in.
const quartiles, deciles, turns = 4, 10, 8

// grouping says which group a response or a token belongs to.
type grouping struct {
	length, env []int // by response
	terciles    []int // by response, of the lengths
	probability []int // by token
	turn        []int // by token, all 0 where no response has two
	turns       int
	envs        []string
}

// otherEnvs are those beyond the first mostEnvs.
const otherEnvs = "all others"

func grouped(rows []*kept) (g grouping) {
	lengths := make([]float64, len(rows))
	var probable []float64
	for i, k := range rows {
		lengths[i] = float64(len(k.roll))
		probable = append(probable, k.roll...)
		name := k.env
		if len(g.envs) >= mostEnvs && !slices.Contains(g.envs, name) {
			name = otherEnvs
		}
		env := slices.Index(g.envs, name)
		if env < 0 {
			env, g.envs = len(g.envs), append(g.envs, name)
		}
		g.env = append(g.env, env)
		for _, turn := range k.turn {
			g.turn = append(g.turn, min(int(turn), turns-1))
			g.turns = max(g.turns, g.turn[len(g.turn)-1]+1)
		}
	}
	g.length, g.terciles, g.probability = ranked(lengths, quartiles), ranked(lengths, lengthParts), ranked(probable, deciles)
	return g
}

// ranked cuts values into parts of equally many, the least first.
func ranked(x []float64, parts int) []int {
	part := make([]int, len(x))
	for rank, i := range stats.Order(x) {
		part[i] = rank * parts / len(x)
	}
	return part
}

// masked counts tokens of weight 0, nil if there are none.
func (t *trial) masked(w []float64) *Masked {
	// by counts in parts of the tokens; of says which part token n of response i is in, -1 for none.
	by := func(parts int, of func(i, n int) int) []float64 {
		counts := make([]tokenCount, parts)
		for i := range t.batch.Len() {
			from, to := t.batch.Span(i)
			for n := from; n < to; n++ {
				if part := of(i, n); part >= 0 {
					counts[part].add(w[n] == 0)
				}
			}
		}
		return stats.Map(counts, func(c tokenCount) float64 { return c.share() })
	}
	g := t.groups
	m := &Masked{Tokens: by(1, func(int, int) int { return 0 })[0]}
	if m.Tokens == 0 {
		return nil
	}
	gone := 0
	for i := range t.batch.Len() {
		from, to := t.batch.Span(i)
		gone += count1(!slices.ContainsFunc(w[from:to], func(x float64) bool { return x != 0 }))
	}
	m.Responses = share(gone, t.batch.Len())
	m.Length = by(quartiles, func(i, _ int) int { return g.length[i] })
	m.Probability = by(deciles, func(_, n int) int { return g.probability[n] })
	if g.turns > 1 {
		m.Turn = by(g.turns, func(_, n int) int { return g.turn[n] })
	}
	if len(g.envs) > 1 {
		for env, x := range by(len(g.envs), func(i, _ int) int { return g.env[i] }) {
			m.Env = append(m.Env, EnvShare{g.envs[env], x})
		}
	}
	signed := func(sign float64) *float64 {
		of := func(a float64) bool { return float64(sign*a) > 0 }
		if !t.graded || !slices.ContainsFunc(t.batch.Advantage, of) {
			return nil
		}
		return &by(1, func(_, n int) int { return count1(of(t.batch.Advantage[n])) - 1 })[0]
	}
	m.Negative, m.Positive = signed(-1), signed(1)
	return m
}

type tokenCount struct{ all, off int }

func (c *tokenCount) add(off bool) {
	c.all++
	c.off += count1(off)
}

func (c tokenCount) share() float64 { return share(c.off, c.all) }

// Evaluation is what the configured loss and correction make of the tokens. The weight of a token is its gradient
// divided by the one that the same loss has where all policies agree: there every ratio is 1, and the
// loss is an uncorrected policy gradient with an aggregation of its own.
type Evaluation struct {
	Loss string `json:"loss"`
	// Mean and Median are of the tokens' weights, or of the responses' where PerResponse says that each has one for all of its tokens; ESS is
	// (Σw)²/(nΣw²) over tokens.
	PerResponse bool    `json:"per_response"`
	Mean        float64 `json:"mean_weight"`
	Median      float64 `json:"median_weight"`
	ESS         float64 `json:"ess"`
	// Masked is the share of tokens that a mask leaves out, Clipped that of others without a gradient.
	Masked  float64 `json:"masked"`
	Clipped float64 `json:"clipped"`
	// Low and High are the least and the greatest weight above 0 with the share of the tokens, or of the responses, that have it, if several do: a bound.
	Low  *Bound `json:"low_bound,omitempty"`
	High *Bound `json:"high_bound,omitempty"`
	// Update is Σ w|g| / Σ |g| with the gradient g of the uncorrected loss: what is left of the update.
	Update float64 `json:"update"`
	// Length has the thirds of the responses by length, the shortest first.
	Length []LengthPart `json:"by_length"`
	// BothSigns says that no advantage is recorded, or all are 0: every token was tried with 1 and with -1, as those of
	// advantage 0 always are.
	BothSigns bool `json:"both_signs"`
	// Missing names what could not be evaluated, and the column that the dump lacks.
	Missing []string `json:"missing"`
}

// LengthPart is a third of the responses by length.
type LengthPart struct {
	// From and To are the least and the greatest number of tokens.
	From    int     `json:"from"`
	To      int     `json:"to"`
	Mean    float64 `json:"mean_weight"`
	Median  float64 `json:"median_weight"`
	Masked  float64 `json:"masked"`
	Clipped float64 `json:"clipped"`

	weights                 []float64
	tokens, masked, clipped int
}

// Bound is a weight that several tokens have because a rule ends there.
type Bound struct {
	Weight float64 `json:"weight"`
	Share  float64 `json:"share"`
}

// lengthParts is how many parts the responses are in by length: short, middle and long.
const lengthParts = 3

// notEvaluable is why something could not be evaluated: the column that the dump lacks.
func notEvaluable(err error) string {
	var missing *batch.MissingColumn
	if !errors.As(err, &missing) {
		return err.Error()
	}
	return "the dump has no " + cmp.Or(texts.Columns[missing.Column.String()], missing.Column.String())
}

// evaluable is a pipeline without the rules that need a column which the dump lacks; missing names these rules. Rejected
// tokens stay in the denominators, so that a weight is not that of a smaller batch.
func (t *trial) evaluable(r recipe.Recipe) (p *correction.Pipeline, missing []string) {
	p = r.Correction.Pipeline()
	p.Mode = r.Mode()
	p.Denominator = correction.Pre
	try := func(one *correction.Pipeline) bool {
		one.Clamp, one.Mode = p.Clamp, p.Mode
		_, err := t.weights(one)
		if err != nil {
			weights, masks := one.Rules()
			if weights != nil {
				masks = append(masks, *weights)
			}
			missing = append(missing, masks[0].Name+": "+notEvaluable(err))
		}
		return err == nil
	}
	if p.Weights != nil && !try(weighted(p.Weights)) {
		p.Weights, p.BatchNormalize = nil, false
	}
	p.Masks = slices.DeleteFunc(p.Masks, func(m correction.Masking) bool { return !try(weighted(nil, m)) })
	p.WeightsAfter = min(p.WeightsAfter, len(p.Masks))
	return p, missing
}

// evaluate runs the loss and the correction of a recipe on the tokens. Every token has a weight, 1
// where the loss has no gradient to weigh.
func (t *trial) evaluate(r recipe.Recipe) (*Evaluation, []float64, error) {
	e := &Evaluation{Loss: r.Loss.Name, Missing: []string{}}
	p, missing := t.evaluable(r)
	e.Missing = append(e.Missing, missing...)
	recorded, signs := t.batch.Advantage, []float64{1}
	switch {
	case !t.graded || !slices.ContainsFunc(recorded, func(a float64) bool { return a != 0 }):
		e.BothSigns, recorded, signs = true, make([]float64, t.batch.Tokens()), []float64{1, -1}
	case slices.Contains(recorded, 0):
		signs = []float64{1, -1}
	}
	policy := r.Loss.New
	if _, err := t.attempt(policy, &correction.Pipeline{Mode: p.Mode}, recorded, 1); err != nil {
		e.Missing = append(e.Missing, fmt.Sprintf("loss %s: %s", r.Loss.Name, notEvaluable(err)))
		policy = func() loss.Loss { return method.New[loss.Reinforce]() }
	} else if !t.updated && r.Learner.Updates() > 1 && r.LossReads(batch.Anchor) {
		e.Missing = append(e.Missing, fmt.Sprintf("the clip of the later updates of loss %s: the dump has no log-probs of the training forward", r.Loss.Name))
	}
	var attempts []*attempt
	for _, sign := range signs {
		x, err := t.attempt(policy, p, recorded, sign)
		if err != nil {
			return nil, nil, err
		}
		attempts = append(attempts, x)
	}
	weights := make([]float64, t.batch.Tokens())
	for n := range weights {
		for _, x := range attempts {
			weights[n] += x.weight[n] / float64(len(attempts))
		}
		if math.IsNaN(weights[n]) {
			weights[n] = 1
		}
	}
	if !e.BothSigns && len(attempts) == 2 { // a token of advantage 0 has the mean of both, and is masked if it is in both
		for n, other := range attempts[1].masked {
			if recorded[n] == 0 {
				attempts[0].weight[n], attempts[0].masked[n], attempts[0].gradient[n] = weights[n], attempts[0].masked[n] && other, 0
			}
		}
		attempts = attempts[:1]
	}
	weighting, _ := p.Rules()
	e.PerResponse = weighting != nil && weighting.Unit == method.Sequence || r.Loss.Spec().Unit == method.Sequence
	t.summarise(e, attempts)
	return e, weights, nil
}

// attempt are the tokens' weights, NaN where the loss has no gradient to weigh, which of them a mask leaves out, and the size of
// the gradient where all policies agree.
type attempt struct {
	weight, gradient []float64
	masked           []bool
}

// attempt runs a loss and a correction once, with a sign in the place of advantages of 0.
func (t *trial) attempt(policy func() loss.Loss, p *correction.Pipeline, advantage []float64, sign float64) (*attempt, error) {
	signed := slices.Clone(advantage)
	for n, a := range signed {
		if a == 0 {
			signed[n] = sign
		}
	}
	plain, _, err := t.gradient(policy(), &correction.Pipeline{}, signed, true)
	if err != nil {
		return nil, err
	}
	actual, off, err := t.gradient(policy(), p, signed, false)
	if err != nil {
		return nil, err
	}
	x, some := &attempt{weight: actual, gradient: plain, masked: off}, false
	for n, g := range plain {
		x.weight[n], x.gradient[n] = actual[n]/g, math.Abs(g)
		if some = some || g != 0; g == 0 || math.IsInf(x.weight[n], 0) {
			x.weight[n] = math.NaN()
		}
	}
	if !some {
		return nil, errors.New("it has no gradient on these responses where all policies agree")
	}
	return x, nil
}

func (t *trial) summarise(e *Evaluation, attempts []*attempt) {
	parts := make([]LengthPart, lengthParts)
	total := LengthPart{}
	var acting []float64 // of tokens, or responses, with an advantage
	var n, sum, squares, kept, whole float64
	for _, x := range attempts {
		for i := range t.batch.Len() {
			from, to := t.batch.Span(i)
			part := &parts[t.groups.terciles[i]]
			if part.From == 0 || to-from < part.From {
				part.From = to - from
			}
			part.To = max(part.To, to-from)
			mean, count, size := 0.0, 0, 0.0
			for at := from; at < to; at++ {
				w := x.weight[at]
				if math.IsNaN(w) {
					continue
				}
				mean, count = mean+w, count+1
				for _, to := range []*LengthPart{&total, part} {
					to.count(w, x.masked[at])
					if !e.PerResponse {
						to.weights = append(to.weights, w)
					}
				}
				n, sum, squares = n+1, sum+w, squares+float64(w*w)
				if size += x.gradient[at]; !e.PerResponse && x.gradient[at] > 0 {
					acting = append(acting, w)
				}
				kept, whole = kept+float64(w*x.gradient[at]), whole+x.gradient[at]
			}
			if e.PerResponse && count > 0 {
				mean /= float64(count)
				total.weights, part.weights = append(total.weights, mean), append(part.weights, mean)
				if size > 0 {
					acting = append(acting, mean)
				}
			}
		}
	}
	e.Low, e.High = bounds(acting, len(attempts))
	total.close()
	e.Mean, e.Median, e.Masked, e.Clipped = total.Mean, total.Median, total.Masked, total.Clipped
	e.ESS, e.Update = effective(sum, squares, n), kept/max(whole, math.SmallestNonzeroFloat64)
	for i := range parts {
		if len(parts[i].weights) > 0 {
			parts[i].close()
			e.Length = append(e.Length, parts[i])
		}
	}
}

// bounds are those that weights have, nil where no two tokens, or responses, have one; each of them was tried as often as tries says.
func bounds(weights []float64, tries int) (low, high *Bound) {
	slices.Sort(weights)
	first, _ := slices.BinarySearch(weights, math.SmallestNonzeroFloat64)
	weights = weights[first:]
	if len(weights) == 0 || weights[len(weights)-1]-weights[0] <= rounding {
		return nil, nil
	}
	n, last := len(weights), len(weights)-1
	from, _ := slices.BinarySearch(weights, weights[0]+rounding)
	to, _ := slices.BinarySearch(weights, weights[last]-rounding)
	if from > tries {
		low = &Bound{weights[0], share(from, n)}
	}
	if n-to > tries {
		high = &Bound{weights[last], share(n-to, n)}
	}
	return low, high
}

// rounding is how much weights differ that are equal but for their last digits.
const rounding = 1e-9

func (p *LengthPart) count(w float64, masked bool) {
	p.tokens++
	switch {
	case masked:
		p.masked++
	case w == 0:
		p.clipped++
	}
}

func (p *LengthPart) close() {
	slices.Sort(p.weights)
	for _, w := range p.weights {
		p.Mean += w / float64(len(p.weights))
	}
	p.Median, p.Masked, p.Clipped = quantile(p.weights, 0.5)+0, share(p.masked, p.tokens), share(p.clipped, p.tokens)
	p.weights = nil
}

// gradient is d loss/d logp of every token after the correction, and which tokens a mask of the correction or of the loss
// leaves out. agree puts the log-probs of the training forward in the place of all others.
func (t *trial) gradient(l loss.Loss, p *correction.Pipeline, advantage []float64, agree bool) (dlogp []float64, off []bool, err error) {
	b := *t.batch
	b.Advantage = advantage
	if agree {
		b.LogpRoll, b.Old.Logp, b.Anchor, b.Behaviour.Logp = b.Now.Logp, b.Now.Logp, b.Now.Logp, b.Now.Logp
	}
	for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if err := p.Apply(&b, stage); err != nil {
			return nil, nil, err
		}
	}
	out := &loss.Grad{}
	if err := l.Eval(out, &b); err != nil {
		return nil, nil, err
	}
	off = make([]bool, b.Tokens())
	rejected := out.Rejected()
	for n := range off {
		off[n] = !b.LossMask[n] || b.Gate != nil && !b.Gate[n] || rejected != nil && rejected[n]
	}
	return out.DLogp, off, nil
}

// weighsByRollout reports whether the loss itself corrects the gap of the engines: its gradient depends on the rollout engine's
// log-probs, as they stand or in the place of the old policy's.
func weighsByRollout(r recipe.Recipe) bool {
	return r.LossReads(batch.LogpRoll) || r.Anchored() == recipe.AnchorRollout && r.LossReads(batch.Anchor)
}
