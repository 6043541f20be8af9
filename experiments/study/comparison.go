package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// comparisonsTable is the table of Comparisons, as .csv and as .parquet.
const comparisonsTable = "comparisons"

// comparison is a value of a factor compared with the factor's baseline, paired by seed, at
// one level of the other factors. The figure is Outcome.Mean: the mean of the metric over the
// whole run.
type comparison struct {
	Factor, Value, Baseline string
	// Level names the values of the other factors; empty where there are none.
	Level string
	// Rank is the place of the value at its level by the figure, 1 for the highest.
	Rank int
	// TiesFirst: the value ranks first, or does not differ significantly from the one that
	// does (sign-flip tests of the level's values against the first, adjusted by Holm).
	TiesFirst bool
	Mean      float64
	// Difference is the mean minus the baseline's, P the p-value of its sign-flip test,
	// adjusted by Westfall and Young over the factor; nan of the baseline, and where the means
	// are equal with every seed.
	Difference stats.Interval
	P          float64
}

// Baselines are the value of each factor that the others are compared with; where a factor
// has none here it is its first.
type Baselines map[string]string

// ParseBaselines reads FACTOR=VALUE, and checks them against the sweep.
func (x *Index) ParseBaselines(list []string) (Baselines, error) {
	b := Baselines{}
	for _, text := range list {
		name, value, _ := strings.Cut(text, "=")
		i := slices.IndexFunc(x.Factors, func(f IndexFactor) bool { return f.Name == name })
		if i < 0 {
			names := stats.Map(x.Factors, func(f IndexFactor) string { return f.Name })
			return nil, fmt.Errorf("%s: the sweep has no factor %q: write FACTOR=VALUE with one of %s", text, name, strings.Join(names, ", "))
		}
		if !slices.Contains(x.Factors[i].Values, value) {
			return nil, fmt.Errorf("%s: the factor has no value %q: use one of %s", text, value, strings.Join(x.Factors[i].Values, ", "))
		}
		b[name] = value
	}
	return b, nil
}

// Comparisons compares the values of every factor at each level of the others. A level
// without the baseline, or where a value lacks a seed, is left out: only whole pairs count.
func (x *Index) Comparisons(rows []Row, baselines Baselines) (list []comparison) {
	for _, f := range x.Factors {
		if len(f.Values) > 1 {
			list = append(list, x.compare(f, rows, cmp.Or(baselines[f.Name], f.Values[0]))...)
		}
	}
	return list
}

