package advantage

import (
	"cmp"
	"embed"
	"errors"
	"math"
	"slices"

	"driftlab/engine/column"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Estimator fills Advantage from rewards. Implementations are pointers to
// parameter structs; they keep scratch memory, so use one per goroutine.
type Estimator interface {
	// Estimate fills b.Advantage, zero outside b.Mask, or returns an error that
	// names the column it misses. It allocates nothing in steady state.
	Estimate(b *batch.Batch) error
}

// Asymmetry is embedded in every estimator: it weights positive advantages.
type Asymmetry struct {
	// PositiveWeight multiplies positive advantages after all normalisation, 0 to
	// 1: 1 is the ordinary estimator, 0 trains on negatives only.
	PositiveWeight float64 `yaml:"positive_weight" default:"1" range:"[0,1]"`
}

// symmetric is the default: positive advantages count in full.
var symmetric = *method.New[Asymmetry]()

// apply weights the positive advantages of b.
func (a Asymmetry) apply(b *batch.Batch) {
	if a.PositiveWeight == 1 {
		return
	}
	for n, x := range b.Advantage {
		if x > 0 {
			b.Advantage[n] = a.PositiveWeight * x
		}
	}
}

// broadcast gives every generated token its response's score, and the others 0.
func broadcast(b *batch.Batch, score []float64) {
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i, x := range score {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] = x
		}
	}
}

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Registry lists the estimators a recipe can name under advantage.
var Registry = method.Table[Estimator]{
	method.Of[Estimator, GRPO]("grpo"),
	method.Of[Estimator, GRPOPassK]("grpo_passk"),
	method.Of[Estimator, RLOO]("rloo"),
	method.Of[Estimator, Reinforce]("reinforce"),
	method.Of[Estimator]("reinforce_plus_plus", func(e *Reinforce) { e.Whiten = true }),
	method.Of[Estimator, ReinforceBaseline]("reinforce_plus_plus_baseline"),
	method.Of[Estimator, ReMax]("remax"),
	method.Of[Estimator, OPO]("opo"),
	method.Of[Estimator, GPG]("gpg"),
	method.Of[Estimator, MaxRL]("maxrl"),
	method.Of[Estimator]("max_rl", func(e *MaxRL) { e.zeroes, e.Eps = true, 0 }),
	method.Of[Estimator, SPO]("spo"),
	method.Of[Estimator, RAE]("rae"),
	method.Of[Estimator, GiGPO]("gigpo"),
	method.Of[Estimator, Normalize]("normalize"),
	method.Of[Estimator, GDPO]("gdpo"),
	method.Of[Estimator, GAE]("gae"),
	method.Of[Estimator, OTB]("optimal_token_baseline"),
	method.Of[Estimator]("tir_optimal_token_baseline", func(e *OTB) { e.multiTurn = true }),
	method.Of[Estimator, OPOB]("opob"),
	method.Of[Estimator, TurnLevel]("turn_level"),
	method.Of[Estimator, Process]("process"),
	method.Of[Estimator, Vine]("vine"),
	method.Of[Estimator, ZeroVariance]("rl_zvp"),
}.Filled(method.Spec{Group: "advantage", Gradient: "constant"}, texts)

// Normalize centres and scales rewards at chosen levels: the general form that TRL,
// ROLL and AReaL configure.
//
// TRL has mean group, std group, batch or none, and eps 1e-4; ROLL eps 1e-6; AReaL the
// biased std with eps 1e-5, or none with std none, and a leave-one-out mean. A reward of
// NaN could not be scored: it is left out of mean and std and gets 0 (TRL).
type Normalize struct {
	Asymmetry `yaml:",inline"`
	// Mean is "group", "batch" or "none".
	Mean string `yaml:"mean" default:"group" oneof:"group batch none"`
	// Std is "group", "batch" or "none".
	Std string `yaml:"std" default:"batch" oneof:"group batch none"`
	// Eps is added to the standard deviation.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`
	// Biased divides the variance by n in place of n−1 (AReaL).
	Biased bool `yaml:"biased"`
	// LeaveOneOut takes the mean of the others (AReaL mean_leave1out).
	LeaveOneOut bool `yaml:"leave_one_out"`
	// Residual takes the standard deviation of what is left after centring, which
	// with group mean and batch std differs from that of the rewards (AReaL).
	Residual bool `yaml:"residual"`

	groups groups
}

