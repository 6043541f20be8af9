package advantage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// GAE is generalised advantage estimation, for a critic's values. The returns for the
// critic are the advantages before whitening, plus the values.
type GAE struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount.
	Gamma float64 `yaml:"gamma" default:"1" range:"[0,1]"`
	// Lam is lambda; 1 is verl's, 0.95 classical.
	Lam float64 `yaml:"lam" default:"1" range:"[0,1]"`
	// Alpha, if not 0, makes lambda grow with the length L of a response, 1 − 1/(alpha·L), in place of lam: 1.5 in SAO, 0.4 in BPCO.
	Alpha float64 `yaml:"alpha" range:"0=lam for all lengths|(0,inf]"`
	// ReturnLam is lambda of the returns that the critic is fitted to: 1 are Monte Carlo returns.
	ReturnLam float64 `yaml:"return_lam" range:"0=that of the advantages|(0,1]"`
	// Whiten centres and scales over all generated tokens.
	Whiten bool `yaml:"whiten" default:"true"`
	// Holes is carry (verl) or through (SkyRL, slime, ROLL).
	Holes Holes `yaml:"holes" default:"carry" oneof:"carry through"`
	// CountEps is added to the number of tokens in the whitening's mean: 1e-8 is
	// verl's and ROLL's, 0 SkyRL's and slime's.
	CountEps float64 `yaml:"count_eps" default:"1e-8" range:"[0,inf]"`
}

// Estimate fills b.Return and b.Advantage from TokenReward and Value.
func (e *GAE) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.TokenReward, batch.Value); err != nil {
		return err
	}
	b.Advantage, b.Return = batch.Zeroed(b.Advantage, b.Tokens()), batch.Zeroed(b.Return, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		lam := e.Lambda(masked.Count(b.Mask[from:to]))
		target := cmp.Or(e.ReturnLam, lam)
		running, forReturn, next := 0.0, 0.0, 0.0
		for n := to - 1; n >= from; n-- {
			if b.Mask[n] || e.Holes == Through {
				delta := b.TokenReward[n] + float64(e.Gamma*next) - b.Value[n]
				running, forReturn, next = delta+float64(e.Gamma*lam*running), delta+float64(e.Gamma*target*forReturn), b.Value[n]
			}
			b.Return[n] = forReturn + b.Value[n]
			if b.Mask[n] {
				b.Advantage[n] = running
			}
		}
	}
	if e.Whiten && masked.Count(b.Mask) > 1 {
		masked.WhitenWith(b.Advantage, b.Mask, e.CountEps)
	}
	e.apply(b)
	return nil
}

// Lambda is lambda of a response of that many tokens. Where alpha times them is below 1 it is negative, as in the source.
func (e *GAE) Lambda(tokens int) float64 {
	if e.Alpha == 0 || tokens == 0 {
		return e.Lam
	}
	return 1 - 1/float64(e.Alpha*float64(tokens))
}

// TurnLevel gives every turn of a response its own advantage: the reward from
// that turn on, relative to the same turn of the group, or to the value at its start.
//
// All generated tokens of a turn share its advantage. A turn that no other response
// has keeps R_k, with mean 0; with std: true a tie gets 0.
type TurnLevel struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount per turn.
	Gamma float64 `yaml:"gamma" default:"1" range:"[0,1]"`
	// Baseline is "group" or "value".
	Baseline string `yaml:"baseline" default:"group" oneof:"group value"`
	// Std divides by the standard deviation over the siblings.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to the standard deviation.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups groups
	turns  int
	// toCome is R_k, [response][turn]; NaN where the response has no such turn.
	toCome, value, column []float64
}

// Estimate fills b.Return and b.Advantage from TokenReward and Turn.
func (e *TurnLevel) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.TokenReward, batch.Turn); err != nil {
		return err
	}
	if e.Baseline == "value" {
		if err := b.Require(batch.Value); err != nil {
			return err
		}
	}
	if err := e.groups.find(b); err != nil {
		return err
	}
	if err := e.collect(b); err != nil {
		return err
	}
	for rows := range e.groups.All() {
		for k := range e.turns {
			e.turn(rows, k)
		}
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i := range b.Len() {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] = e.value[i*e.turns+int(b.Turn[n])]
		}
	}
	e.apply(b)
	return nil
}