// compare is Comparisons of one factor.
func (x *Index) compare(f IndexFactor, rows []Row, baseline string) (list []comparison) {
	bySeed := map[string]map[string][]float64{} // level, value
	var levels []string
	for _, o := range rows {
		level := x.level(f.Name, o.Values)
		if bySeed[level] == nil {
			bySeed[level] = map[string][]float64{}
			levels = append(levels, level)
		}
		of := bySeed[level]
		if value := o.Values[f.Name]; !math.IsNaN(float64(o.Mean)) {
			of[value] = append(of[value], float64(o.Mean))
		}
	}
	var differences [][]float64
	for _, level := range levels {
		own := x.rank(f, level, bySeed[level], baseline)
		for _, c := range own {
			d := stats.Differences(bySeed[level][c.Value], bySeed[level][baseline])
			differences = append(differences, d)
			c.Difference = bounded(stats.T(d), rows[0].Metric, -1)
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	for i, p := range judge.FamilyWise(differences) {
		list[i].P = p
	}
	return list
}

// bounded is the interval of a metric, or of a difference of two whose least value is low: a pass rate is at most 1.
func bounded(i stats.Interval, metric string, low float64) stats.Interval {
	if strings.HasSuffix(metric, "pass_rate") {
		return i.Within(low, 1)
	}
	return i
}

// Best names the combination of values with the highest mean, with its interval and the number of combinations it was selected from; empty
// where there is no choice.
func (d *Folder) Best() string {
	var best stats.Interval
	name, whole := "", 0
	for _, p := range d.Arms {
		var means []float64
		for _, o := range d.having(p.Values) {
			if !math.IsNaN(float64(o.Mean)) {
				means = append(means, float64(o.Mean))
			}
		}
		if len(means) == 0 || len(means) < len(d.Seeds) {
			continue
		}
		whole++
		if i := stats.T(means); name == "" || i.Estimate > best.Estimate {
			best, name = i, d.level("", p.Values)
		}
	}
	if whole < 2 {
		return ""
	}
	best = bounded(best, d.metric(), 0)
	text := fmt.Sprintf("Best combination: %s, mean %s %.3f", name, d.metric(), best.Estimate)
	if best.N > 1 {
		text += fmt.Sprintf(" (95 %% CI %.3f to %.3f, n = %d)", best.Low, best.High, best.N)
	}
	return text + fmt.Sprintf(", selected from %d combinations: the selection makes its mean too high.", whole)
}

// rank orders the values that have every seed, the highest mean first; nothing without the
// baseline.
func (x *Index) rank(f IndexFactor, level string, bySeed map[string][]float64, baseline string) (list []comparison) {
	for _, value := range f.Values {
		if len(bySeed[value]) == len(x.Seeds) {
			list = append(list, comparison{Factor: f.Name, Value: value, Baseline: baseline, Level: level, Mean: stats.Average(bySeed[value])})
		}
	}
	if len(list) < 2 || len(bySeed[baseline]) != len(x.Seeds) {
		return nil
	}
	slices.SortStableFunc(list, func(a, b comparison) int { return cmp.Compare(b.Mean, a.Mean) })
	p := make([]float64, len(list))
	for i := range list {
		p[i] = math.NaN()
		if i > 0 {
			p[i] = judge.Flip(stats.Differences(bySeed[list[i].Value], bySeed[list[0].Value]))
		}
	}
	for i, adjusted := range judge.Adjusted(p) {
		list[i].Rank, list[i].TiesFirst = i+1, !(adjusted <= judge.Significant)
	}
	return list
}

// firstRanks are at most the given number of comparisons of a factor: of each level the highest ranks
// and the baseline, and the first levels where that is still too much.
func firstRanks(list []comparison, most int) []comparison {
	if len(list) <= most {
		return list
	}
	levels := 0
	for _, c := range list {
		if c.Rank == 1 {
			levels++
		}
	}
	ranks := max(most/levels-1, 1) // the baseline may take another row
	first := slices.DeleteFunc(slices.Clone(list), func(c comparison) bool { return c.Rank > ranks && c.Value != c.Baseline })
	return first[:min(len(first), most)]
}

// comparisonTable shows the comparisons of a factor, at most the given number; nil where there are none.
func comparisonTable(list []comparison, factor string, seeds int, metric string, most int) *figure.Figure {
	all := slices.DeleteFunc(slices.Clone(list), func(c comparison) bool { return c.Factor != factor })
	if len(all) == 0 {
		return nil
	}
	t := head("best", factor, metric)
	t.Columns[2].Name, t.Sortable = factor, true
	t.Note = fmt.Sprintf("Baseline: %s. Differences are paired by seed, n = %d; 95 %% CI by Student's t; p of the paired sign-flip permutation test, adjusted by Westfall and Young over all comparisons of the factor. "+
		"\"Tied\": not significantly different from rank 1.", all[0].Baseline, seeds)
	if least := math.Ldexp(1, 1-seeds); least > judge.Significant {
		t.Note += fmt.Sprintf(" With %d seeds no difference can be significant (the least p is %.2g); six are needed.", seeds, least)
	}
	shown := firstRanks(all, most)
	if len(shown) < len(all) {
		t.Note += fmt.Sprintf(" The table shows %d of %d comparisons: the highest ranks at each level of the other factors, and the baseline; `%s.csv` has all.", len(shown), len(all), comparisonsTable)
	}
	for _, c := range shown {
		cells := []figure.Cell{figure.Word(c.Level), {Text: fmt.Sprint(c.Rank), Value: float64(c.Rank), Numeric: true}, figure.Word(c.Value), figure.Number(c.Mean, 3), {}, {}, {}, {}, {}}
		switch {
		case c.Value == c.Baseline:
			cells[7] = figure.Word("baseline").As(figure.Muted)
		default:
			cells[4] = figure.Cell{Text: fmt.Sprintf("%+.3f", c.Difference.Estimate), Value: c.Difference.Estimate, Numeric: true}
			cells[6], cells[7] = figure.Number(c.P, 2), c.verdict()
			if c.Difference.N > 1 {
				cells[5] = figure.Word(fmt.Sprintf("%+.3f to %+.3f", c.Difference.Low, c.Difference.High))
			}
		}
		if c.Rank == 1 {
			cells[8] = figure.Word("first").As(figure.Strong)
		} else if c.TiesFirst {
			cells[8] = figure.Word("tied")
		}
		t.Add(cells...)
	}
	return t
}

// verdict is whether the difference is significant, in words.
func (c comparison) verdict() figure.Cell {
	switch {
	case math.IsNaN(c.P):
		return figure.Word("no difference").As(figure.Muted)
	case !(c.P <= judge.Significant):
		return figure.Word("not significant")
	case c.Difference.Estimate > 0:
		return figure.Word("significantly better").As(figure.Good)
	}
	return figure.Word("significantly worse").As(figure.Bad)
}

// writeComparisons writes the table of comparisons.
func (o Tables) writeComparisons(dir string, list []comparison, seeds int) error {
	columns := []column{{Name: "factor", Kind: words}, {Name: "level", Kind: words}, {Name: "value", Kind: words}, {Name: "baseline", Kind: words}, {Name: "rank", Kind: whole}, {Name: "ties_first", Kind: whole},
		{Name: "n", Kind: whole}, {Name: "mean", Kind: real}, {Name: "difference", Kind: real}, {Name: "low", Kind: real}, {Name: "high", Kind: real}, {Name: "p", Kind: real}}
	return o.writeTable(dir, comparisonsTable, columns, func(yield func([]any) error) error {
		for _, c := range list {
			ties := int64(0)
			if c.TiesFirst {
				ties = 1
			}
			err := yield([]any{c.Factor, c.Level, c.Value, c.Baseline, int64(c.Rank), ties, int64(seeds),
				c.Mean, c.Difference.Estimate, c.Difference.Low, c.Difference.High, c.P})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// better reports, of a lead, which value is best; empty where nothing is compared.
func (v *view) better() string {
	var parts []string
	for _, f := range v.Factors {
		first, ties := "", 0
		levels := map[string]bool{}
		for _, c := range v.compared() {
			if c.Factor != f.Name {
				continue
			}
			levels[c.Level] = true
			if c.Rank == 1 {
				first = c.Value
			} else if c.TiesFirst {
				ties++
			}
		}
		switch {
		case len(levels) != 1:
		case ties > 0:
			parts = append(parts, fmt.Sprintf("%s: **%s** ranks first, tied with %d other values.", f.Name, first, ties))
		default:
			parts = append(parts, fmt.Sprintf("%s: **%s** ranks first and is significantly better than every other value.", f.Name, first))
		}
	}
	return strings.Join(parts, " ")
}