// Estimate fills b.Advantage from Reward.
func (e *Normalize) Estimate(b *batch.Batch) error {
	all, left := b.Reward, 0.0
	if e.Residual && e.Mean == "group" && e.Std == "batch" {
		var err error
		if left, err = e.residual(b); err != nil {
			return err
		}
	}
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) {
		centred, scaled := reward, reward
		if e.Mean == "batch" {
			centred = all
		}
		if e.Std == "batch" {
			scaled = all
		}
		m, n := scoredMean(centred)
		scale := 1.0
		if e.Std != "none" {
			scale = e.deviation(scaled) + e.Eps
			if left > 0 {
				scale = left + e.Eps
			}
		}
		for i, r := range reward {
			switch {
			case math.IsNaN(r):
				continue
			case e.Mean == "none":
				score[i] = r
			case e.LeaveOneOut && n > 1:
				score[i] = r - (float64(m*n)-r)/(n-1)
			case e.LeaveOneOut:
				score[i] = r
			default:
				score[i] = r - m
			}
			if scale > 0 {
				score[i] /= scale
			} else {
				score[i] = 0
			}
		}
	})
}

// residual is the standard deviation over the batch of rewards centred in their groups.
func (e *Normalize) residual(b *batch.Batch) (float64, error) {
	if err := errors.Join(b.Require(batch.Reward), e.groups.find(b)); err != nil {
		return 0, err
	}
	sum, n := 0.0, 0.0
	for rows := range e.groups.All() {
		reward := e.groups.gather(b.Reward, rows)
		m, _ := scoredMean(reward)
		for _, r := range reward {
			if d := r - m; !math.IsNaN(r) {
				sum, n = sum+float64(d*d), n+1
			}
		}
	}
	if !e.Biased {
		n--
	}
	if n <= 0 {
		return 0, nil
	}
	return math.Sqrt(sum / n), nil
}

// deviation is the standard deviation of the rewards that are not NaN.
func (e *Normalize) deviation(x []float64) float64 {
	m, n := scoredMean(x)
	if !e.Biased {
		n--
	}
	return scoredDeviation(x, m, n)
}

// groups is an estimator's working memory: the prompt groups of the batch at
// hand, and what it gathers of each.
type groups struct {
	batch.Groups
	score       []float64 // per response of the batch
	input, part []float64 // per response of one group
}

// find collects the groups of the batch, which must have these columns too.
func (g *groups) find(b *batch.Batch, needs ...batch.Column) error {
	if err := cmp.Or(b.Require(needs...), b.Require(batch.Mask, batch.Group)); err != nil {
		return err
	}
	g.Find(b.Group)
	return nil
}

// each calls per for every group with its responses, their entries of x, and
// zeroes for what becomes of them, which go to the same entries of dst.
func (g *groups) each(dst, x []float64, per func(score, x []float64, rows []int)) {
	for rows := range g.All() {
		g.part = batch.Zeroed(g.part, len(rows))
		per(g.part, g.gather(x, rows), rows)
		for j, i := range rows {
			dst[i] = g.part[j]
		}
	}
}

// gather returns these responses' entries of x, until its next call.
func (g *groups) gather(x []float64, rows []int) []float64 {
	g.input = column.Gather(g.input, x, column.PerResponse, nil, rows)
	return g.input
}

// sum adds x up.
func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// mean returns the mean of x, 0 if it is empty.
func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return sum(x) / float64(len(x))
}

// deviation returns the unbiased standard deviation of x, 0 below two values.
func deviation(x []float64) float64 { return scoredDeviation(x, mean(x), float64(len(x)-1)) }

// constant reports whether all of x are the same number. Then the mean may
// still be off by a rounding, and dividing it by a tiny deviation would make an
// advantage of nothing (verl's float32 gives 0.056 for eight times 0.7).
func constant(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// scoredMean is the mean and number of the rewards that are not NaN.
func scoredMean(x []float64) (m, n float64) {
	for _, v := range x {
		if !math.IsNaN(v) {
			m, n = m+v, n+1
		}
	}
	if n > 0 {
		m /= n
	}
	return m, n
}

// scoredDeviation is the root of the squared distances from m, of rewards that
// are not NaN, over the given divisor; 0 if that is not positive.
func scoredDeviation(x []float64, m, divisor float64) float64 {
	sum := 0.0
	for _, v := range x {
		if d := v - m; !math.IsNaN(v) {
			sum += float64(d * d)
		}
	}
	if divisor <= 0 {
		return 0
	}
	return math.Sqrt(sum / divisor)
}