// collect sums rewards per turn and from every turn on, and fills b.Return.
func (e *TurnLevel) collect(b *batch.Batch) error {
	e.turns = 0
	for n, k := range b.Turn {
		if k < 0 {
			return fmt.Errorf("advantage: token %d has turn %d", n, k)
		}
		e.turns = max(e.turns, int(k)+1)
	}
	size := b.Len() * e.turns
	e.toCome, e.value, b.Return = batch.Zeroed(e.toCome, size), batch.Zeroed(e.value, size), batch.Zeroed(b.Return, b.Tokens())
	e.column = batch.Zeroed(e.column, b.Len())
	for i := range b.Len() {
		from, to := b.Span(i)
		row, start := e.toCome[i*e.turns:(i+1)*e.turns], e.value[i*e.turns:(i+1)*e.turns]
		for k := range start {
			start[k] = math.NaN()
		}
		for n := from; n < to; n++ {
			k := b.Turn[n]
			row[k] += b.TokenReward[n]
			if b.Mask[n] && math.IsNaN(start[k]) {
				start[k] = 0
				if e.Baseline == "value" {
					start[k] = b.Value[n]
				}
			}
		}
		for k := e.turns - 2; k >= 0; k-- {
			row[k] += float64(e.Gamma * row[k+1])
		}
		for n := from; n < to; n++ {
			b.Return[n] = row[b.Turn[n]]
		}
	}
	return nil
}

// turn replaces e.value by the advantages of turn k for the responses of a group.
func (e *TurnLevel) turn(rows []int, k int) {
	have := e.column[:0]
	for _, i := range rows {
		if at := i*e.turns + k; !math.IsNaN(e.value[at]) {
			have = append(have, e.toCome[at])
		}
	}
	m, scale := centre(have), 1.0
	if e.Std && len(have) > 1 {
		scale = deviation(have) + e.Eps
	}
	tie := len(have) > 1 && constant(have)
	for _, i := range rows {
		at := i*e.turns + k
		switch {
		case math.IsNaN(e.value[at]):
		case e.Baseline == "value":
			e.value[at] = e.toCome[at] - e.value[at]
		case tie:
			e.value[at] = 0
		default:
			e.value[at] = (e.toCome[at] - m) / scale
		}
	}
}

// Process is a group estimator that preserves tokens: process rewards keep
// their place in the response, and outcome and process rewards are normalised
// separately, so that neither makes the other negligible.
//
// Kinds of outcome reward (OutcomeParts) are each normalised and summed; without
// any, the outcome's part is 0. The process reward is StepReward: what has a place
// counts there and nowhere else, and an outcome never does. A token is judged if
// its StepReward is not 0; a response with more steps collects more terms, which the sum to
// come keeps and a mean would hide.
//
// With joint one mean and one std serve the outcomes (their sum per response) and the
// judged tokens: a process reward of a few hundredths is negligible next to an outcome of 0 or 1.
type Process struct {
	Asymmetry `yaml:",inline"`
	// OutcomeWeight multiplies the outcome's part.
	OutcomeWeight float64 `yaml:"outcome_weight" default:"1" range:"[0,inf]"`
	// ProcessWeight multiplies the process part.
	ProcessWeight float64 `yaml:"process_weight" default:"1" range:"[0,inf]"`
	// Joint normalises outcome and process rewards together.
	Joint bool `yaml:"joint"`
	// Credit is to_come (P_t as above) or step (a token gets the p̃ of the next judged
	// one, that of its own step, and nothing of later steps).
	Credit string `yaml:"credit" default:"to_come" oneof:"to_come step"`
	// Std divides by the group's standard deviations.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to standard deviations.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups        groups
	reward, score []float64
}

// The values of Process.Credit.
const (
	creditToCome = "to_come"
	creditStep   = "step"
)

