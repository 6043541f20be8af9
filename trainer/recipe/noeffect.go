package recipe

import (
	"slices"
	"strings"
)

// NoEffect is a part of recipes that cannot act, and of which recipes.
type NoEffect struct {
	// Where names the recipes, or the points of a sweep by their factors.
	Where string
	// Note is Recipe.Inert's: the part, the reason and what to set.
	Note string
}

// String is a line.
func (n NoEffect) String() string { return n.Where + ": " + n.Note }

// NoEffects are the parts of recipes that cannot act, each once with the names of its
// recipes.
func NoEffects(recipes ...Recipe) []NoEffect {
	var list []NoEffect
	for _, r := range recipes {
		for _, note := range r.Inert() {
			at := slices.IndexFunc(list, func(n NoEffect) bool { return n.Note == note })
			if at < 0 {
				list = append(list, NoEffect{r.Name, note})
			} else if !slices.Contains(strings.Split(list[at].Where, ", "), r.Name) {
				list[at].Where += ", " + r.Name
			}
		}
	}
	return list
}
