package results

import (
	"fmt"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// Verdict sums up the verdicts of the runs of one recipe: what became of how many
// of them, or that none collapsed.
func Verdict(list []record.Verdict) figure.Cell {
	count := map[record.Verdict]int{}
	for _, f := range list {
		count[f]++
	}
	var words []string
	for _, f := range record.Verdicts {
		switch {
		case len(list) == 1 && count[f] == 1:
			words = append(words, string(f))
		case count[f] > 0 && (f != record.NotCollapsed || count[f] == len(list)):
			words = append(words, fmt.Sprintf("%s %d of %d", f, count[f], len(list)))
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
