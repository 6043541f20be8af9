package results

import (
	"fmt"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// shown is a verdict in a table: data keep the shorter words.
func shown(v record.Verdict) string {
	switch v {
	case record.DeadAtOnce:
		return "collapsed at once"
	case record.NotCollapsed:
		return "no collapse"
	}
	return string(v)
}

// Verdict sums up the verdicts of the runs of one recipe: how many have which,
// or that no run collapsed.
func Verdict(list []record.Verdict) figure.Cell {
	count := map[record.Verdict]int{}
	for _, f := range list {
		count[f]++
	}
	var words []string
	for _, f := range record.Verdicts {
		switch {
		case len(list) == 1 && count[f] == 1:
			words = append(words, shown(f))
		case count[f] > 0 && (f != record.NotCollapsed || count[f] == len(list)):
			words = append(words, fmt.Sprintf("%s %d of %d", shown(f), count[f], len(list)))
		}
	}
	badge := figure.Word(strings.Join(words, ", "))
	switch lost := count[record.Stopped] + count[record.DeadAtOnce] + count[record.Collapsed]; {
	case len(list) == 0:
		return figure.Word(string(record.NotJudged)).As(figure.Muted)
	case count[record.NotCollapsed] == len(list):
		return badge.As(figure.Good)
	case lost == len(list):
		return badge.As(figure.Bad)
	case lost+count[record.NeverLearned]+count[record.Running] > 0:
		return badge.As(figure.Warn)
	}
	return badge.As(figure.Muted)
}
