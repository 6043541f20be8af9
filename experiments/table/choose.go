package table

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Choice is what the screen sends on of a group.
type Choice struct{ Group, Best, Worst string }

// Choose returns the best and the worst of each group, in the order of the plan: the
// least and the greatest regret among the methods that acted somewhere, the earlier in
// the plan of equal ones. A group of one has no worst.
func Choose(list []Standing) []Choice {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Standing) int { return a.place - b.place })
	var chosen []Choice
	at := map[string][2]Standing{}
	for _, m := range list {
		if !m.Acted || m.Group == "control" {
			continue
		}
		ends, ok := at[m.Group]
		if !ok {
			chosen = append(chosen, Choice{Group: m.Group})
			ends = [2]Standing{m, m}
		}
		if m.Regret.Estimate < ends[0].Regret.Estimate {
			ends[0] = m
		}
		if m.Regret.Estimate > ends[1].Regret.Estimate {
			ends[1] = m
		}
		at[m.Group] = ends
	}
	for i := range chosen {
		c := &chosen[i]
		c.Best = at[c.Group][0].Method
		if worst := at[c.Group][1].Method; worst != c.Best {
			c.Worst = worst
		}
	}
	return chosen
}

// The lines of a confirmation's file between which the chosen methods stand.
const (
	choiceOpens  = "      # chosen by the screen:\n"
	choiceCloses = "      # end of the choice.\n"
)

// Confirmation is the file of the confirmation with what was chosen, each method as the
// screen's file has it, unless it stands there anyway.
func Confirmation(file, screen []byte, chosen []Choice) ([]byte, error) {
	head, rest, ok := bytes.Cut(file, []byte(choiceOpens))
	_, tail, closed := bytes.Cut(rest, []byte(choiceCloses))
	if !ok || !closed {
		return nil, fmt.Errorf("table: the confirmation's file lacks %q or %q", strings.TrimSpace(choiceOpens), strings.TrimSpace(choiceCloses))
	}
	out := append(bytes.Clone(head), choiceOpens...)
	for _, c := range chosen {
		for _, name := range []string{c.Best, c.Worst} {
			if name == "" || methodLine(head, name) != nil {
				continue
			}
			line := methodLine(screen, name)
			if line == nil {
				return nil, fmt.Errorf("table: the screen's file has no method %s", name)
			}
			out = append(append(out, line...), '\n')
		}
	}
	return append(append(out, choiceCloses...), tail...), nil
}

// methodLine is the line of a file that begins the value of that name; nil for none.
func methodLine(file []byte, name string) []byte {
	for line := range bytes.Lines(file) {
		line = bytes.TrimRight(line, "\n")
		rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("- {name: "+name))
		if ok && len(rest) > 0 && (rest[0] == ',' || rest[0] == '}') {
			return line
		}
	}
	return nil
}
