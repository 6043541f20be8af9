package results

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// RunGroup is what is one line in a chart: the runs of one recipe that differ
// in nothing but the seed.
type RunGroup struct {
	// Name is the recipe's; where two recipes share it, the first line in which
	// they differ is added.
	Name string
	// Slot is the group's colour as Series.Slot; 0 takes the group's place.
	Slot int
	// Runs are in the order of their seeds, one for each.
	Runs []*record.Record
	// Repeats counts runs left out because their recipe and seed were there already.
	Repeats int
}

// Group sorts records into groups, in the order in which the recipes first
// appear. Equal names do not make equal recipes: only runs whose recipes agree
// in every line but the seed's are taken together.
func Group(records []*record.Record) []RunGroup {
	var groups []RunGroup
	var bodies []string // the recipe without its seed, per group
	for _, r := range records {
		body := withoutSeed(r.Recipe)
		i := slices.Index(bodies, body)
		if i < 0 {
			i = len(groups)
			bodies = append(bodies, body)
			groups = append(groups, RunGroup{Name: groupName(r, body, groups, bodies)})
		}
		g := &groups[i]
		if slices.ContainsFunc(g.Runs, func(o *record.Record) bool { return o.Seed == r.Seed }) {
			g.Repeats++
			continue
		}
		g.Runs = append(g.Runs, r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Runs, func(a, b *record.Record) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return groups
}

// withoutSeed is the recipe less its seed, a line of its own at the top level.
func withoutSeed(recipe []byte) string {
	lines := bytes.Split(recipe, []byte("\n"))
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte("seed:")) })
	return string(bytes.Join(lines, []byte("\n")))
}

// groupName is the recipe's name, made different from that of other groups.
func groupName(r *record.Record, body string, groups []RunGroup, bodies []string) string {
	name := r.Name
	if name == "" {
		name = filepath.Base(r.Dir)
	}
	for i, g := range groups {
		if g.Name != name {
			continue
		}
		was, now := strings.Split(bodies[i], "\n"), strings.Split(body, "\n")
		k := 0
		for k < len(was) && k < len(now) && was[k] == now[k] {
			k++
		}
		if k < len(now) && strings.TrimSpace(now[k]) != "" {
			name += " (" + strings.TrimSpace(now[k]) + ")"
		}
		break
	}
	for n, base := 2, name; slices.ContainsFunc(groups, func(g RunGroup) bool { return g.Name == name }); n++ {
		name = base + " #" + strconv.Itoa(n)
	}
	return name
}

// arm is the group's line in a chart of the metric; it has no seeds if no run
// logged the metric.
func (g *RunGroup) arm(metric string) figure.Series {
	arm := figure.Series{Name: g.Name}
	for _, r := range g.Runs {
		c := r.Column(metric)
		if c == nil {
			continue
		}
		curve := figure.Series{Name: fmt.Sprintf("seed %d", r.Seed), X: make([]float64, len(c.Step)), Y: c.Value}
		for i, s := range c.Step {
			curve.X[i] = float64(s)
		}
		arm.Seeds = append(arm.Seeds, curve)
	}
	return arm
}

// mostShown and mostFolded bound the values of a chart on a page, in sight and
// in a fold: a page of thirty runs stays below two megabytes.
const mostShown, mostFolded = 5000, 2000

// ChartOf draws a metric for all groups; groups that never logged it are left
// out and the others keep their colour. The y axis is chosen by the data:
// shares of prompts from 0 to 1, and decades for a gap that spans more than two.
func ChartOf(groups []RunGroup, metric string, terms []Term) figure.Figure {
	return chartOf(groups, metric, terms, (*RunGroup).arm)
}

// chartOf is ChartOf with lines made by arm.
func chartOf(groups []RunGroup, metric string, terms []Term, arm func(g *RunGroup, metric string) figure.Series) figure.Figure {
	c := figure.Figure{Kind: figure.Lines, Title: titleOf(metric, terms), Metric: metric, X: figure.Axis{Label: "step"}, Most: mostShown}
	if c.Title == metric {
		c.Metric = ""
	}
	for _, t := range terms {
		if t.Name == metric {
			c.Y.Label = t.Unit
		}
	}
	low, high, least := 0.0, 0.0, 0.0
	first := true
	for i := range groups {
		arm := arm(&groups[i], metric)
		if len(arm.Seeds) == 0 {
			continue
		}
		if arm.Slot = groups[i].Slot; arm.Slot == 0 {
			arm.Slot = i + 1
		}
		c.Series = append(c.Series, arm)
		for _, s := range arm.Seeds {
			for _, y := range s.Y {
				if !finite(y) {
					continue
				}
				if first {
					low, high, first = y, y, false
				}
				low, high = min(low, y), max(high, y)
				if y > 0 && (least == 0 || y < least) {
					least = y
				}
			}
		}
	}
	switch {
	case strings.HasSuffix(metric, "pass_rate") && low >= 0 && high <= 1:
		c.Y.High = 1
	case isGap(metric) && low >= 0 && least > 0 && high > 100*least:
		c.Y.Log = true
	}
	return c
}

// isGap reports whether a metric is a divergence or a difference, which are
// read in decades.
func isGap(metric string) bool {
	for _, prefix := range []string{"gap/", "rollout_corr/", "routes/flipped", "routes/rest", "actor/grad_norm"} {
		if strings.HasPrefix(metric, prefix) {
			return true
		}
	}
	return false
}
