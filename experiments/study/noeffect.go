package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// NoEffects are the parts that cannot act at some point of the plan, each once.
func (x *Index) NoEffects() []recipe.NoEffect {
	var list []recipe.NoEffect
	at := map[string][]int{}
	for i, p := range x.Arms {
		for _, note := range p.CannotAct {
			if at[note] == nil {
				list = append(list, recipe.NoEffect{Note: note})
			}
			at[note] = append(at[note], i)
		}
	}
	for i := range list {
		list[i].Where = x.where(at[list[i].Note])
	}
	return list
}

// where names points: by the values of factors that no other point has together, else by
// their number and an example.
func (x *Index) where(points []int) string {
	if len(points) == len(x.Arms) {
		return "every point"
	}
	var parts []string
	var region Condition
	for _, f := range x.Factors {
		values := slices.DeleteFunc(slices.Clone(f.Values), func(v string) bool {
			return !slices.ContainsFunc(points, func(i int) bool { return x.Arms[i].Values[f.Name] == v })
		})
		if len(values) < len(f.Values) {
			parts = append(parts, f.Name+"="+strings.Join(values, "+"))
			region = append(region, demand{f.Name, values})
		}
	}
	inside := 0
	for _, p := range x.Arms {
		if region.meets(p.Values) {
			inside++
		}
	}
	if inside == len(points) {
		return strings.Join(parts, ",")
	}
	return fmt.Sprintf("%d of %d points, such as %s", len(points), len(x.Arms), x.armName(&x.Arms[points[0]]))
}

// cannotAct names the parts of a point that cannot act, without the reasons.
func (p *Arm) cannotAct() string {
	parts := stats.Map(p.CannotAct, func(note string) string {
		part, _, _ := strings.Cut(note, ": ")
		return part
	})
	return strings.Join(parts, "; ")
}

// twins are, by run, the first run in the order of the plan that was trained alike to the
// last step with the same seed, though its recipe is another: what parts the two recipes
// did nothing.
func twins(rows []Row) map[string]string {
	type key struct {
		seed  uint64
		trace Trace
	}
	first, same := map[key]string{}, map[string]string{}
	for _, o := range rows {
		k := key{o.Seed, o.Trace}
		if run, ok := first[k]; !ok {
			first[k] = o.Run
		} else if run != o.Run && o.Trace != "" {
			same[o.Run] = run
		}
	}
	return same
}

// marks are for every point what of it cannot act, and the first point whose runs were all
// trained alike; nil where there is nothing of either.
func (d *Folder) marks() [][2]string {
	same := twins(d.Rows)
	marks, some := make([][2]string, len(d.Arms)), false
	first := map[string]string{}
	for i, p := range d.Arms {
		trained := stats.Map(p.Keys, func(run string) string { return cmp.Or(same[run], run) })
		key := strings.Join(trained, " ")
		like, ok := first[key]
		if !ok {
			first[key] = d.armName(&p)
		}
		marks[i] = [2]string{p.cannotAct(), like}
		some = some || marks[i] != [2]string{}
	}
	if !some {
		return nil
	}
	return marks
}

// NoEffectTable shows what cannot act where; nil where everything can.
func NoEffectTable(list []recipe.NoEffect) *figure.Figure {
	if len(list) == 0 {
		return nil
	}
	t := head("no effect")
	for _, n := range list {
		t.Add(figure.Word(n.Where), figure.Word(n.Note))
	}
	return t
}