// Estimate fills b.Advantage from StepReward and OutcomeParts.
func (e *Process) Estimate(b *batch.Batch) error {
	if err := e.groups.find(b, batch.Mask, batch.StepReward, batch.OutcomeParts); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for rows := range e.groups.All() {
		e.judged(b, rows)
		steps := len(e.reward)
		if e.Joint {
			for _, i := range rows {
				e.reward = append(e.reward, sum(b.OutcomeParts[i]))
			}
			e.normalise()
			e.process(b, rows, e.score[:steps])
			e.outcome(b, rows, e.score[steps:])
			continue
		}
		e.normalise()
		e.process(b, rows, e.score)
		for kind := range b.OutcomeParts[rows[0]] {
			e.reward = e.reward[:0]
			for _, i := range rows {
				e.reward = append(e.reward, b.OutcomeParts[i][kind])
			}
			e.normalise()
			e.outcome(b, rows, e.score)
		}
	}
	e.apply(b)
	return nil
}

// judged lists the process rewards of a group.
func (e *Process) judged(b *batch.Batch, rows []int) {
	e.reward = e.reward[:0]
	for _, i := range rows {
		from, to := b.Span(i)
		for _, r := range b.StepReward[from:to] {
			if r != 0 {
				e.reward = append(e.reward, r)
			}
		}
	}
}

// normalise fills the scores of the rewards.
func (e *Process) normalise() {
	e.score = batch.Zeroed(e.score, len(e.reward))
	if len(e.reward) > 0 {
		one := GRPO{Std: e.Std, Eps: e.Eps, Singleton: "raw"}
		one.normalise(e.score, e.reward)
	}
}

// outcome adds the outcome's part for the responses of a group, a score each.
func (e *Process) outcome(b *batch.Batch, rows []int, score []float64) {
	for j, i := range rows {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] += float64(e.OutcomeWeight * score[j])
		}
	}
}

// process adds the process part for the responses of a group, a score for each
// judged token.
func (e *Process) process(b *batch.Batch, rows []int, score []float64) {
	next := len(score)
	for _, i := range slices.Backward(rows) {
		start, end := b.Span(i)
		sum := 0.0
		for n := end - 1; n >= start; n-- {
			if b.StepReward[n] != 0 {
				next--
				if e.Credit == creditStep {
					sum = 0
				}
				sum += score[next]
			}
			if b.Mask[n] {
				b.Advantage[n] += float64(e.ProcessWeight * sum)
			}
		}
	}
}

// Vine gives every token the change of the policy's own value of the response over the
// token's episode, and to those of the answer the outcome less the last value.
//
// It is GAE with γ = 1 and λ = 0 over episodes in place of tokens: no credit leaks from one
// episode into another. The outcome is the sum of OutcomeParts, or the reward where no part
// of it has a place.
type Vine struct {
	Asymmetry `yaml:",inline"`
	// Whiten centres and scales over all generated tokens.
	Whiten bool `yaml:"whiten" default:"true"`
}

// Estimate fills b.Advantage from Episode and PrefixValue.
func (e *Vine) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward, batch.Episode, batch.PrefixValue); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		end := b.Reward[i]
		if b.OutcomeParts != nil {
			end = sum(b.OutcomeParts[i])
		}
		for n := to - 1; n >= from; n-- {
			if n+1 < to && b.Episode[n+1] != b.Episode[n] {
				end = b.PrefixValue[n+1]
			}
			if b.Mask[n] {
				b.Advantage[n] = end - b.PrefixValue[n]
			}
		}
	}
	if e.Whiten {
		masked.Whiten(b.Advantage, b.Mask)
	}
	e.apply(b)
	return nil
}

