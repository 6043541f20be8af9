package advantage

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

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

var gigpoSpec = method.Spec{
	Name: "gigpo", Unit: method.Turn,
	Does:    "Adds the group-relative advantage of the whole response to that of each turn among the turns that began in the same state.",
	When:    "Use it in multi-turn runs with a tool, where responses of a group meet the same replies.",
	Source:  "arXiv 2505.10978; ROLL",
	Formula: "A_k = episode_weight·norm(R over turns of the group) + step_weight·norm(G_k over turns of equal state), G_k = r_k + gamma·G_(k+1)",
	Needs:   batch.Columns{batch.Reward, batch.TokenReward, batch.Token, batch.Turn, batch.Group},
}

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
	for k := range e.groups.Len() {
		rows := e.groups.Rows(k)
		x := e.groups.gather(e.figure, rows)
		m, scale := 0.0, 1.0
		if e.Norm != "none" {
			m = centre(x)
		}
		if spread := deviation(x); e.Norm == "mean_std" {
			scale = 0 // of a state that was met once, or whose figures do not differ
			if spread > 1e-6 && !constant(x) {
				scale = 1 / (spread + 1e-6)
			}
		}
		if e.Norm == "mean" && (len(x) == 1 || constant(x)) {
			scale = 0
		}
		for j, step := range rows {
			e.sum[step] += float64(weight * (x[j] - m) * scale)
		}
	}
}
