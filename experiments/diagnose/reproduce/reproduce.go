// Package reproduce looks for a toy run whose gap between the engines has the same
// cause as that of a dump, and about the same size, so that a fix can be tried on it
// within a minute.
//
//	toy, err := reproduce.Search(ctx, reproduce.Request{Cause: "precision", Size: 0.02})
//	toy.Recipe                       // to be trained, with any correction
//	toy.Size                         // mean |old - roll| of a short run of it
//
// A cause has a dial: doses of the mechanism that makes it, the least first. Each is
// measured, at equal weights or by a few steps of training where the age of weights is
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
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// Request says what to look for.
type Request struct {
	// Cause is precision, order, routing, staleness, support or temperature.
	Cause string
	// Size is mean |old - roll|.
	Size float64
	// Workers is the number of cores; 0 means one.
	Workers int
	// Progress is called after each measurement.
	Progress func(done, of int)
}

// Toy is a recipe that makes such a gap.
type Toy struct {
	Recipe recipe.Recipe
	// Cause is the one asked for, Dose how much of its mechanism the recipe has.
	Cause, Dose string
	// Size and K3 are the gap of a short run of the recipe.
	Size, K3 float64
	// Doses are those that were measured.
	Doses []Measured
	// Beyond says that the size asked for is less than half of the smallest, or more than twice the largest, that
	// the dial has.
	Beyond bool
}

// Measured is a dose with the size of its gap.
type Measured struct {
	Dose string
	Size float64
}

// dose is a setting of a dial.
type dose struct {
	name string
	sets []string
}

// dial turns up one mechanism.
type dial struct {
	cause string
	doses []dose
	// lag is how many updates old the weights are; then doses are measured by training.
	lag int
}

// lagged is the age of the weights that a run for staleness has; how far they move in
// that time is the dose.
const lagged = 8

var dials = []dial{
	{cause: "precision", doses: pairs("fp32", "fp16", "bf16").and(pairs("bf16", "int8-w8a8", "fp8-w8a8", "fp8-all", "fp4-w4a16", "fp4-all"))},
	{cause: "order", doses: pairs("bf16", "bf16-splitk4", "bf16-batch-variant", "bf16-tp2", "bf16-tp8")},
	{cause: "routing", doses: each("rollout.numerics={base: fp32, router: %s}", "bf16", "fp8_e4m3", "fp8_e5m2")},
	{cause: "staleness", lag: lagged, doses: each("learner.optimizer.lr=%s", "1e-4", "3e-4", "1e-3", "3e-3", "1e-2")},
	{cause: "support", doses: each("rollout.top_p=%s", "0.99", "0.97", "0.95", "0.9", "0.8", "0.7")},
	{cause: "temperature", doses: each("learner.temperature=%s", "1.05", "1.1", "1.2", "1.35", "1.6", "2", "3")},
}

type doses []dose

func (d doses) and(more doses) doses { return append(d, more...) }

// pairs are rollout engines against one learner.
func pairs(learner string, rollout ...string) doses {
	var list doses
	for _, r := range rollout {
		list = append(list, dose{r + " against " + learner, []string{"rollout.numerics=" + r, "learner.numerics=" + learner}})
	}
	return list
}

// each sets one field to one value after the other.
func each(set string, values ...string) doses {
	var list doses
	for _, v := range values {
		text := fmt.Sprintf(set, v)
		list = append(list, dose{text, []string{text}})
	}
	return list
}

// Causes lists those that have a dial.
func Causes() []string {
	var list []string
	for _, d := range dials {
		list = append(list, d.cause)
	}
	return list
}

// Search finds the dose.
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

// recipe is the run with a dose.
func (d *dial) recipe(x dose) (recipe.Recipe, error) {
	sets := append([]string{"name=reproduce-" + d.cause, fmt.Sprintf("steps=%d", steps), fmt.Sprintf("rollout.prompts=%d", prompts)}, x.sets...)
	if d.lag > 0 {
		sets = append(sets, fmt.Sprintf("schedule={name: lag, k: %d}", d.lag))
	}
	return recipe.Load("default", sets...)
}

func (d *dial) search(ctx context.Context, q Request) (*Toy, error) {
	toy := &Toy{Cause: d.cause}
	best, nearest := 0, math.Inf(1)
	for i, x := range d.doses {
		size, _, err := d.measure(ctx, q, x)
		if err != nil {
			return nil, err
		}
		toy.Doses = append(toy.Doses, Measured{x.name, size})
		if off := distance(size, q.Size); off < nearest {
			best, nearest = i, off
		}
		if q.Progress != nil {
			q.Progress(i+1, len(d.doses)+1)
		}
	}
	x := d.doses[best]
	if d.lag > 0 { // a step is about as far as its rate is large
		x = scaled(x, q.Size/toy.Doses[best].Size)
	}
	var err error
	if toy.Recipe, err = d.recipe(x); err != nil {
		return nil, err
	}
	toy.Dose = x.name
	if toy.Size, toy.K3, err = d.train(ctx, q, toy.Recipe); err != nil {
		return nil, err
	}
	toy.Beyond = distance(toy.Size, q.Size) > elementary.Log(2)
	if q.Progress != nil {
		q.Progress(len(d.doses)+1, len(d.doses)+1)
	}
	return toy, nil
}

// distance of two sizes is that of their logarithms.
func distance(a, b float64) float64 {
	if !(a > 0 && b > 0) {
		return math.MaxFloat64
	}
	return math.Abs(elementary.Log(a / b))
}

// scaled is a learning rate times a factor, to two digits and at most threefold.
func scaled(x dose, by float64) dose {
	field, value, _ := strings.Cut(x.sets[0], "=")
	var rate float64
	fmt.Sscan(value, &rate)
	text := fmt.Sprintf("%s=%.2g", field, rate*min(max(by, 1./3), 3))
	return dose{text, []string{text}}
}

// measure is the size of a dose's gap.
func (d *dial) measure(ctx context.Context, q Request, x dose) (size, k3 float64, err error) {
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
