package results

import (
	"fmt"
	"strings"

	"driftlab/results/record"
)

// Verdict sums up the verdicts of the runs of one recipe: what became of how many
// of them, or that none collapsed.
func Verdict(list []record.Verdict) Cell {
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
	badge := Word(strings.Join(words, ", "))
	switch lost := count[record.Stopped] + count[record.DeadAtOnce] + count[record.Collapsed]; {
	case len(list) == 0:
		return Word(string(record.NotJudged)).As(Muted)
	case count[record.NotCollapsed] == len(list):
		return badge.As(Good)
	case lost == len(list):
		return badge.As(Bad)
	case lost+count[record.NeverLearned]+count[record.Running] > 0:
		return badge.As(Warn)
	}
	return badge.As(Muted)
}