// GiGPO is group-in-group policy optimisation's advantage: each turn is compared as part of its
// response with the group, and by its return with the turns that began in the same state.
//
// The state in which a turn begins is what the environment wrote right before it; that of a
// first turn is the prompt. The episode part counts a response once per turn, as ROLL does.
type GiGPO struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount per turn of the rewards to come.
	Gamma float64 `yaml:"gamma" default:"0.95" range:"[0,1]"`
	// EpisodeWeight and StepWeight multiply the two parts.
	EpisodeWeight float64 `yaml:"episode_weight" default:"1" range:"[0,inf)"`
	StepWeight    float64 `yaml:"step_weight" default:"1" range:"[0,inf)"`
	// Norm is "mean_std", "mean" (published for groups of equal difficulty) or "none" (ROLL's default).
	Norm string `yaml:"norm" default:"mean_std" oneof:"mean_std mean none"`
	// Episodes compares the responses of a "group", or of the "batch".
	Episodes string `yaml:"episodes" default:"group" oneof:"group batch"`
	// States compares equal states of a "group", or of the whole "batch", as ROLL does.
	States string `yaml:"states" default:"group" oneof:"group batch"`
	// Clip bounds the sum to [−clip, clip], .inf for none.
	Clip float64 `yaml:"clip" default:"inf" range:"(0,inf]"`

	returns TurnLevel // sums rewards per turn
	groups  groups
	steps   []gigpoStep
	class   []int
	// Per step: what is compared, and the sum of the normalised parts.
	figure, sum []float64
}

// gigpoStep is a turn with a generated token: its response, its number, and the entries of
// the environment's text before it.
type gigpoStep struct{ row, turn, from, to int }

// Estimate fills b.Return and b.Advantage from Reward, TokenReward, Token and Turn.
func (e *GiGPO) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward, batch.TokenReward, batch.Token, batch.Turn, batch.Group); err != nil {
		return err
	}
	e.returns.Gamma = e.Gamma
	if err := e.returns.collect(b); err != nil {
		return err
	}
	e.findSteps(b)
	e.sum, e.figure, e.class = batch.Zeroed(e.sum, len(e.steps)), e.figure[:0], e.class[:0]
	for _, s := range e.steps {
		class := b.Group[s.row]
		if e.Episodes == "batch" {
			class = 0
		}
		e.figure, e.class = append(e.figure, b.Reward[s.row]), append(e.class, class)
	}
	e.add(e.EpisodeWeight)
	e.figure, e.class = e.figure[:0], e.class[:0]
	for k, s := range e.steps {
		e.figure = append(e.figure, e.returns.toCome[s.row*e.returns.turns+s.turn])
		e.class = append(e.class, e.first(b, k))
	}
	e.add(e.StepWeight)

	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for k, s := range e.steps {
		for n := range b.Where(s.row, b.Mask) {
			if int(b.Turn[n]) == s.turn {
				b.Advantage[n] = min(max(e.sum[k], -e.Clip), e.Clip)
			}
		}
	}
	e.apply(b)
	return nil
}

// findSteps collects the turns with a generated token.
func (e *GiGPO) findSteps(b *batch.Batch) {
	e.steps = e.steps[:0]
	for i := range b.Len() {
		first, _ := b.Span(i)
		last := -1
		for n := range b.Where(i, b.Mask) {
			if turn := int(b.Turn[n]); turn != last {
				from := n
				for from > first && !b.Mask[from-1] {
					from--
				}
				e.steps = append(e.steps, gigpoStep{i, turn, from, n})
				last = turn
			}
		}
	}
}

// first is the first step that began in the state of step k.
func (e *GiGPO) first(b *batch.Batch, k int) int {
	s := e.steps[k]
	for j, other := range e.steps[:k] {
		sameGroup := b.Group[s.row] == b.Group[other.row]
		if (sameGroup || e.States == "batch" && s.to > s.from) && slices.Equal(b.Token[s.from:s.to], b.Token[other.from:other.to]) {
			return j
		}
	}
	return k
}

// add normalises the figures of the steps of each class, and adds them to the sums.
func (e *GiGPO) add(weight float64) {
	e.groups.Find(e.class)
	for rows := range e.groups.All() {
		x := e.groups.gather(e.figure, rows)
		m, scale := centre(x), 1.0
		switch spread := deviation(x); {
		case e.Norm == "none":
			m = 0
		case constant(x) || e.Norm == "mean_std" && !(spread > 1e-6):
			scale = 0 // of a state that was met once, or whose figures do not differ
		case e.Norm == "mean_std":
			scale = 1 / (spread + 1e-6)
		}
		for j, step := range rows {
			e.sum[step] += float64(weight * (x[j] - m) * scale)
		}
	}
}
