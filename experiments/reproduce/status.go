package reproduce

import (
	"encoding/json"
	"os"
	"path/filepath"

	"driftlab/experiments/claim"
	"driftlab/experiments/claims"
	"driftlab/results"
	"driftlab/results/record"
)

// Status is a line of the list of claims.
type Status struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Source string `json:"source"`
	// Status is "done", "quick" (judged from a smaller measurement or fewer than
	// five seeds), "partial" (some seeds measured), "published" (not measured
	// here; the verdict is that of results/published) or "not run".
	Status string `json:"status"`
	// Verdict is the last one computed in the directory, or else the published
	// one; empty where there is neither.
	Verdict claim.Verdict `json:"verdict"`
}

// kept is what is read back of the verdict file.
type kept struct {
	Verdict claim.Verdict `json:"verdict"`
	Size    string        `json:"size"`
	Version int           `json:"version"`
	Seeds   []uint64      `json:"seeds"`
}

func (k *kept) provisional() bool {
	return len(k.Seeds) < claim.LeastSeeds || k.Size != claim.Full.String()
}

// lastVerdict reads the verdict of the claim as it is now; one of another
// version does not count.
func lastVerdict(where string, c claim.Claim) (k kept, ok bool) {
	text, err := os.ReadFile(filepath.Join(where, verdictFile))
	if err != nil {
		return k, false
	}
	return readVerdict(text, c)
}

// readVerdict reads a verdict file, if it is of the claim as it is now.
func readVerdict(text []byte, c claim.Claim) (k kept, ok bool) {
	if json.Unmarshal(text, &k) != nil {
		return k, false
	}
	return k, k.Version == c.Version
}

// List says of every claim how far it has come in a directory; an empty one
// has nothing.
func List(dir string) []Status {
	var list []Status
	for _, c := range claims.All() {
		s := Status{ID: c.ID, Title: c.Title, Source: c.Source, Status: "not run"}
		if dir != "" {
			where := claimFolder(dir, c)
			if k, ok := lastVerdict(where, c); ok {
				s.Status, s.Verdict = "done", k.Verdict
				if k.provisional() {
					s.Status = "quick"
				}
			} else if seeds, _ := filepath.Glob(filepath.Join(where, "*", "seed-*.json")); len(seeds) > 0 {
				s.Status = "partial"
			}
		}
		if s.Status == "not run" {
			if text, ok := results.PublishedVerdict(c.ID); ok {
				if k, ok := readVerdict(text, c); ok {
					s.Status, s.Verdict = "published", k.Verdict
				}
			}
		}
		list = append(list, s)
	}
	return list
}

// verdictText is the verdict file: what kept reads, and the checks behind it.
// Their numbers may be infinite or NaN, as ratios to an empty tail are.
func verdictText(r *Result) ([]byte, error) {
	type line struct {
		Name    string        `json:"name"`
		Dose    claim.Dose    `json:"dose"`
		Needs   string        `json:"needs"`
		Value   record.Floats `json:"estimate_low_high"`
		Seeds   record.Floats `json:"seeds"`
		Outcome claim.Mark    `json:"outcome"`
	}
	var lines []line
	for _, c := range r.Evidence.Checks {
		value := record.Floats{c.Value.Estimate, c.Value.Low, c.Value.High}
		lines = append(lines, line{c.Name, c.Dose, c.Needs, value, c.Seeds, c.Outcome})
	}
	text, err := json.MarshalIndent(struct {
		kept
		Checks []line `json:"checks"`
	}{kept{r.Verdict, r.Size.String(), r.Claim.Version, r.Seeds}, lines}, "", "  ")
	return append(text, '\n'), err
}
