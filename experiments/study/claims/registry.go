// Package claims is the list of all published claims that can be measured. Each is a file of
// package studies, by theme.
package claims

import (
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"driftlab/experiments/measurements"
	"driftlab/experiments/studies"
	"driftlab/experiments/study/claims/claim"
	"driftlab/results/stats"

	"go.yaml.in/yaml/v4"
)

// All lists the claims in the order of the survey.
func All() []claim.Claim { return slices.Clone(read()) }

// read makes the list once. A file that is not a claim is a programmer's fault.
var read = sync.OnceValue(func() []claim.Claim {
	list, err := load()
	if err != nil {
		panic("claims: " + err.Error())
	}
	return list
})

// load reads the claims in the order of order.yaml.
func load() (list []claim.Claim, err error) {
	dir, _ := fs.Sub(studies.Claims, "claims") // it is in the program
	text, _ := fs.ReadFile(dir, "order.yaml")
	var themes []struct {
		Theme, About string
		Claims       []string
	}
	if err := yaml.Load(text, &themes, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("order.yaml: %w", err)
	}
	files, err := claim.Read(dir, &measurements.Library)
	if err != nil {
		return nil, err
	}
	for _, t := range themes {
		for _, id := range t.Claims {
			c, ok := files[id]
			if !ok || c.Theme != t.Theme {
				return nil, fmt.Errorf("order.yaml: there is no %s/%s.yaml", t.Theme, id)
			}
			list = append(list, c)
			delete(files, id)
		}
	}
	for id := range files {
		return nil, fmt.Errorf("order.yaml does not list %s", id)
	}
	return list, nil
}

// Lookup returns the claim of that id.
func Lookup(id string) (claim.Claim, bool) {
	if i := slices.IndexFunc(read(), func(c claim.Claim) bool { return c.ID == id }); i >= 0 {
		return read()[i], true
	}
	return claim.Claim{}, false
}

// IDs lists the ids in the order of All.
func IDs() []string { return stats.Map(read(), func(c claim.Claim) string { return c.ID }) }
