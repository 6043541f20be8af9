package measurements

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// runs trains arms of the headline's recipe and records columns of every run. It is for claims
// whose runs are not judged by pass rates on held-out prompts, which is what a claim's training
// is for.
type runs struct {
	Steps sizes
	// Set are changes of all arms, made before their own; $rate stands for the learning rate, and
	// warm/NAME for the warm start of this replication.
	Set    []change
	Rates  []string
	Arms   []runArm
	Record []recorded
}

// runArm is an arm with a name and changes.
type runArm struct {
	Name string
	Set  []change
	// Rates stand in the place of those of all arms.
	Rates []string
	// Without are columns that the arm's runs do not log.
	Without []string
	// Moved is the figure of how far the weights went, by the length of the first weights.
	Moved string
}

// recorded is a figure: $arm and $rate in its name are those of a run.
type recorded struct {
	Figure, Column string
	// As is what is taken of the column: all of it if it is empty.
	As string
	// Blocks is how many updates a mean of As "blocks" and "all blocks" averages; the latter has
	// a 0 for each block that a run which ended early lacks.
	Blocks sizes
	// Together records the values of all runs as one figure.
	Together bool
}

// change is a change of a recipe, or those at the full, the quick and the tiny size.
type change []string

// UnmarshalYAML reads a text or three.
func (c *change) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*c = change{n.Value}
		return nil
	}
	var list []string
	if err := n.Load(&list); err != nil {
		return err
	}
	if *c = list; len(list) != 3 {
		return fmt.Errorf("line %d: a change is a text, or those at the full, the quick and the tiny size", n.Line)
	}
	return nil
}

// changes are the texts at a size, with the learning rate and the folders of warm starts.
func changes(ctx context.Context, e *claim.Env, list []change, rate string) (out []string, err error) {
	for _, c := range list {
		text := c[0]
		if len(c) == 3 {
			text = c[e.Size]
		}
		text = strings.ReplaceAll(text, "$rate", rate)
		if begin, name, ok := strings.Cut(text, "=warm/"); ok {
			dir := name
			switch {
			case name == "dense":
				dir, err = e.DenseFolder(ctx)
			case e.Size == claim.Full:
				dir, err = e.Warm(ctx, name)
			}
			if err != nil {
				return nil, err
			}
			text = begin + "=" + dir
		}
		out = append(out, text)
	}
	return out, nil
}

// Measure makes the runs, arm by arm and rate by rate.
func (r *runs) Measure(ctx context.Context, e *claim.Env, o *claim.Observation) error {
	together := make([][]float64, len(r.Record))
	for _, a := range r.Arms {
		rates := r.Rates
		if a.Rates != nil {
			rates = a.Rates
		}
		if len(rates) == 0 {
			rates = []string{""}
		}
		for _, rate := range rates {
			if err := r.run(ctx, e, o, a, rate, together); err != nil {
				return err
			}
		}
	}
	for i, c := range r.Record {
		if c.Together {
			o.Set(c.Figure, together[i]...)
		}
	}
	return nil
}

func (r *runs) run(ctx context.Context, e *claim.Env, o *claim.Observation, a runArm, rate string, together [][]float64) error {
	set, err := changes(ctx, e, slices.Concat(r.Set, a.Set), rate)
	if err != nil {
		return err
	}
	var list []int
	var columns []string
	for i, c := range r.Record {
		if !slices.Contains(a.Without, c.Column) {
			list, columns = append(list, i), append(columns, c.Column)
		}
	}
	steps := r.Steps.of(e)
	var values [][]float64
	var end *model.Params
	if a.Moved == "" {
		values, err = e.Train(ctx, columns, steps, set...)
	} else {
		values, end, err = e.Trained(ctx, columns, steps, set...)
	}
	if err != nil {
		return err
	}
	name := strings.NewReplacer("$arm", a.Name, "$rate", rate)
	for i, k := range list {
		c := &r.Record[k]
		if x := c.of(e, values[i], steps); c.Together {
			together[k] = append(together[k], x...)
		} else {
			o.Set(name.Replace(c.Figure), x...)
		}
	}
	if a.Moved != "" {
		start, err := e.Base(ctx, 0)
		if err != nil {
			return err
		}
		o.Set(a.Moved, travelled(start.Theta, end.Theta))
	}
	return nil
}

// of is what is recorded of a column.
func (c *recorded) of(e *claim.Env, x []float64, steps int) []float64 {
	switch c.As {
	case "mean":
		return []float64{stats.Average(x)}
	case "largest":
		return []float64{stats.Max(x)}
	case "final":
		_, final, _ := record.PeakAndEnd(x)
		return []float64{final}
	case "blocks", "all blocks":
		width := c.Blocks.of(e)
		out := claim.Blocks(x, width)
		for c.As == "all blocks" && len(out) < steps/width {
			out = append(out, 0)
		}
		return out
	}
	return x
}

// travelled is the distance between two weights by the length of the first.
func travelled(from, to []float32) float64 {
	moved, length := 0.0, 0.0
	for i, w := range from {
		d := float64(to[i]) - float64(w)
		moved, length = moved+float64(d*d), length+float64(float64(w)*float64(w))
	}
	return math.Sqrt(moved / length)
}
