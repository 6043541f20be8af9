package table

import "slices"

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
