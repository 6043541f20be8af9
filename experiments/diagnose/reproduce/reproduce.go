// Package reproduce looks for a toy run whose gap between the engines has the same
// cause as that of a dump, and about the same size, so that a fix can be tried on it
// within a minute.
//
//	toy, err := reproduce.Search(ctx, reproduce.Request{Cause: "precision", Size: 0.02})
//	toy.Recipe                       // to be trained, with any correction
//	toy.Size                         // mean |old - roll| of a short run of it
//
// A cause has a mechanism, with levels from the lowest up. Each is
// measured, at equal weights or by a few steps of training where the staleness of weights is
// the mechanism, and the nearest is taken. What is confirmed in the end is a short run
// of the very recipe.
//
// What it is not: a model of the run that was dumped. The policy is tiny, and less
// uncertain or more; equal sizes are of mean |old - roll|, not of its distribution.
package reproduce

import (
	"context"
	"fmt"
	"math"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// Request says what to look for.
type Request struct {
	// Cause is precision, order, routing, staleness, support or temperature.
	Cause string
	// Size is mean |old - roll|, K3 the gap's k3; 0 is unknown.
	Size, K3 float64
	// Workers is the number of cores; 0 means one.
	Workers int
	// Progress is called after each measurement.
	Progress func(done, of int)
}

// Toy is a recipe that makes such a gap.
type Toy struct {
	Recipe recipe.Recipe
	// Cause is the one asked for, Level how much of its mechanism the recipe has.
	Cause, Level string
	// Size and K3 are the gap of a short run of the recipe.
	Size, K3 float64
	// Sizes are those of the levels, in their order.
	Sizes []float64
	// Factor is how far off the size or the k3 is, whichever is further: 1 is met.
	Factor float64
}

// level is a setting of a dial.
type level struct {
	name string
	sets []string
}

// dial is the mechanism of a cause.
type dial struct {
	cause string
	// set is the field that a level sets to one of its values. Where there is none, a value is a rollout engine / a learner.
	set, values string
	// lag is the staleness of the weights in updates; with one, levels are measured by training.
	lag int
}

// lagged is the staleness of the weights in a run for that cause; how far they move in
// that time is the level.
const lagged = 8

var dials = []dial{
	{cause: "precision", values: "fp16/fp32 bf16/fp32 int8-w8a8/bf16 fp8-w8a8/bf16 fp8-all/bf16 fp4-w4a16/bf16 fp4-all/bf16"},
	{cause: "order", values: "bf16-splitk4/bf16 bf16-batch-variant/bf16 bf16-tp2/bf16 bf16-tp8/bf16"},
	{cause: "routing", set: "rollout.numerics={base: fp32, router: %s}", values: "bf16 fp8_e4m3 fp8_e5m2"},
	{cause: "staleness", lag: lagged, set: "learner.optimizer.lr=%s", values: "1e-4 3e-4 1e-3 3e-3 1e-2"},
	{cause: "support", set: "rollout.top_p=%s", values: "0.99 0.97 0.95 0.9 0.8 0.7"},
	{cause: "temperature", set: "learner.temperature=%s", values: "1.05 1.1 1.2 1.35 1.6 2 3"},
}

// levels are in order, the lowest first.
func (d *dial) levels() (list []level) {
	for value := range strings.FieldsSeq(d.values) {
		if rollout, learner, pair := strings.Cut(value, "/"); pair {
			list = append(list, level{rollout + " against " + learner, []string{"rollout.numerics=" + rollout, "learner.numerics=" + learner}})
		} else {
			text := fmt.Sprintf(d.set, value)
			list = append(list, level{text, []string{text}})
		}
	}
	return list
}

// Causes lists those that have a dial.
func Causes() []string {
	return stats.Map(dials, func(d dial) string { return d.cause })
}

// Search finds the level.
func Search(ctx context.Context, q Request) (*Toy, error) {
	for _, d := range dials {
		if d.cause == q.Cause {
			return d.search(ctx, q)
		}
	}
	return nil, method.UnknownName(q.Cause, Causes())
}

// The run that is written.
const (
	steps   = 60
	prompts = 8
	settled = 3 // steps that the confirming run measures over
)

func (d *dial) recipe(x level) (recipe.Recipe, error) {
	sets := append([]string{"name=reproduce-" + d.cause, fmt.Sprintf("steps=%d", steps), fmt.Sprintf("rollout.prompts=%d", prompts)}, x.sets...)
	if d.lag > 0 {
		sets = append(sets, fmt.Sprintf("schedule={name: lag, k: %d}", d.lag))
	}
	return recipe.Load("default", sets...)
}

func (d *dial) search(ctx context.Context, q Request) (*Toy, error) {
	toy := &Toy{Cause: d.cause}
	best, nearest := 0, math.Inf(1)
	levels := d.levels()
	for i, x := range levels {
		size, k3, err := d.measure(ctx, q, x)
		if err != nil {
			return nil, err
		}
		toy.Sizes = append(toy.Sizes, size)
		if off := q.off(size, k3); off < nearest {
			best, nearest = i, off
		}
		if q.Progress != nil {
			q.Progress(i+1, len(levels)+1)
		}
	}
	x := levels[best]
	if d.lag > 0 { // a step is about as far as its rate is large
		x = scaled(x, q.Size/toy.Sizes[best])
	}
	var err error
	if toy.Recipe, err = d.recipe(x); err != nil {
		return nil, err
	}
	toy.Level = x.name
	if toy.Size, toy.K3, err = d.train(ctx, q, toy.Recipe); err != nil {
		return nil, err
	}
	toy.Factor = elementary.Exp(min(q.off(toy.Size, toy.K3), 700)) // a finite number
	if q.Progress != nil {
		q.Progress(len(levels)+1, len(levels)+1)
	}
	return toy, nil
}

// off is how far a gap is from the one that is asked for.
func (q Request) off(size, k3 float64) float64 {
	off := distance(size, q.Size)
	if q.K3 > 0 {
		off = max(off, distance(k3, q.K3))
	}
	return off
}

// distance is the absolute difference of the logarithms of two sizes.
func distance(a, b float64) float64 {
	if !(a > 0 && b > 0) {
		return math.MaxFloat64
	}
	return math.Abs(elementary.Log(a / b))
}

// scaled is a learning rate times a factor, to two digits and at most threefold.
func scaled(x level, by float64) level {
	field, value, _ := strings.Cut(x.sets[0], "=")
	var rate float64
	fmt.Sscan(value, &rate)
	text := fmt.Sprintf("%s=%.2g", field, rate*min(max(by, 1./3), 3))
	return level{text, []string{text}}
}

func (d *dial) measure(ctx context.Context, q Request, x level) (size, k3 float64, err error) {
	r, err := d.recipe(x)
	if err != nil {
		return 0, 0, err
	}
	if d.lag > 0 {
		return d.train(ctx, q, r)
	}
	m, err := measure.Gaps(ctx, measure.GapRequest{Recipe: r, Workers: q.Workers})
	if err != nil {
		return 0, 0, err
	}
	return m.Pairs[0].Gap.MeanAbsDlogp, m.Pairs[0].Gap.K3, nil
}

// train is the mean size over the last steps of a run that is just long enough for the lag.
func (d *dial) train(ctx context.Context, q Request, r recipe.Recipe) (size, k3 float64, err error) {
	r.Steps, r.Eval.Every = d.lag+settled, 0
	r, p, err := trainer.Prepare(r)
	if err != nil {
		return 0, 0, err
	}
	s, err := trainer.NewSession(r, p, trainer.Options{Workers: max(q.Workers, 1)})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	n := 0.0
	err = s.Run(ctx, 1, func(step int, figures []batch.Metric) error {
		for _, m := range figures {
			switch {
			case step <= d.lag:
			case m.Name == "gap/dlogp_mean":
				size, n = size+m.Value, n+1
			case m.Name == "gap/k3":
				k3 += m.Value
			}
		}
		return nil
	})
	return size / max(n, 1), k3 / max(n, 1), err
}
