package bench

import (
	"fmt"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// Growth is the document of bench --grow: how cost grows with one size at a time.
type Growth struct {
	Axes    []axis `json:"axes"`
	Threads int    `json:"threads"`
}

// axis is one size and what steps of it take.
type axis struct {
	// Name is length (tokens of a response), width (of the model and its experts), experts
	// or batch.
	Name   string      `json:"name"`
	Values []int       `json:"values"`
	Phases []axisPhase `json:"phases"`
}

// axisPhase is one phase along an axis.
type axisPhase struct {
	Phase string `json:"phase"`
	// Processor is the least processor time of a step in seconds, by value of the axis.
	Processor []float64 `json:"processor_s"`
	// Slope is d ln(time) / d ln(value), a least-squares fit of logarithms, and WorkSlope
	// that of the multiply-adds.
	Slope     float64 `json:"slope"`
	WorkSlope float64 `json:"work_slope"`
}

// growths are the factors along an axis.
var growths = []int{1, 2, 4}

// axes are the ways to multiply a step, each with its name.
var axes = []struct {
	name string
	grow func(c *Step, by int) (value int)
}{
	{"length", func(c *Step, by int) int {
		c.Gen *= by
		c.Model.Context = c.Prompt + c.Gen
		return c.Gen
	}},
	{"width", func(c *Step, by int) int {
		c.Model.DModel, c.Model.DFF = by*c.Model.DModel, by*c.Model.DFF
		return c.Model.DModel
	}},
	{"experts", func(c *Step, by int) int {
		c.Model.Experts *= by
		return c.Model.Experts
	}},
	{"batch", func(c *Step, by int) int {
		c.Batch *= by
		return c.Batch
	}},
}

// GrownStep is a step along an axis.
type GrownStep struct {
	Axis  string
	Value int
	Step  Step
}

// Grow lists the steps to time: the one given, twice and four times as large along each
// axis. A dense model has no experts to add.
func (c Step) Grow() (list []GrownStep) {
	for _, a := range axes {
		if a.name == "experts" && c.Model.Dense() {
			continue
		}
		for _, by := range growths {
			grown := c
			value := a.grow(&grown, by)
			list = append(list, GrownStep{a.name, value, grown})
		}
	}
	return list
}

// NewGrowth fits the results of the listed steps, in their order. It reports an error where
// the system tells no processor time.
func NewGrowth(list []GrownStep, results []Result) (Growth, error) {
	var g Growth
	for first := 0; first < len(list); first += len(growths) {
		axis := axis{Name: list[first].Axis}
		var sizes []float64
		for i := range growths {
			value := list[first+i].Value
			axis.Values, sizes = append(axis.Values, value), append(sizes, float64(value))
		}
		for p, phase := range results[first].Phases {
			x := axisPhase{Phase: phase.Phase}
			var flop []float64
			for i := range growths {
				other := results[first+i].Phases[p]
				if other.ProcessorLeast <= 0 {
					return g, fmt.Errorf("the system tells no processor time of a step")
				}
				x.Processor, flop = append(x.Processor, other.ProcessorLeast), append(flop, other.GFlop)
			}
			x.Slope, x.WorkSlope = stats.Slope(stats.Logs(sizes), stats.Logs(x.Processor)), stats.Slope(stats.Logs(sizes), stats.Logs(flop))
			axis.Phases = append(axis.Phases, x)
		}
		g.Axes, g.Threads = append(g.Axes, axis), results[first].Threads
	}
	return g, nil
}

// Table shows the slopes to a person.
func (g Growth) Table() *figure.Figure {
	t := head("growth", g.Threads)
	for _, a := range g.Axes {
		for _, p := range a.Phases {
			seconds := stats.Map(p.Processor, func(s float64) string { return figure.FormatNumber(s, 3) })
			t.Add(figure.Word(a.Name), figure.Word(strings.Trim(fmt.Sprint(a.Values), "[]")), figure.Word(p.Phase), figure.Word(strings.Join(seconds, " ")),
				figure.Number(p.Slope, 3), figure.Number(p.WorkSlope, 3))
		}
	}
	return t
}
